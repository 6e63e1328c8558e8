//! May this transaction join the log? Answered against the state it would follow.
//!
//! Invariant: a transaction that is admitted can be applied, and two states that are equal admit the same. Pure: no
//! clock, no lock, no log. An op sees the ops before it in its own transaction.

mod naming;
mod staging;

use std::sync::Arc;

use model::{DatabaseId, ExportId, ExportObject, LoadId, PartDescriptor, TableDef, TableEngine, TableId};
use thiserror::Error;

use crate::blocks::Replaced;
use crate::exports::ExportState;
use crate::op::{Op, Precondition, Transaction};
use crate::state::{Moment, State, is_implicit, system_database_id};
use crate::table_state::{TableState, group_of};

/// Why a transaction was refused. Nothing of it happened.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RefusedWhy {
    #[error("database \"{0}\" does not exist")]
    UnknownDatabase(String),
    #[error("database \"{0}\" already exists")]
    DatabaseExists(String),
    /// It exists by itself: `default` and `system` stay, and `system` takes no tables.
    #[error("database \"{0}\" is built in and cannot be changed this way")]
    DatabaseBuiltIn(String),
    #[error("table \"{0}\" does not exist")]
    UnknownTable(String),
    #[error("table \"{0}\" already exists")]
    TableExists(String),
    #[error("table \"{0}\" already exists (detached)")]
    TableDetached(String),
    /// The rows were prepared for columns the table no longer has that way. The statement can be tried again.
    #[error("the columns of table \"{table}\" have changed since version {schema_version}: {problem}")]
    SchemaChanged { table: String, schema_version: u32, problem: String },
    /// What the transaction relies on was found out before these rows came. It can be tried again.
    #[error("rows were added to table \"{0}\" meanwhile")]
    RowsAdded(String),
    /// The statement was decided on names or views that are others by now. It can be tried again.
    #[error("tables, views or functions were changed meanwhile")]
    DefinitionsChanged,
    /// A merge lost against another merge, a truncation or a drop.
    #[error("part {part} of table \"{table}\" is not live")]
    PartNotLive { table: String, part: String },
    #[error("part {part} of table \"{table}\" is already there")]
    PartExists { table: String, part: String },
    #[error("part {part} of table \"{table}\" lies between the parts to be replaced by one")]
    PartBetween { table: String, part: String },
    /// It took longer than files are kept that nothing names. It can be tried again.
    #[error(
        "part {part} of table \"{table}\" was begun so long ago that its file was deleted as one that nothing names"
    )]
    PartSwept { table: String, part: String },
    /// Another flush or a truncation was committed after this flush read its rows.
    #[error("the rows to be flushed of table \"{table}\" have been flushed or truncated already")]
    FlushOutdated { table: String },
    /// `same_statement`: the fingerprint matches, the load is a repetition of one that is already in.
    #[error("label \"{label}\" was already used in database \"{database}\"")]
    LabelExists { database: String, label: String, seq: u64, same_statement: bool, rows: u64 },
    /// As for labels: `rows` is what the first insert wrote.
    #[error("an insert with the same token was already committed into table \"{table}\"")]
    TokenExists { table: String, seq: u64, same_statement: bool, rows: u64 },
    /// It can be resumed or cancelled.
    #[error("label \"{label}\" of database \"{database}\" belongs to load {load}, which is not finished")]
    LoadOpen { database: String, label: String, load: LoadId },
    #[error("named collection \"{0}\" does not exist")]
    UnknownCollection(String),
    #[error("named collection \"{0}\" already exists")]
    CollectionExists(String),
    #[error("function \"{0}\" does not exist")]
    UnknownFunction(String),
    /// Two that write one object at once would both be told that their rows are there.
    #[error("an object of the INSERT is being written by the INSERT {query_id}, of this server or another")]
    ExportKeyTaken { query_id: String },
    /// Published or aborted meanwhile, or never opened.
    #[error("load {0} is not open")]
    UnknownLoad(LoadId),
    /// The transaction contradicts itself or the rules of definitions.
    #[error("{0}")]
    Invalid(String),
}

