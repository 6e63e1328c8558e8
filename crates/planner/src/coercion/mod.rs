//! Expressions in ClickHouse's types: operators, comparisons, branches, arguments of aggregates, bodies of lambdas.
//!
//! Invariant: a bare column stays bare wherever it may, so that pruning, hash joins and Parquet see it. Must not know: the
//! steps of a plan, which are `analyzer`'s.

pub(crate) mod comparison;
pub(crate) mod like;
pub(crate) mod in_list;
pub(crate) mod in_subquery;
pub(crate) mod join_keys;
pub(crate) mod distinct;
pub(crate) mod short_circuit;
pub(crate) mod closure;
pub(crate) mod operators;
pub(crate) mod nesting;
pub(crate) mod branches;
pub(crate) mod sort_keys;
pub(crate) mod aggregated;
pub(crate) mod windowed;
