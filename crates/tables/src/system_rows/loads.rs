//! `system.loads`, `system.load_units`, `system.load_files`: loads with labels, as far as they are known.
//!
//! Open loads come from the snapshot, ended ones from this process's memory, and of those before it only what their
//! labels keep. Invariant: what is not known is NULL or empty, never a guess.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use boundary::error::Error;
use boundary::ledgers::loads::{Attempted, LoadEnd, LoadHistory};
use catalog::{Catalog, Snapshot, StagedLoad};
use model::StagedUnit;

use super::rows::{Cell, Columns, RowBuilder};

pub const LOADS: &Columns = &[
    ("load_id", "String"),
    ("label", "String"),
    ("kind", "String"),
    ("query_id", "String"),
    ("database", "String"),
    ("table", "String"),
    ("state", "String"),
    ("started", "Nullable(DateTime64(3, 'UTC'))"),
    ("updated", "DateTime64(3, 'UTC')"),
    ("files_total", "Nullable(UInt64)"),
    ("files_done", "Nullable(UInt64)"),
    ("units_total", "Nullable(UInt64)"),
    ("units_done", "Nullable(UInt64)"),
    ("bytes_total", "Nullable(UInt64)"),
    ("bytes_read", "Nullable(UInt64)"),
    ("rows_written", "UInt64"),
    ("parts_written", "Nullable(UInt64)"),
    ("error_code", "Int32"),
    ("error", "String"),
    ("resumable", "UInt8"),
    ("statement", "String"),
];

pub const UNITS: &Columns = &[
    ("load_id", "String"),
    ("label", "String"),
    ("unit", "UInt64"),
    ("file", "UInt64"),
    ("path", "String"),
    ("row_groups", "String"),
    ("range_begin", "Nullable(UInt64)"),
    ("range_end", "Nullable(UInt64)"),
    ("bytes", "UInt64"),
    ("rows", "Nullable(UInt64)"),
    ("state", "String"),
    ("read_here", "UInt8"),
    ("server", "String"),
];

pub const FILES: &Columns = &[
    ("load_id", "String"),
    ("label", "String"),
    ("file", "UInt64"),
    ("path", "String"),
    ("bytes", "UInt64"),
    ("version", "Nullable(String)"),
    ("units_total", "UInt64"),
    ("units_done", "UInt64"),
];

/// `system.loads`; what statements said may be hidden from who asks.
pub fn fill(
    history: &LoadHistory,
    catalog: &Arc<Catalog>,
    (snapshot, hides_statements): (&Snapshot, bool),
    rows: &mut RowBuilder,
) -> Result<(), Error> {
    for load in known_loads(history, catalog) {
        push_load(snapshot, rows, &load, hides_statements)?;
    }
    earlier_labels(history, snapshot).into_iter().try_for_each(|load| rows.push(load))
}

/// `system.load_units`.
pub fn fill_units(history: &LoadHistory, catalog: &Arc<Catalog>, rows: &mut RowBuilder) -> Result<(), Error> {
    known_loads(history, catalog).iter().try_for_each(|load| push_units(rows, load))
}

/// `system.load_files`.
pub fn fill_files(history: &LoadHistory, catalog: &Arc<Catalog>, rows: &mut RowBuilder) -> Result<(), Error> {
    known_loads(history, catalog).iter().try_for_each(|load| push_files(rows, load))
}

/// A load whose units are known.
pub struct KnownLoad {
    pub load: Arc<StagedLoad>,
    /// LOADING, INTERRUPTED, FINISHED, CANCELLED or FAILED.
    pub state: &'static str,
    /// Milliseconds since the epoch.
    pub updated_ms: u64,
    attempted: Attempted,
}

impl KnownLoad {
    /// Empty if nobody gave one.
    pub fn label(&self) -> &str {
        if self.load.label.is_hidden() { "" } else { self.load.label.as_str() }
    }

    pub fn is_open(&self) -> bool {
        matches!(self.state, "LOADING" | "INTERRUPTED")
    }

    pub fn error(&self) -> Option<&Error> {
        self.attempted.error.as_ref()
    }

    /// Of all units, those that are not found yet among them.
    pub fn bytes_total(&self) -> u64 {
        let of_units = self.load.units.iter().map(|unit| unit.bytes).sum::<u64>();
        of_units + self.load.uncut().map(|(_, rest)| rest.end - rest.start).sum::<u64>()
    }

    fn numbered(&self) -> impl Iterator<Item = (u32, &StagedUnit)> {
        (0..).zip(self.load.units.iter())
    }

    /// Stored bytes of units that were read to their end.
    fn bytes_read(&self) -> u64 {
        let read = |number| self.load.is_covered(number) || self.attempted.has_read(number);
        self.numbered().filter(|(number, _)| read(*number)).map(|(_, unit)| unit.bytes).sum()
    }

    /// Files all of whose units are staged.
    fn files_done(&self) -> u64 {
        let unfinished = self.numbered().filter(|(number, _)| !self.load.is_covered(*number));
        let uncut = self.load.uncut().map(|(file, _)| file);
        let unfinished: BTreeSet<u32> = unfinished.map(|(_, unit)| unit.file).chain(uncut).collect();
        (self.load.files.len() - unfinished.len()) as u64
    }
}

