//! May a statement happen under this name, and may a staged load take this step?
//!
//! Invariant: a name (label, token) is given to one committed statement or one open load, and a load is published only
//! when every unit of it is in its parts. Must not know: the other ops.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::{DatabaseId, Label, LoadId, PartId, SealedPart, TableId};

use super::{RefusedWhy, part_is_new, schema_compatible, stores_rows, table_of};
use crate::loads::StagedLoad;
use crate::op::Op;
use crate::state::State;

/// `ops` are those of the whole transaction: a load that it publishes hands its label over.
pub(super) fn label_free(
    state: &State,
    database: DatabaseId,
    label: &Label,
    fingerprint: u128,
    ops: &[Op],
) -> Result<(), RefusedWhy> {
    let found = state.database_by_id(database);
    let found = found.ok_or_else(|| RefusedWhy::UnknownDatabase(database.to_string()))?;
    if let Some(seen) = state.label(database, label) {
        return Err(RefusedWhy::LabelExists {
            database: found.name.to_string(),
            label: label.as_str().to_owned(),
            seq: seen.seq.0,
            same_statement: seen.fingerprint == fingerprint,
            rows: seen.rows,
        });
    }
    let published = |id: LoadId| ops.iter().any(|op| matches!(op, Op::StagePublish { load } if *load == id));
    match state.loads().labelled(database, label).filter(|open| !published(open.id)) {
        Some(open) => Err(RefusedWhy::LoadOpen {
            database: found.name.to_string(),
            label: label.as_str().to_owned(),
            load: open.id,
        }),
        None => Ok(()),
    }
}

pub(super) fn token_free(
    state: &State,
    table: TableId,
    token: u128,
    fingerprint: u128,
) -> Result<(), RefusedWhy> {
    table_of(state, table)?;
    match state.token(table, token) {
        None => Ok(()),
        Some(seen) => Err(RefusedWhy::TokenExists {
            table: state.table_name(table),
            seq: seen.seq.0,
            same_statement: seen.fingerprint == fingerprint,
            rows: seen.rows,
        }),
    }
}

/// `op` is a `StageOpen`.
pub(super) fn check_open(state: &State, op: &Op) -> Result<(), RefusedWhy> {
    let Op::StageOpen { load, database, label, table, fingerprint, schema_version, files, units, .. } = op
    else {
        return Ok(());
    };
    let found = table_of(state, *table)?;
    stores_rows(state, found)?;
    schema_compatible(state, found, *schema_version)?;
    label_free(state, *database, label, *fingerprint, &[])?;
    if state.loads().get(*load).is_some() {
        return Err(RefusedWhy::Invalid(format!("load id {load} is already taken")));
    }
    let file_known = |file: u32| usize::try_from(file).is_ok_and(|file| file < files.len());
    match units.iter().position(|unit| !file_known(unit.file)) {
        Some(unit) => Err(RefusedWhy::Invalid(format!("unit {unit} of load {load} lies in no file of it"))),
        None => Ok(()),
    }
}

pub(super) fn check_add(
    state: &State,
    load: LoadId,
    units: &[u32],
    parts: &[SealedPart],
) -> Result<(), RefusedWhy> {
    let open = open_load(state, load)?;
    let mut seen = BTreeSet::new();
    for unit in units {
        if usize::try_from(*unit).map_or(true, |unit| unit >= open.units.len()) {
            return Err(RefusedWhy::Invalid(format!("load {load} has no unit {unit}")));
        }
        if open.is_covered(*unit) || !seen.insert(*unit) {
            return Err(RefusedWhy::Invalid(format!("unit {unit} of load {load} is already loaded")));
        }
    }
    let table = table_of(state, open.table)?;
    let mut ids: BTreeSet<PartId> = BTreeSet::new();
    for part in parts.iter().map(SealedPart::descriptor) {
        if part.table != open.table {
            let problem = format!("part {} belongs to another table than load {load}", part.id);
            return Err(RefusedWhy::Invalid(problem));
        }
        part_is_new(state, table, part)?;
        if !ids.insert(part.id) {
            let table = state.table_name(part.table);
            return Err(RefusedWhy::PartExists { table, part: part.id.to_string() });
        }
        schema_compatible(state, table, part.schema_version)?;
    }
    Ok(())
}

pub(super) fn check_publish(state: &State, load: LoadId) -> Result<(), RefusedWhy> {
    let open = open_load(state, load)?;
    if !open.is_complete() {
        let (covered, all) = (open.covered_count(), open.units.len());
        return Err(RefusedWhy::Invalid(format!("load {load} has loaded {covered} of {all} units")));
    }
    let table = table_of(state, open.table)?;
    let versions: BTreeSet<u32> = open.parts().map(|part| part.schema_version).collect();
    versions.into_iter().try_for_each(|version| schema_compatible(state, table, version))
}

pub(super) fn open_load(state: &State, load: LoadId) -> Result<&Arc<StagedLoad>, RefusedWhy> {
    state.loads().get(load).ok_or(RefusedWhy::UnknownLoad(load))
}
