//! Our tables as DataFusion providers.
//!
//! Invariant: the only place where a part becomes something DataFusion scans.
//! Must not know: which snapshot is asked for, and how long it is held.

pub mod numbers;
pub mod random_rows;
mod part_bounds;
pub mod checked_file;
mod part_reader;
pub mod part_files;
mod older_parts;
mod in_order;
mod final_scan;
pub mod table;
