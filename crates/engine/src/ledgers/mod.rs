//! What this process remembers of its own work, in memory: running statements, merges, loads, exports, errors, profiles.
//!
//! Invariant: nothing here outlives the process, and nothing is decided here. Must not know: tables, statements' meaning.

pub(crate) mod errors;
pub(crate) mod profile;
pub(crate) mod part_log;
pub(crate) mod rejected_rows;
pub(crate) mod flushing;
pub(crate) mod processes;
pub(crate) mod loads;
pub(crate) mod exports;
