//! What was learnt of files and is kept: footers with their bloom filters and page bounds, columns, numbers of rows.
//!
//! Invariant: an entry is used only for the same version of the file and the same settings. Must not know: how columns are
//! found.

pub(crate) mod pages;
pub(crate) mod footer;
pub(crate) mod key;
pub(crate) mod file_format;
pub mod schemas;
pub mod schema_file;
