//! What is known of the bytes of parts since the process began: when they were checked, and which are damaged.
//!
//! Invariant: a part without sums of its pages is compared as a whole before its first reader gets a byte, and whoever else
//! wants to read it meanwhile waits. Memory only. Must not know: how a part is checked, and what follows from damage.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use model::{PartDescriptor, PartId, TableId};
use parking_lot::Mutex;

use crate::error::PartError;

/// The parts of one store.
#[derive(Debug, Default)]
pub struct PartHealth {
    parts: Mutex<BTreeMap<(TableId, PartId), Known>>,
    /// Tables of which other servers of the root know damaged parts.
    elsewhere: Mutex<HashSet<TableId>>,
}

#[derive(Clone, Debug, Default)]
struct Known {
    checked_ms: Option<u64>,
    damage: Option<Arc<str>>,
    /// Whether the whole file was compared and found sound; locked while somebody compares it.
    compared: Arc<Mutex<bool>>,
}

impl PartHealth {
    /// Compares the whole file by `compare`, unless that was done since the process began.
    ///
    /// # Errors
    /// What `compare` found; the next reader compares again.
    pub(crate) fn once(
        &self,
        part: &PartDescriptor,
        compare: impl FnOnce() -> Result<(), PartError>,
    ) -> Result<(), PartError> {
        let compared = Arc::clone(&self.parts.lock().entry((part.table, part.id)).or_default().compared);
        let mut is_sound = compared.lock();
        if !*is_sound {
            compare().inspect_err(|error| self.note_error(part.table, error))?;
            *is_sound = true;
        }
        Ok(())
    }

    /// Whether the whole file was compared and found sound, and nothing was found since; `false` while somebody compares.
    pub fn is_compared(&self, part: &PartDescriptor) -> bool {
        let compared = self.parts.lock().get(&(part.table, part.id)).map(|known| Arc::clone(&known.compared));
        compared.is_some_and(|compared| compared.try_lock().is_some_and(|is_sound| *is_sound))
    }

    /// The part was read completely, and is as it was written.
    pub fn note_sound(&self, part: &PartDescriptor, now_ms: u64) {
        let mut parts = self.parts.lock();
        let known = parts.entry((part.table, part.id)).or_default();
        (known.checked_ms, known.damage) = (Some(now_ms), None);
    }

    /// The part was looked at, and what was found is noted.
    pub fn note_looked(&self, part: &PartDescriptor, now_ms: u64) {
        self.parts.lock().entry((part.table, part.id)).or_default().checked_ms = Some(now_ms);
    }

    /// Notes damage; other errors say nothing of the part.
    pub fn note_error(&self, table: TableId, error: &PartError) {
        if let Some(part) = error.damaged_part() {
            let mut parts = self.parts.lock();
            let known = parts.entry((table, part)).or_default();
            known.damage.get_or_insert(error.to_string().into());
            // Not unlocked: whoever notes it may be comparing.
            known.compared = Arc::default();
        }
    }

    /// When all of the part was last looked at, and what is wrong with it.
    pub fn of(&self, part: &PartDescriptor) -> (Option<u64>, Option<Arc<str>>) {
        let parts = self.parts.lock();
        let known = parts.get(&(part.table, part.id));
        known.map_or((None, None), |known| (known.checked_ms, known.damage.clone()))
    }

    /// The tables with damaged parts that this process knows of.
    pub fn damaged_tables(&self) -> BTreeSet<TableId> {
        let parts = self.parts.lock();
        parts.iter().filter(|(_, known)| known.damage.is_some()).map(|((table, _), _)| *table).collect()
    }

    /// Other servers know of damaged parts of these tables.
    pub fn set_damaged_elsewhere(&self, tables: HashSet<TableId>) {
        *self.elsewhere.lock() = tables;
    }

    /// Whether nobody knows of a damaged part of a table: else what was merged away may be all there is of it.
    pub fn is_whole(&self, table: TableId) -> bool {
        !self.elsewhere.lock().contains(&table) && self.damaged(table).is_empty()
    }

    /// The damaged parts of a table.
    pub fn damaged(&self, table: TableId) -> HashSet<PartId> {
        let parts = self.parts.lock();
        let of_table = parts.range((table, PartId::from_bytes([0; 16]))..);
        let of_table = of_table.take_while(|((found, _), _)| *found == table);
        of_table.filter(|(_, known)| known.damage.is_some()).map(|((_, part), _)| *part).collect()
    }

    /// What was found was wrong with a copy, and is not known of the part.
    pub fn note_sound_again(&self, table: TableId, error: &PartError) {
        if let Some(part) = error.damaged_part() {
            self.parts.lock().remove(&(table, part));
        }
    }

    /// Forgets parts that are not there any more: whoever was slow to read one found no file, which is no damage.
    pub fn retain(&self, is_there: impl Fn(TableId, PartId) -> bool) {
        self.parts.lock().retain(|(table, part), _| is_there(*table, *part));
    }

    /// The part is gone.
    pub(crate) fn forget(&self, part: &PartDescriptor) {
        self.parts.lock().remove(&(part.table, part.id));
    }

    /// The table is gone.
    pub(crate) fn forget_table(&self, table: TableId) {
        self.parts.lock().retain(|(found, _), _| *found != table);
    }
}
