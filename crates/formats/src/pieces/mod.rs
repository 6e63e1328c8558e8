//! Bytes that come in chunks: cut into pieces of whole records, and fed to a reader.
//!
//! Invariant: every byte is in one piece, or is read once, in order. Must not know: where the bytes come from, values.

pub mod boundary;
pub mod cutter;
pub mod feed;
