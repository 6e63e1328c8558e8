//! One table through its life: inserts, flushes, merges, crashes.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::cast_possible_truncation,
    clippy::clone_on_ref_ptr,
    reason = "tests fail by panicking, and their numbers are small"
)]

mod fixture;

mod crash;
mod flush;
mod insert;
mod measure;
mod order;
