//! Rows of text files: bytes cut into pieces of whole records, parsed by one stream or shared by several.
//!
//! Invariant: every record is in one piece, and is read once. Must not know: tables, queries.

pub mod cut_stream;
pub(crate) mod stored;
pub mod ranges;
pub(crate) mod parallel;
pub(crate) mod parse;
