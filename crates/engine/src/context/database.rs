//! One open database: everything that outlives a session.
//!
//! Invariant: the parts are built once, in `open`, and closed once, in the right order: statements, background work,
//! log, temporary folder.

use std::path::PathBuf;
use std::sync::Arc;

use catalog::Catalog;
use datafusion::execution::SessionState;
use datafusion::execution::runtime_env::RuntimeEnv;
use host::{Host, MemoryBudget, Runtimes};
use mergetree::memtable::MemtableCache;
use model::ErrorCode;
use parking_lot::Mutex;
use parts::PartStore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::boundary::config::Config;
use crate::boundary::error::{Error, ErrorKind};
use crate::boundary::found_at_open::OpenNotice;
use crate::ledgers::errors::Whose;
use crate::ledgers::exports::RunningExports;
use crate::ledgers::flushing::Flushing;
use crate::ledgers::loads::LoadHistory;
use crate::ledgers::merges::Merges;
use crate::ledgers::part_log::PartLog;
use crate::ledgers::processes::Processes;
use crate::planning::planners::Planners;
use crate::tables::memory::MemoryTables;
use crate::tables::stored::Tables;

/// See the module. Made by [`Database::open`].
pub struct Database {
    pub(crate) config: Config,
    pub(crate) host: Host,
    pub(crate) threads: usize,
    pub(crate) runtimes: Runtimes,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) store: PartStore,
    pub(crate) tables: Tables,
    pub(crate) memory_tables: MemoryTables,
    /// Decoded rows of the log.
    pub(crate) memtables: Arc<MemtableCache>,
    pub(crate) flushing: Flushing,
    pub(crate) processes: Processes,
    pub(crate) planners: Planners,
    /// When the process opened it.
    pub(crate) started_ms: u64,
    /// Of the machine, for `hostName()`.
    pub(crate) host_name: Arc<str>,
    pub(crate) loads: LoadHistory,
    pub(crate) exports: RunningExports,
    pub(crate) merges: Arc<Merges>,
    pub(crate) part_log: Arc<PartLog>,
    /// Object store clients and inferred schemas, shared by all sessions.
    pub(crate) sources: SourceCaches,
    /// Caches and stores shared by every statement; each statement adds its own memory pool.
    pub(crate) runtime_env: Arc<RuntimeEnv>,
    /// Functions and planners; each statement adds its own settings and tables.
    pub(crate) base_state: SessionState,
    /// `base_state` with few functions: see [`crate::context::statement::StatementContext::query_state`].
    pub(crate) bare_state: SessionState,
    pub(crate) closing: CancellationToken,
    /// Tells background work that there is something new.
    pub(crate) wake: Arc<tokio::sync::Notify>,
    pub(crate) background: Mutex<Vec<JoinHandle<()>>>,
    /// Removed when the database closes.
    pub(crate) temporary: Option<PathBuf>,
    /// What was found when it was opened.
    pub(crate) notices: Vec<OpenNotice>,
}

/// What reading files outside keeps between statements.
#[derive(Debug, Clone)]
pub(crate) struct SourceCaches {
    pub stores: Arc<stores::StoreCache>,
    pub schemas: Arc<sources::SchemaCache>,
    /// Credentials and region that the process was started with.
    pub environment: stores::S3Environment,
}

impl Database {
    /// What statements and caches may have together; a door grants itself a share for what it holds of them.
    pub fn memory(&self) -> &MemoryBudget {
        &self.host.memory
    }

    /// Counts an error in `system.errors` that ends no statement: of background work, of opening, of a file that was put aside.
    pub fn note(&self, code: ErrorCode, message: impl Into<String>) {
        let error = Error::new(ErrorKind::Internal, code, message);
        self.processes.errors.note(self.host.clock.now_ms(), &error, &Whose::default());
    }

    /// Counts an error that a door answers with itself. Those of statements that began are counted already.
    pub fn note_answered(&self, error: &Error, query_id: &str, user: &str) {
        self.processes.errors.note(self.host.clock.now_ms(), error, &Whose { query_id, user });
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Database({})", self.catalog.root().display())
    }
}
