//! The plan nodes that write: sinks seal parts, one node commits them. Those that read are in `physical`.
//!
//! Invariant: `CommitExec <- SinkExec <- .. <- UnitScanExec`, with nothing between that mixes rows of different units
//! unless the statement itself asks for it; or `CommitExec <- AdoptExec`, which reads units itself.

pub mod sink;
pub mod commit;
pub mod adopt;
