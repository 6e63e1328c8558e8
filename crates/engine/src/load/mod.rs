//! Staged loads: a load with a label goes on where it stopped.
//!
//! Invariant: rows are seen when the whole load is published, and never twice. Must not know: text of statements.

pub(crate) mod staged;
