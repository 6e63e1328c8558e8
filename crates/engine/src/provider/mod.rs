//! Our tables as DataFusion providers.
//!
//! Invariant: the only place where a part becomes something DataFusion scans.

pub(crate) mod numbers;
pub(crate) mod random_rows;
pub(crate) mod part_bounds;
pub(crate) mod checked_file;
mod part_reader;
pub(crate) mod part_files;
pub(crate) mod older_parts;
pub(crate) mod table;
