//! Statements running now, and those that have ended.
//!
//! Invariant: every statement is in the list from its parsing until its last batch is read or its stream dropped,
//! then once in the query log. The log is bounded; the oldest entries go first.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use model::ErrorCode;
use model::saturating::{micros_of, millis_of};
use parking_lot::Mutex;
use physical::operators::operators_of;
use physical::profile::{KeptProfiles, Report, State, StatementProfile, statement_line};
use sql::Settings;
use tokio::sync::Notify;

use crate::error::{Error, ErrorKind};
use crate::ledgers::errors::{ErrorLedger, Whose};
use crate::ledgers::rejected_rows::RejectedRows;
use crate::progress::QueryProgress;
use crate::request::Caller;

/// Entries of `system.query_log` kept in memory.
const QUERY_LOG_ENTRIES_MAX: usize = 10_000;
/// Bytes of their texts.
const QUERY_LOG_BYTES_MAX: usize = 64 << 20;

/// A running statement.
#[derive(Clone, Debug)]
pub struct Process {
    pub query_id: String,
    pub user: Arc<str>,
    pub client: Caller,
    pub query: String,
    pub kind: &'static str,
    pub database: String,
    pub started_ms: u64,
    pub started: Duration,
    pub memory: host::MemoryBudget,
    pub progress: Arc<QueryProgress>,
    pub profile: Arc<StatementProfile>,
    pub settings: Arc<Settings>,
}

/// Kinds of statements whose profiles say something.
const PROFILED: &[&str] = &["Select", "Insert", "Create", "Optimize"];

impl Process {
    pub fn is_profiled(&self) -> bool {
        PROFILED.contains(&self.kind)
    }

    /// The settings that were given, with their values.
    pub fn given_settings(&self) -> Vec<(&'static str, String)> {
        self.settings.changed().map(|(name, value)| (name, value.to_string())).collect()
    }

    /// Its profile as it stands `total` after its start.
    pub fn report(&self, total: Duration, state: State) -> Report {
        Report {
            query_id: self.query_id.clone(),
            user: Arc::clone(&self.user),
            state,
            statement: statement_line(&self.query),
            started_ms: self.started_ms,
            total,
            measured: self.profile.measured(),
            memory_peak: self.memory.peak(),
            read_rows: self.progress.read_rows(),
            read_bytes: self.progress.read_bytes(),
            written_rows: self.progress.written_rows(),
            written_bytes: self.progress.written_bytes(),
            settings: self.given_settings(),
            operators: self.progress.plan().map(|plan| operators_of(plan.as_ref())),
        }
    }
}

/// An ended statement.
#[derive(Clone, Debug)]
pub struct LoggedQuery {
    pub process: Process,
    pub duration: Duration,
    pub result_rows: u64,
    pub read_rows: u64,
    pub read_bytes: u64,
    pub memory_peak: u64,
    pub error: Option<Error>,
}

/// The newest statements that ended.
#[derive(Debug, Default)]
struct Ended {
    entries: VecDeque<LoggedQuery>,
    text_bytes: usize,
}

impl Ended {
    /// Adds one and answers with those there is no more room for.
    fn push(&mut self, entry: LoggedQuery) -> Vec<LoggedQuery> {
        self.text_bytes += entry.text_bytes();
        self.entries.push_back(entry);
        let mut old = Vec::new();
        while self.entries.len() > QUERY_LOG_ENTRIES_MAX || self.text_bytes > QUERY_LOG_BYTES_MAX {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.text_bytes -= oldest.text_bytes();
            old.push(oldest);
        }
        old
    }
}

impl LoggedQuery {
    fn text_bytes(&self) -> usize {
        self.process.query.len() + self.error.as_ref().map_or(0, |error| error.message.len())
    }
}

/// Sums over all statements that have ended since the process started, for `system.events`.
#[derive(Debug, Default)]
pub struct Totals {
    sums: Mutex<BTreeMap<&'static str, u64>>,
}