/// Ended loads of this process, oldest first, then open ones.
pub fn known_loads(history: &LoadHistory, catalog: &Arc<Catalog>) -> Vec<KnownLoad> {
    let ended = history.all_ended().into_iter().map(|over| KnownLoad {
        state: match over.end {
            LoadEnd::Finished => "FINISHED",
            LoadEnd::Cancelled => "CANCELLED",
            LoadEnd::Failed => "FAILED",
        },
        updated_ms: over.ended_ms,
        load: over.load,
        attempted: over.attempted,
    });
    // The newest state, not the statement's: progress is what people look for here.
    let newest = catalog.snapshot();
    let open: Vec<KnownLoad> = newest.loads().map(|load| known_open(history, load)).collect();
    ended.chain(open).collect()
}

fn known_open(loads: &LoadHistory, load: &Arc<StagedLoad>) -> KnownLoad {
    let attempted = loads.attempted(load.id);
    let state = if attempted.running().is_some() { "LOADING" } else { "INTERRUPTED" };
    KnownLoad { state, updated_ms: load.changed_ms, load: Arc::clone(load), attempted }
}

fn push_load(
    snapshot: &Snapshot,
    rows: &mut RowBuilder,
    known: &KnownLoad,
    hides_statements: bool,
) -> Result<(), Error> {
    let load = &known.load;
    let table = snapshot.table_by_id(load.table);
    // Whose a load was is not known once the process has ended.
    let shown = |text: &str| Cell::from(if hides_statements { "" } else { text });
    rows.push([
        load.id.to_string().into(),
        known.label().into(),
        "INSERT".into(),
        known.attempted.query_id.as_str().into(),
        snapshot.state().database_name(load.database).into(),
        table.map(|table| table.def.name.to_string()).unwrap_or_default().into(),
        known.state.into(),
        Cell::Time(load.opened_ms),
        Cell::Time(known.updated_ms),
        load.files.len().into(),
        known.files_done().into(),
        load.units.len().into(),
        load.covered_count().into(),
        known.bytes_total().into(),
        known.bytes_read().into(),
        load.rows().into(),
        load.part_count().into(),
        Cell::code(known.error().map(|error| error.code)),
        shown(known.error().map_or("", |error| &error.message)),
        known.is_open().into(),
        shown(&load.statement),
    ])
}

/// Labels whose loads this process has not seen.
fn earlier_labels(loads: &LoadHistory, snapshot: &Snapshot) -> Vec<[Cell; 21]> {
    let ended = loads.all_ended();
    let finished: BTreeSet<_> = ended
        .iter()
        .filter(|over| over.end == LoadEnd::Finished)
        .map(|over| (over.load.database, over.load.label.clone()))
        .collect();
    let state = snapshot.state();
    let earlier = state.labels().iter().filter(|(database, label, _)| {
        // Cloning a label copies a pointer.
        !finished.contains(&(*database, (*label).clone()))
    });
    let row = |(database, label, kept): (model::DatabaseId, &model::Label, &catalog::LabelState)| {
        [
            "".into(),
            label.as_str().into(),
            "INSERT".into(),
            "".into(),
            state.database_name(database).into(),
            "".into(),
            "FINISHED".into(),
            Cell::Null,
            Cell::Time(kept.committed_ms),
            Cell::Null,
            Cell::Null,
            Cell::Null,
            Cell::Null,
            Cell::Null,
            Cell::Null,
            kept.rows.into(),
            Cell::Null,
            Cell::Int(0),
            "".into(),
            false.into(),
            "".into(),
        ]
    };
    earlier.map(row).collect()
}

fn push_units(rows: &mut RowBuilder, known: &KnownLoad) -> Result<(), Error> {
    let load = &known.load;
    known.numbered().try_for_each(|(number, unit)| {
        let read_here = known.attempted.has_read(number);
        let state = match (load.is_covered(number), read_here) {
            (true, _) => "STAGED",
            (false, true) => "READ",
            (false, false) => "WAITING",
        };
        let path = load.files.get(unit.file as usize).map_or("", |file| &*file.path);
        let of_range = |byte: fn(&Range<u64>) -> u64| {
            unit.range.as_ref().map_or(Cell::Null, |range| Cell::UInt(byte(range)))
        };
        let row_groups = unit.row_groups.as_ref().map(|all| {
            let all: Vec<String> = all.iter().map(ToString::to_string).collect();
            all.join(",")
        });
        rows.push([
            load.id.to_string().into(),
            known.label().into(),
            number.into(),
            unit.file.into(),
            path.into(),
            row_groups.unwrap_or_default().into(),
            of_range(|range| range.start),
            of_range(|range| range.end),
            unit.bytes.into(),
            unit.rows.map_or(Cell::Null, Cell::UInt),
            state.into(),
            read_here.into(),
            known.attempted.given_to(number).as_deref().unwrap_or_default().into(),
        ])
    })
}

fn push_files(rows: &mut RowBuilder, known: &KnownLoad) -> Result<(), Error> {
    let load = &known.load;
    let mut units = vec![(0_u64, 0_u64); load.files.len()];
    for (number, unit) in known.numbered() {
        if let Some((total, done)) = units.get_mut(unit.file as usize) {
            *total += 1;
            *done += u64::from(load.is_covered(number));
        }
    }
    let files = (0_u64..).zip(load.files.iter()).zip(units);
    for ((number, file), (units_total, units_done)) in files {
        rows.push([
            load.id.to_string().into(),
            known.label().into(),
            number.into(),
            Cell::from(&*file.path),
            file.bytes.into(),
            file.version.as_deref().map(str::to_owned).into(),
            units_total.into(),
            units_done.into(),
        ])?;
    }
    Ok(())
}
