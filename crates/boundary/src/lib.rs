//! The words that doors and statements share (errors, requests, answers, progress, what a database is opened with), and what
//! a process remembers of its statements.
//!
//! `engine` hands on what doors speak; no door names this crate. `secrets` takes credentials out of what people see, `ledgers`
//! are the lists of running and ended work, `once` is by what an INSERT is known when it comes again.
//!
//! Invariant: plain data, and how one kind of it becomes another. Must not know: who runs a statement, or how.

pub mod error;
pub mod storage_errors;
pub mod found_at_open;
pub mod config;
pub mod already_loaded;
pub mod progress;
pub mod telling;
pub mod outfile;
pub mod request;
pub mod room;
pub mod limits;
pub mod extremes;
pub mod coding;
pub mod planners;
pub mod stack_room;
pub mod text_rows;

pub mod secrets;

pub mod ledgers;
pub mod once;
