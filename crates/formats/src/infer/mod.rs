//! What a sample of bytes says of its file: the columns, and the format.
//!
//! Invariant: pure; what is told can read the sample. Must not know: files, caches.

pub mod columns;
pub mod detect;
