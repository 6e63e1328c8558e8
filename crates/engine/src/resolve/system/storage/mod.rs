//! System tables about parts: which there are, and what becomes of them.
//!
//! Invariant: a part is shown by the name that it has in the snapshot of the statement. Must not know: other system tables.

pub(super) mod parts;
pub(super) mod part_log;
pub(super) mod merges;
pub(super) mod mutations;
