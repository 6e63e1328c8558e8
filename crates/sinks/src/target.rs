//! What the sinks of one statement share.
//!
//! Invariant: one target is one statement; its uncommitted parts are committed together or deleted together. The
//! sinks of a staged load keep their parts themselves.

use std::sync::Arc;
use std::time::Duration;

use boundary::ledgers::part_log::PartLog;
use boundary::once::claim::Claim;
use boundary::progress::QueryProgress;
use host::Runtimes;
use mergetree::Table;
use mergetree::write::SinkSettings;
use physical::profile::StatementProfile;
use tokio_util::sync::CancellationToken;

use crate::uncommitted::UncommittedParts;
use tables::conform::Conform;

pub struct SinkTarget {
    pub table: Table,
    pub conform: Arc<Conform>,
    pub settings: SinkSettings,
    pub uncommitted: Arc<UncommittedParts>,
    /// What is committed beside the parts, so that the statement is recognised when it comes again.
    pub claim: Option<Arc<Claim>>,
    pub progress: Arc<QueryProgress>,
    /// Ends the sinks at their next batch; cancelled with the statement, but not the other way round: what fails here
    /// is the statement's to tell.
    pub stop: CancellationToken,
    pub runtimes: Runtimes,
    pub profile: Arc<StatementProfile>,
    pub part_log: Arc<PartLog>,
    /// When the first sink could start, by the monotonic clock.
    pub started: Duration,
    /// The parts are deleted where they would be committed.
    pub rolls_back: bool,
}
