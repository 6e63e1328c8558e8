//! One table at one `Seq`: its definitions, live parts, rows that live in the log, and parts that were removed.
//!
//! Invariant: live parts of one group (partition and bucket) have disjoint block ranges, and every part, live or
//! removed, is listed once. Changes cost O(log n) and never touch what an older snapshot sees.
//! Must not know: the log, other tables, the bytes of rows.

use std::sync::Arc;

use bytes::Bytes;
use imbl::OrdMap;
use model::saturating::u64_of;
use model::{BlockRange, DETACHED_PARTS, PartDescriptor, PartId, PartitionValue, Seq, TableDef};

/// Rows that live in the log: what the insert statements of one record put into the table.
#[derive(Clone, PartialEq, Debug)]
pub struct InlineStatement {
    pub seq: Seq,
    /// Its insertion number, in one sequence with those of parts.
    pub block: u64,
    pub schema_version: u32,
    pub rows: u64,
    /// Made and read by `mergetree`.
    pub bytes: Bytes,
}

/// A part no snapshot from `seq` on sees; its file may still be read by older ones.
#[derive(Clone, PartialEq, Debug)]
pub struct RemovedPart {
    pub descriptor: Arc<PartDescriptor>,
    pub seq: Seq,
    /// Milliseconds since the epoch.
    pub removed_ms: u64,
}

/// Partition and bucket: parts are merged, and insertion order is kept, within one such group.
pub type GroupKey = (PartitionValue, u32);

/// The live parts of one group.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PartitionState {
    /// By the first of their block numbers.
    parts: OrdMap<u64, Arc<PartDescriptor>>,
    pub rows: u64,
    pub bytes: u64,
}

impl PartitionState {
    /// In insertion order.
    pub fn parts(&self) -> impl Iterator<Item = &Arc<PartDescriptor>> {
        self.parts.values()
    }

    pub fn part_count(&self) -> usize {
        self.parts.len()
    }

