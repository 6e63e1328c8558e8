//! Row groups for those that copy column chunks: their bytes, every page of which was looked at.
//!
//! Invariant: what a chunk is said to hold was found in its pages; nothing that the file says of its values is believed. Must not
//! know: where chunks are copied to, which are wanted.

pub(crate) mod page_walk;
mod extremes;
pub(crate) mod verify;
pub(crate) mod chunks;
