//! May a statement happen under this name, and may a staged load take this step?
//!
//! Invariant: a name (label, token) is given to one committed statement or one open load, and a load is published only
//! when every unit of it is in its parts. Must not know: the other ops.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use model::{DatabaseId, Label, LoadId, PartId, SealedPart, StagedUnit, TableId};

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

/// `op` is one of a staged load.
pub(super) fn check_step(state: &State, op: &Op) -> Result<(), RefusedWhy> {
    match op {
        Op::StageUnits { load, units } => check_units(state, *load, units),
        Op::StageSeal { load } => check_seal(state, *load),
        Op::StageAdd { load, units, parts, .. } => check_add(state, *load, units, parts),
        Op::StagePublish { load } => check_publish(state, *load),
        Op::StageAbort { load } => open_load(state, *load).map(drop),
        _ => check_open(state, op),
    }
}

/// `op` is a `StageOpen`.
fn check_open(state: &State, op: &Op) -> Result<(), RefusedWhy> {
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

/// More units of a load that is open for them: ranges, each from where the one before it ended.
fn check_units(state: &State, load: LoadId, units: &[StagedUnit]) -> Result<(), RefusedWhy> {
    let open = open_load(state, load)?;
    if open.is_sealed {
        return Err(RefusedWhy::Invalid(format!("load {load} has all its units")));
    }
    let mut ends = BTreeMap::new();
    for unit in units {
        let file = usize::try_from(unit.file).ok().and_then(|file| open.files.get(file));
        let begin = ends.get(&unit.file).copied().unwrap_or_else(|| open.cut_to(unit.file));
        let fits = |range: &&Range<u64>| {
            range.start == begin
                && range.start < range.end
                && file.is_some_and(|file| range.end <= file.bytes)
        };
        let Some(range) = unit.range.as_ref().filter(fits) else {
            let problem = format!("a unit of load {load} does not follow what is cut of file {}", unit.file);
            return Err(RefusedWhy::Invalid(problem));
        };
        ends.insert(unit.file, range.end);
    }
    Ok(())
}

/// Every byte of every file is in a unit.
fn check_seal(state: &State, load: LoadId) -> Result<(), RefusedWhy> {
    let open = open_load(state, load)?;
    if open.is_sealed {
        return Err(RefusedWhy::Invalid(format!("load {load} has all its units")));
    }
    match open.uncut().next() {
        Some((file, _)) => {
            Err(RefusedWhy::Invalid(format!("file {file} of load {load} is not cut to its end")))
        }
        None => Ok(()),
    }
}

fn check_add(state: &State, load: LoadId, units: &[u32], parts: &[SealedPart]) -> Result<(), RefusedWhy> {
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

fn check_publish(state: &State, load: LoadId) -> Result<(), RefusedWhy> {
    let open = open_load(state, load)?;
    if !open.is_complete() {
        let (covered, all) = (open.covered_count(), open.units.len());
        let more = if open.is_sealed { "" } else { " and of more to come" };
        return Err(RefusedWhy::Invalid(format!("load {load} has loaded {covered} of {all} units{more}")));
    }
    let table = table_of(state, open.table)?;
    let versions: BTreeSet<u32> = open.parts().map(|part| part.schema_version).collect();
    versions.into_iter().try_for_each(|version| schema_compatible(state, table, version))
}

fn open_load(state: &State, load: LoadId) -> Result<&Arc<StagedLoad>, RefusedWhy> {
    state.loads().get(load).ok_or(RefusedWhy::UnknownLoad(load))
}
