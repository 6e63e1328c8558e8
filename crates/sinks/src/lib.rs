//! Rows on their way into parts: read from a body, taken by sinks, sealed, and committed.
//!
//! Invariant: what a statement wrote and did not commit is deleted again, unless it is not known whether it is committed. Must not
//! know: statements, sessions, where rows come from.

pub mod uncommitted;
pub mod target;
pub mod commit;
pub mod exec;
pub mod turns;
pub mod frozen;
pub mod leases;
pub mod staging;
pub mod arriving;
