//! Profiles of statements that have ended, newest first.
//!
//! Invariant: bounded; the oldest goes first. What is kept holds no plan and no snapshot, only numbers and texts.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use super::report::Report;

/// A thousand trees are a few megabytes.
const PROFILES_MAX: usize = 1000;

/// Of one database process.
#[derive(Debug, Default)]
pub struct KeptProfiles {
    newest_last: Mutex<VecDeque<Arc<Report>>>,
}

impl KeptProfiles {
    pub fn push(&self, report: Report) {
        let mut kept = self.newest_last.lock();
        if kept.len() == PROFILES_MAX {
            kept.pop_front();
        }
        kept.push_back(Arc::new(report));
    }

    /// Newest first.
    pub fn list(&self) -> Vec<Arc<Report>> {
        self.newest_last.lock().iter().rev().cloned().collect()
    }

    /// The newest of this id: a client may use an id again.
    pub fn find(&self, query_id: &str) -> Option<Arc<Report>> {
        self.newest_last.lock().iter().rev().find(|report| report.query_id == query_id).cloned()
    }
}
