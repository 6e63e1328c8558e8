//! A statement's databases and tables as DataFusion looks names up.
//!
//! Invariant: every name resolves against the one snapshot of the statement. Looking a name up does no I/O: sources
//! were resolved before planning and stand in a schema of their own.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use async_trait::async_trait;
use boundary::error::{Error, into_datafusion};
use catalog::TableState;
use datafusion::catalog::{CatalogProvider, CatalogProviderList, SchemaProvider, TableProvider};
use datafusion::common::Result;
use datafusion::datasource::MemTable;
use model::{ColumnDef, ColumnType, DefaultKind, TableDef, TableEngine};
use parts::evolve::evolve;
use physical::nodes::numbered_part::{NumberedPart, PART_OFFSET};
use physical::provider::final_table::{FinalRead, FinalTable};
use physical::provider::part_columns::{PartColumn, PartColumns};
use physical::provider::table::{MergeTreeTable, OlderRows};
use sql::TableName;

use crate::context::execution::{Execution, Rewritten};
use crate::context::services::Services;
use crate::context::session_state::{CATALOG, statement_state};
use crate::resolve::system;
use tables::alias_columns::{has_alias, with_aliases};
use tables::finals::SUFFIX;
use tables::joined;
use tables::reserved::{HERE, INFORMATION_SCHEMA, REWRITTEN, SYSTEM, is_derived};

/// Sources of one statement: placeholder name to table. They stand in this schema.
pub(crate) const CALLS: &str = sql::PLACEHOLDER_DATABASE;

/// Tables that stand for the table-function calls of one statement.
pub(crate) type Calls = HashMap<String, Arc<dyn TableProvider>>;

/// What a statement names.
pub(crate) struct Named {
    pub calls: Calls,
    /// All that may be columns.
    pub columns: BTreeSet<String>,
}

pub(crate) struct StatementCatalog {
    services: Arc<Services>,
    execution: Arc<Execution>,
    named: Arc<Named>,
}

impl StatementCatalog {
    pub(crate) fn new(services: Arc<Services>, execution: Arc<Execution>, named: Named) -> StatementCatalog {
        StatementCatalog { services, execution, named: Arc::new(named) }
    }
}

impl fmt::Debug for StatementCatalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StatementCatalog({} calls)", self.named.calls.len())
    }
}

impl CatalogProviderList for StatementCatalog {
    fn register_catalog(
        &self,
        _name: String,
        _catalog: Arc<dyn CatalogProvider>,
    ) -> Option<Arc<dyn CatalogProvider>> {
        None
    }

    fn catalog_names(&self) -> Vec<String> {
        vec![CATALOG.to_owned()]
    }

    fn catalog(&self, name: &str) -> Option<Arc<dyn CatalogProvider>> {
        let databases = Databases {
            services: Arc::clone(&self.services),
            execution: Arc::clone(&self.execution),
            named: Arc::clone(&self.named),
        };
        (name == CATALOG).then(|| Arc::new(databases) as Arc<dyn CatalogProvider>)
    }
}

struct Databases {
    services: Arc<Services>,
    execution: Arc<Execution>,
    named: Arc<Named>,
}

impl fmt::Debug for Databases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Databases")
    }
}

impl CatalogProvider for Databases {
    fn schema_names(&self) -> Vec<String> {
        self.execution.snapshot.databases().map(|database| database.name.to_string()).collect()
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        let known = name == CALLS
            || name == HERE
            || is_derived(name)
            || self.execution.snapshot.database(name).is_some();
        let database = if name == HERE { &self.execution.current_database } else { name };
        let tables = DatabaseTables {
            database: database.to_owned(),
            is_here: name == HERE,
            services: Arc::clone(&self.services),
            execution: Arc::clone(&self.execution),
            named: Arc::clone(&self.named),
        };
        known.then(|| Arc::new(tables) as Arc<dyn SchemaProvider>)
    }
}

struct DatabaseTables {
    database: String,
    /// Names without a database are looked up here: temporary tables come first.
    is_here: bool,
    services: Arc<Services>,
    execution: Arc<Execution>,
    named: Arc<Named>,
}

impl fmt::Debug for DatabaseTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseTables({})", self.database)
    }
}

impl DatabaseTables {
    fn temporary(&self, name: &str) -> Option<Arc<TableState>> {
        if self.is_here { self.execution.temporary.table(name) } else { None }
    }

    /// The rows that a materialized view sees instead of the table.
    fn block_of(&self, state: &TableState) -> Option<Result<Arc<dyn TableProvider>>> {
        match &self.execution.rewritten {
            Some(Rewritten::Block { def, rows }) if def.id == state.def.id => {
                Some(block(&self.services, &self.execution, def, rows))
            }
            _ => None,
        }
    }

    /// What is asked of the table's parts.
    fn part_columns(&self, state: &TableState) -> Result<Option<Arc<PartColumns>>> {
        let asked = PartColumn::asked(&state.def, &self.named.columns);
        if asked.is_empty() {
            return Ok(None);
        }
        let (table, _) = self.services.tables.handle(&state.def).map_err(into_datafusion)?;
        Ok(Some(Arc::new(PartColumns::new(table, &self.database, asked))))
    }

