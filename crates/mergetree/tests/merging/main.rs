//! Parts that become others or go: merges, what is collected, what is missing, columns that were altered.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::clone_on_ref_ptr,
    reason = "tests fail by panicking, and their numbers are small"
)]

#[path = "../tables/mod.rs"]
mod tables;
mod merge;
mod merge_crash;
mod collect;
mod frozen;
mod missing;
mod older_columns;
mod adopted;
mod masks;
mod shared_files;
