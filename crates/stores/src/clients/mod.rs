//! Stores as requests see them: one `Store` for buckets, containers, pages and local files, made once and shared by all
//! (`cache`); reading in `store`, conditional writes and uploads in `write`.
//!
//! Invariant: every request runs on the `io` threads and is aborted when nobody waits for it. Must not know: patterns, what
//! bytes mean.

pub(crate) mod local;
pub(crate) mod tags;
pub mod store;
pub mod write;
pub mod cache;
pub(crate) mod root_place;
pub mod shared_bucket;
