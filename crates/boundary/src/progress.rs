//! What a running statement has done so far, readable from another thread at any time.
//!
//! Invariant: counters only grow, but for a repeated or undone statement, which has written nothing in the end. Totals may grow
//! too, while a listing is still being read.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arrow::array::RecordBatch;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::{DataSource, DataSourceExec};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use model::saturating::{millis_of, u64_of};
use parking_lot::{Mutex, RwLock};
use physical::provider::part_files::PART_STORE_URL;
use stores::ReadProgress;
use stores::statement::rejects::Rejects;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use crate::already_loaded::AlreadyLoaded;
use crate::error::Error;

/// Live counters of one statement; shared between its operators and whoever shows them.
#[derive(Debug, Default)]
pub struct QueryProgress {
    /// Rows and bytes read from files outside.
    pub source: Arc<ReadProgress>,
    /// Rows that could not be read and were skipped.
    pub rejects: Arc<Rejects>,
    /// Database and table that an INSERT writes to.
    target: OnceLock<(String, String)>,
    /// Rows and bytes of the parts that will be read, as far as planned.
    table_rows_total: AtomicU64,
    table_bytes_total: AtomicU64,
    written_rows: AtomicU64,
    written_bytes: AtomicU64,
    /// Milliseconds the statement was made to wait for merges or flushes.
    delayed_ms: AtomicU64,
    already_loaded: OnceLock<AlreadyLoaded>,
    /// What the statement accepted and did not do; unset if nothing.
    warnings: OnceLock<Vec<String>>,
    /// Set under the lock of `plan`: a plan that comes later would never leave.
    is_over: AtomicBool,
    /// The running plan: its scans of parts count what they read.
    plan: RwLock<Option<Arc<dyn ExecutionPlan>>>,
    /// What the scans of the plan had counted when the statement ended.
    scanned_rows: AtomicU64,
    scanned_bytes: AtomicU64,
    cancellation: CancellationToken,
    /// [`RUNNING`], [`COMMITTING`] or [`STOPPED`].
    stage: AtomicU8,
    /// Of a large statement among those that are planned.
    place: Mutex<Option<OwnedSemaphorePermit>>,
}

const RUNNING: u8 = 0;
/// The record is being written; from here the statement's outcome is the log's.
const COMMITTING: u8 = 1;
/// Given up before it could commit.
const STOPPED: u8 = 2;

impl QueryProgress {
    /// The table an INSERT writes to, for whoever tells of its rows.
    pub fn set_target(&self, database: &str, table: &str) {
        // The first table stands: a statement has one.
        let _ = self.target.set((database.to_owned(), table.to_owned()));
    }

    /// Database and table of an INSERT; empty for other statements.
    pub fn target(&self) -> (String, String) {
        self.target.get().cloned().unwrap_or_default()
    }

    pub fn read_rows(&self) -> u64 {
        self.source.rows_read() + self.sum_over_scans(rows_scanned, &self.scanned_rows)
    }

    pub fn read_bytes(&self) -> u64 {
        self.source.bytes_read() + self.sum_over_scans(bytes_scanned, &self.scanned_bytes)
    }

    /// 0 while nothing is known.
    pub fn total_rows_approx(&self) -> u64 {
        self.table_rows_total.load(Ordering::Relaxed)
    }

    /// Bytes that will be read, as far as known.
    pub fn total_bytes(&self) -> u64 {
        self.table_bytes_total.load(Ordering::Relaxed) + self.source.bytes_total()
    }

    /// 0 for a statement that turned out to be a repetition, whatever it had prepared until then.
    pub fn written_rows(&self) -> u64 {
        self.unless_already_loaded(&self.written_rows)
    }

    /// As [`QueryProgress::written_rows`].
    pub fn written_bytes(&self) -> u64 {
        self.unless_already_loaded(&self.written_bytes)
    }

    fn unless_already_loaded(&self, counter: &AtomicU64) -> u64 {
        if self.already_loaded.get().is_some() { 0 } else { counter.load(Ordering::Relaxed) }
    }

    /// The statement this one repeats; then this one writes nothing.
    pub fn already_loaded(&self) -> Option<&AlreadyLoaded> {
        self.already_loaded.get()
    }

    pub fn set_warnings(&self, warnings: &[String]) {
        if !warnings.is_empty() {
            let _ = self.warnings.set(warnings.to_vec());
        }
    }

    pub fn warnings(&self) -> Vec<String> {
        self.warnings.get().cloned().unwrap_or_default()
    }

    /// The first to be found counts.
    pub fn set_already_loaded(&self, first: AlreadyLoaded) {
        let _ = self.already_loaded.set(first);
    }

