//! Comparing, joining truths, choosing a value by them, stopping a query by them.
//!
//! Invariant: three-valued logic as in SQL; where a choice is made NULL counts as false. Must not know: statements.

mod intervals;
mod nested_order;
mod mixed_lists;
pub(crate) mod compare;
pub(crate) mod logic;
pub(crate) mod conditional;
pub(crate) mod checks;