    fn state(&self, name: &str) -> Option<Arc<TableState>> {
        let database = self.execution.snapshot.database(&self.database)?;
        self.execution.snapshot.table(database.id, name)
    }
}

#[async_trait]
impl SchemaProvider for DatabaseTables {
    fn table_names(&self) -> Vec<String> {
        let Some(database) = self.execution.snapshot.database(&self.database) else { return Vec::new() };
        self.execution.snapshot.tables(database.id).map(|table| table.def.name.to_string()).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if self.database == CALLS && name == REWRITTEN {
            let found = self.execution.rewritten.as_ref();
            return found.map(|part| rewritten(&self.services, &self.execution, part)).transpose();
        }
        if self.database == CALLS {
            return Ok(self.named.calls.get(name).cloned());
        }
        if let Some(table) = self.temporary(name) {
            return provider_of(&self.services, &self.execution, table, None).map(Some);
        }
        if self.database == SYSTEM {
            return system::table(name, &self.services, &self.execution).map_err(into_datafusion);
        }
        if INFORMATION_SCHEMA.contains(&self.database.as_str()) {
            return system::schema_table(name, &self.services, &self.execution).map_err(into_datafusion);
        }
        let Some(state) = self.state(name) else {
            let merged = name.strip_suffix(SUFFIX).and_then(|name| self.state(name));
            let Some(state) = merged else { return Ok(None) };
            // FINAL of a block is the block.
            return match self.block_of(&state) {
                Some(block) => block.map(Some),
                None => {
                    let columns = self.part_columns(&state)?;
                    final_of(&self.services, &self.execution, state, columns).map(Some)
                }
            };
        };
        if let Some(block) = self.block_of(&state) {
            return block.map(Some);
        }
        if state.def.engine.is_external() {
            let found = self.named.calls.get(&external_name(&state.def)).cloned();
            return found.map(Some).ok_or_else(|| into_datafusion(not_listed(&self.database, name)));
        }
        let columns = self.part_columns(&state)?;
        provider_of(&self.services, &self.execution, state, columns).map(Some)
    }

    fn table_exist(&self, name: &str) -> bool {
        match self.database.as_str() {
            _ if self.temporary(name).is_some() => true,
            CALLS if name == REWRITTEN => self.execution.rewritten.is_some(),
            CALLS => self.named.calls.contains_key(name),
            database if is_derived(database) => system::has_table(database, name),
            _ => self.state(name.strip_suffix(SUFFIX).unwrap_or(name)).is_some(),
        }
    }
}

/// The name under which the files of a table outside stand among the calls.
pub(crate) fn external_name(def: &TableDef) -> String {
    format!("table_{}", def.id)
}

/// Only a WITH item of the same name keeps a table outside from being listed.
fn not_listed(database: &str, name: &str) -> Error {
    Error::unsupported(format!("table \"{name}\" beside a WITH item of its name"))
        .with_hint(format!("write {database}.{name}, or rename the WITH item"))
}

/// How rows written before the last ALTER are read.
fn older_rows(
    services: &Services,
    execution: &Execution,
    def: &Arc<TableDef>,
) -> std::result::Result<OlderRows, Error> {
    if def.schema_version == 1 {
        return Ok(OlderRows { evolution: Arc::default(), is_lasting: true });
    }
    let (evolution, is_lasting) = services.tables.evolution(def, &|| statement_state(services, execution))?;
    Ok(OlderRows { evolution, is_lasting })
}

/// How a table with rows of its own is read.
pub(crate) fn provider_of(
    services: &Services,
    execution: &Execution,
    table: Arc<TableState>,
    columns: Option<Arc<PartColumns>>,
) -> Result<Arc<dyn TableProvider>> {
    let def = read_as(&table.def, columns.as_deref());
    let stored = provider_of_stored(services, execution, table, columns)?;
    aliased(services, execution, &def, joined::read(&def, stored).map_err(into_datafusion)?)
}

/// The definition with the columns of parts behind its own.
fn read_as(def: &Arc<TableDef>, columns: Option<&PartColumns>) -> Arc<TableDef> {
    columns.map_or_else(|| Arc::clone(def), |columns| Arc::new(columns.defined()))
}

/// Rows with their ALIAS columns.
fn aliased(
    services: &Services,
    execution: &Execution,
    def: &TableDef,
    rows: Arc<dyn TableProvider>,
) -> Result<Arc<dyn TableProvider>> {
    if !has_alias(def) {
        return Ok(rows);
    }
    with_aliases(&statement_state(services, execution).map_err(into_datafusion)?, def, rows)
}

/// A table with rows of equal key made one.
fn final_of(
    services: &Services,
    execution: &Execution,
    state: Arc<TableState>,
    columns: Option<Arc<PartColumns>>,
) -> Result<Arc<dyn TableProvider>> {
    let def = read_as(&state.def, columns.as_deref());
    let older = older_rows(services, execution, &state.def).map_err(into_datafusion)?;
    let (table, _) = services.tables.handle(&state.def).map_err(into_datafusion)?;
    let splits_partitions = execution.settings.get_bool("do_not_merge_across_partitions_select_final");
    let stored = MergeTreeTable::new(state, execution.snapshot.seq(), Arc::clone(&services.memtables), older);
    let stored = stored.with_part_columns(columns);
    let masks = execution.settings.get_bool("final_masks").then(|| Arc::clone(&services.masks));
    let stored = Arc::new(FinalTable::new(stored, FinalRead { table, splits_partitions, masks }));
    aliased(services, execution, &def, stored)
}

