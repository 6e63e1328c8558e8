//! The words that doors and statements share: errors, requests, answers, progress, and what a database is opened with.
//!
//! Invariant: plain data, and how one kind of it becomes another. Must not know: who runs a statement, or how.

pub mod error;
pub(crate) mod room;
pub(crate) mod storage_errors;
pub(crate) mod found_at_open;
pub mod config;
pub mod already_loaded;
pub mod progress;
pub(crate) mod telling;
pub(crate) mod outfile;
pub mod request;
pub mod coding;
pub(crate) mod text_rows;
