//! What one statement runs with: its settings, snapshot, memory, counters.
//!
//! Invariant: one statement sees one snapshot, from planning to its last row.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use catalog::{Snapshot, TableState};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::SessionConfig;
use functions::call::{RandomStream, SessionValues};
use host::{Account, MemoryBudget};
use model::saturating::usize_of;
use model::{TableDef, TableEngine};
use parking_lot::Mutex;
use physical::provider::checked_file::PartChecks;
use sql::{SettingChange, Settings, TableName};

use crate::boundary::error::Error;
use crate::boundary::progress::QueryProgress;
use crate::context::services::Services;
use crate::ledgers::profile::StatementProfile;
use crate::memory::pool::BudgetPool;
use crate::secrets::redaction::Secrets;
use crate::tables::memory::MemoryTables;
use crate::tables::reserved::HERE;
use crate::tables::temporary::{TemporaryTables, is_temporary};

/// The catalog name all our databases appear under inside a plan; people never see it.
pub(crate) const CATALOG: &str = "gristmill";

/// Rows of a batch inside a plan when `max_block_size` is not set: DataFusion's operators are tuned for it.
const BATCH_ROWS: u64 = 8192;
/// Groups a row above which each thread's own table of groups only costs: rows go to the final tables at once.
const PARTIAL_GROUPS_MAX: f64 = 0.5;

pub(crate) struct StatementContext {
    pub database: Arc<Services>,
    pub settings: Arc<Settings>,
    pub current_database: String,
    pub user: Arc<str>,
    /// See [`Request`](crate::boundary::request::Request).
    pub sees_own_only: bool,
    /// Those of the session.
    pub temporary: Arc<TemporaryTables>,
    pub progress: Arc<QueryProgress>,
    pub memory: MemoryBudget,
    /// What it holds, as the allocator counts.
    pub account: Arc<Account>,
    pub snapshot: Snapshot,
    pub query_id: String,
    pub warnings: Arc<Mutex<Vec<String>>>,
    pub profile: Arc<StatementProfile>,
    /// EXPLAIN ANALYZE: everything is done but the commit.
    pub rolls_back: bool,
    /// The text without the rows of an INSERT: what is said about the statement must not repeat its credentials.
    pub logged: Arc<str>,
}

impl StatementContext {
    /// Whether what a statement of this user said may be shown to who asks.
    pub(crate) fn sees_statements_of(&self, user: &str) -> bool {
        !self.sees_own_only || user == self.user.as_ref()
    }

    pub(crate) fn warn(&self, warning: impl Into<String>) {
        self.warnings.lock().push(warning.into());
    }

    /// The credentials that the statement names: itself, by a table outside or by a collection.
    pub(crate) fn secrets(&self) -> Secrets {
        let (mut secrets, mut texts) = (Secrets::of(&self.logged), vec![self.logged.to_string()]);
        let brings = |engine: TableEngine| engine.is_external() || engine == TableEngine::View;
        let mut tables: Vec<_> =
            self.snapshot.all_tables().filter(|table| brings(table.def.engine)).collect();
        // A view names what brings more of them.
        while let Some(at) =
            tables.iter().position(|table| texts.iter().any(|text| text.contains(table.def.name.as_ref())))
        {
            let table = tables.swap_remove(at);
            let name = sql::engine_name(table.def.engine);
            let call = match table.def.engine {
                TableEngine::View => table.def.engine_arguments.text().to_owned(),
                _ => format!("{name}({})", table.def.engine_arguments.text()),
            };
            secrets = secrets.and(&Secrets::of(&call));
            texts.push(call);
        }
        let stored = self.snapshot.state().collections().iter();
        let stored = stored.map(|(name, entries)| (name.as_ref(), entries.as_ref()));
        let configured = self.database.config.named_collections.iter();
        let configured = configured.map(|(name, entries)| (name.as_str(), entries));
        let named = stored.chain(configured).filter(|(name, _)| texts.iter().any(|text| text.contains(name)));
        named.fold(secrets, |secrets, (_, entries)| secrets.with_collection(entries))
    }

    /// An error as it may be shown.
    pub(crate) fn without_secrets(&self, error: Error) -> Error {
        self.secrets().scrub_error(error)
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.database.host.clock.now_ms()
    }

