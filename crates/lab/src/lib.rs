//! The workbench: data sets, a bucket, a store that breaks, and what drives the database in measurements and crash tests.
//!
//! Commands of `gristmill` that are no part of a database; `cli` names them, and the demo reads from a bucket of this crate.
//! `generate`, `endpoint` and `fault_proxy` know nothing of the database; `bench_insert` and `journal_writers` are clients of it.
//!
//! Invariant: the same seed gives the same bytes, the same faults and the same statements. Must not know: what the
//! database does inside; `bench_insert` alone counts the records of a log.

mod failure;
mod terminal;
pub mod generate;
pub mod endpoint;
pub mod fault_proxy;
pub mod bench_insert;
pub mod journal_writers;

pub use failure::Failure;
