//! Exactly once: what an INSERT is recognised by, and what it claims before it writes.
//!
//! Must not know: how rows get into a table.

pub mod fingerprint;
pub mod names;
pub mod claim;
