//! Rows into objects and files outside of the database, and what a crash leaves of that.
//!
//! Must not know: tables of ours.

pub(crate) mod journal;
pub(crate) mod write;
