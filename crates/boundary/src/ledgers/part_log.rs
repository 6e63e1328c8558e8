//! What became of parts: made, merged, their files removed. The memory behind `system.part_log`.
//!
//! Invariant: bounded, the oldest events go first. An event is written after the fact, so a part that is named here was
//! visible, unless the event has an error. Must not know: who makes parts.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use catalog::{Snapshot, TableState};
use model::{PartDescriptor, PartId, TableDef};
use parking_lot::Mutex;

use crate::error::Error;

/// Events kept in memory.
const EVENTS_MAX: usize = 10_000;

/// What happened; the numbers are ClickHouse's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PartEventKind {
    NewPart = 1,
    MergeParts = 2,
    RemovePart = 4,
    MutatePart = 5,
}

#[derive(Clone, Debug)]
pub struct PartEvent {
    pub kind: PartEventKind,
    /// `NotAMerge`, `RegularMerge`, or `Flush` for inline rows that became a part.
    pub merge_reason: &'static str,
    pub at_ms: u64,
    pub duration: Duration,
    pub database: String,
    pub table: String,
    pub part_name: String,
    pub partition_id: String,
    pub rows: u64,
    pub bytes: u64,
    pub bytes_uncompressed: u64,
    pub merged_from: Vec<String>,
    pub memory_peak: u64,
    /// Empty for background work.
    pub query_id: String,
    pub error: Option<Error>,
}

impl PartEvent {
    /// Of one part; what only some events have is empty.
    pub fn of(
        kind: PartEventKind,
        snapshot: &Snapshot,
        def: &TableDef,
        part: &PartDescriptor,
        at_ms: u64,
    ) -> PartEvent {
        let database = snapshot.database_by_id(def.database);
        PartEvent {
            kind,
            merge_reason: if kind == PartEventKind::MergeParts { "RegularMerge" } else { "NotAMerge" },
            at_ms,
            duration: Duration::ZERO,
            database: database.map(|database| database.name.to_string()).unwrap_or_default(),
            table: def.name.to_string(),
            part_name: part.name(),
            partition_id: part.partition.name().to_owned(),
            rows: part.rows,
            bytes: part.bytes,
            bytes_uncompressed: part.bytes_uncompressed,
            merged_from: Vec::new(),
            memory_peak: 0,
            query_id: String::new(),
            error: None,
        }
    }
}

/// Of one database process.
#[derive(Debug, Default)]
pub struct PartLog {
    events: Mutex<VecDeque<PartEvent>>,
}

impl PartLog {
    pub fn push(&self, event: PartEvent) {
        let mut events = self.events.lock();
        if events.len() == EVENTS_MAX {
            events.pop_front();
        }
        events.push_back(event);
    }

    /// Oldest first.
    pub fn events(&self) -> Vec<PartEvent> {
        self.events.lock().iter().cloned().collect()
    }
}

/// A part that was committed, with the name it got then; it may have been merged since.
pub fn committed_part(state: &TableState, id: PartId) -> Option<Arc<PartDescriptor>> {
    let removed = || state.removed_part(id).map(|removed| Arc::clone(&removed.descriptor));
    state.part(id).cloned().or_else(removed)
}

/// Parts whose files wait to be deleted.
pub struct Removed(Vec<(Arc<TableDef>, Arc<PartDescriptor>)>);

impl Removed {
    pub fn of(snapshot: &Snapshot) -> Removed {
        let dropped = snapshot.dropped_tables().map(|(_, dropped)| dropped.state.as_ref());
        let mut parts = Vec::new();
        for table in snapshot.all_tables().map(AsRef::as_ref).chain(dropped) {
            let of_table =
                |descriptor: &Arc<PartDescriptor>| (Arc::clone(&table.def), Arc::clone(descriptor));
            parts.extend(table.removed().map(|removed| of_table(&removed.descriptor)));
        }
        Removed(parts)
    }

    /// Each of them.
    pub fn parts(&self) -> impl Iterator<Item = &PartDescriptor> {
        self.0.iter().map(|(_, part)| part.as_ref())
    }

    /// Writes an event for each that is gone in `now`.
    pub fn log_gone(self, log: &PartLog, now: &Snapshot, at_ms: u64) {
        if self.0.is_empty() {
            return;
        }
        let left: HashSet<PartId> = Removed::of(now).0.iter().map(|(_, part)| part.id).collect();
        for (def, part) in self.0.iter().filter(|(_, part)| !left.contains(&part.id)) {
            log.push(PartEvent::of(PartEventKind::RemovePart, now, def, part, at_ms));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_ten_thousand_events_are_kept() {
        let log = PartLog::default();
        for number in 0..10_003 {
            log.push(PartEvent {
                kind: PartEventKind::NewPart,
                merge_reason: "NotAMerge",
                at_ms: number,
                duration: Duration::ZERO,
                database: String::new(),
                table: String::new(),
                part_name: String::new(),
                partition_id: String::new(),
                rows: 0,
                bytes: 0,
                bytes_uncompressed: 0,
                merged_from: Vec::new(),
                memory_peak: 0,
                query_id: String::new(),
                error: None,
            });
        }
        let events = log.events();
        let at = |index: usize| events.get(index).map(|event| event.at_ms);
        assert_eq!((events.len(), at(0), at(9_999)), (10_000, Some(3), Some(10_002)));
    }
}
