//! What waits to be flushed: who is told, and how long it has waited.
//!
//! Invariant: an INSERT that lifts a table above a limit rings the bell; the flush itself decides again, from a snapshot.
//! Must not know: how rows become parts.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use catalog::{Catalog, Snapshot, TableState};
use mergetree::TableError;
use mergetree::flush::due::{FlushLimits, Unflushed, due};
use mergetree::pressure::{InlineLimits, inline_delay};
use model::TableId;
use model::saturating::u64_of;
use parking_lot::Mutex;
use tokio::sync::Notify;

#[derive(Debug)]
pub struct Flushing {
    limits: FlushLimits,
    pressure: InlineLimits,
    bell: Arc<Notify>,
    /// Block number of a table's oldest inline statement, and when it was first seen.
    oldest: Mutex<HashMap<TableId, (u64, Duration)>>,
    /// Until when a table is left alone after an error.
    resting: Mutex<HashMap<TableId, Duration>>,
    /// About what all inline rows take in memory.
    total_bytes: AtomicU64,
}

impl Flushing {
    /// For a process that may hold `memory_bytes_max` bytes.
    pub fn new(memory_bytes_max: u64) -> Flushing {
        let pressure = InlineLimits::of_memory(memory_bytes_max);
        let defaults = FlushLimits::default();
        let limits = FlushLimits {
            // Flushing begins where the pressure does, or nothing would end it.
            total_bytes: defaults.total_bytes.min(pressure.soft_bytes),
            bytes: defaults.bytes.min(pressure.soft_bytes / 4),
            ..defaults
        };
        Flushing {
            limits,
            pressure,
            bell: Arc::default(),
            oldest: Mutex::default(),
            resting: Mutex::default(),
            total_bytes: AtomicU64::new(0),
        }
    }

    /// How long a small INSERT waits because flushes are behind. `table` names it.
    ///
    /// # Errors
    /// They are so far behind that nothing more is taken.
    pub fn delay(&self, table: impl FnOnce() -> String) -> Result<Duration, TableError> {
        let total = self.total_bytes.load(Ordering::Relaxed);
        if total <= self.pressure.soft_bytes {
            return Ok(Duration::ZERO);
        }
        self.bell.notify_one();
        inline_delay(&table(), total, &self.pressure)
    }

    /// Rings when something is due.
    pub fn due(&self) -> Arc<Notify> {
        Arc::clone(&self.bell)
    }

    /// Called after an INSERT put rows of `bytes` into the log.
    pub fn note(&self, catalog: &Catalog, table: TableId, bytes: u64) {
        let total = self.total_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let is_full = || {
            let snapshot = catalog.snapshot();
            snapshot
                .table_by_id(table)
                .is_some_and(|table| self.limits.exceeded_by(&unflushed(&table, Duration::ZERO)))
        };
        if total > self.limits.total_bytes || is_full() {
            self.bell.notify_one();
        }
    }

    /// Leaves a table alone for a while, so that it holds nobody up.
    pub fn rest(&self, table: TableId, until: Duration) {
        self.resting.lock().insert(table, until);
    }

    /// Counts again what is in the log, after something left it.
    pub fn recount(&self, snapshot: &Snapshot) {
        let waiting = snapshot.all_tables().map(|table| unflushed(table, Duration::ZERO).memory_bytes());
        self.total_bytes.store(waiting.sum(), Ordering::Relaxed);
    }

    /// The tables to flush now.
    pub fn choose(&self, tables: &[Arc<TableState>], now: Duration) -> Vec<TableId> {
        let mut oldest = self.oldest.lock();
        let mut seen = HashMap::new();
        let mut waiting = Vec::new();
        for table in tables {
            let Some(first) = table.inline().next() else { continue };
            let before = oldest.get(&table.def.id).filter(|(block, _)| *block == first.block);
            let since = before.map_or(now, |(_, since)| *since);
            seen.insert(table.def.id, (first.block, since));
            waiting.push(unflushed(table, now.saturating_sub(since)));
        }
        *oldest = seen;
        self.total_bytes.store(waiting.iter().map(Unflushed::memory_bytes).sum(), Ordering::Relaxed);
        let mut resting = self.resting.lock();
        resting.retain(|_, until| *until > now);
        let chosen = due(&waiting, &self.limits).into_iter();
        chosen.filter(|table| !resting.contains_key(table)).collect()
    }
}

fn unflushed(table: &TableState, age: Duration) -> Unflushed {
    Unflushed {
        table: table.def.id,
        bytes: table.inline_bytes(),
        rows: table.inline_rows(),
        statements: u64_of(table.inline_count()),
        age,
    }
}