    /// Streams per stage of a plan.
    pub(crate) fn threads(&self) -> usize {
        match usize::try_from(self.settings.get_u64("max_threads")).unwrap_or(0) {
            0 => self.database.threads,
            given => given,
        }
    }

    /// (database, table) with the current database filled in.
    pub(crate) fn resolve<'a>(&'a self, name: &'a TableName) -> (&'a str, &'a str) {
        (name.database.as_deref().unwrap_or(&self.current_database), &name.table)
    }

    /// The table a name means: without a database a temporary one before any other.
    pub(crate) fn table(&self, name: &TableName) -> Result<Arc<TableState>, Error> {
        match self.temporary_table(name) {
            Some(table) => Ok(table),
            None => self.stored_table(name),
        }
    }

    pub(crate) fn temporary_table(&self, name: &TableName) -> Option<Arc<TableState>> {
        if name.database.is_some() { None } else { self.temporary.table(&name.table) }
    }

    /// Where the rows of a table with engine Memory are.
    pub(crate) fn memory_tables(&self, def: &TableDef) -> &MemoryTables {
        if is_temporary(def) { &self.temporary.rows } else { &self.database.memory_tables }
    }

    /// The table of a database.
    pub(crate) fn stored_table(&self, name: &TableName) -> Result<Arc<TableState>, Error> {
        let (database, table) = self.resolve(name);
        let found = self.snapshot.database(database).ok_or_else(|| Error::unknown_database(database))?;
        self.snapshot.table(found.id, table).ok_or_else(|| Error::unknown_table(database, table))
    }

    /// Rows of a batch.
    pub(crate) fn batch_rows(&self) -> usize {
        let rows = match self.settings.is_changed("max_block_size") {
            true => self.settings.get_u64("max_block_size").max(1),
            false => BATCH_ROWS,
        };
        usize_of(rows)
    }

    /// A DataFusion session of this statement: its threads, its memory; no tables yet.
    pub(crate) fn session_state(&self) -> Result<SessionStateBuilder, Error> {
        self.state_of(self.database.base_state.clone())
    }

    /// [`StatementContext::session_state`] for a query that names no other functions: to enter more than a thousand into a
    /// session takes a third of the time of a short statement. What does not plan with it is to be planned with all.
    pub(crate) fn query_state(&self, functions: &BTreeSet<String>) -> Result<SessionStateBuilder, Error> {
        fn named<T>(functions: &BTreeSet<String>, all: &HashMap<String, Arc<T>>) -> Vec<Arc<T>> {
            functions.iter().filter_map(|name| all.get(name).cloned()).collect()
        }
        let all = &self.database.base_state;
        let mut builder = self.state_of(self.database.bare_state.clone())?;
        builder.scalar_functions().get_or_insert_default().extend(named(functions, all.scalar_functions()));
        builder
            .aggregate_functions()
            .get_or_insert_default()
            .extend(named(functions, all.aggregate_functions()));
        builder.window_functions().get_or_insert_default().extend(named(functions, all.window_functions()));
        Ok(builder)
    }

    fn state_of(&self, base: SessionState) -> Result<SessionStateBuilder, Error> {
        let schema = if self.temporary.is_empty() { self.current_database.as_str() } else { HERE };
        let mut config = SessionConfig::new()
            .with_target_partitions(self.threads().max(1))
            .with_batch_size(self.batch_rows())
            .with_default_catalog_and_schema(CATALOG, schema)
            .with_create_default_catalog_and_schema(false)
            .with_information_schema(false);
        let options = config.options_mut();
        options.sql_parser.enable_ident_normalization = false;
        // A step above the sort may need its order.
        options.sql_parser.enable_subquery_sort_elimination = false;
        // Each scan decides for itself whether its filter runs while it decodes.
        options.execution.parquet.pushdown_filters = false;
        options.execution.parquet.reorder_filters = true;
        options.execution.skip_partial_aggregation_probe_ratio_threshold = PARTIAL_GROUPS_MAX;
        let zone = self.time_zone();
        options.execution.time_zone = Some(zone.name().to_owned());
        let config = planner::with_session_values(config, self.session_values(zone));
        let rules = planner::QueryRules { join_use_nulls: self.settings.get_bool("join_use_nulls") };
        let config = planner::with_query_rules(config, rules);
        let (store, runtimes) = (self.database.store.clone(), self.database.runtimes.clone());
        let config = config.with_extension(Arc::new(PartChecks { store, runtimes }));
        let config = match self.database.store.unpacked() {
            Some(unpacked) if self.settings.get_bool("use_uncompressed_cache") => {
                config.with_extension(Arc::clone(unpacked))
            }
            _ => config,
        };
        let pool = BudgetPool::new(self.memory.clone(), Arc::clone(&self.account));
        let runtime = RuntimeEnvBuilder::from_runtime_env(&self.database.runtime_env)
            .with_memory_pool(Arc::new(pool))
            .build_arc()?;
        Ok(SessionStateBuilder::new_from_existing(base).with_config(config).with_runtime_env(runtime))
    }

    /// What an expression of this statement alone is compiled with.
    pub(crate) fn statement_state(&self) -> Result<SessionState, Error> {
        let mut state = self.session_state()?.build();
        // Expressions compiled by themselves see the options only of a state that has begun.
        state.mark_start_execution();
        Ok(state)
    }

    /// `session_timezone`, UTC unless set.
    fn time_zone(&self) -> chrono_tz::Tz {
        self.settings.get_text("session_timezone").parse().unwrap_or(chrono_tz::UTC)
    }

    /// What functions may ask about this statement.
    fn session_values(&self, time_zone: chrono_tz::Tz) -> SessionValues {
        let now_ns = i64::try_from(self.now_ms()).unwrap_or(0).saturating_mul(1_000_000);
        SessionValues {
            time_zone,
            now_ns,
            process_start_ns: i64::try_from(self.database.started_ms).unwrap_or(0).saturating_mul(1_000_000),
            user: Arc::clone(&self.user),
            host_name: Arc::clone(&self.database.host_name),
            database: self.current_database.as_str().into(),
            query_id: self.query_id.as_str().into(),
            random: Arc::new(RandomStream::new(host::random::u64(self.database.host.random.as_ref()))),
            ..SessionValues::default()
        }
    }
}

