//! A folder looked at, or brought back, without a running database.
//!
//! Invariant: a folder that is only looked at stays as it is.

pub(crate) mod verify;
pub(crate) mod restore;
