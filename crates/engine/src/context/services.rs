//! What outlives a statement: the parts that every statement and all background work share.
//!
//! Invariant: the parts are built once, in `open`. Must not know: what a statement does, what
//! runs in the background.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use boundary::config::Config;
use boundary::error::Error;
use boundary::ledgers::errors::Whose;
use boundary::ledgers::expiries::Expiries;
use boundary::ledgers::exports::RunningExports;
use boundary::ledgers::flushing::Flushing;
use boundary::ledgers::loads::LoadHistory;
use boundary::ledgers::mutations::Mutations;
use boundary::ledgers::part_log::PartLog;
use boundary::ledgers::processes::Processes;
use boundary::ledgers::refreshes::Refreshes;
use catalog::{Catalog, ExportState};
use cluster::Peers;
use datafusion::execution::SessionState;
use datafusion::execution::runtime_env::RuntimeEnv;
use host::{Host, Runtimes};
use mergetree::memtable::MemtableCache;
use mergetree::merge::running::Merges;
use model::{TableDef, TableId};
use parts::PartStore;
use physical::provider::masks::SharedMasks;
use shared::Sharing;
use sql::Settings;
use tokio_util::sync::CancellationToken;

use boundary::planners::Planners;
use tables::memory::MemoryTables;
use tables::stored::Tables;
use tables::temporary::{TemporaryTables, is_temporary};

/// See the module. Made by [`Database::open`](crate::Database::open).
pub(crate) struct Services {
    pub config: Config,
    pub host: Host,
    pub threads: usize,
    pub runtimes: Runtimes,
    pub catalog: Arc<Catalog>,
    pub store: PartStore,
    /// Of a root that others use, too.
    pub sharing: Option<Sharing>,
    /// How other servers are asked to work; set when the port for it is open.
    pub peers: OnceLock<Arc<Peers>>,
    pub tables: Tables,
    pub memory_tables: MemoryTables,
    /// Decoded rows of the log.
    pub memtables: Arc<MemtableCache>,
    pub masks: Arc<SharedMasks>,
    pub flushing: Flushing,
    pub processes: Processes,
    pub planners: Planners,
    /// When the process opened it.
    pub started_ms: u64,
    /// Of the machine, for `hostName()`.
    pub host_name: Arc<str>,
    pub loads: LoadHistory,
    pub exports: RunningExports,
    pub merges: Arc<Merges>,
    pub part_log: Arc<PartLog>,
    pub mutations: Mutations,
    pub expiries: Expiries,
    pub refreshes: Refreshes,
    /// Object store clients and inferred schemas, shared by all sessions.
    pub sources: SourceCaches,
    /// Caches and stores shared by every statement; each statement adds its own memory pool.
    pub runtime_env: Arc<RuntimeEnv>,
    /// Functions and planners; each statement adds its own settings and tables.
    pub base_state: SessionState,
    /// `base_state` with few functions: see [`crate::context::session_state::query_state`].
    pub bare_state: SessionState,
    pub closing: CancellationToken,
    /// Tells background work that there is something new.
    pub wake: Arc<tokio::sync::Notify>,
    /// Removed when the database closes.
    pub temporary: Option<PathBuf>,
    /// Of the folder of this process.
    pub _lock: Option<Box<dyn Send + Sync>>,
}

/// What reading files outside keeps between statements.
#[derive(Debug, Clone)]
pub(crate) struct SourceCaches {
    pub stores: Arc<stores::StoreCache>,
    pub schemas: Arc<sources::SchemaCache>,
    /// Credentials and region that the process was started with.
    pub environment: stores::S3Environment,
}

impl Services {
    /// Folder of the database.
    pub(crate) fn root(&self) -> &Path {
        self.catalog.root()
    }

    /// Whether background work on a table, or a partition of it, is this server's: of those that share a root one does it.
    pub(crate) fn is_mine(&self, table: TableId, partition: &str) -> bool {
        let Some(sharing) = &self.sharing else { return true };
        let mut name = table.as_bytes().to_vec();
        name.extend_from_slice(partition.as_bytes());
        sharing.duties().is_mine(&name)
    }

    /// Whether work on all of the root is this server's.
    pub(crate) fn is_root_mine(&self) -> bool {
        self.sharing.as_ref().is_none_or(|sharing| sharing.duties().is_mine(b"root"))
    }

    /// Takes in what others had committed at `since`, a moment of the monotonic clock; blocks.
    ///
    /// # Errors
    /// The store does not say, or the log is not what it should be.
    pub(crate) fn catch_up(&self, since: Duration, patience: Option<Duration>) -> Result<(), Error> {
        let Some(sharing) = &self.sharing else { return Ok(()) };
        if sharing.follow(&self.catalog, since, patience)? {
            self.has_followed();
        }
        Ok(())
    }

    /// Others have committed something.
    pub(crate) fn has_followed(&self) {
        self.flushing.recount(&self.catalog.snapshot());
        self.flushing.due().notify_waiters();
        self.wake.notify_waiters();
    }

    /// Whether an export that is not running here may be finished here: no other server is writing it.
    pub(crate) fn is_abandoned(&self, export: &ExportState) -> bool {
        let Some(sharing) = &self.sharing else { return true };
        // Files are on the machine that has what was written of them.
        let files = || export.objects.iter().filter(|object| object.store.is_files());
        let is_here = || files().all(|file| self.host.disk.exists(Path::new(&*file.upload)).unwrap_or(false));
        sharing.is_abandoned(export, self.now_ms()) && is_here()
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.host.clock.now_ms()
    }

    /// Streams per stage of a plan.
    pub(crate) fn threads_of(&self, settings: &Settings) -> usize {
        match usize::try_from(settings.get_u64("max_threads")).unwrap_or(0) {
            0 => self.threads,
            given => given,
        }
    }

    /// Streams of a plan: where other servers may take part at least two, so that an aggregation has a step before its last.
    pub(crate) fn streams_of(&self, settings: &Settings) -> usize {
        let least = if self.peers.get().is_some() { 2 } else { 1 };
        self.threads_of(settings).max(least)
    }

    /// Where the rows of a table with engine Memory are; `temporary` are those of the session that asks.
    pub(crate) fn memory_tables_of<'a>(
        &'a self,
        temporary: &'a TemporaryTables,
        def: &TableDef,
    ) -> &'a MemoryTables {
        if is_temporary(def) { &temporary.rows } else { &self.memory_tables }
    }

    /// Counts an error in `system.errors`, of a statement or of work that nobody waits for.
    pub(crate) fn note_error(&self, error: &Error, whose: &Whose<'_>) {
        self.processes.errors.note(self.now_ms(), error, whose);
    }
}