impl StatementContext {
    /// The same statement after it has changed something itself.
    pub(crate) fn at_newest_snapshot(&self) -> Arc<StatementContext> {
        Arc::new(StatementContext { snapshot: self.database.catalog.snapshot(), ..self.again() })
    }

    /// The same statement, which commits nothing.
    pub(crate) fn rolling_back(&self) -> Arc<StatementContext> {
        Arc::new(StatementContext { rolls_back: true, ..self.again() })
    }

    /// The same statement with more settings of its own.
    pub(crate) fn with_settings(&self, changes: &[SettingChange]) -> Result<Arc<StatementContext>, Error> {
        let mut settings = Arc::clone(&self.settings);
        Arc::make_mut(&mut settings).apply_all(changes)?.into_iter().for_each(|warning| self.warn(warning));
        Ok(Arc::new(StatementContext { settings, ..self.again() }))
    }

    /// The same statement under the settings, and in the database, it was first run with.
    pub(crate) fn as_first_run(&self, settings: Settings, database: &str) -> Arc<StatementContext> {
        Arc::new(StatementContext {
            settings: Arc::new(settings),
            current_database: database.to_owned(),
            ..self.again()
        })
    }

    fn again(&self) -> StatementContext {
        StatementContext {
            database: Arc::clone(&self.database),
            settings: Arc::clone(&self.settings),
            current_database: self.current_database.clone(),
            user: Arc::clone(&self.user),
            sees_own_only: self.sees_own_only,
            temporary: Arc::clone(&self.temporary),
            progress: Arc::clone(&self.progress),
            memory: self.memory.clone(),
            account: Arc::clone(&self.account),
            snapshot: self.snapshot.clone(),
            query_id: self.query_id.clone(),
            warnings: Arc::clone(&self.warnings),
            profile: Arc::clone(&self.profile),
            rolls_back: self.rolls_back,
            logged: Arc::clone(&self.logged),
        }
    }
}
