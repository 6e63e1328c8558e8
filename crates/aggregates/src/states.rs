//! Aggregate states as values: `-State`, `-Merge`, `-MergeState`, what tables do with them, and what reads them one by one.
//!
//! Invariant: a state is what the accumulator of its function has come to, as bytes; it is understood by a recipe made of its
//! type, wherever it was made. Must not know: tables.

mod counted;
mod recipe;
mod groups;
mod runs;
mod stated;
mod combine;
mod check;
pub mod finalize;
pub(crate) mod running;

pub use check::StateCheck;
pub use combine::{check_states, combiner};
pub(crate) use stated::Stated;
pub use stated::{STATED, bound, refuse_distinct, written};

#[cfg(test)]
mod tests;
