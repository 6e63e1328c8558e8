//! Plan nodes that DataFusion does not have: scans of the units of a load, steps of queries, and what limits a running plan.
//!
//! Invariant: every unit is read whole by the one stream that leased it, and nothing here mixes rows of different units
//! unless the statement itself asks for it. Must not know: where the rows go, and who commits them.

mod asked_order;
mod blocks;
mod repeated;
mod wide_unions;
pub mod numbered_part;
pub mod sealed_rows;
mod skip;
mod drawn;
pub(crate) mod array_join;
mod cells;
mod asof;
mod cut;
mod ends;
pub mod join_table;
mod fill;
pub mod running;
pub mod rounds;
pub mod row_limits;
pub mod gather;
pub mod source_order;
pub mod cross_of_lists;
pub mod steps;
pub mod unit_ends;
pub mod unit_list;
pub(crate) mod unit_scan;
pub mod unit_table;
