//! One part: written, read in pieces, damaged, and kept without its compression.
#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::clone_on_ref_ptr,
    reason = "tests fail by panicking, and their numbers are small"
)]

#[path = "../rows/mod.rs"]
mod rows;
mod round_trip;
mod bytes;
mod texts;
mod unpacked;
mod spliced;
mod storage;
