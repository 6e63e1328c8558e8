//! Opening and closing a database.
//!
//! Invariant: after `open` returns, everything acknowledged before is there, files that no record names are out of the
//! way, and background work runs; or something is missing and `open` says what. `close` waits a bounded time for what runs, and removes a temporary folder.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use boundary::config::Config;
use boundary::error::Error;
use boundary::found_at_open::OpenNotice;
use boundary::ledgers::expiries::Expiries;
use boundary::ledgers::exports::RunningExports;
use boundary::ledgers::flushing::Flushing;
use boundary::ledgers::loads::LoadHistory;
use boundary::ledgers::mutations::Mutations;
use boundary::ledgers::part_log::PartLog;
use boundary::ledgers::processes::Processes;
use boundary::ledgers::refreshes::Refreshes;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SessionState, SessionStateBuilder};
use host::{Host, Runtimes, Workers};
use mergetree::masks::MaskCache;
use mergetree::memtable::MemtableCache;
use mergetree::merge::running::Merges;
use parking_lot::Mutex;
use parts::UnpackedPages;
use physical::budget::tasks::follow_tasks;
use physical::nodes::steps::Planner;
use physical::provider::masks::SharedMasks;
use physical::provider::part_files::PART_STORE_URL;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::background::{following, loops};
use crate::context::database::Database;
use crate::context::services::{Services, SourceCaches};
use crate::export::journal;
use crate::mutate::ttl;
use crate::planning::stops::with_stops;
use crate::statement::forward::Forwarding;
use crate::statement::opened::{self, Opened};
use boundary::planners::Planners;
use sources::schema_file;
use tables::memory::MemoryTables;
use tables::stored::Tables;

/// Threads that only wait for the network.
const IO_THREADS: usize = 2;

/// Bytes of Parquet footers and page indexes kept in memory.
const METADATA_CACHE_BYTES: usize = 256 << 20;

/// Pages without compression may take one in so many parts of the memory, unless the configuration says otherwise.
const UNCOMPRESSED_CACHE_SHARE: u64 = 5;

/// How long `close` waits for running work.
const CLOSE_PATIENCE: Duration = Duration::from_secs(20);
const CLOSE_POLL: Duration = Duration::from_millis(5);

/// Decoded rows of the log may take one part in so many of the memory.
const MEMTABLE_SHARE: u64 = 8;

/// Masks of FINAL may take one part in so many of the memory.
const MASKS_SHARE: u64 = 32;

impl Database {
    /// Opens the folder of `config`, or a temporary one. Blocks while the log is replayed.
    pub fn open(config: Config) -> Result<Arc<Database>, Error> {
        let memory = config.memory_bytes_max.unwrap_or_else(|| host::process::total_memory_bytes() / 5 * 4);
        let mut machine = Host::system(memory)?;
        follow_tasks();
        let threads = config.threads.unwrap_or_else(host::process::cpu_count).max(1);
        let runtimes = Runtimes::new(threads, IO_THREADS)?;
        machine.workers = Workers::of(&runtimes, threads);
        let (root, temporary) = root_folder(&config, &machine)?;
        let opened = opened::open(&config, machine, &runtimes, &root)?;
        let Opened { host, catalog, store, files, notices, sharing, lock } = opened;
        let store = store.with_unpacked(unpacked(&config, &host));
        // It ends with the catalog; nobody waits for it.
        let _ended = runtimes.spawn_thread("commit", catalog.committer())?;
        let runtime_env =
            RuntimeEnvBuilder::new().with_metadata_cache_limit(METADATA_CACHE_BYTES).build_arc()?;
        let parts_url = Url::parse(PART_STORE_URL).map_err(|e| Error::internal(e.to_string()))?;
        runtime_env.register_object_store(&parts_url, files);
        let builder =
            planner::configure(SessionStateBuilder::new().with_runtime_env(Arc::clone(&runtime_env)));
        let builder = physical::rules::configure(builder);
        let base_state = with_stops(builder.with_query_planner(Arc::new(Planner)).build());
        let bare_state = bare(&base_state);
        let share = |scope, part: u64| host.memory.child_named(scope, memory / part);
        let services = Arc::new(Services {
            threads,
            tables: Tables::new(Arc::clone(&catalog), store.clone(), host.clone(), base_state.clone()),
            memory_tables: MemoryTables::new(host.memory.clone()),
            memtables: Arc::new(MemtableCache::new(share("memtable", MEMTABLE_SHARE))),
            masks: Arc::new(SharedMasks::new(MaskCache::new(share("masks", MASKS_SHARE)), threads)),
            flushing: Flushing::new(memory),
            processes: Processes::default(),
            planners: Planners::new(threads),
            started_ms: host.clock.now_ms(),
            host_name: host::process::host_name().into(),
            loads: LoadHistory::default(),
            exports: RunningExports::default(),
            merges: Arc::new(Merges::default()),
            part_log: Arc::new(PartLog::default()),
            mutations: Mutations::default(),
            expiries: Expiries::default(),
            refreshes: Refreshes::default(),
            sources: SourceCaches {
                stores: Arc::new(stores::StoreCache::with_hosts(
                    runtimes.clone(),
                    stores::HostFilter::new(config.allowed_hosts.clone(), config.faces_users)?,
                )),
                schemas: Arc::new(sources::SchemaCache::default()),
                environment: stores::S3Environment::of_machine(),
            },
            closing: CancellationToken::new(),
            wake: Arc::default(),
            runtimes,
            config,
            host,
            catalog,
            store,
            sharing,
            peers: OnceLock::new(),
            runtime_env,
            base_state,
            bare_state,
            temporary,
            _lock: lock,
        });
        let database = Database { services, background: Mutex::default(), notices };
        database.begin();
        Ok(Arc::new(database))
    }