impl RefusedWhy {
    /// Whether whoever asks again later hears the same: what was told of a name stays true.
    pub(crate) fn is_lasting(&self) -> bool {
        matches!(self, RefusedWhy::LabelExists { .. } | RefusedWhy::TokenExists { .. })
    }
}

/// The state after the transaction, or why it may not happen.
pub fn admit(state: &State, transaction: &Transaction, moment: Moment) -> Result<State, RefusedWhy> {
    for precondition in &transaction.preconditions {
        check_precondition(state, precondition)?;
    }
    let replaced = state.replaced_by(&transaction.ops);
    let mut next = state.clone();
    for op in State::in_order(&transaction.ops) {
        check_op(&next, op, transaction, moment, &replaced)?;
        next.apply_op(moment, op, &replaced).map_err(|error| RefusedWhy::Invalid(error.problem))?;
    }
    next.advance(moment.seq);
    Ok(next)
}

pub(crate) fn check_precondition(state: &State, precondition: &Precondition) -> Result<(), RefusedWhy> {
    match precondition {
        Precondition::TableExists { table } => table_of(state, *table).map(drop),
        Precondition::PartLive { table, part } => match table_of(state, *table)?.part(*part) {
            Some(_) => Ok(()),
            None => Err(part_not_live(state, *table, &part.to_string())),
        },
        Precondition::NoRowsSince { table, next_block } => match table_of(state, *table)?.next_block() {
            next if next == *next_block => Ok(()),
            _ => Err(RefusedWhy::RowsAdded(state.table_name(*table))),
        },
        Precondition::SchemaCompatible { table, schema_version } => {
            schema_compatible(state, table_of(state, *table)?, *schema_version)
        }
        Precondition::ExportUncommitted { export } => export_not_committed(state, *export, true),
        // Of the history, not of the state: the catalog has looked.
        Precondition::DefinitionsKept => Ok(()),
        Precondition::LabelUnseen { database, label } => match state.label(*database, label) {
            None => Ok(()),
            Some(seen) => Err(RefusedWhy::LabelExists {
                database: state.database_name(*database),
                label: label.as_str().to_owned(),
                seq: seen.seq.0,
                same_statement: false,
                rows: seen.rows,
            }),
        },
    }
}

fn check_inline(state: &State, table: TableId, schema_version: u32, rows: u64) -> Result<(), RefusedWhy> {
    let found = table_of(state, table)?;
    stores_rows(state, found)?;
    if rows == 0 {
        return Err(RefusedWhy::Invalid("an inline statement needs at least one row".to_owned()));
    }
    schema_compatible(state, found, schema_version)
}

pub(crate) fn check_op(
    state: &State,
    op: &Op,
    transaction: &Transaction,
    moment: Moment,
    replaced: &Replaced,
) -> Result<(), RefusedWhy> {
    match op {
        Op::CreateDatabase { id, name } => {
            if state.database_by_id(*id).is_some() {
                return Err(RefusedWhy::Invalid(format!("database id {id} is already taken")));
            }
            database_name_free(state, name)
        }
        Op::DropDatabase { id } => changeable(state, *id),
        Op::RenameDatabase { id, name } => {
            changeable(state, *id)?;
            database_name_free(state, name)
        }
        Op::CreateTable(def) => check_create(state, def),
        Op::DropTable { table } | Op::TruncateTable { table } | Op::DetachTable { table, .. } => {
            table_in_sight(state, *table).map(drop)
        }
        Op::AttachTable { table } if state.is_detached(*table) => Ok(()),
        Op::AttachTable { table } => Err(RefusedWhy::UnknownTable(state.table_name(*table))),
        Op::RenameTable { table, database, name } => {
            table_in_sight(state, *table)?;
            table_name_free(state, *database, name)
        }
        Op::ExchangeTables { first, second } => {
            table_in_sight(state, *first)?;
            table_in_sight(state, *second).map(drop)
        }
        Op::AlterTable(def) => check_alter(state, def),
        Op::AddPart(part) => check_add_part(state, part.descriptor(), &transaction.ops, replaced),
        Op::RemovePart { table, part } => match table_of(state, *table)?.part(*part) {
            Some(_) => Ok(()),
            None => Err(part_not_live(state, *table, &part.to_string())),
        },
        Op::InlineRows { table, schema_version, rows, .. } => {
            check_inline(state, *table, *schema_version, *rows)
        }
        Op::Flushed { table, up_to } => {
            let found = table_of(state, *table)?;
            let decided_at = transaction.read_seq.max(*up_to);
            if found.inline_changed() > decided_at || *up_to >= moment.seq {
                return Err(RefusedWhy::FlushOutdated { table: state.table_name(*table) });
            }
            Ok(())
        }
        Op::ForgetParts { table, parts } => check_forget(state, *table, parts),
        Op::ForgetTokens { table } => table_of(state, *table).map(drop),
        Op::Label { database, label, fingerprint, .. } => {
            staging::label_free(state, *database, label, *fingerprint, &transaction.ops)
        }
        Op::DedupToken { table, token, fingerprint, .. } => {
            staging::token_free(state, *table, *token, *fingerprint)
        }
        Op::StageOpen { .. }
        | Op::StageUnits { .. }
        | Op::StageSeal { .. }
        | Op::StageAdd { .. }
        | Op::StagePublish { .. }
        | Op::StageAbort { .. } => staging::check_step(state, op),
        Op::CreateCollection { .. } | Op::AlterCollection { .. } | Op::DropCollection { .. } => {
            naming::check_collection(state, op)
        }
        Op::PartsSwept { .. } => Ok(()),
        Op::CreateFunction { .. } | Op::DropFunction { .. } => naming::check_function(state, op),
        Op::ExportOpen { .. } => check_export_open(state, op),
        Op::ExportCommit { export, .. } => export_not_committed(state, *export, true),
        Op::ExportEnd { export } => {
            state.exports().get(*export).map(drop).ok_or_else(|| export_over(*export, "is not open"))
        }
    }
}

