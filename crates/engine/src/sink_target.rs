//! What the sinks of one statement share.
//!
//! Invariant: one target is one statement; its uncommitted parts are committed together or deleted together.

use std::sync::Arc;

use host::Runtimes;
use mergetree::Table;
use mergetree::write::SinkSettings;

use crate::claim::Claim;
use crate::conform::Conform;
use crate::progress::QueryProgress;
use crate::uncommitted::UncommittedParts;

pub(crate) struct SinkTarget {
    pub table: Table,
    pub conform: Conform,
    pub settings: SinkSettings,
    pub uncommitted: Arc<UncommittedParts>,
    /// What is committed beside the parts, so that the statement is recognised when it comes again.
    pub claim: Option<Arc<Claim>>,
    pub progress: Arc<QueryProgress>,
    pub runtimes: Runtimes,
}
