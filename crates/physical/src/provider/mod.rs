//! Our tables as DataFusion providers.
//!
//! Invariant: the only place where a part becomes something DataFusion scans.
//! Must not know: which snapshot is asked for, and how long it is held.

pub(crate) mod endless;
pub mod numbers;
pub mod random_rows;
mod part_bounds;
mod read_ahead;
pub mod checked_file;
mod part_reader;
pub mod masks;
mod mask_node;
mod unpruned;
pub mod part_columns;
pub mod part_files;
mod older_parts;
mod in_order;
mod final_scan;
mod key_ranges;
pub mod table;
pub mod insertion_order;
mod final_plan;
pub mod final_table;
