//! What this process remembers of its own work, in memory: running statements, merges, loads, exports, errors, profiles.
//!
//! Invariant: nothing here outlives the process, and nothing is decided here. Must not know: tables, statements' meaning.

pub mod errors;
pub mod part_log;
pub mod rejected_rows;
pub mod flushing;
pub mod processes;
pub mod loads;
pub mod mutations;
pub mod expiries;
pub mod refreshes;
pub mod exports;
