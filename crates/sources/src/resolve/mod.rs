//! From a call in a statement to a table: opened, listed, its format and its columns found.
//!
//! Invariant: all I/O that planning must not do is done here. Must not know: the statement around the call.

pub(crate) mod infer;
pub mod open;
pub(crate) mod wrapped_parquet;
pub mod call;
