//! One run of a statement: its settings, snapshot, memory, counters, and who asked for it.
//!
//! Invariant: one statement sees one snapshot, from planning to its last row. It holds nothing that all statements
//! share: that is `Services`, and whoever needs both is given both.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow::array::RecordBatch;
use boundary::config::Config;
use boundary::error::{Error, ErrorKind};
use boundary::once::names::Once;
use boundary::progress::QueryProgress;
use boundary::request::DEFAULT_USER;
use boundary::secrets::redaction::Secrets;
use catalog::{Catalog, Precondition, Snapshot, TableState};
use cluster::Coordinator;
use host::{Account, MemoryBudget};
use model::saturating::usize_of;
use model::{ErrorCode, TableDef, TableEngine};
use parking_lot::Mutex;
use physical::profile::{Keep, StatementProfile};
use sql::{SettingChange, Settings, TableName};

use crate::context::services::Services;
use tables::temporary::TemporaryTables;

/// More is not asked for, whatever `max_block_size` allows: operators allocate whole batches ahead of their rows.
const BATCH_ROWS_MAX: u64 = 1 << 20;

/// Rows of a batch inside a plan when `max_block_size` is not set: DataFusion's operators are tuned for it.
const BATCH_ROWS: u64 = 8192;

/// Dictionaries that are read for others.
const DICTIONARIES_MAX: usize = 16;

/// See the module. Not called a statement: that is `sql::Statement`, what the text says; this is what runs it.
pub(crate) struct Execution {
    pub settings: Arc<Settings>,
    pub current_database: String,
    pub user: Arc<str>,
    /// See [`Request`](boundary::request::Request).
    pub sees_own_only: bool,
    /// Those of the session.
    pub temporary: Arc<TemporaryTables>,
    /// When it began, milliseconds since 1970 UTC: what `now()` is, wherever it runs.
    pub now_ms: u64,
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
    /// It is run again if what it was decided on has changed: it may say so before it commits.
    pub repeats: bool,
    /// What of a table is being written anew, for whoever reads it under a name of its own.
    pub rewritten: Option<Rewritten>,
    /// The load of another server that it helps with.
    pub helping: Option<Arc<Helping>>,
    /// It is a query by itself: whoever has its text can make its plan.
    pub is_query: bool,
    /// The dictionaries whose rows are read for others, outermost first.
    pub dictionaries: Vec<String>,
    /// The text without the rows of an INSERT: what is said about the statement must not repeat its credentials.
    pub logged: Arc<str>,
}

/// A load of another server.
pub(crate) struct Helping {
    pub once: Once,
    pub coordinator: Arc<Coordinator>,
    /// So many servers work on it.
    pub servers: usize,
    /// It was planned, and reads.
    pub reads: AtomicBool,
}

/// What is being written anew.
#[derive(Clone)]
pub(crate) enum Rewritten {
    /// A table as if it held one part alone, and whether its rows have their numbers.
    Part { state: Arc<TableState>, is_numbered: bool },
    /// The rows of a Memory table, with their numbers.
    Rows { def: Arc<TableDef>, rows: Arc<Vec<RecordBatch>> },
    /// A new table gets its first rows: no view sees them.
    Filling,
    /// Rows on their way into a table, which a materialized view sees instead of it.
    Block { def: Arc<TableDef>, rows: Arc<Vec<RecordBatch>> },
}

/// What another server says of a statement of its own.
pub(crate) struct Whence {
    pub user: Arc<str>,
    pub query_id: String,
    pub logged: Arc<str>,
    pub database: String,
    pub now_ms: u64,
    pub helping: Option<Helping>,
}

impl Execution {
    /// Whether what a statement of this user said may be shown to who asks.
    pub(crate) fn sees_statements_of(&self, user: &str) -> bool {
        !self.sees_own_only || user == self.user.as_ref()
    }

    pub(crate) fn warn(&self, warning: impl Into<String>) {
        self.warnings.lock().push(warning.into());
    }

