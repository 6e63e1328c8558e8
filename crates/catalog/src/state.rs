//! Everything that exists at one `Seq`, and how a transaction changes it.
//!
//! Invariant: a state is a function of the ops applied, in order, with their seqs and times; applying is O(log n) for
//! each thing changed and leaves older clones as they were. Must not know: locks, the log, whether an op is allowed.

mod detached;
mod staged;

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};
use model::{DatabaseId, Label, PartDescriptor, Seq, TableDef, TableEngine, TableId};
use thiserror::Error;

use crate::blocks::{Replaced, assign};
use crate::collections::{Collection, Collections};
use crate::exports::Exports;
use crate::functions::Functions;
use crate::labels::{LabelState, Labels, Tokens};
use crate::loads::{Loads, StagedLoad};
use crate::op::Op;
use crate::table_state::{InlineStatement, TableState};
use detached::DetachedTables;

pub use detached::DetachedTable;

/// The database every session starts in. It needs no record: it exists in every root.
pub fn default_database_id() -> DatabaseId {
    DatabaseId::from_bytes([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
}

/// The database of system tables. It needs no record, and no table can be created in it.
pub fn system_database_id() -> DatabaseId {
    DatabaseId::from_bytes([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2])
}

/// Whether a database exists without a record, and so can be neither dropped nor renamed.
pub fn is_implicit(database: DatabaseId) -> bool {
    database == default_database_id() || database == system_database_id()
}

/// A record that passed its checksum and still cannot follow the state before it.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("record {seq} does not fit the state before it: {problem}")]
pub struct ApplyError {
    pub seq: Seq,
    pub problem: String,
}

/// When a transaction is applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    pub seq: Seq,
    /// Milliseconds since the epoch.
    pub at_ms: u64,
}

#[derive(Clone, PartialEq, Debug)]
pub struct DatabaseState {
    pub id: DatabaseId,
    pub name: Arc<str>,
    tables: OrdMap<Arc<str>, TableId>,
    detached: DetachedTables,
}

/// A dropped table some files of which may still be there.
#[derive(Clone, PartialEq, Debug)]
pub struct DroppedTable {
    /// No live part, no inline statement; only removed parts.
    pub state: Arc<TableState>,
    pub seq: Seq,
    /// Milliseconds since the epoch.
    pub dropped_ms: u64,
}

#[derive(Clone, PartialEq, Debug)]
pub struct State {
    seq: Seq,
    databases: OrdMap<DatabaseId, Arc<DatabaseState>>,
    database_names: OrdMap<Arc<str>, DatabaseId>,
    tables: OrdMap<TableId, Arc<TableState>>,
    /// Those of `tables` that take part in INSERTs into others.
    materialized: OrdSet<TableId>,
    dropped: OrdMap<TableId, DroppedTable>,
    labels: Labels,
    tokens: Tokens,
    loads: Loads,
    collections: Collections,
    exports: Exports,
    functions: Functions,
    swept_ms: u64,
}

impl Default for State {
    /// The state before the first record.
    fn default() -> State {
        let mut state = State {
            seq: Seq::ZERO,
            databases: OrdMap::new(),
            database_names: OrdMap::new(),
            tables: OrdMap::new(),
            materialized: OrdSet::new(),
            dropped: OrdMap::new(),
            labels: Labels::default(),
            tokens: Tokens::default(),
            loads: Loads::default(),
            collections: Collections::default(),
            exports: Exports::default(),
            functions: Functions::default(),
            swept_ms: 0,
        };
        state.insert_database(default_database_id(), "default".into());
        state.insert_database(system_database_id(), "system".into());
        state
    }
}

impl State {
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// By name.
    pub fn databases(&self) -> impl Iterator<Item = &Arc<DatabaseState>> {
        self.database_names.values().filter_map(|id| self.databases.get(id))
    }

    pub fn database(&self, name: &str) -> Option<&Arc<DatabaseState>> {
        self.databases.get(self.database_names.get(name)?)
    }

    pub fn database_by_id(&self, id: DatabaseId) -> Option<&Arc<DatabaseState>> {
        self.databases.get(&id)
    }

    /// The tables of a database by name.
    pub fn tables(&self, database: DatabaseId) -> impl Iterator<Item = &Arc<TableState>> {
        let names = self.databases.get(&database).map(|database| database.tables.values());
        names.into_iter().flatten().filter_map(|id| self.tables.get(id))
    }

    /// The tables of all databases by id.
    pub fn all_tables(&self) -> impl Iterator<Item = &Arc<TableState>> {
        self.tables.values()
    }

    pub fn table(&self, database: DatabaseId, name: &str) -> Option<&Arc<TableState>> {
        self.tables.get(self.databases.get(&database)?.tables.get(name)?)
    }

    /// The materialized views by id.
    pub fn materialized_views(&self) -> impl Iterator<Item = &Arc<TableState>> {
        self.materialized.iter().filter_map(|id| self.tables.get(id))
    }

    pub fn table_by_id(&self, id: TableId) -> Option<&Arc<TableState>> {
        self.tables.get(&id)
    }

    /// Dropped tables whose files are not all forgotten, by id.
    pub fn dropped_tables(&self) -> impl Iterator<Item = (TableId, &DroppedTable)> {
        self.dropped.iter().map(|(id, dropped)| (*id, dropped))
    }

    pub fn dropped_table(&self, id: TableId) -> Option<&DroppedTable> {
        self.dropped.get(&id)
    }

    pub fn label(&self, database: DatabaseId, label: &Label) -> Option<&LabelState> {
        self.labels.get(database, label)
    }

    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    pub fn token(&self, table: TableId, token: u128) -> Option<&LabelState> {
        self.tokens.remembered(&self.tables.get(&table)?.def, token)
    }

    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// Named collections made by statements.
    pub fn collections(&self) -> &Collections {
        &self.collections
    }

    /// The loads that are open.
    pub fn loads(&self) -> &Loads {
        &self.loads
    }

    /// Exports that are not over.
    pub fn exports(&self) -> &Exports {
        &self.exports
    }

    /// Functions made by statements.
    pub fn functions(&self) -> &Functions {
        &self.functions
    }

    /// Files of parts that were begun before it, milliseconds since the epoch, are gone unless something names them.
    pub fn swept_ms(&self) -> u64 {
        self.swept_ms
    }

    /// Files are gone up to this time; also how a checkpoint says so.
    pub fn sweep(&mut self, before_ms: u64) {
        self.swept_ms = self.swept_ms.max(before_ms);
    }

    /// `db.t` of a live or dropped table, its id otherwise: for messages.
    pub fn table_name(&self, id: TableId) -> String {
        let dropped = self.dropped.get(&id).map(|dropped| &dropped.state);
        match self.tables.get(&id).or(dropped) {
            Some(table) => self.qualified(table.def.database, &table.def.name),
            None => id.to_string(),
        }
    }

    /// `db.name`, for messages.
    pub fn qualified(&self, database: DatabaseId, name: &str) -> String {
        format!("{}.{name}", self.database_name(database))
    }

    /// The name of a database, its id if there is none: for messages.
    pub fn database_name(&self, id: DatabaseId) -> String {
        self.databases.get(&id).map_or_else(|| id.to_string(), |database| database.name.to_string())
    }

    /// The ops of a transaction in the order they take effect: removals first.
    pub fn in_order(ops: &[Op]) -> impl Iterator<Item = &Op> {
        let removes = |op: &&Op| matches!(op, Op::RemovePart { .. } | Op::Flushed { .. });
        ops.iter().filter(removes).chain(ops.iter().filter(move |op| !removes(op)))
    }

    /// What the ops take away; to be asked before the first of them is applied.
    pub fn replaced_by(&self, ops: &[Op]) -> Replaced {
        Replaced::by(ops, |id| self.tables.get(&id).map(Arc::as_ref))
    }

    /// Applies a transaction. After an error the state must be thrown away.
    pub fn apply(&mut self, moment: Moment, ops: &[Op]) -> Result<(), ApplyError> {
        let replaced = self.replaced_by(ops);
        for op in State::in_order(ops) {
            self.apply_op(moment, op, &replaced)?;
        }
        self.advance(moment.seq);
        Ok(())
    }

    /// All of the record has been applied.
    pub fn advance(&mut self, seq: Seq) {
        self.seq = seq;
    }

    /// Applies one op of a transaction that takes `replaced` away.
    pub fn apply_op(&mut self, moment: Moment, op: &Op, replaced: &Replaced) -> Result<(), ApplyError> {
        let unfit = |problem: &str| ApplyError { seq: moment.seq, problem: problem.to_owned() };
        let done = match op {
            Op::CreateDatabase { id, name } => {
                self.insert_database(*id, Arc::clone(name));
                Some(())
            }
            Op::DropDatabase { id } => self.drop_database(*id, moment),
            Op::RenameDatabase { id, name } => self.rename_database(*id, name),
            Op::CreateTable(def) => self.insert_table(TableState::new(Arc::new(def.clone()))),
            Op::DropTable { table } => self.drop_table(*table, moment),
            Op::RenameTable { table, database, name } => self.rename_table(*table, *database, name),
            Op::ExchangeTables { first, second } => self.exchange_tables(*first, *second),
            Op::TruncateTable { table } => self.truncate_table(*table, moment),
            Op::AlterTable(def) => self.change(def.id, |state| state.redefine(Arc::new(def.clone()))),
            Op::AddPart(part) => self.change(part.descriptor().table, |state| {
                let blocks = assign(state, part.descriptor(), replaced);
                state.insert_part(Arc::new(PartDescriptor { blocks, ..part.descriptor().clone() }));
            }),
            Op::RemovePart { table, part } => self
                .change(*table, |state| state.remove_part(*part, moment.seq, moment.at_ms))
                .flatten()
                .map(drop),
            Op::InlineRows { table, schema_version, rows, bytes } => self.change(*table, |state| {
                let (seq, block) = (moment.seq, state.take_block());
                let (schema_version, rows, bytes) = (*schema_version, *rows, bytes.clone());
                state.insert_inline(InlineStatement { seq, block, schema_version, rows, bytes });
            }),
            Op::Flushed { table, up_to } => {
                self.change(*table, |state| state.remove_inline(*up_to, moment.seq))
            }
            Op::ForgetParts { table, parts } => self.forget_parts(*table, parts),
            Op::Label { database, label, fingerprint, rows } => {
                self.labels.insert(*database, label.clone(), seen(moment, *fingerprint, *rows));
                Some(())
            }
            Op::DedupToken { table, token, fingerprint, rows } => {
                self.tokens.insert(*table, *token, seen(moment, *fingerprint, *rows));
                self.tables.contains_key(table).then_some(())
            }
            Op::StageOpen { .. } => self.open_load(op, moment),
            Op::StageUnits { load, units } => self.loads.change(*load, |load| load.add_units(units)),
            Op::StageSeal { load } => self.loads.change(*load, StagedLoad::seal),
            Op::StageAdd { load, units, parts, rows } => self.loads.change(*load, |load| {
                load.cover(units.iter().copied(), *rows, moment.at_ms);
                parts.iter().for_each(|part| load.add_part(Arc::new(part.descriptor().clone())));
            }),
            Op::StagePublish { load } => self.publish_load(*load),
            Op::StageAbort { load } => self.abort_load(*load, moment),
            Op::CreateCollection { name, entries } => {
                self.collections.insert(Arc::clone(name), entries.clone());
                Some(())
            }
            Op::AlterCollection { name, set, deleted } => self.collections.alter(name, set, deleted),
            Op::DropCollection { name } => self.collections.remove(name).map(drop),
            Op::ExportOpen { export, query_id, objects } => {
                self.exports.open(*export, query_id, objects, (moment.seq, moment.at_ms));
                Some(())
            }
            Op::ExportCommit { export, objects, rows } => self.exports.commit(*export, objects, *rows),
            Op::ExportEnd { export } => self.exports.end(*export),
            Op::DetachTable { table, is_permanent } => self.detach_table(*table, *is_permanent),
            Op::AttachTable { table } => self.attach_table(*table),
            Op::CreateFunction { .. } | Op::PartsSwept { .. } | Op::ForgetTokens { .. } => self.note(op),
            Op::DropFunction { name } => self.functions.remove(name),
        };
        done.ok_or_else(|| {
            unfit(&format!("it changes something that does not exist: {}", crate::op::title(op)))
        })
    }

    /// Applies what needs nothing to be there.
    fn note(&mut self, op: &Op) -> Option<()> {
        match op {
            Op::CreateFunction { name, lambda } => {
                self.functions.insert(Arc::clone(name), Arc::clone(lambda));
            }
            Op::PartsSwept { before_ms } => self.sweep(*before_ms),
            Op::ForgetTokens { table } => self.tokens.drop_scope(*table),
            _ => return None,
        }
        Some(())
    }

    fn change<T>(&mut self, table: TableId, change: impl FnOnce(&mut TableState) -> T) -> Option<T> {
        Some(change(Arc::make_mut(self.tables.get_mut(&table)?)))
    }

    fn change_database<T>(
        &mut self,
        database: DatabaseId,
        change: impl FnOnce(&mut DatabaseState) -> T,
    ) -> Option<T> {
        Some(change(Arc::make_mut(self.databases.get_mut(&database)?)))
    }

    /// Adds a database; also how a checkpoint puts one back.
    pub fn insert_database(&mut self, id: DatabaseId, name: Arc<str>) {
        self.database_names.insert(Arc::clone(&name), id);
        self.databases.insert(
            id,
            Arc::new(DatabaseState { id, name, tables: OrdMap::new(), detached: DetachedTables::default() }),
        );
    }

    fn drop_database(&mut self, id: DatabaseId, moment: Moment) -> Option<()> {
        let database = self.databases.get(&id).cloned()?;
        self.abort_loads(|load| load.database == id, moment)?;
        for table in database.tables.values().copied().chain(database.detached.ids()) {
            self.drop_table(table, moment)?;
        }
        self.databases.remove(&id);
        self.database_names.remove(&database.name);
        self.labels.drop_scope(id);
        Some(())
    }

    fn rename_database(&mut self, id: DatabaseId, name: &Arc<str>) -> Option<()> {
        let old =
            self.change_database(id, |database| std::mem::replace(&mut database.name, Arc::clone(name)))?;
        self.database_names.remove(&old);
        self.database_names.insert(Arc::clone(name), id);
        Some(())
    }

    /// Adds a table under its name; also how a checkpoint puts one back. `None` if its database does not exist.
    pub fn insert_table(&mut self, table: TableState) -> Option<()> {
        let def = Arc::clone(&table.def);
        self.change_database(def.database, |database| database.tables.insert(Arc::clone(&def.name), def.id))?;
        self.tables.insert(def.id, Arc::new(table));
        if def.engine == TableEngine::MaterializedView {
            self.materialized.insert(def.id);
        }
        Some(())
    }

    /// Remembers a dropped table while files of it may be there; also how a checkpoint puts one back.
    pub fn insert_dropped(&mut self, dropped: DroppedTable) {
        if dropped.state.removed().next().is_some() {
            self.dropped.insert(dropped.state.def.id, dropped);
        }
    }

    fn drop_table(&mut self, id: TableId, moment: Moment) -> Option<()> {
        self.abort_loads(|load| load.table == id, moment)?;
        self.tokens.drop_scope(id);
        let mut state = self.tables.remove(&id)?;
        self.materialized.remove(&id);
        let def = Arc::clone(&state.def);
        self.change_database(def.database, |database| State::free_name(database, &def.name, id))?;
        Arc::make_mut(&mut state).clear(moment.seq, moment.at_ms);
        self.insert_dropped(DroppedTable { state, seq: moment.seq, dropped_ms: moment.at_ms });
        Some(())
    }

    fn rename_table(&mut self, id: TableId, database: DatabaseId, name: &Arc<str>) -> Option<()> {
        let old = Arc::clone(&self.tables.get(&id)?.def);
        self.change_database(old.database, |from| from.tables.remove(&old.name))?;
        self.change_database(database, |to| to.tables.insert(Arc::clone(name), id))?;
        self.move_table(id, &old, database, name)
    }

    fn exchange_tables(&mut self, first: TableId, second: TableId) -> Option<()> {
        let one = Arc::clone(&self.tables.get(&first)?.def);
        let two = Arc::clone(&self.tables.get(&second)?.def);
        self.change_database(one.database, |to| to.tables.insert(Arc::clone(&one.name), second))?;
        self.change_database(two.database, |to| to.tables.insert(Arc::clone(&two.name), first))?;
        self.move_table(first, &one, two.database, &two.name)?;
        self.move_table(second, &two, one.database, &one.name)
    }

    fn move_table(
        &mut self,
        id: TableId,
        def: &TableDef,
        database: DatabaseId,
        name: &Arc<str>,
    ) -> Option<()> {
        let moved = TableDef { database, name: Arc::clone(name), ..def.clone() };
        self.change(id, |state| state.redefine(Arc::new(moved)))
    }

    fn forget_parts(&mut self, table: TableId, parts: &[model::PartId]) -> Option<()> {
        if let Some(dropped) = self.dropped.get_mut(&table) {
            Arc::make_mut(&mut dropped.state).forget(parts);
            if dropped.state.removed().next().is_none() {
                self.dropped.remove(&table);
            }
            return Some(());
        }
        self.change(table, |state| state.forget(parts))
    }

    /// Staged rows go with the others, and what was inserted once may be inserted again.
    fn truncate_table(&mut self, id: TableId, moment: Moment) -> Option<()> {
        self.abort_loads(|load| load.table == id, moment)?;
        self.tokens.drop_scope(id);
        self.change(id, |state| state.clear(moment.seq, moment.at_ms))
    }

    /// Puts a label back from a checkpoint.
    pub fn restore_label(&mut self, database: DatabaseId, label: Label, state: LabelState) {
        self.labels.restore(database, label, state);
    }

    /// Puts a token back from a checkpoint.
    pub fn restore_token(&mut self, table: TableId, token: u128, state: LabelState) {
        self.tokens.restore(table, token, state);
    }

    /// Puts a collection back from a checkpoint.
    pub fn restore_collection(&mut self, name: Arc<str>, collection: Collection) {
        self.collections.insert(name, collection);
    }

    /// Puts a load, or a part of one, back from a checkpoint.
    pub fn loads_mut(&mut self) -> &mut Loads {
        &mut self.loads
    }

    /// Puts a function back from a checkpoint.
    pub fn functions_mut(&mut self) -> &mut Functions {
        &mut self.functions
    }

    /// Puts an export back from a checkpoint.
    pub fn exports_mut(&mut self) -> &mut Exports {
        &mut self.exports
    }
}

fn seen(moment: Moment, fingerprint: u128, rows: u64) -> LabelState {
    LabelState { seq: moment.seq, fingerprint, committed_ms: moment.at_ms, rows }
}
