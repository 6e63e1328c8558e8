//! System tables of what this build can do, whoever asks: one file a table.
//!
//! Invariant: the rows are constants of the program. Must not know: statements, sessions.

pub mod build_options;
pub mod data_types;
pub mod formats;
pub mod table_engines;