fn check_export_open(state: &State, op: &Op) -> Result<(), RefusedWhy> {
    let Op::ExportOpen { export, objects, .. } = op else { return Ok(()) };
    export_not_committed(state, *export, false)?;
    let takes = |other: &&Arc<ExportState>| other.id != *export && share_a_key(&other.objects, objects);
    match state.exports().iter().find(takes) {
        Some(other) => Err(RefusedWhy::ExportKeyTaken { query_id: other.query_id.to_string() }),
        None => Ok(()),
    }
}

/// Whether two exports would write the same object: the later one would replace the rows of the other.
fn share_a_key(some: &[ExportObject], others: &[ExportObject]) -> bool {
    let is_same = |a: &ExportObject, b: &ExportObject| {
        let (one, other) = (&a.store, &b.store);
        a.key == b.key && !one.is_files() && (&one.endpoint, &one.bucket) == (&other.endpoint, &other.bucket)
    };
    some.iter().any(|object| others.iter().any(|other| is_same(object, other)))
}

/// An export may grow, or be committed once. `is_open`: it has to be there already.
fn export_not_committed(state: &State, export: ExportId, is_open: bool) -> Result<(), RefusedWhy> {
    match state.exports().get(export) {
        Some(open) if open.is_committed => Err(export_over(export, "is committed")),
        None if is_open => Err(export_over(export, "is not open")),
        Some(_) | None => Ok(()),
    }
}

fn export_over(export: ExportId, how: &str) -> RefusedWhy {
    RefusedWhy::Invalid(format!("export {export} {how}"))
}

fn table_of(state: &State, id: TableId) -> Result<&Arc<TableState>, RefusedWhy> {
    state.table_by_id(id).ok_or_else(|| RefusedWhy::UnknownTable(state.table_name(id)))
}

/// A detached one is none, for whatever finds tables by their names.
fn table_in_sight(state: &State, id: TableId) -> Result<&Arc<TableState>, RefusedWhy> {
    let found = table_of(state, id)?;
    if state.is_detached(id) { Err(RefusedWhy::UnknownTable(state.table_name(id))) } else { Ok(found) }
}

fn part_not_live(state: &State, table: TableId, part: &str) -> RefusedWhy {
    RefusedWhy::PartNotLive { table: state.table_name(table), part: part.to_owned() }
}

fn changeable(state: &State, id: DatabaseId) -> Result<(), RefusedWhy> {
    if is_implicit(id) {
        return Err(RefusedWhy::DatabaseBuiltIn(state.database_name(id)));
    }
    let found = state.database_by_id(id).map(drop);
    found.ok_or_else(|| RefusedWhy::UnknownDatabase(id.to_string()))
}

