//! What the sinks of one statement share.
//!
//! Invariant: one target is one statement; its uncommitted parts are committed together or deleted together.

use std::sync::Arc;

use host::Runtimes;
use mergetree::Table;
use mergetree::write::SinkSettings;

use crate::conform::Conform;
use crate::progress::QueryProgress;
use crate::uncommitted::UncommittedParts;

pub(crate) struct SinkTarget {
    pub table: Table,
    pub conform: Conform,
    pub settings: SinkSettings,
    pub uncommitted: Arc<UncommittedParts>,
    pub progress: Arc<QueryProgress>,
    pub runtimes: Runtimes,
}
