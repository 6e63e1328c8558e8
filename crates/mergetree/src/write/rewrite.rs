//! A part written anew, with fewer rows or other values: how DELETE and UPDATE change rows that are in parts.
//!
//! Invariant: the result is in the order, and has the place among the blocks, of the part it replaces; rows that come in
//! another order are an error, and no part. Rows stream: no more than a row group is in memory. Must not know: which rows
//! were left out, and what the others were before.

use std::sync::Arc;

use arrow::array::RecordBatch;
use model::{PartDescriptor, PartId, SealedPart, SortOrder};
use parts::sorted::SortedCheck;
use parts::{PartSpec, PartWriter, WritePurpose};

use crate::error::TableError;
use crate::origin::{origin_pairs, replaced_within};
use crate::table::Table;

/// See the module.
pub struct PartRewriter {
    writer: PartWriter,
    /// Of a part in the order of the sort key.
    check: Option<SortedCheck>,
    rows: u64,
}

impl PartRewriter {
    /// For what takes the place of `part`; `original` is the live part that it stands for, if `part` has itself not been
    /// committed.
    ///
    /// # Errors
    /// The table has a column Parquet cannot store.
    pub fn new(table: &Table, part: &PartDescriptor, original: PartId) -> Result<PartRewriter, TableError> {
        let is_sorted = table.sort_order() != SortOrder::None && part.sort_order == table.sort_order();
        let replaced = replaced_within(table, vec![original], &part.partition, part.blocks);
        let spec = PartSpec {
            table: Arc::clone(&table.def),
            keys: Arc::clone(&table.keys),
            partition: part.partition.clone(),
            sort: if is_sorted { part.sort_order } else { SortOrder::None },
            level: part.level,
            purpose: WritePurpose::Merge,
            load: None,
            blocks: part.blocks,
            encodings: None,
            origin: origin_pairs(table, part.level, part.blocks, &replaced),
        };
        let mut writer = PartWriter::new(&table.store, spec)?;
        writer.use_workers(&table.host.workers);
        let check = is_sorted.then(|| SortedCheck::new(&table.keys.sort));
        Ok(PartRewriter { writer, check, rows: 0 })
    }

    /// Takes rows of the table's schema, in the order of the part.
    ///
    /// # Errors
    /// They are in another order, have another schema, or the disk refuses.
    pub fn write(&mut self, rows: &RecordBatch) -> Result<(), TableError> {
        if rows.num_rows() == 0 {
            return Ok(());
        }
        if let Some(check) = &mut self.check {
            check.check(rows)?;
        }
        self.rows += rows.num_rows() as u64;
        Ok(self.writer.write(rows)?)
    }

    /// The part, durable and uncommitted; `None` if no row is left.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn finish(self) -> Result<Option<SealedPart>, TableError> {
        if self.rows == 0 { Ok(None) } else { Ok(Some(self.writer.finish()?)) }
    }
}
