//! Physical plans of our own: parts and units of loads as scans, and steps of queries that DataFusion does not have.
//!
//! `provider` makes tables of ours into scans, `nodes` are the operators, `unary` is what those of one input have in common, `rules` holds back what DataFusion would do to rows, `adopt` finds what of a load can be copied,
//! `operators` tells what a plan counted, `profile` where a statement's time went, `budget` what it may use. `engine` puts plans together out of both; doors do not
//! name this crate.
//!
//! Invariant: a plan reads what it was made with, parts of one snapshot or units of one load, and commits nothing.
//! Must not know: statements, sessions, transactions.

mod error;
pub mod budget;
pub mod operators;
pub mod profile;
pub mod unary;
pub mod provider;
pub mod nodes;
pub mod rules;
pub mod adopt;
pub mod spread;

pub use error::PhysicalError;
