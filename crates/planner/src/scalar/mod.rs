//! Scalar functions as DataFusion calls them: an adapter for all that `functions` has, and those that only plans need.
//!
//! Recursive: a call is named by the digests that the calls in it keep.
//! Invariant: what a call returns carries our type. Must not know: aggregates, steps of plans.

pub(crate) mod preimage;
pub(crate) mod call_name;
pub(crate) mod normalized;
pub(crate) mod format_query;
pub(crate) mod lookup;
mod over_rows;
pub(crate) mod join_get;
pub(crate) mod dict_names;
mod long_calls;
pub(crate) mod unpacked;
pub(crate) mod adapter;
pub(crate) mod long_constants;
mod found_in;
mod hierarchy;
pub(crate) mod dict_get;
pub(crate) mod truth;
pub(crate) mod constant_set;
pub(crate) mod lambda;
pub(crate) mod widened;
pub(crate) mod attached;
pub(crate) mod row_bytes;
pub(crate) mod prewhere;
pub(crate) mod settled;
pub(crate) mod surely;
