//! The commands of a mutation, held against the table's definition.
//!
//! Invariant: what is refused is refused before a row is read. Must not know: parts, and how rows are read.

use std::collections::BTreeSet;

use boundary::error::{Error, ErrorKind};
use datafusion::execution::SessionState;
use model::{ColumnDef, ColumnId, DefaultKind, ErrorCode, MergeMode, TableDef, TableEngine, TableKeys};
use sql::definition::ttl::has_ttl;
use sql::{Expr, Mutation, RowChange, RowCommand, TableName};

use super::change::{Change, Kind, Within, default_of};
use super::{expired, refused};

use crate::joined::condition_of;
use crate::partition_ids::partition_id;

/// The commands of `mutation` as changes of a table.
///
/// # Errors
/// A command names what is not there, or changes what must not change.
pub fn checked(
    state: &SessionState,
    mutation: &Mutation,
    def: &TableDef,
    keys: &TableKeys,
) -> Result<Vec<Change>, Error> {
    let mut changes = Vec::new();
    for command in &mutation.commands {
        match command.change {
            RowChange::MaterializeTtl { is_forced } => {
                if !has_ttl(def) && !command.text.is_empty() {
                    let message = format!("table \"{}\" has no TTL that could be materialized", def.name);
                    return Err(Error::new(ErrorKind::BadInput, ErrorCode::INCORRECT_QUERY, message));
                }
                changes.extend(expired::changes(def, &within(state, command, def, keys)?, is_forced)?);
            }
            _ => changes.push(change(state, (command, &mutation.table), def, keys)?),
        }
    }
    Ok(changes)
}

fn within(
    state: &SessionState,
    command: &RowCommand,
    def: &TableDef,
    keys: &TableKeys,
) -> Result<Within, Error> {
    Ok(match &command.partition {
        None => Within::All,
        Some(partition) => Within::Partition(partition_id(state, def, keys, partition)?),
    })
}

fn change(
    state: &SessionState,
    (command, table): (&RowCommand, &TableName),
    def: &TableDef,
    keys: &TableKeys,
) -> Result<Change, Error> {
    if def.engine == TableEngine::Join && !matches!(command.change, RowChange::Delete { .. }) {
        return Err(Error::unsupported("another mutation than DELETE of a table of engine Join"));
    }
    let mut within = within(state, command, def, keys)?;
    let always = || sql::parse_expression("1").map_err(Error::from);
    let kind = match &command.change {
        RowChange::Delete { condition } => {
            refused::check(condition)?;
            let condition = condition_of(def, table, condition.as_ref().clone())?;
            Kind::Delete { condition, only_whole: false }
        }
        RowChange::Update { assignments, condition } => {
            assignments.iter().try_for_each(|(name, _)| refuse_computed(def, name))?;
            assignments.iter().try_for_each(|(_, value)| refused::check(value))?;
            refused::check(condition)?;
            let values = assignments.iter().map(|(name, value)| (name.as_str(), value.clone()));
            update(def, keys, values.collect(), condition.as_ref().clone())?
        }
        RowChange::MaterializeTtl { .. } => return Err(Error::internal("a TTL is several changes")),
        RowChange::DropPartition => Kind::Drop,
        RowChange::DropPart { name } => {
            within = Within::Part(name.clone());
            Kind::Drop
        }
        RowChange::ClearColumn { name, if_exists } => match def.column(name) {
            None if *if_exists => Kind::Renew,
            None => return Err(unknown_column(def, name)),
            // Nothing of it is there to be cleared.
            Some(column) if !column.is_stored() => Kind::Renew,
            Some(column) => {
                refuse_clearing(def, keys, column)?;
                update(def, keys, vec![(name.as_str(), default_of(def, column)?)], always()?)?
            }
        },
        RowChange::MaterializeColumn { name } => {
            let column = def.column(name).ok_or_else(|| unknown_column(def, name))?;
            match &column.default {
                Some((DefaultKind::Materialized, _)) => {
                    let computed = BTreeSet::from([column.id]);
                    refuse_key(def, keys, column, None)?;
                    Kind::Update { values: Vec::new(), condition: always()?, computed, is_checked: true }
                }
                Some((DefaultKind::Default, _)) => Kind::Renew,
                _ => {
                    let message = format!("cannot materialize column {name}: it has no default expression");
                    return Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message));
                }
            }
        }
    };
    Ok(Change { kind, within })
}

