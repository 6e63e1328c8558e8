//! Rows of system tables, cell by cell, as Arrow.
//!
//! Must not know: which system tables there are.

pub mod maps;
pub mod rows;
