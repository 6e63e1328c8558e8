//! Syntax trees as text: what ClickHouse names a column (`label`), and what reads back as the same tree (`printed`).
//!
//! Invariant: a tree is read, never changed. Must not know: what the text is for.

pub mod label;
pub mod formatted;
pub(crate) mod explained;
pub(crate) mod printed;