fn database_name_free(state: &State, name: &str) -> Result<(), RefusedWhy> {
    if name.is_empty() {
        return Err(RefusedWhy::Invalid("a database needs a name".to_owned()));
    }
    match state.database(name) {
        Some(_) => Err(RefusedWhy::DatabaseExists(name.to_owned())),
        None => Ok(()),
    }
}

fn table_name_free(state: &State, database: DatabaseId, name: &str) -> Result<(), RefusedWhy> {
    if database == system_database_id() {
        return Err(RefusedWhy::DatabaseBuiltIn(state.database_name(database)));
    }
    if state.database_by_id(database).is_none() {
        return Err(RefusedWhy::UnknownDatabase(database.to_string()));
    }
    if name.is_empty() {
        return Err(RefusedWhy::Invalid("a table needs a name".to_owned()));
    }
    match state.table(database, name) {
        Some(_) => Err(RefusedWhy::TableExists(state.qualified(database, name))),
        None if state.detached_table(database, name).is_some() => {
            Err(RefusedWhy::TableDetached(state.qualified(database, name)))
        }
        None => Ok(()),
    }
}

fn check_create(state: &State, def: &TableDef) -> Result<(), RefusedWhy> {
    table_name_free(state, def.database, &def.name)?;
    if state.table_by_id(def.id).is_some() || state.dropped_table(def.id).is_some() {
        return Err(RefusedWhy::Invalid(format!("table id {} is already taken", def.id)));
    }
    check_columns(state, def)
}

/// Rules that hold for every definition by itself.
fn check_columns(state: &State, def: &TableDef) -> Result<(), RefusedWhy> {
    let invalid = |problem: String| {
        let table = state.qualified(def.database, &def.name);
        Err(RefusedWhy::Invalid(format!("table \"{table}\" cannot be defined so: {problem}")))
    };
    // Those of a view with parameters may be found out when it is called.
    if def.columns.is_empty() && def.engine != TableEngine::View {
        return invalid("it has no columns".to_owned());
    }
    let mut names: Vec<&str> = def.columns.iter().map(|column| column.name.as_ref()).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return invalid(format!("column \"{}\" appears twice", twice[0]));
    }
    let mut ids: Vec<u32> = def.columns.iter().map(|column| column.id.0).collect();
    ids.sort_unstable();
    if ids.windows(2).any(|pair| pair[0] == pair[1]) || ids.last() >= Some(&def.next_column_id) {
        return invalid("its column ids are not unique and below the next id".to_owned());
    }
    if usize::try_from(def.primary_key_len).is_ok_and(|length| length > def.order_by.len()) {
        return invalid("its primary key is longer than its sort key".to_owned());
    }
    Ok(())
}

fn check_alter(state: &State, def: &TableDef) -> Result<(), RefusedWhy> {
    let table = table_in_sight(state, def.id)?;
    let old = &table.def;
    let changed = |problem: &str| {
        let (table, schema_version) = (state.table_name(def.id), def.schema_version);
        Err(RefusedWhy::SchemaChanged { table, schema_version, problem: problem.to_owned() })
    };
    if Some(def.schema_version) != old.schema_version.checked_add(1) {
        return changed("another change came first");
    }
    if def.name != old.name || def.database != old.database {
        return changed("the table was renamed");
    }
    let sort_key_next = old.sort_key_version.checked_add(1) == Some(def.sort_key_version);
    let sort_key_kept = old.sort_key_version == def.sort_key_version && old.order_by == def.order_by;
    let reused = |id| old.column_by_id(id).is_none() && id.0 < old.next_column_id;
    // Only what is there, and not to be seen, can be kept out of sight.
    if let Some(lost) = def.detached_parts().into_iter().find(|part| table.removed_part(*part).is_none()) {
        return Err(part_not_live(state, def.id, &lost.to_string()));
    }
    if def.columns.iter().any(|column| reused(column.id)) || def.next_column_id < old.next_column_id {
        return Err(RefusedWhy::Invalid("a column id cannot be used again".to_owned()));
    }
    if def.engine != old.engine || !(sort_key_next || sort_key_kept) {
        return Err(RefusedWhy::Invalid(
            "the engine stays, and a changed sort key counts its version up".to_owned(),
        ));
    }
    check_columns(state, def)
}