    pub fn delayed_ms(&self) -> u64 {
        self.delayed_ms.load(Ordering::Relaxed)
    }

    pub fn add_delay(&self, delay: Duration) {
        let delay_ms = millis_of(delay);
        self.delayed_ms.fetch_add(delay_ms, Ordering::Relaxed);
    }

    pub fn add_written(&self, rows: u64, bytes: u64) {
        self.written_rows.fetch_add(rows, Ordering::Relaxed);
        self.written_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// What will be read besides what the plan's own scans say.
    pub fn expect(&self, rows: u64, bytes: u64) {
        self.table_rows_total.fetch_add(rows, Ordering::Relaxed);
        self.table_bytes_total.fetch_add(bytes, Ordering::Relaxed);
    }

    /// From here on the plan's own counters are shown too.
    pub fn watch(&self, plan: &Arc<dyn ExecutionPlan>) {
        self.has_planned();
        for_each_scan(plan.as_ref(), &mut |scan| match scan {
            Scan::Parts(_, config) => {
                for part in config.file_groups.iter().flat_map(|group| group.iter()) {
                    let rows =
                        part.statistics.as_ref().and_then(|s| s.num_rows.get_value().copied()).unwrap_or(0);
                    self.table_rows_total.fetch_add(rows as u64, Ordering::Relaxed);
                    self.table_bytes_total.fetch_add(part.effective_size(), Ordering::Relaxed);
                }
            }
            Scan::Memory(config) => {
                self.table_rows_total.fetch_add(rows_held(config), Ordering::Relaxed);
                self.table_bytes_total.fetch_add(bytes_held(config), Ordering::Relaxed);
            }
            Scan::One => self.expect(1, 1),
        });
        let mut watched = self.plan.write();
        if !self.is_over.load(Ordering::Acquire) {
            *watched = Some(Arc::clone(plan));
        }
    }

    /// The plan, while the statement runs.
    pub fn plan(&self) -> Option<Arc<dyn ExecutionPlan>> {
        self.plan.read().clone()
    }

    /// Lets the plan go when the statement has ended and keeps what it counted: a plan keeps alive what its operators
    /// hold, and the parts of a failed INSERT are deleted when nobody does.
    pub fn end(&self) {
        let mut watched = self.plan.write();
        self.is_over.store(true, Ordering::Release);
        let ended = watched.take();
        if let Some(plan) = &ended {
            self.scanned_rows.fetch_add(sum_of(plan.as_ref(), rows_scanned), Ordering::Relaxed);
            self.scanned_bytes.fetch_add(sum_of(plan.as_ref(), bytes_scanned), Ordering::Relaxed);
        }
        // The lock goes first: dropping a plan may delete files.
        drop(watched);
        drop(ended);
    }

    /// Under the lock, so that what a plan counted is seen in the plan or in `ended`, once.
    fn sum_over_scans(&self, counter: fn(&Scan<'_>) -> u64, ended: &AtomicU64) -> u64 {
        let plan = self.plan.read();
        ended.load(Ordering::Relaxed) + plan.as_ref().map_or(0, |plan| sum_of(plan.as_ref(), counter))
    }

    /// What a server elsewhere says of a statement that runs there.
    pub fn observe(&self, read_rows: u64, read_bytes: u64, total_rows: u64, written_rows: u64) {
        self.scanned_rows.fetch_max(read_rows, Ordering::Relaxed);
        self.scanned_bytes.fetch_max(read_bytes, Ordering::Relaxed);
        self.table_rows_total.fetch_max(total_rows, Ordering::Relaxed);
        self.written_rows.fetch_max(written_rows, Ordering::Relaxed);
    }

    /// Called before a record is written: from now on the statement cannot be given up.
    ///
    /// # Errors
    /// It was given up already, and nobody would hear of what it commits.
    pub fn begin_commit(&self) -> Result<(), Error> {
        match self.stage.compare_exchange(RUNNING, COMMITTING, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) | Err(COMMITTING) => Ok(()),
            Err(_) => Err(Error::cancelled()),
        }
    }

    /// Whether a record of the statement is written or being written, so that it can no longer be undone.
    pub fn has_begun_commit(&self) -> bool {
        self.stage.load(Ordering::Acquire) == COMMITTING
    }

    /// Whether nobody waits for the statement any more.
    pub fn is_given_up(&self) -> bool {
        self.stage.load(Ordering::Acquire) == STOPPED
    }

    /// What was written is deleted again: the query log does not count it.
    pub fn undo_written(&self) {
        self.written_rows.store(0, Ordering::Relaxed);
        self.written_bytes.store(0, Ordering::Relaxed);
    }

    /// Whether whoever waits for the statement may stop waiting: not while it commits, or people would be told that
    /// nothing happened and do it again.
    pub fn give_up(&self) -> bool {
        let given_up = self.stage.compare_exchange(RUNNING, STOPPED, Ordering::AcqRel, Ordering::Acquire);
        given_up != Err(COMMITTING)
    }

    /// Keeps a place among the statements that are planned.
    pub fn plans(&self, place: OwnedSemaphorePermit) {
        *self.place.lock() = Some(place);
    }

    /// Lets the next be planned.
    pub fn has_planned(&self) {
        self.place.lock().take();
    }

    /// Asks the statement to stop; it does within a batch or a network request.
    pub fn cancel(&self) {
        self.cancellation.cancel();
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancellation.is_cancelled()
    }

    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancellation
    }
}

