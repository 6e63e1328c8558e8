//! The bytes of inline rows: a small insert as it stands in the log.
//!
//! Arrow's own format spends about 1.5 KB on a single row of twenty columns; this one three bytes and the values. Version 2:
//!
//! ```text
//! payload = statement ...                               one behind the other: a group's rows are its statements' rows
//! statement = 02 | rows | 00 | values of each column    no NULLs in any column
//!                       | 01 | array of each column     numbers are LEB128 varints
//! array = 00 | values                                   no NULLs
//!       | 01 | bitmap, 1 = not NULL | values            rows / 8 bytes, rounded up
//! values: fixed width   rows * width bytes, little endian
//!         bool          bitmap
//!         text          per row: length, bytes
//!         list, map     per row: length; then one array of the elements (a map's are structs)
//!         tuple         one array per element
//! ```
//!
//! Columns and types are the table's at the statement's schema version, in its order. Invariant: `decode(encode(rows)) == rows`; bytes that are
//! not ours are an error, never a panic. Must not know: where the bytes are kept.

pub mod encode;
pub mod decode;

pub use decode::{decode, decode_all};
pub use encode::encode;

/// The first byte of every statement.
pub(crate) const INLINE_VERSION: u8 = 2;

#[cfg(test)]
mod tests;
