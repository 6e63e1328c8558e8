//! Which merges run, which may not: the switchboard between background work, OPTIMIZE and SYSTEM STOP MERGES.
//!
//! Invariant: a part is in at most one running merge. Stopping merges of a table cancels the running ones.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::{MergePlan, MergeProgress};
use model::{PartId, TableId};
use parking_lot::Mutex;

/// One running merge, as `system.merges` shows it.
#[derive(Clone, Debug)]
pub struct RunningMerge {
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

impl Stopped {
    fn forbid(&self, table: TableId) -> bool {
        self.all || self.tables.contains(&table)
    }
}

#[derive(Debug, Default)]
pub struct Merges {
    stopped: Mutex<Stopped>,
    running: Mutex<BTreeMap<u64, RunningMerge>>,
    next: AtomicU64,
    closing: AtomicBool,
    turns: Mutex<Turns>,
}

/// Whose turn it is: background merges serve the tables in a round.
#[derive(Debug, Default)]
struct Turns {
    served: HashMap<TableId, u64>,
    served_count: u64,
    /// Until when a table is left alone after an error.
    resting: HashMap<TableId, Duration>,
}

/// Keeps a merge in the list; leaving the list is what dropping it does.
pub struct MergeSlot {
    merges: Arc<Merges>,
    number: u64,
    pub merge: RunningMerge,
}

impl Merges {
    /// `None` stops merges of all tables.
    pub fn stop(&self, table: Option<TableId>) {
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

    pub fn start(&self, table: Option<TableId>) {
        let mut stopped = self.stopped.lock();
        match table {
            None => *stopped = Stopped::default(),
            Some(table) => {
                stopped.tables.remove(&table);
            }
        }
    }

    /// Cancels everything for good; the database is closing.
    pub fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
        self.stop(None);
    }

    pub fn may_run(&self, table: TableId) -> bool {
        !self.stopped.lock().forbid(table) && !self.closing.load(Ordering::Relaxed)
    }

    /// Tables in ascending order of this are served fairly: who was served longest ago comes first.
    pub fn turn(&self, table: TableId) -> u64 {
        self.turns.lock().served.get(&table).copied().unwrap_or(0)
    }

    pub fn served(&self, table: TableId) {
        let mut turns = self.turns.lock();
        turns.served_count += 1;
        let count = turns.served_count;
        turns.served.insert(table, count);
    }

    /// Leaves a table alone for a while.
    pub fn rest(&self, table: TableId, until: Duration) {
        self.turns.lock().resting.insert(table, until);
    }

    pub fn is_resting(&self, table: TableId, now: Duration) -> bool {
        self.turns.lock().resting.get(&table).is_some_and(|until| *until > now)
    }

    /// Forgets the turns of tables that are gone.
    pub fn retain(&self, is_live: impl Fn(TableId) -> bool) {
        self.stopped.lock().tables.retain(|table| is_live(*table));
        let mut turns = self.turns.lock();
        turns.served.retain(|table, _| is_live(*table));
        turns.resting.retain(|table, _| is_live(*table));
    }

    /// Parts that running merges read.
    pub fn busy(&self) -> HashSet<PartId> {
        self.running.lock().values().flat_map(|merge| merge.plan.inputs.iter().copied()).collect()
    }

    pub fn running(&self) -> Vec<RunningMerge> {
        self.running.lock().values().cloned().collect()
    }

    /// Enters a merge; `None` if one of its parts is being merged already, or merges are stopped.
    pub fn enter(self: &Arc<Self>, table: TableId, plan: MergePlan, now: Duration) -> Option<MergeSlot> {
        // Held over the insert, so that `stop` finds this merge either forbidden or running.
        let stopped = self.stopped.lock();
        if stopped.forbid(table) {
            return None;
        }
        self.take_parts(table, plan, now)
    }

    /// The same for parts that a statement writes anew, which it may also where merges are stopped.
    pub fn enter_mutation(
        self: &Arc<Self>,
        table: TableId,
        plan: MergePlan,
        now: Duration,
    ) -> Option<MergeSlot> {
        self.take_parts(table, plan, now)
    }

    fn take_parts(self: &Arc<Self>, table: TableId, plan: MergePlan, now: Duration) -> Option<MergeSlot> {
        if self.closing.load(Ordering::Relaxed) {
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
