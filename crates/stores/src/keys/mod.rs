//! Keys of objects as text: patterns over them, partitions that stand in them, what a filter says of them, and how those are
//! spelt that the client cannot write.
//!
//! Invariant: pure; in doubt a key stays. Must not know: requests, what is in a file.

pub mod glob;
pub mod hive;
pub mod file_filter;
pub(crate) mod odd;