/// What a plan reads of tables of ours.
enum Scan<'a> {
    Parts(&'a DataSourceExec, &'a FileScanConfig),
    /// Rows of the log and of tables that are in memory.
    Memory(&'a MemorySourceConfig),
    /// What a SELECT without FROM reads: the one row, of one byte, of system.one.
    One,
}

/// Rows a scan dropped by itself were read, too. Those in memory are there at once.
fn rows_scanned(scan: &Scan<'_>) -> u64 {
    let Scan::Parts(scan, _) = scan else { return held(scan, rows_held) };
    scan.metrics().map_or(0, |metrics| {
        let dropped = metrics.sum_by_name("pushdown_rows_pruned").map_or(0, |value| value.as_usize());
        (metrics.output_rows().unwrap_or(0) + dropped) as u64
    })
}

fn bytes_scanned(scan: &Scan<'_>) -> u64 {
    let Scan::Parts(scan, _) = scan else { return held(scan, bytes_held) };
    let bytes = scan.metrics().and_then(|metrics| metrics.sum_by_name("bytes_scanned"));
    bytes.map_or(0, |value| value.as_usize() as u64)
}

fn held(scan: &Scan<'_>, count: fn(&MemorySourceConfig) -> u64) -> u64 {
    match scan {
        Scan::Memory(config) => count(config),
        Scan::One => 1,
        Scan::Parts(..) => 0,
    }
}

/// No more than a LIMIT asks for.
fn rows_held(config: &MemorySourceConfig) -> u64 {
    let most = config.fetch().map_or(u64::MAX, u64_of);
    let rows = |batches: &Vec<RecordBatch>| batches.iter().map(|batch| u64_of(batch.num_rows())).sum::<u64>();
    config.partitions().iter().map(|batches| rows(batches).min(most)).sum()
}

/// Of the columns that are asked for.
fn bytes_held(config: &MemorySourceConfig) -> u64 {
    let bytes = |batch: &RecordBatch| match config.projection() {
        Some(asked) => asked.iter().map(|at| batch.column(*at).get_array_memory_size() as u64).sum(),
        None => batch.get_array_memory_size() as u64,
    };
    config.partitions().iter().flatten().map(bytes).sum()
}

fn sum_of(plan: &dyn ExecutionPlan, counter: fn(&Scan<'_>) -> u64) -> u64 {
    let mut sum = 0;
    for_each_scan(plan, &mut |scan| sum += counter(&scan));
    sum
}

fn for_each_scan(plan: &dyn ExecutionPlan, visit: &mut dyn FnMut(Scan<'_>)) {
    if let Some(scan) = plan.downcast_ref::<DataSourceExec>() {
        let source = scan.data_source();
        if let Some(config) = source.downcast_ref::<FileScanConfig>() {
            if config.object_store_url.as_str().starts_with(PART_STORE_URL) {
                visit(Scan::Parts(scan, config));
            }
        } else if let Some(config) = source.downcast_ref::<MemorySourceConfig>() {
            visit(Scan::Memory(config));
        }
    } else if plan.is::<PlaceholderRowExec>() {
        visit(Scan::One);
    }
    for child in plan.children() {
        for_each_scan(child.as_ref(), visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_given_up_or_commits_but_not_both() {
        let commits = QueryProgress::default();
        assert!(commits.begin_commit().is_ok() && commits.begin_commit().is_ok());
        assert!(!commits.give_up() && commits.has_begun_commit() && !commits.is_given_up());
        let stops = QueryProgress::default();
        assert!(!stops.is_given_up() && stops.give_up() && stops.give_up() && stops.is_given_up());
        assert!(stops.begin_commit().is_err() && !stops.has_begun_commit());
    }
}
