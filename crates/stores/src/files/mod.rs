//! Files: which there are for a pattern, and ranges of their bytes.
//!
//! Invariant: every file once, and its bytes are those of the version that was listed. Must not know: formats, columns.

pub(crate) mod folders;
pub mod listing;
pub mod fetch;
