//! A listing of files as a table: cut into units, read unit by unit, and scanned by the query engine.
//!
//! Invariant: schema and files are fixed when the table is made. Must not know: calls, SQL text.

pub(crate) mod omitted;
pub(crate) mod row_counts;
pub mod split;
pub(crate) mod read_order;
pub mod object_table;
pub(crate) mod compression_notes;
pub mod unit_feed;
pub mod scan;
pub(crate) mod provider;
