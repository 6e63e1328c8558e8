//! Rows that statements skipped because they could not be read. The memory behind `system.load_rejected_rows`.
//!
//! Invariant: bounded, the oldest rows go first; a statement's rows are here once it has ended, whether it committed or
//! not. Must not know: why a row is bad.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use stores::statement::rejects::{Reject, Rejects};

/// Rows kept in memory, of all statements.
const ROWS_MAX: usize = 10_000;

/// A skipped row, and the statement that skipped it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RejectedByStatement {
    pub at_ms: u64,
    pub query_id: String,
    pub user: Arc<str>,
    /// (database, table) the rows were for; empty for a query.
    pub target: (String, String),
    pub reject: Reject,
}

/// Of one database process.
#[derive(Debug, Default)]
pub struct RejectedRows {
    rows: Mutex<VecDeque<RejectedByStatement>>,
}

impl RejectedRows {
    /// Takes what a statement that started at `at_ms` skipped.
    pub fn take_from(
        &self,
        rejects: &Rejects,
        at_ms: u64,
        (query_id, user): (&str, &Arc<str>),
        target: (String, String),
    ) {
        let taken = rejects.take();
        if taken.is_empty() {
            return;
        }
        let mut rows = self.rows.lock();
        for reject in taken {
            if rows.len() == ROWS_MAX {
                rows.pop_front();
            }
            let (query_id, user, target) = (query_id.to_owned(), Arc::clone(user), target.clone());
            rows.push_back(RejectedByStatement { at_ms, query_id, user, target, reject });
        }
    }

    /// Oldest first.
    pub fn rows(&self) -> Vec<RejectedByStatement> {
        self.rows.lock().iter().cloned().collect()
    }
}
