//! Which merges run, which may not: the switchboard between background work, OPTIMIZE and SYSTEM STOP MERGES.
//!
//! Invariant: a part is in at most one running merge. Stopping merges of a table cancels the running ones.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use mergetree::merge::{MergePlan, MergeProgress};
use model::{PartId, TableId};
use parking_lot::Mutex;

/// One running merge, as `system.merges` shows it.
#[derive(Clone, Debug)]
pub(crate) struct RunningMerge {
    pub table: TableId,
    pub plan: MergePlan,
    pub started: Duration,
    pub progress: Arc<MergeProgress>,
    pub cancelled: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct Stopped {
    all: bool,
    tables: HashSet<TableId>,
}

#[derive(Debug, Default)]
pub(crate) struct Merges {
    stopped: Mutex<Stopped>,
    running: Mutex<BTreeMap<u64, RunningMerge>>,
    next: AtomicU64,
    closing: AtomicBool,
}

/// Keeps a merge in the list; leaving the list is what dropping it does.
pub(crate) struct MergeSlot {
    merges: Arc<Merges>,
    number: u64,
    pub merge: RunningMerge,
}

impl Merges {
    /// `None` stops merges of all tables.
    pub(crate) fn stop(&self, table: Option<TableId>) {
        let mut stopped = self.stopped.lock();
        match table {
            None => stopped.all = true,
            Some(table) => {
                stopped.tables.insert(table);
            }
        }
        for merge in self.running.lock().values() {
            if table.is_none_or(|table| table == merge.table) {
                merge.cancelled.store(true, Ordering::Relaxed);
            }
        }
    }

    pub(crate) fn start(&self, table: Option<TableId>) {
        let mut stopped = self.stopped.lock();
        match table {
            None => *stopped = Stopped::default(),
            Some(table) => {
                stopped.tables.remove(&table);
            }
        }
    }

    /// Cancels everything for good; the database is closing.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
        self.stop(None);
    }

    pub(crate) fn may_run(&self, table: TableId) -> bool {
        let stopped = self.stopped.lock();
        !stopped.all && !stopped.tables.contains(&table) && !self.closing.load(Ordering::Relaxed)
    }

    /// Parts that running merges read.
    pub(crate) fn busy(&self) -> HashSet<PartId> {
        self.running.lock().values().flat_map(|merge| merge.plan.inputs.iter().copied()).collect()
    }

    pub(crate) fn running(&self) -> Vec<RunningMerge> {
        self.running.lock().values().cloned().collect()
    }

    /// Enters a merge; `None` if one of its parts is being merged already, or merges are stopped.
    pub(crate) fn enter(
        self: &Arc<Self>,
        table: TableId,
        plan: MergePlan,
        now: Duration,
    ) -> Option<MergeSlot> {
        if !self.may_run(table) {
            return None;
        }
        let mut running = self.running.lock();
        let taken = |part: &PartId| running.values().any(|merge| merge.plan.inputs.contains(part));
        if plan.inputs.iter().any(taken) {
            return None;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let progress = Arc::new(MergeProgress::default());
        let cancelled = Arc::new(AtomicBool::new(false));
        let merge = RunningMerge { table, plan, started: now, progress, cancelled };
        running.insert(number, merge.clone());
        Some(MergeSlot { merges: Arc::clone(self), number, merge })
    }
}

impl Drop for MergeSlot {
    fn drop(&mut self) {
        self.merges.running.lock().remove(&self.number);
    }
}
