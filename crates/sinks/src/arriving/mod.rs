//! Bodies in a format, made into batches as they arrive.
//!
//! Must not know: the table that the rows go to.

pub mod infile;
pub mod stream;
pub mod pieces;
