//! Loads that are open: what they read, which of it is in staged parts, and those parts.
//!
//! Invariant: a label names at most one open load of a database; a unit is covered once, and a staged part belongs to
//! one load. A staged part is neither live nor removed: no reader sees it, and its file is kept.
//! Must not know: tables beyond their id, whether a change is allowed.

use std::ops::Range;
use std::sync::Arc;

use imbl::{OrdMap, OrdSet, Vector};
use model::{
    DatabaseId, Label, LoadId, PartDescriptor, PartId, Seq, StagedFile, StagedInput, StagedUnit, TableId,
};

/// One open load.
#[derive(Clone, PartialEq, Debug)]
pub struct StagedLoad {
    pub id: LoadId,
    /// The scope of its label.
    pub database: DatabaseId,
    pub label: Label,
    pub table: TableId,
    /// Of the statement, to tell a repetition from another one that took the same label.
    pub fingerprint: u128,
    /// Version of the columns it was opened with.
    pub schema_version: u32,
    pub statement: Arc<str>,
    pub files: Arc<[StagedFile]>,
    pub units: Vector<StagedUnit>,
    /// No unit comes later.
    pub is_sealed: bool,
    /// `None` for a load that was opened by a program that did not keep it.
    pub input: Option<Arc<StagedInput>>,
    pub opened: Seq,
    /// Milliseconds since the epoch.
    pub opened_ms: u64,
    /// When units were added last, or `opened_ms`. Milliseconds since the epoch.
    pub changed_ms: u64,
    covered: OrdSet<u32>,
    /// In the order they were added.
    parts: Vector<Arc<PartDescriptor>>,
    part_ids: OrdSet<PartId>,
    rows: u64,
}

/// What a load is opened with; the rest of it comes by and by.
#[derive(Clone, PartialEq, Debug)]
pub struct OpenedLoad {
    pub id: LoadId,
    pub database: DatabaseId,
    pub label: Label,
    pub table: TableId,
    pub fingerprint: u128,
    pub schema_version: u32,
    pub statement: Arc<str>,
    pub files: Vec<StagedFile>,
    pub units: Vec<StagedUnit>,
    pub input: Option<Arc<StagedInput>>,
    pub is_sealed: bool,
}

impl StagedLoad {
    pub fn new(load: OpenedLoad, opened: Seq, opened_ms: u64) -> StagedLoad {
        StagedLoad {
            id: load.id,
            database: load.database,
            label: load.label,
            table: load.table,
            fingerprint: load.fingerprint,
            schema_version: load.schema_version,
            statement: load.statement,
            files: load.files.into(),
            units: load.units.into(),
            is_sealed: load.is_sealed,
            input: load.input,
            opened,
            opened_ms,
            changed_ms: opened_ms,
            covered: OrdSet::new(),
            parts: Vector::new(),
            part_ids: OrdSet::new(),
            rows: 0,
        }
    }

    /// Whether all rows of a unit are in staged parts.
    pub fn is_covered(&self, unit: u32) -> bool {
        self.covered.contains(&unit)
    }

    /// Covered units by number.
    pub fn covered(&self) -> impl Iterator<Item = u32> {
        self.covered.iter().copied()
    }

    pub fn covered_count(&self) -> usize {
        self.covered.len()
    }

    /// All rows of all files are in staged parts.
    pub fn is_complete(&self) -> bool {
        self.is_sealed && self.covered.len() == self.units.len()
    }

    /// Where the units of a file end: what is behind it is in no unit yet. Units of a file come in order.
    pub fn cut_to(&self, file: u32) -> u64 {
        let last = self.units.iter().rev().find(|unit| unit.file == file);
        let bytes =
            usize::try_from(file).ok().and_then(|file| self.files.get(file)).map_or(0, |file| file.bytes);
        last.map_or(0, |unit| unit.range.as_ref().map_or(bytes, |range| range.end))
    }

    /// Files, by number, of which something is in no unit yet, and those bytes. Empty when the units are all there: an empty file
    /// needs none.
    pub fn uncut(&self) -> impl Iterator<Item = (u32, Range<u64>)> {
        let numbered = (0_u32..).zip(self.files.iter()).filter(|_| !self.is_sealed);
        let rest = |(number, file): (u32, &StagedFile)| (number, self.cut_to(number)..file.bytes);
        numbered.map(rest).filter(|(_, rest)| !rest.is_empty())
    }

    /// Units found later.
    pub fn add_units(&mut self, units: &[StagedUnit]) {
        self.units.extend(units.iter().cloned());
    }

    pub fn seal(&mut self) {
        self.is_sealed = true;
    }

    /// Staged parts in the order they were added.
    pub fn parts(&self) -> impl Iterator<Item = &Arc<PartDescriptor>> {
        self.parts.iter()
    }

    pub fn part_count(&self) -> usize {
        self.parts.len()
    }

    pub fn has_part(&self, part: PartId) -> bool {
        self.part_ids.contains(&part)
    }

    /// Rows of covered units.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Marks units as covered.
    pub fn cover(&mut self, units: impl IntoIterator<Item = u32>, rows: u64, changed_ms: u64) {
        self.covered.extend(units);
        self.rows += rows;
        self.changed_ms = changed_ms;
    }

    pub fn add_part(&mut self, part: Arc<PartDescriptor>) {
        self.part_ids.insert(part.id);
        self.parts.push_back(part);
    }
}

/// All open loads.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Loads {
    by_id: OrdMap<LoadId, Arc<StagedLoad>>,
    by_label: OrdMap<(DatabaseId, Label), LoadId>,
}

impl Loads {
    /// By id.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<StagedLoad>> {
        self.by_id.values()
    }

    pub fn get(&self, load: LoadId) -> Option<&Arc<StagedLoad>> {
        self.by_id.get(&load)
    }

    pub fn labelled(&self, database: DatabaseId, label: &Label) -> Option<&Arc<StagedLoad>> {
        self.by_id.get(self.by_label.get(&(database, label.clone()))?)
    }

    /// Whether a part is staged by any load. Few loads are open at a time.
    pub fn has_part(&self, part: PartId) -> bool {
        self.by_id.values().any(|load| load.has_part(part))
    }

    /// The loads into a table, or of a database's labels.
    pub fn matching(&self, wanted: impl Fn(&StagedLoad) -> bool) -> Vec<LoadId> {
        self.by_id.values().filter(|load| wanted(load)).map(|load| load.id).collect()
    }

    /// Adds a load; also how a checkpoint puts one back.
    pub fn insert(&mut self, load: StagedLoad) {
        self.by_label.insert((load.database, load.label.clone()), load.id);
        self.by_id.insert(load.id, Arc::new(load));
    }

    /// `None` if there is no such load.
    pub fn change(&mut self, load: LoadId, change: impl FnOnce(&mut StagedLoad)) -> Option<()> {
        change(Arc::make_mut(self.by_id.get_mut(&load)?));
        Some(())
    }

    pub fn remove(&mut self, load: LoadId) -> Option<Arc<StagedLoad>> {
        let removed = self.by_id.remove(&load)?;
        self.by_label.remove(&(removed.database, removed.label.clone()));
        Some(removed)
    }
}
