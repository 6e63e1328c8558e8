//! Loads that are staged: they go on where they stopped, and several servers work on one.
//!
//! Invariant: rows are seen when the whole load is published, and never twice. Must not know: text of statements.

pub(crate) mod workers;
pub(crate) mod adopting;
pub(crate) mod staged;