    /// A live part that has a block number of `range`.
    fn overlapping(&self, range: BlockRange) -> Option<&Arc<PartDescriptor>> {
        // Ranges are disjoint, so only the last one that starts early enough can reach into `range`.
        let (_, last) = self.parts.get_prev(&range.max)?;
        (last.blocks.max >= range.min).then_some(last)
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct TableState {
    /// The current definition.
    pub def: Arc<TableDef>,
    definitions: OrdMap<u32, Arc<TableDef>>,
    parts: OrdMap<(u64, PartId), Arc<PartDescriptor>>,
    by_id: OrdMap<PartId, Arc<PartDescriptor>>,
    groups: OrdMap<GroupKey, PartitionState>,
    inline: OrdMap<u64, Arc<InlineStatement>>,
    removed: OrdMap<PartId, Arc<RemovedPart>>,
    next_block: u64,
    inline_changed: Seq,
    rows: u64,
    bytes: u64,
    inline_rows: u64,
    inline_bytes: u64,
}

impl TableState {
    pub fn new(def: Arc<TableDef>) -> TableState {
        TableState {
            definitions: OrdMap::unit(def.schema_version, Arc::clone(&def)),
            def,
            parts: OrdMap::new(),
            by_id: OrdMap::new(),
            groups: OrdMap::new(),
            inline: OrdMap::new(),
            removed: OrdMap::new(),
            next_block: 1,
            inline_changed: Seq::ZERO,
            rows: 0,
            bytes: 0,
            inline_rows: 0,
            inline_bytes: 0,
        }
    }

    /// The columns as they were at a version; versions are kept as long as the table.
    pub fn definition_of(&self, schema_version: u32) -> Option<Arc<TableDef>> {
        self.definitions.get(&schema_version).cloned()
    }

    /// Every version of the columns, oldest first.
    pub fn definitions(&self) -> impl Iterator<Item = &Arc<TableDef>> {
        self.definitions.values()
    }

    /// Live parts by block number.
    pub fn parts(&self) -> impl Iterator<Item = &Arc<PartDescriptor>> {
        self.parts.values()
    }

    /// A live part.
    pub fn part(&self, id: PartId) -> Option<&Arc<PartDescriptor>> {
        self.by_id.get(&id)
    }

    pub fn part_count(&self) -> usize {
        self.parts.len()
    }

    /// Live parts by partition and bucket.
    pub fn partitions(&self) -> impl Iterator<Item = (&GroupKey, &PartitionState)> {
        self.groups.iter()
    }

    /// Rows in the log by block number.
    pub fn inline(&self) -> impl Iterator<Item = &Arc<InlineStatement>> {
        self.inline.values()
    }

    /// Parts removed and not forgotten yet.
    pub fn removed(&self) -> impl Iterator<Item = &Arc<RemovedPart>> {
        self.removed.values()
    }

    /// Removed parts that nobody will see again.
    pub fn outdated(&self) -> impl Iterator<Item = &Arc<RemovedPart>> {
        let detached = self.def.detached_parts();
        self.removed.values().filter(move |removed| !detached.contains(&removed.descriptor.id))
    }

    /// Removed parts whose files stay, because ALTER TABLE .. DETACH PARTITION took them out of sight.
    pub fn detached(&self) -> impl Iterator<Item = &Arc<RemovedPart>> {
        let detached = self.def.detached_parts();
        self.removed.values().filter(move |removed| detached.contains(&removed.descriptor.id))
    }

    pub fn removed_part(&self, id: PartId) -> Option<&Arc<RemovedPart>> {
        self.removed.get(&id)
    }

    /// Rows in live parts and inline statements together.
    pub fn rows(&self) -> u64 {
        self.rows + self.inline_rows
    }

    /// Bytes of the files of live parts.
    pub fn part_bytes(&self) -> u64 {
        self.bytes
    }

    pub fn inline_rows(&self) -> u64 {
        self.inline_rows
    }

    pub fn inline_bytes(&self) -> u64 {
        self.inline_bytes
    }

    pub fn inline_count(&self) -> usize {
        self.inline.len()
    }

    /// The number the next insert gets.
    pub fn next_block(&self) -> u64 {
        self.next_block
    }

    /// When inline statements last left the table, by a flush or a truncation. A flush decided earlier is outdated.
    pub fn inline_changed(&self) -> Seq {
        self.inline_changed
    }

    /// A live part of `group` with a block number of `range`.
    pub fn overlapping(&self, group: &GroupKey, range: BlockRange) -> Option<&Arc<PartDescriptor>> {
        self.groups.get(group)?.overlapping(range)
    }

    /// The block numbers of inline statements up to a seq; `None` if there are none.
    pub fn inline_blocks(&self, up_to: Seq) -> Option<BlockRange> {
        let mut until = self.inline.values().take_while(|statement| statement.seq <= up_to);
        let first = until.next()?.block;
        Some(BlockRange { min: first, max: until.last().map_or(first, |statement| statement.block) })
    }

    /// The table as if it held this part alone, or nothing.
    pub fn only(&self, part: Option<&Arc<PartDescriptor>>) -> TableState {
        let mut alone = TableState::new(Arc::clone(&self.def));
        alone.definitions.clone_from(&self.definitions);
        if let Some(part) = part {
            alone.insert_part(Arc::clone(part));
        }
        alone
    }

    /// Renames, moves, or gives the table its next schema version.
    pub fn redefine(&mut self, def: Arc<TableDef>) {
        // Older versions are kept for their columns; a list for each would be as many lists as there were changes.
        if self.def.kept_text(DETACHED_PARTS).is_some() {
            let older = Arc::new(self.def.without_detached_parts());
            self.definitions.insert(older.schema_version, older);
        }
        self.definitions.insert(def.schema_version, Arc::clone(&def));
        self.def = def;
    }

    pub fn take_block(&mut self) -> u64 {
        let block = self.next_block;
        self.next_block += 1;
        block
    }

    /// Adds a live part whose block range is final and free in its group.
    pub fn insert_part(&mut self, part: Arc<PartDescriptor>) {
        self.rows += part.rows;
        self.bytes += part.bytes;
        let group = self.groups.entry(group_of(&part)).or_default();
        group.rows += part.rows;
        group.bytes += part.bytes;
        group.parts.insert(part.blocks.min, Arc::clone(&part));
        self.by_id.insert(part.id, Arc::clone(&part));
        self.parts.insert((part.blocks.min, part.id), part);
    }

    /// Turns a live part into a removed one; `None` if it is not live.
    pub fn remove_part(&mut self, id: PartId, seq: Seq, removed_ms: u64) -> Option<Arc<PartDescriptor>> {
        let part = self.by_id.remove(&id)?;
        self.parts.remove(&(part.blocks.min, id));
        self.rows -= part.rows;
        self.bytes -= part.bytes;
        let key = group_of(&part);
        let group = self.groups.get_mut(&key)?;
        group.parts.remove(&part.blocks.min);
        group.rows -= part.rows;
        group.bytes -= part.bytes;
        if group.parts.is_empty() {
            self.groups.remove(&key);
        }
        self.removed.insert(id, Arc::new(RemovedPart { descriptor: Arc::clone(&part), seq, removed_ms }));
        Some(part)
    }

    pub fn insert_inline(&mut self, statement: InlineStatement) {
        self.inline_rows += statement.rows;
        self.inline_bytes += length(&statement.bytes);
        self.inline.insert(statement.block, Arc::new(statement));
    }

    /// Takes the inline statements up to `up_to` out, at `seq`.
    pub fn remove_inline(&mut self, up_to: Seq, seq: Seq) {
        self.inline_changed = seq;
        while let Some((block, oldest)) = self.inline.get_min().cloned() {
            if oldest.seq > up_to {
                return;
            }
            self.inline.remove(&block);
            self.inline_rows -= oldest.rows;
            self.inline_bytes -= length(&oldest.bytes);
        }
    }

    /// Turns all live parts into removed ones and takes all inline statements out.
    pub fn clear(&mut self, seq: Seq, removed_ms: u64) {
        for descriptor in std::mem::take(&mut self.parts).values() {
            let removed = RemovedPart { descriptor: Arc::clone(descriptor), seq, removed_ms };
            self.removed.insert(descriptor.id, Arc::new(removed));
        }
        (self.by_id, self.groups, self.inline) = (OrdMap::new(), OrdMap::new(), OrdMap::new());
        (self.rows, self.bytes, self.inline_rows, self.inline_bytes) = (0, 0, 0, 0);
        self.inline_changed = seq;
    }

    /// Drops the memory of removed parts; ids that are not among them are passed over.
    pub fn forget(&mut self, parts: &[PartId]) {
        for part in parts {
            self.removed.remove(part);
        }
    }

    /// Puts back what a checkpoint kept beside parts and statements.
    pub fn restore(&mut self, next_block: u64, inline_changed: Seq) {
        (self.next_block, self.inline_changed) = (next_block, inline_changed);
    }

    /// Puts back an older version of the columns.
    pub fn restore_definition(&mut self, def: Arc<TableDef>) {
        self.definitions.insert(def.schema_version, def);
    }

    pub fn restore_removed(&mut self, removed: RemovedPart) {
        self.removed.insert(removed.descriptor.id, Arc::new(removed));
    }
}

pub fn group_of(part: &PartDescriptor) -> GroupKey {
    (part.partition.clone(), part.bucket)
}

fn length(bytes: &Bytes) -> u64 {
    u64_of(bytes.len())
}

#[cfg(test)]
mod tests;