    /// The credentials that the statement names: itself, by a table outside or by a collection.
    pub(crate) fn secrets(&self, config: &Config) -> Secrets {
        let (mut secrets, mut texts) = (Secrets::of(&self.logged), vec![self.logged.to_string()]);
        use TableEngine::{Dictionary, MaterializedView, View};
        let brings = |engine: TableEngine| {
            engine.is_external() || matches!(engine, View | MaterializedView | Dictionary)
        };
        let mut tables: Vec<_> =
            self.snapshot.all_tables().filter(|table| brings(table.def.engine)).collect();
        // A view names what brings more of them.
        while let Some(at) =
            tables.iter().position(|table| texts.iter().any(|text| text.contains(table.def.name.as_ref())))
        {
            let table = tables.swap_remove(at);
            let name = table.def.engine.name();
            let call = match table.def.engine {
                View | MaterializedView | Dictionary => table.def.engine_arguments.text().to_owned(),
                _ => format!("{name}({})", table.def.engine_arguments.text()),
            };
            secrets = secrets.and(&Secrets::of(&call));
            texts.push(call);
        }
        let stored = self.snapshot.state().collections().iter();
        let stored = stored.map(|(name, entries)| (name.as_ref(), entries.as_ref()));
        let configured = config.named_collections.iter();
        let configured = configured.map(|(name, entries)| (name.as_str(), entries));
        let named = stored.chain(configured).filter(|(name, _)| texts.iter().any(|text| text.contains(name)));
        named.fold(secrets, |secrets, (_, entries)| secrets.with_collection(entries))
    }

    /// An error as it may be shown.
    pub(crate) fn without_secrets(&self, config: &Config, error: Error) -> Error {
        self.secrets(config).scrub_error(error)
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

    /// The table of a database.
    pub(crate) fn stored_table(&self, name: &TableName) -> Result<Arc<TableState>, Error> {
        let (database, table) = self.resolve(name);
        let found = self.snapshot.database(database).ok_or_else(|| Error::unknown_database(database))?;
        self.snapshot.table(found.id, table).ok_or_else(|| Error::unknown_table(database, table))
    }

    /// What a function that a statement made says.
    pub(crate) fn lambda(&self, name: &str) -> Option<Arc<str>> {
        self.snapshot.state().functions().get(name).cloned()
    }

    /// Whether a statement has to be searched for calls of such functions.
    pub(crate) fn has_functions(&self) -> bool {
        !self.snapshot.state().functions().is_empty()
    }

    /// Rows of a batch.
    pub(crate) fn batch_rows(&self) -> usize {
        let rows = match self.settings.is_changed("max_block_size") {
            true => self.settings.get_u64("max_block_size").clamp(1, BATCH_ROWS_MAX),
            false => BATCH_ROWS,
        };
        usize_of(rows)
    }
}

impl Execution {
    /// Work that no statement asks for, under the settings of the server.
    pub(crate) fn of_server(services: &Services, snapshot: Snapshot) -> Arc<Execution> {
        let (host, settings) = (&services.host, Settings::session());
        let query_id =
            model::TxnId::from_random_bytes(host::random::uuid_bytes(host.random.as_ref())).to_string();
        let profile =
            StatementProfile::new(&host.clock, query_id.clone(), host.clock.monotonic(), Keep::Never);
        Arc::new(Execution {
            settings: Arc::new(settings),
            current_database: String::new(),
            user: DEFAULT_USER.into(),
            sees_own_only: false,
            temporary: Arc::new(TemporaryTables::new(host.memory.clone())),
            now_ms: services.now_ms(),
            progress: Arc::default(),
            memory: host.memory.child_named("background", host.memory.limit()),
            account: Account::open(host.memory.limit(), &host.memory),
            snapshot,
            query_id,
            warnings: Arc::default(),
            profile: Arc::new(profile),
            rolls_back: false,
            repeats: false,
            rewritten: None,
            helping: None,
            is_query: false,
            dictionaries: Vec::new(),
            logged: "".into(),
        })
    }

    /// A run of a view that is refreshed. What it says it may not show the credentials that the view names.
    pub(crate) fn of_view(services: &Services, snapshot: Snapshot, view: &TableDef) -> Arc<Execution> {
        let server = Execution::of_server(services, snapshot);
        let database =
            server.snapshot.database_by_id(view.database).map(|database| database.name.to_string());
        Arc::new(Execution {
            current_database: database.unwrap_or_default(),
            logged: Arc::clone(&view.name),
            rewritten: Some(Rewritten::Filling),
            ..server.again()
        })
    }

