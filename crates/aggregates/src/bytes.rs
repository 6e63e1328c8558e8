//! The bytes of an aggregate state: what an accumulator has come to so far, as one value of a column.
//!
//! ```text
//! state    version (1), then the columns of the accumulator's state, of one row each
//! column   of n > 0 values: 0 (no NULL), or 1 (NULL alone), or 2 and n bytes, 1 where a value is there;
//!          then, unless all are NULL, the values:
//!          fixed width   n times the bytes as Arrow has them; of Boolean a byte
//!          text, bytes   n lengths, then the bytes
//!          list          n lengths, then a column of all elements
//!          struct        a column for each member; it is never 1
//! length   LEB128
//! ```
//! Invariant: no bytes at all are the state of nothing, which nobody writes. Whatever bytes are given, reading them takes no
//! more memory than a small multiple of their length. Must not know: which function.

mod write;
mod read;

pub(crate) use read::decode;
pub(crate) use write::encode;

/// The first byte. Another layout of the states of an accumulator is another version.
const VERSION: u8 = 1;

/// More NULLs in a row than this are written one by one, so that bytes pay for what is read.
const SHORT_NULLS_MAX: usize = 1;

const ALL_THERE: u8 = 0;
const ALL_NULL: u8 = 1;
const SOME_NULL: u8 = 2;

#[cfg(test)]
mod tests;
