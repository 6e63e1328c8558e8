//! A folder brought back, without a running database.
//!
//! Invariant: the folder it is brought back from stays as it is.

pub(crate) mod restore;
