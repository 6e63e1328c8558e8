//! Numbers, decimals, times and intervals: added, multiplied, rounded, shifted, put into bins.
//!
//! Invariant: result types are ClickHouse's; integers wrap in them, decimals do not. Must not know: how text is read.

pub(crate) mod operator;
pub(crate) mod wide_integers;
pub(crate) mod interval;
pub(crate) mod decimals;
pub(crate) mod times;
pub(crate) mod of_arrays;
pub(crate) mod numbers;
pub(crate) mod or_null;
pub(crate) mod bits;
pub(crate) mod bit_turns;
pub(crate) mod math;
pub(crate) mod integers;
pub(crate) mod bins;
pub(crate) mod analysis;
pub(crate) mod decimal_digits;
pub(crate) mod curves;
pub(crate) mod colors;
