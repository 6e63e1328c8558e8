//! Rows of system tables, cell by cell, as Arrow, and those tables that a snapshot, definitions and parts are enough for.
//!
//! Must not know: statements, sessions, which other system tables there are.

pub mod maps;
pub mod rows;
pub mod abilities;
pub mod view_refreshes;
pub mod dictionaries;
pub mod dotted;
pub mod derived_names;
pub mod information_schema;
pub mod unfilled;
pub mod shown_default;
pub mod kept;
mod partitions;
pub mod in_log;
pub mod parts;
pub mod parts_columns;
pub mod detached_parts;
pub mod loads;
