//! Physical nodes of our own: units in, parts out, one commit; and steps of queries that DataFusion does not have.
//!
//! Invariant: `CommitExec <- SinkExec <- .. <- UnitScanExec`, with nothing between that mixes rows of different units
//! unless the statement itself asks for it.

mod repeated;
mod wide_unions;
pub(crate) mod array_join;
pub(crate) mod cells;
pub(crate) mod asof;
pub(crate) mod cut;
pub(crate) mod fill;
pub(crate) mod metered;
pub(crate) mod rounds;
pub(crate) mod gather;
pub(crate) mod source_order;
pub(crate) mod steps;
pub(crate) mod unit_ends;
pub(crate) mod unit_scan;
pub(crate) mod unit_table;
pub(crate) mod sink;
pub(crate) mod commit;