/// Some engines keep rows in parts and in the log.
fn stores_rows(state: &State, table: &TableState) -> Result<(), RefusedWhy> {
    if table.def.engine.keeps_parts() {
        return Ok(());
    }
    let name = state.table_name(table.def.id);
    Err(RefusedWhy::Invalid(format!("table \"{name}\" of engine {:?} keeps no rows", table.def.engine)))
}

/// Whether rows made for a version of the columns can be stored as they are.
fn schema_compatible(state: &State, table: &TableState, schema_version: u32) -> Result<(), RefusedWhy> {
    if schema_version == table.def.schema_version {
        return Ok(());
    }
    match incompatibility(table, schema_version) {
        None => Ok(()),
        Some(problem) => {
            Err(RefusedWhy::SchemaChanged { table: state.table_name(table.def.id), schema_version, problem })
        }
    }
}

fn incompatibility(table: &TableState, schema_version: u32) -> Option<String> {
    let Some(then) = table.definition_of(schema_version) else {
        return Some("the table never had that version".to_owned());
    };
    if then.partition_by != table.def.partition_by {
        return Some("the partition key is another".to_owned());
    }
    let changed = |column: &&model::ColumnDef| {
        table.def.column_by_id(column.id).is_some_and(|now| now.column_type != column.column_type)
    };
    then.columns.iter().find(changed).map(|column| format!("column \"{}\" has another type", column.name))
}

fn check_add_part(
    state: &State,
    part: &PartDescriptor,
    ops: &[Op],
    replaced: &Replaced,
) -> Result<(), RefusedWhy> {
    let table = table_of(state, part.table)?;
    stores_rows(state, table)?;
    part_is_new(state, table, part)?;
    // A merge keeps rows that were already there: their old version was checked when they came.
    if !replaced.is_merge(part) {
        schema_compatible(state, table, part.schema_version)?;
    } else if table.definition_of(part.schema_version).is_none() {
        return Err(RefusedWhy::Invalid(format!("part {} has an unknown schema version", part.id)));
    }
    let between = replaced.range_of(part).and_then(|range| table.overlapping(&group_of(part), range));
    // Where several parts replace some, one has their numbers and the others are new.
    let is_own = |live: &PartDescriptor| {
        ops.iter().any(|op| matches!(op, Op::AddPart(added) if added.descriptor().id == live.id))
    };
    match between.filter(|live| replaced.is_merge(part) && !is_own(live)) {
        Some(live) => Err(RefusedWhy::PartBetween { table: state.table_name(part.table), part: live.name() }),
        None => Ok(()),
    }
}

/// Neither live, nor removed, nor staged, nor swept away.
fn part_is_new(state: &State, table: &TableState, part: &PartDescriptor) -> Result<(), RefusedWhy> {
    if part.id.made_ms() < state.swept_ms() {
        let table = state.table_name(part.table);
        return Err(RefusedWhy::PartSwept { table, part: part.id.to_string() });
    }
    let known = table.part(part.id).is_some() || table.removed_part(part.id).is_some();
    if known || state.loads().has_part(part.id) {
        let table = state.table_name(part.table);
        return Err(RefusedWhy::PartExists { table, part: part.id.to_string() });
    }
    Ok(())
}

fn check_forget(state: &State, table: TableId, parts: &[model::PartId]) -> Result<(), RefusedWhy> {
    if state.dropped_table(table).is_some() {
        return Ok(());
    }
    let detached = table_of(state, table)?.def.detached_parts();
    if let Some(kept) = parts.iter().find(|part| detached.contains(part)) {
        return Err(RefusedWhy::Invalid(format!("part {kept} is detached and cannot be forgotten")));
    }
    match parts.iter().find_map(|part| table_of(state, table).map(|found| found.part(*part)).transpose()) {
        Some(Ok(live)) => {
            Err(RefusedWhy::Invalid(format!("part {} is live and cannot be forgotten", live.name())))
        }
        Some(Err(unknown)) => Err(unknown),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
