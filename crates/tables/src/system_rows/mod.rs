//! Rows of system tables, cell by cell, as Arrow.
//!
//! Must not know: which system tables there are.

pub mod maps;
pub mod rows;
pub mod unfilled;
pub mod shown_default;
pub mod kept;
pub mod in_log;
pub mod parts;
pub mod parts_columns;