fn update(
    def: &TableDef,
    keys: &TableKeys,
    assignments: Vec<(&str, Expr)>,
    condition: Expr,
) -> Result<Kind, Error> {
    let mut values: Vec<(ColumnId, Expr)> = Vec::new();
    for (name, value) in assignments {
        let column = def.column(name).filter(|column| column.is_stored());
        let column = column.ok_or_else(|| unknown_column(def, name))?;
        if values.iter().any(|(known, _)| *known == column.id) {
            let message = format!("column {name} is assigned twice in one statement");
            return Err(Error::new(ErrorKind::BadInput, ErrorCode::MULTIPLE_ASSIGNMENTS_TO_COLUMN, message));
        }
        refuse_key(def, keys, column, None)?;
        values.push((column.id, value));
    }
    let changed: BTreeSet<ColumnId> = values.iter().map(|(id, _)| *id).collect();
    let computed = dependents(def, &changed);
    for column in def.columns.iter().filter(|column| computed.contains(&column.id)) {
        refuse_key(def, keys, column, Some("it depends on a column that is updated"))?;
    }
    Ok(Kind::Update { values, condition, computed, is_checked: true })
}

fn refuse_computed(def: &TableDef, name: &str) -> Result<(), Error> {
    match def.column(name).and_then(|column| column.default.as_ref()) {
        Some((DefaultKind::Materialized, _)) => {
            let message =
                format!("cannot update column {name} of table \"{}\": it is MATERIALIZED", def.name);
            Err(Error::new(ErrorKind::BadInput, ErrorCode::CANNOT_UPDATE_COLUMN, message)
                .with_hint("update the columns that it is computed from"))
        }
        _ => Ok(()),
    }
}

/// The MATERIALIZED columns that are computed from these, directly or through one another.
fn dependents(def: &TableDef, changed: &BTreeSet<ColumnId>) -> BTreeSet<ColumnId> {
    let mut found = BTreeSet::new();
    loop {
        let before = found.len();
        for column in &def.columns {
            let Some((DefaultKind::Materialized, text)) = &column.default else { continue };
            // EPHEMERAL columns are gone with the INSERT: what is computed from them stays.
            let lost =
                def.columns.iter().filter(|other| matches!(other.default, Some((DefaultKind::Ephemeral, _))));
            if lost.into_iter().any(|other| reads_column(text, other.id)) {
                continue;
            }
            let reads = |id: &ColumnId| reads_column(text, *id);
            if !changed.contains(&column.id) && (changed.iter().any(reads) || found.iter().any(reads)) {
                found.insert(column.id);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// Whether a stored expression names a column: such a name is its id, quoted.
fn reads_column(text: &str, id: ColumnId) -> bool {
    text.contains(&format!("`{}`", model::table_def::stored_column_name(id)))
}

/// Rows are sorted and divided by the columns of keys.
fn refuse_key(def: &TableDef, keys: &TableKeys, column: &ColumnDef, why: Option<&str>) -> Result<(), Error> {
    let mut of_keys = keys.sort.iter().chain(&keys.partition).flat_map(|key| key.columns());
    // Nor may those by which rows replace each other; what is only added, or hides the row that stays, is no such column.
    let decides = match &def.mode {
        MergeMode::Summing { .. } | MergeMode::Coalescing { .. } => false,
        MergeMode::Replacing { version, .. } => *version == Some(column.id),
        mode => mode.columns().contains(&column.id),
    };
    if !decides && !of_keys.any(|id| *id == column.id) {
        return Ok(());
    }
    let because = why.map(|why| format!(": {why}")).unwrap_or_default();
    let message = format!("cannot update key column {} of table \"{}\"{because}", column.name, def.name);
    Err(Error::new(ErrorKind::BadInput, ErrorCode::CANNOT_UPDATE_COLUMN, message)
        .with_hint("rows are stored by it: delete them and insert them again"))
}

/// As [`refuse_key`], with the code of a column that is taken out.
fn refuse_clearing(def: &TableDef, keys: &TableKeys, column: &ColumnDef) -> Result<(), Error> {
    refuse_key(def, keys, column, Some("its rows would be cleared"))
        .map_err(|error| Error { code: ErrorCode::ALTER_OF_COLUMN_IS_FORBIDDEN, ..error })
}

fn unknown_column(def: &TableDef, name: &str) -> Error {
    let message = format!("there is no column {name} in table \"{}\" that could be changed", def.name);
    Error::new(ErrorKind::UnknownObject, ErrorCode::NO_SUCH_COLUMN_IN_TABLE, message)
}
