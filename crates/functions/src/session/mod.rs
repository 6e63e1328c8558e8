//! What functions answer about the session they run in, and what they draw from its stream of random numbers.
//!
//! Invariant: the same seed and the same query give the same values. Must not know: how sessions are made.

pub(crate) mod answers;
pub(crate) mod random;
pub(crate) mod blocks;
pub(crate) mod running;
pub(crate) mod structure;
