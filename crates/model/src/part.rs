//! What the catalog knows of a part: its place, its rows, its bounds; never its bytes.
//!
//! Invariant: a part never changes. A `SealedPart` is durable on disk; only its durability makes it a thing that a
//! transaction may name, so "commit before fsync" cannot be written by accident.

use std::sync::Arc;

use crate::ids::{ColumnId, LoadId, PartId, TableId};
use crate::partition::PartitionValue;
use crate::value::Value;

/// Insertion numbers of the rows of a part, both ends included. Given when the record is applied.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct BlockRange {
    pub min: u64,
    pub max: u64,
}

/// The order rows really have inside the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SortOrder {
    /// As they came; merges sort the part first.
    None,
    /// By this version of the table's sort key.
    Key { version: u32 },
}

/// Where the file is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartLocation {
    /// Which store; 0 is the database's own folder.
    pub store: u16,
    /// Path relative to the store's root.
    pub key: Arc<str>,
    /// Nodes that hold it when the store is not shared; empty means every node can read it.
    pub owner_nodes: Vec<u32>,
}

/// Least and greatest value of one column, NULLs left out; `None` where the file keeps no statistics. Texts may be
/// cut short: `min` is then a prefix (not greater), `max` rounded up (not less).
#[derive(Clone, PartialEq, Debug)]
pub struct ColumnBounds {
    pub column: ColumnId,
    pub min: Option<Value>,
    pub max: Option<Value>,
    pub nulls: Option<u64>,
}

/// What of a part's file is not pages: from its index of pages to its end. The sums of the pages are in it, so this one sum
/// vouches for every byte that a reader goes by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileTail {
    /// Where it begins.
    pub begin: u64,
    /// XXH3-64 of it.
    pub checksum: u64,
}

/// Everything the catalog keeps of one part.
#[derive(Clone, PartialEq, Debug)]
pub struct PartDescriptor {
    pub id: PartId,
    pub table: TableId,
    /// Version of the columns it was written with.
    pub schema_version: u32,
    pub partition: PartitionValue,
    /// Hash bucket; 0 for tables that are not distributed.
    pub bucket: u32,
    pub location: PartLocation,
    /// XXH3-64 of the file.
    pub checksum: u64,
    /// `None` for a part whose pages have no sums: written by a version before 5 of the log's format.
    pub tail: Option<FileTail>,
    /// Zero until applied: block numbers are given in log order.
    pub blocks: BlockRange,
    /// 0 for a part made by an insert, one more than its inputs for a merge.
    pub level: u32,
    /// Mutations applied to it.
    pub data_version: u64,
    pub sort_order: SortOrder,
    /// Columns whose pages were copied out of another file, in part or all of them.
    pub adopted: Vec<ColumnId>,
    pub bounds: Vec<ColumnBounds>,
    pub rows: u64,
    /// Size of the file.
    pub bytes: u64,
    /// Size of the rows in memory when written.
    pub bytes_uncompressed: u64,
    /// 1 = Parquet.
    pub format: u16,
    pub load: Option<LoadId>,
    /// Milliseconds since the epoch, for people.
    pub created_ms: u64,
}

/// The file format number of Parquet.
pub const FORMAT_PARQUET: u16 = 1;

impl PartDescriptor {
    /// The name people know from ClickHouse: `202008_1_4_1`.
    pub fn name(&self) -> String {
        format!("{}_{}_{}_{}", self.partition.name(), self.blocks.min, self.blocks.max, self.level)
    }

    pub fn bounds_of(&self, column: ColumnId) -> Option<&ColumnBounds> {
        self.bounds.iter().find(|bounds| bounds.column == column)
    }
}

/// A part whose bytes, name and folder are durable, and which no transaction names yet.
#[derive(Clone, PartialEq, Debug)]
pub struct SealedPart {
    descriptor: PartDescriptor,
}

impl SealedPart {
    /// Says that the file behind `descriptor` has been synced, and its folder too. Only the part writer may say so.
    pub fn attest_durable(descriptor: PartDescriptor) -> SealedPart {
        SealedPart { descriptor }
    }

    pub fn descriptor(&self) -> &PartDescriptor {
        &self.descriptor
    }

    pub fn into_descriptor(self) -> PartDescriptor {
        self.descriptor
    }
}
