//! Rows of Parquet files: which row groups, pages and rows are worth reading, and how they are decoded.
//!
//! Invariant: what is left out has no row that a filter wants; a row group's bytes are fetched as one set of requests. Must
//! not know: tables, units.

pub(crate) mod layout;
pub(crate) mod batch_size;
pub(crate) mod late_columns;
pub(crate) mod prune;
pub(crate) mod live_filters;
pub(crate) mod disk;
pub(crate) mod decode;
pub(crate) mod sent;
pub(crate) mod bloom;
pub(crate) mod adopt;
