//! Columns as kernels read and build them: machine numbers, wide ones, lists, maps and tuples.
//!
//! Invariant: what is built has the layout of its type, and integers wrap as ClickHouse's do. Must not know: functions.

pub(crate) mod number;
pub mod container;
pub(crate) mod wide;
