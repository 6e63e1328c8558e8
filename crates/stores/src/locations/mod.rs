//! Where the files of a call are: URLs of buckets and containers taken apart; pages; the local file system.
//!
//! Invariant: pure; keys and signatures become secrets here. Must not know: clients, what exists.

pub(crate) mod bucket;
pub mod azure;
pub mod location;
