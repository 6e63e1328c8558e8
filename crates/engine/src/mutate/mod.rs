//! DELETE, UPDATE, DROP PARTITION and TTL: rows that are there are changed by writing anew the parts that have them.
//!
//! Invariant: a statement is one transaction, decided on one snapshot: every part it touches is replaced, or none is.
//! What is not matched stays byte for byte in parts that have no matching row, and value for value in the others.

mod rows;
mod part;
mod memory;
pub(crate) mod run;
pub(crate) mod transfer;
mod freeze;
pub(crate) mod parts_change;
pub(crate) mod overwrite;
pub(crate) mod ttl;
pub(crate) mod deduplicate;
