//! A statement's tokens: made of its text (`tokens`), with ClickHouse's clauses in others' clothes (`clauses`), read one after
//! the other (`head`).
//!
//! Invariant: positions are those of the text. Must not know: which statements there are.

pub mod tokens;
pub mod finals;
mod parameter_lists;
mod stars;
pub mod explained;
pub(crate) mod clause_ends;
pub mod clauses;
pub mod keys;
pub mod head;

#[cfg(test)]
mod depth_tests;