/// Rows on their way into a table as if they were all of it.
fn block(
    services: &Services,
    execution: &Execution,
    def: &TableDef,
    rows: &[RecordBatch],
) -> Result<Arc<dyn TableProvider>> {
    let rows: Arc<dyn TableProvider> = Arc::new(MemTable::try_new(def.arrow_schema(), vec![rows.to_vec()])?);
    aliased(services, execution, def, rows)
}

/// What is written anew, with its ALIAS columns, and the numbers of its rows if they are asked for.
fn rewritten(services: &Services, execution: &Execution, of: &Rewritten) -> Result<Arc<dyn TableProvider>> {
    let (def, stored) = match of {
        Rewritten::Part { state, is_numbered: false } => {
            // All rows that are stored, also of a table that shows fewer.
            let stored = provider_of_stored(services, execution, Arc::clone(state), None)?;
            return aliased(services, execution, &state.def, stored);
        }
        Rewritten::Part { state, .. } => {
            (&state.def, provider_of_stored(services, execution, Arc::clone(state), None)?)
        }
        Rewritten::Filling => return Err(into_datafusion(Error::internal("a new table is not read"))),
        Rewritten::Rows { def, rows } | Rewritten::Block { def, rows } => {
            let rows = MemTable::try_new(def.arrow_schema(), vec![rows.as_ref().clone()])?;
            (def, Arc::new(rows) as Arc<dyn TableProvider>)
        }
    };
    let numbered: Arc<dyn TableProvider> = Arc::new(NumberedPart::new(stored));
    if !has_alias(def) {
        return Ok(numbered);
    }
    let mut numbered_def = def.as_ref().clone();
    numbered_def.columns.push(ColumnDef::plain(u32::MAX, PART_OFFSET, ColumnType::UInt64));
    let state = statement_state(services, execution).map_err(into_datafusion)?;
    with_aliases(&state, &numbered_def, numbered)
}

/// What an engine stores.
fn provider_of_stored(
    services: &Services,
    execution: &Execution,
    state: Arc<TableState>,
    columns: Option<Arc<PartColumns>>,
) -> Result<Arc<dyn TableProvider>> {
    match state.def.engine {
        engine if engine.keeps_parts() => {
            let memtables = Arc::clone(&services.memtables);
            let older = older_rows(services, execution, &state.def).map_err(into_datafusion)?;
            let table = MergeTreeTable::new(state, execution.snapshot.seq(), memtables, older);
            Ok(Arc::new(table.with_part_columns(columns)))
        }
        TableEngine::Memory => {
            let rows = services.memory_tables_of(&execution.temporary, &state.def).batches(state.def.id);
            let schema = state.def.arrow_schema();
            let older = older_rows(services, execution, &state.def).map_err(into_datafusion)?;
            let rows = rows.iter().map(|rows| evolve(rows, &schema, &older.evolution));
            let rows = rows.collect::<std::result::Result<Vec<_>, _>>()?;
            Ok(Arc::new(MemTable::try_new(schema, vec![rows])?))
        }
        engine if engine.is_query() => {
            Err(into_datafusion(Error::unsupported(format!("view \"{}\" in this place", state.def.name))))
        }
        // A table outside was found among the calls.
        _ => Ok(Arc::new(MemTable::try_new(state.def.arrow_schema(), vec![vec![]])?)),
    }
}

/// MATERIALIZED and ALIAS columns, and those of parts, are read by name only.
pub(crate) fn hidden_columns(
    execution: &Execution,
    (database, table): (Option<&str>, &str),
    named: &BTreeSet<String>,
) -> Vec<String> {
    let Ok(state) = execution.table(&TableName::new(database, table)) else { return Vec::new() };
    use DefaultKind::{Alias, Materialized};
    let shows = execution.settings.get_bool("asterisk_include_materialized_columns");
    let hidden = |column: &&ColumnDef| match column.default {
        Some((Materialized, _)) => !shows,
        Some((Alias, _)) => true,
        _ => false,
    };
    let own = state.def.columns.iter().filter(hidden).map(|column| column.name.to_string());
    own.chain(PartColumn::asked(&state.def, named).iter().map(|column| column.name().to_owned())).collect()
}

/// All columns of a table.
pub(crate) fn column_names(
    execution: &Execution,
    database: &str,
    table: &str,
) -> std::result::Result<Vec<String>, Error> {
    if system::has_table(database, table) {
        return Ok(system::columns_in(database, table).into_iter().map(|(name, _)| name).collect());
    }
    let state = execution.table(&TableName::new(Some(database), table))?;
    Ok(state.def.columns.iter().map(|column| column.name.to_string()).collect())
}
