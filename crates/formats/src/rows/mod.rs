//! Rows: what a reader of them is (`split`), and where rows and their cells end in every format of text.
//!
//! Invariant: splitting never copies. Must not know: types, writers.

pub(crate) mod reject;
pub mod split;
pub(crate) mod quick_rows;
pub(crate) mod delimited;
pub(crate) mod json;
pub(crate) mod tskv;
pub(crate) mod custom;
pub(crate) mod pattern;
pub(crate) mod splitter;
