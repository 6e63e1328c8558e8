//! Which block numbers a part gets: the rule that keeps insertion order through merges and flushes.
//!
//! Invariant: a part that replaces others covers only block numbers of what it replaces, and live parts of a group
//! stay disjoint. Pure: reads a table's state, changes nothing.

use std::collections::BTreeMap;

use model::{BlockRange, PartDescriptor, TableId};

use crate::op::Op;
use crate::table_state::{GroupKey, TableState, group_of};

/// The block numbers a transaction takes away, before it adds any.
#[derive(Debug, Default)]
pub struct Replaced {
    /// By removed parts.
    groups: BTreeMap<(TableId, GroupKey), BlockRange>,
    /// By flushed inline statements, whose partitions the catalog does not know.
    inline: BTreeMap<TableId, BlockRange>,
}

impl Replaced {
    /// `table_of` finds live tables in the state before the transaction.
    pub fn by<'a>(ops: &[Op], table_of: impl Fn(TableId) -> Option<&'a TableState>) -> Replaced {
        let mut replaced = Replaced::default();
        for op in ops {
            match op {
                Op::RemovePart { table, part } => {
                    if let Some(part) = table_of(*table).and_then(|state| state.part(*part)) {
                        let entry = replaced.groups.entry((*table, group_of(part)));
                        entry.and_modify(|range| *range = union(*range, part.blocks)).or_insert(part.blocks);
                    }
                }
                Op::Flushed { table, up_to } => {
                    if let Some(blocks) = table_of(*table).and_then(|state| state.inline_blocks(*up_to)) {
                        replaced.inline.insert(*table, blocks);
                    }
                }
                _ => {}
            }
        }
        replaced
    }

    /// The range a part asks for; `None` if it replaces nothing and gets a number of its own.
    pub fn range_of(&self, part: &PartDescriptor) -> Option<BlockRange> {
        let merged = self.groups.get(&(part.table, group_of(part))).copied();
        let flushed = self.inline.get(&part.table).copied();
        let all = match (merged, flushed) {
            (Some(merged), Some(flushed)) => union(merged, flushed),
            (merged, flushed) => merged.or(flushed)?,
        };
        let own = part.blocks;
        let own_lies_within = own.min > 0 && own.min <= own.max && own.min >= all.min && own.max <= all.max;
        Some(if own_lies_within { own } else { all })
    }

    /// Whether a part replaces parts, not only inline statements.
    pub fn is_merge(&self, part: &PartDescriptor) -> bool {
        self.groups.contains_key(&(part.table, group_of(part)))
    }
}

/// The blocks of a part that is added to `table`. A range that another live part of the group reaches into cannot be
/// kept (rows inserted and flushed around a merge); the part then counts as inserted now.
pub fn assign(table: &mut TableState, part: &PartDescriptor, replaced: &Replaced) -> BlockRange {
    let wanted = replaced.range_of(part);
    match wanted.filter(|range| table.overlapping(&group_of(part), *range).is_none()) {
        Some(range) => range,
        None => {
            let block = table.take_block();
            BlockRange { min: block, max: block }
        }
    }
}

fn union(a: BlockRange, b: BlockRange) -> BlockRange {
    BlockRange { min: a.min.min(b.min), max: a.max.max(b.max) }
}