impl Totals {
    fn add(&self, entry: &LoggedQuery) {
        let (kind, failed) = (entry.process.kind, entry.error.is_some());
        let one = |counts: bool| u64::from(counts);
        let progress = &entry.process.progress;
        let micros = micros_of(entry.duration);
        let added = [
            ("Query", 1),
            ("SelectQuery", one(kind == "Select")),
            ("InsertQuery", one(kind == "Insert")),
            ("FailedQuery", one(failed)),
            ("FailedSelectQuery", one(failed && kind == "Select")),
            ("FailedInsertQuery", one(failed && kind == "Insert")),
            ("QueryTimeMicroseconds", micros),
            ("SelectedRows", entry.read_rows),
            ("SelectedBytes", entry.read_bytes),
            ("InsertedRows", progress.written_rows()),
            ("InsertedBytes", progress.written_bytes()),
        ];
        let mut sums = self.sums.lock();
        for (name, count) in added {
            let sum = sums.entry(name).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    /// By name.
    pub fn all(&self) -> Vec<(&'static str, u64)> {
        self.sums.lock().iter().map(|(name, sum)| (*name, *sum)).collect()
    }
}

/// Both lists of one database process.
#[derive(Debug, Default)]
pub struct Processes {
    running: Mutex<BTreeMap<u64, Process>>,
    ended: Mutex<Ended>,
    next: std::sync::atomic::AtomicU64,
    /// Rings whenever a statement has ended.
    one_ended: Notify,
    pub totals: Totals,
    pub profiles: KeptProfiles,
    pub rejected: RejectedRows,
    pub errors: ErrorLedger,
}

impl Processes {
    /// # Errors
    /// A statement of the same id is running: nobody could tell them apart, and KILL would end both.
    pub fn begin(&self, process: Process) -> Result<u64, Error> {
        let number = self.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut running = self.running.lock();
        if running.values().any(|other| other.query_id == process.query_id) {
            let message = format!("query with id \"{}\" is already running", process.query_id);
            let hint = "choose another query_id, or end that one with KILL QUERY WHERE query_id = '..'";
            return Err(Error::new(
                ErrorKind::Conflict,
                ErrorCode::QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING,
                message,
            )
            .with_hint(hint));
        }
        running.insert(number, process);
        Ok(number)
    }

    /// Asks the statement of this id to stop; answers its number.
    pub fn cancel(&self, query_id: &str) -> Option<u64> {
        let running = self.running.lock();
        let (number, process) = running.iter().find(|(_, process)| process.query_id == query_id)?;
        process.progress.cancel();
        Some(*number)
    }

    /// Waits until none of these is running.
    pub async fn until_ended(&self, numbers: &[u64]) {
        loop {
            let mut ended = std::pin::pin!(self.one_ended.notified());
            // Before looking, or the last one could end in between and never be heard of.
            ended.as_mut().enable();
            if !numbers.iter().any(|number| self.running.lock().contains_key(number)) {
                return;
            }
            ended.await;
        }
    }

    pub fn end(&self, number: u64, now: Duration, result_rows: u64, error: Option<Error>) {
        let Some(process) = self.running.lock().remove(&number) else { return };
        let duration = now.saturating_sub(process.started);
        if process.is_profiled() && process.profile.is_kept(duration) {
            let state = if error.is_none() { State::Finished } else { State::Error };
            self.profiles.push(process.report(duration, state));
        }
        process.progress.end();
        let (rejects, target) = (&process.progress.rejects, process.progress.target());
        self.rejected.take_from(rejects, process.started_ms, (&process.query_id, &process.user), target);
        if let Some(error) = &error {
            let ms = millis_of(duration);
            let whose = Whose { query_id: &process.query_id, user: &process.user };
            self.errors.note(process.started_ms.saturating_add(ms), error, &whose);
        }
        let entry = LoggedQuery {
            duration,
            result_rows,
            read_rows: process.progress.read_rows(),
            read_bytes: process.progress.read_bytes(),
            memory_peak: process.memory.peak(),
            process,
            error,
        };
        self.totals.add(&entry);
        // Freed without the lock.
        let _old = self.ended.lock().push(entry);
        self.one_ended.notify_waiters();
    }

    pub fn running(&self) -> Vec<Process> {
        self.running.lock().values().cloned().collect()
    }

    pub fn running_count(&self) -> usize {
        self.running.lock().len()
    }

    pub fn ended(&self) -> Vec<LoggedQuery> {
        self.ended.lock().entries.iter().cloned().collect()
    }
}
