//! Memory of an evaluation: what a kernel may take, what constants may take while a statement is planned, what copies take.
//!
//! Invariant: it is asked for before it is taken. Must not know: kernels, rules.

pub mod folding;
pub mod allowance;
pub(crate) mod row_bytes;
