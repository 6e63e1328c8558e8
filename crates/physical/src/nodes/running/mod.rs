//! What is put around the nodes of a plan when it is run, and shown nowhere: memory that is looked at, turns that end, joins that can be
//! stopped, rows that are left out where they are read.
//!
//! Invariant: the plan gives the rows it gave, or fails. Must not know: what the plan does.

mod turns;
pub mod metered;
pub mod interruptible;
pub mod early_rows;
