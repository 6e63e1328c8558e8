//! Comparing, joining truths, choosing a value by them, stopping a query by them.
//!
//! Invariant: three-valued logic as in SQL; where a choice is made NULL counts as false. Must not know: statements.

mod intervals;
pub(crate) mod compare;
mod nested_order;
pub(crate) mod logic;
pub(crate) mod conditional;
pub(crate) mod checks;