    /// A statement of another server that shares the root, which helps it from here.
    pub(crate) fn of_peer(
        services: &Services,
        snapshot: Snapshot,
        settings: Settings,
        whence: Whence,
    ) -> Arc<Execution> {
        let host = &services.host;
        let limit = match settings.get_u64("max_memory_usage") {
            0 => host.memory.limit(),
            limit => limit,
        };
        let Whence { user, query_id, logged, database, now_ms, helping } = whence;
        let keep = Keep::Never;
        let profile = StatementProfile::new(&host.clock, query_id.clone(), host.clock.monotonic(), keep);
        let server = Execution::of_server(services, snapshot);
        Arc::new(Execution {
            settings: Arc::new(settings),
            current_database: database,
            user,
            query_id,
            now_ms,
            helping: helping.map(Arc::new),
            memory: host.memory.child_named("query", limit),
            account: Account::open(limit, &host.memory),
            profile: Arc::new(profile),
            logged,
            ..server.again()
        })
    }

    /// The same statement after it has changed something itself.
    pub(crate) fn at_newest_snapshot(&self, catalog: &Catalog) -> Arc<Execution> {
        Arc::new(Execution { snapshot: catalog.snapshot(), ..self.again() })
    }

    /// The same statement, of which whoever runs it runs it again when it hears [`ErrorKind::Conflict`](boundary::error::ErrorKind).
    pub(crate) fn repeating(&self, repeats: bool) -> Arc<Execution> {
        Arc::new(Execution { repeats, ..self.again() })
    }

    /// What a commit of rows demands of the definitions it was decided on.
    pub(crate) fn kept(&self) -> impl Iterator<Item = Precondition> {
        self.repeats.then_some(Precondition::DefinitionsKept).into_iter()
    }

    /// The same statement, which commits nothing.
    pub(crate) fn rolling_back(&self) -> Arc<Execution> {
        Arc::new(Execution { rolls_back: true, ..self.again() })
    }

    /// The same statement with more settings of its own.
    pub(crate) fn with_settings(&self, changes: &[SettingChange]) -> Result<Arc<Execution>, Error> {
        let mut settings = Arc::clone(&self.settings);
        Arc::make_mut(&mut settings).apply_all(changes)?.into_iter().for_each(|warning| self.warn(warning));
        Ok(Arc::new(Execution { settings, ..self.again() }))
    }

    /// The same statement under the settings, and in the database, it was first run with.
    pub(crate) fn as_first_run(&self, settings: Settings, database: &str) -> Arc<Execution> {
        Arc::new(Execution {
            settings: Arc::new(settings),
            current_database: database.to_owned(),
            ..self.again()
        })
    }

    /// The same statement while it reads one part that it writes anew.
    pub(crate) fn rewriting(&self, rewritten: Rewritten) -> Arc<Execution> {
        Arc::new(Execution { rewritten: Some(rewritten), ..self.again() })
    }

    /// The same statement while it reads a dictionary for what asks it.
    pub(crate) fn inside_dictionary(&self, name: &str) -> Result<Arc<Execution>, Error> {
        let mut dictionaries = self.dictionaries.clone();
        if dictionaries.iter().any(|known| known == name) || dictionaries.len() >= DICTIONARIES_MAX {
            let message =
                format!("dictionary {name} reads from itself, or is nested deeper than {DICTIONARIES_MAX}");
            return Err(Error::new(ErrorKind::BadInput, ErrorCode::INFINITE_LOOP, message));
        }
        dictionaries.push(name.to_owned());
        Ok(Arc::new(Execution { dictionaries, ..self.again() }))
    }

    fn again(&self) -> Execution {
        Execution {
            settings: Arc::clone(&self.settings),
            current_database: self.current_database.clone(),
            user: Arc::clone(&self.user),
            sees_own_only: self.sees_own_only,
            temporary: Arc::clone(&self.temporary),
            now_ms: self.now_ms,
            progress: Arc::clone(&self.progress),
            memory: self.memory.clone(),
            account: Arc::clone(&self.account),
            snapshot: self.snapshot.clone(),
            query_id: self.query_id.clone(),
            warnings: Arc::clone(&self.warnings),
            profile: Arc::clone(&self.profile),
            rolls_back: self.rolls_back,
            repeats: self.repeats,
            rewritten: self.rewritten.clone(),
            helping: self.helping.clone(),
            is_query: self.is_query,
            dictionaries: self.dictionaries.clone(),
            logged: Arc::clone(&self.logged),
        }
    }
}
