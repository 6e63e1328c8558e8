//! Exactly once: what an INSERT is recognised by, and what it claims before it writes.
//!
//! Must not know: how rows get into a table.

pub(crate) mod fingerprint;
pub(crate) mod names;
pub(crate) mod claim;
