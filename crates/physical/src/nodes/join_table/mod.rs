//! Steps over the rows of a table of engine Join: which of them there are, and all of them by their keys.
//!
//! Invariant: rows come in the order of insertion, by one stream. Must not know: the table.

pub mod one_of_key;
pub(crate) mod looked_up;
pub mod rows;
