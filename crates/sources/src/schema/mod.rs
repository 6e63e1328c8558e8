//! Columns of a source: given as a structure, found in files and merged, wanted by a target, read from paths or known without
//! reading.
//!
//! Invariant: pure; names are unique, and a column has one type in all files. Must not know: how files are read.

pub(crate) mod conform;
pub mod structure;
pub(crate) mod source_columns;
pub mod merge;
pub(crate) mod wanted_types;
pub mod virtual_columns;
