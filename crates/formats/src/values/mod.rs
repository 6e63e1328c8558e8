//! Single values: found in text, read out of it, printed as text.
//!
//! Invariant: what is printed is what ClickHouse prints, and is read back as the same value. Must not know: columns, rows,
//! formats.

pub(crate) mod date_text;
pub mod cell;
pub(crate) mod print;
pub(crate) mod uuid_text;