    /// What was left is finished, and what runs in the background begins.
    fn begin(&self) {
        self.note_notices();
        let services = &self.services;
        journal::finish_leftovers(services);
        schema_file::restore(services.host.disk.as_ref(), services.root(), &services.sources.schemas);
        if services.sharing.is_some() {
            services.catalog.ask_elsewhere(Box::new(Forwarding::new(services)));
        }
        let mut running = following::start(services);
        if services.config.background {
            running.extend(loops::start(services, ttl::round));
        }
        *self.background.lock() = running;
    }

    fn note_notices(&self) {
        for notice in &self.notices {
            if let Some(code) = notice.code {
                self.note(code, notice.text.clone());
            }
        }
    }

    /// Folder of the database; a temporary one when `Config::root` was not given.
    pub fn root(&self) -> &Path {
        self.services.root()
    }

    /// What opening came across that did not keep it from opening.
    pub fn notices(&self) -> &[OpenNotice] {
        &self.notices
    }

    /// Stops background work and, for a temporary database, removes its folder.
    pub async fn close(self: Arc<Self>) {
        let services = &self.services;
        services.closing.cancel();
        for process in services.processes.running() {
            process.progress.cancel();
        }
        services.merges.close();
        let running = std::mem::take(&mut *self.background.lock());
        for task in running {
            let _ = tokio::time::timeout(CLOSE_PATIENCE, task).await;
        }
        // Sinks stop at their next batch; until then they hold the log.
        let works = |name: &String| matches!(name.as_str(), "statement" | "sink" | "optimize" | "export");
        let ended = async {
            while services.runtimes.running().iter().any(works) {
                tokio::time::sleep(CLOSE_POLL).await;
            }
        };
        let _ = tokio::time::timeout(CLOSE_PATIENCE, ended).await;
        if services.sharing.is_some() {
            let leaving = Arc::clone(services);
            let left = services.runtimes.spawn_blocking("leave", move || {
                // The others find out.
                let _ = leaving.sharing.as_ref().map(|sharing| sharing.member.leave());
            });
            let _ = tokio::time::timeout(CLOSE_PATIENCE, left).await;
        }
        if services.temporary.is_none() {
            // Without it the next open takes a damaged end for a torn one; nothing else depends on it.
            let _pinned = services.catalog.pin();
            schema_file::save(services.host.disk.as_ref(), services.root(), &services.sources.schemas);
        }
        if let Some(folder) = &services.temporary {
            let _ = services.host.disk.remove_dir_all(folder);
        }
    }
}

/// Pages that are kept without compression.
fn unpacked(config: &Config, host: &Host) -> Arc<UnpackedPages> {
    let share = host.memory.limit() / UNCOMPRESSED_CACHE_SHARE;
    UnpackedPages::new(host.memory.clone(), config.uncompressed_cache_bytes.unwrap_or(share))
}

/// The session without the functions that queries name; what rewrites and rules ask for stays.
fn bare(base: &SessionState) -> SessionState {
    let own = base.scalar_functions().values().filter(|function| function.name().starts_with('_'));
    let asked_by_rules = base.aggregate_functions().get("first_value");
    SessionStateBuilder::new_from_existing(base.clone())
        .with_scalar_functions(own.cloned().collect())
        .with_aggregate_functions(asked_by_rules.into_iter().cloned().collect())
        .with_window_functions(Vec::new())
        .build()
}

fn root_folder(config: &Config, host: &Host) -> Result<(PathBuf, Option<PathBuf>), Error> {
    if let Some(root) = &config.root {
        let absolute = std::path::absolute(root)?;
        return Ok((absolute, None));
    }
    let unique = host::random::u64(host.random.as_ref());
    let folder = std::env::temp_dir().join(format!("gristmill-{unique:016x}"));
    Ok((folder.clone(), Some(folder)))
}
