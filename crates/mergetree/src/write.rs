//! From batches to parts: form a block, split it by partition, sort each piece, write it once.
//!
//! Invariant: nothing here is visible to anyone until the caller commits the sealed parts.

pub mod blocks;
pub mod gather;
pub mod partition;
pub mod sort;
pub mod sink;

pub use sink::{PartSink, SinkSettings};
