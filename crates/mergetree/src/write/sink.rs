//! PartSink: batches in, durable and uncommitted parts out.
//!
//! Every block is sorted in memory and written once, as one part per partition. Texts are never copied: columns are
//! views until the Parquet encoder reads them. Invariant: a sink that does not finish leaves no file.
//! Synchronous; one thread drives one sink, several sinks of a statement run side by side.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::error::ArrowError;
use host::{MemoryBudget, MemoryGrant};
use model::{BlockRange, LoadId, PartitionValue, SealedPart};
use parts::writer::{ROW_GROUP_BYTES_MAX, ROW_GROUP_ROWS_MAX};
use parts::{ColumnEncodings, PartSpec, PartWriter, UnsyncedPart, WritePurpose};

use super::blocks::{Block, BlockBuilder};
use super::collapse::{Collapser, For};
use super::gather::{RowPlace, gather, gather_column, indices, places};
use super::partition::split;
use super::sort::BlockKeys;
use crate::error::TableError;
use crate::origin::origin_pairs;
use crate::table::Table;

/// How a sink forms blocks and where its memory comes from.
#[derive(Clone, Debug)]
pub struct SinkSettings {
    /// A block ends at this many rows; 0 = no limit (`min_insert_block_size_rows`).
    pub block_rows_min: u64,
    /// A block ends at this many bytes in memory; 0 = no limit (`min_insert_block_size_bytes`).
    pub block_bytes_min: u64,
    /// Partitions of one block; 0 = no limit (`max_partitions_per_insert_block`).
    pub partitions_max: u64,
    /// The query's.
    pub memory: MemoryBudget,
    pub load: Option<LoadId>,
    /// Rows of equal key become one, block by block, where the table's mode says so (`optimize_on_insert`).
    pub collapses: bool,
}

impl SinkSettings {
    /// For rows that were in parts before: blocks of a quarter of the memory, in any number of partitions.
    pub(crate) fn within(memory: &MemoryBudget) -> SinkSettings {
        let block_bytes_min = memory.available() / 4 + 1;
        SinkSettings {
            block_rows_min: 0,
            block_bytes_min,
            partitions_max: 0,
            memory: memory.clone(),
            load: None,
            collapses: false,
        }
    }
}

/// Values gathered and encoded at once: small enough to stay in the processor's cache.
const GATHER_ROWS: usize = 8192;

/// Rows that are looked at together for equal keys.
const COLLAPSE_ROWS: usize = 64 * 1024;

/// Writes one statement's rows, or the share of one thread.
pub struct PartSink {
    table: Table,
    settings: SinkSettings,
    purpose: WritePurpose,
    /// What the parts replace; the default for rows that are new.
    replaces: BlockRange,
    blocks: BlockBuilder,
    /// Chosen from the first block.
    encodings: Option<Arc<ColumnEncodings>>,
    parts: Vec<SealedPart>,
    /// Written and being synced, while the next block is formed and sorted.
    unsynced: Vec<UnsyncedPart>,
}

impl PartSink {
    /// # Errors
    /// None at present; opening may have to ask the disk one day.
    pub fn new(table: Table, settings: SinkSettings) -> Result<PartSink, TableError> {
        Ok(PartSink::replacing(table, settings, WritePurpose::Insert, BlockRange::default()))
    }

    pub(crate) fn replacing(
        table: Table,
        settings: SinkSettings,
        purpose: WritePurpose,
        replaces: BlockRange,
    ) -> PartSink {
        let blocks =
            BlockBuilder::new(settings.block_rows_min, settings.block_bytes_min, settings.memory.clone());
        PartSink {
            table,
            settings,
            purpose,
            replaces,
            blocks,
            encodings: None,
            parts: Vec::new(),
            unsynced: Vec::new(),
        }
    }

    /// Takes rows of the table's schema; writes parts when a block is complete.
    ///
    /// # Errors
    /// The rows have another schema, there are too many partitions, or the disk refuses.
    pub fn write(&mut self, batch: RecordBatch) -> Result<(), TableError> {
        self.check_schema(&batch)?;
        match self.blocks.push(batch) {
            Some(block) => self.write_block(block),
            None => Ok(()),
        }
    }

    /// Writes what is left; returns the parts, durable and uncommitted.
    ///
    /// # Errors
    /// As [`PartSink::write`].
    pub fn finish(mut self) -> Result<Vec<SealedPart>, TableError> {
        self.cut()
    }

    /// Ends the block early: the parts returned hold the rows taken since the last cut, all of them and no others. The
    /// sink goes on.
    ///
    /// # Errors
    /// As [`PartSink::write`].
    pub fn cut(&mut self) -> Result<Vec<SealedPart>, TableError> {
        if let Some(block) = self.blocks.take() {
            self.write_block(block)?;
        }
        let last = std::mem::take(&mut self.unsynced);
        self.seal(last)?;
        Ok(std::mem::take(&mut self.parts))
    }

    /// Deletes everything written.
    pub fn abort(self) {
        drop(self);
    }

    fn check_schema(&self, batch: &RecordBatch) -> Result<(), TableError> {
        let mut expected = self.table.def.stored_columns();
        for column in batch.columns() {
            let wanted = expected.next().map(|c| model::type_arrow::to_data_type(&c.column_type));
            if wanted.as_ref() != Some(column.data_type()) {
                let message =
                    format!("found a column of layout {} where {wanted:?} belongs", column.data_type());
                return Err(self.table.rows_error(message));
            }
        }
        match expected.next() {
            Some(missing) => Err(self.table.rows_error(format!("column {} is missing", missing.name))),
            None => Ok(()),
        }
    }

    fn write_block(&mut self, block: Block) -> Result<(), TableError> {
        let Block { batches, rows, bytes, mut grant } = block;
        let group_rows = row_group_rows(rows as u64, bytes);
        let earlier = std::mem::take(&mut self.unsynced);
        let keys = BlockKeys::new(&self.table.keys, &batches)?;
        for piece in split(&self.table, &batches, self.settings.partitions_max)? {
            let order = keys.sorted_rows(piece.rows.as_deref()).or(piece.rows);
            if self.settings.collapses
                && let Some(collapser) = Collapser::new(
                    &self.table.def,
                    &self.table.keys,
                    &self.table.def.arrow_schema(),
                    For::Storage,
                )?
            {
                let rows = collapsed(collapser, &batches, order.as_deref())?;
                if !rows.is_empty() {
                    self.write_piece(&rows, piece.partition, None, group_rows, &mut grant)?;
                }
                continue;
            }
            self.write_piece(&batches, piece.partition, order.as_deref(), group_rows, &mut grant)?;
        }
        self.seal(earlier)
    }

    fn seal(&mut self, parts: Vec<UnsyncedPart>) -> Result<(), TableError> {
        for part in parts {
            self.parts.push(part.seal()?);
        }
        Ok(())
    }

    /// Writes the rows of `order` (all if `None`) as one part.
    fn write_piece(
        &mut self,
        block: &[RecordBatch],
        partition: PartitionValue,
        order: Option<&[RowPlace]>,
        group_rows: usize,
        grant: &mut MemoryGrant,
    ) -> Result<(), TableError> {
        let spec = self.spec(block, partition)?;
        let mut writer = PartWriter::new(&self.table.store, spec)?;
        let before = grant.bytes();
        match order {
            None => {
                for batch in block {
                    writer.write(batch)?;
                    count_encoded(grant, before, &writer);
                }
            }
            Some(order) => {
                for group in order.chunks(group_rows) {
                    self.write_row_group(&mut writer, block, group)?;
                    count_encoded(grant, before, &writer);
                    writer.end_row_group()?;
                }
            }
        }
        self.unsynced.push(writer.close()?);
        grant.shrink(grant.bytes() - before);
        Ok(())
    }

    /// Column by column: the values of one column of a block stay in the processor's cache while they are gathered in
    /// sorted order; those of all columns would not.
    fn write_row_group(
        &self,
        writer: &mut PartWriter,
        block: &[RecordBatch],
        group: &[RowPlace],
    ) -> Result<(), TableError> {
        let rows = indices(group);
        for position in 0..writer.schema().fields().len() {
            for chunk in rows.chunks(GATHER_ROWS) {
                let values = gather_column(block, position, chunk).map_err(|e| self.table.rows_error(e))?;
                writer.write_column(position, &values)?;
            }
        }
        Ok(())
    }

    fn spec(&mut self, block: &[RecordBatch], partition: PartitionValue) -> Result<PartSpec, TableError> {
        let encodings = match &self.encodings {
            Some(encodings) => Arc::clone(encodings),
            None => Arc::new(self.choose_encodings(block).map_err(|e| self.table.rows_error(e))?),
        };
        self.encodings = Some(Arc::clone(&encodings));
        Ok(PartSpec {
            table: Arc::clone(&self.table.def),
            keys: Arc::clone(&self.table.keys),
            partition,
            sort: self.table.sort_order(),
            level: 0,
            purpose: self.purpose,
            load: self.settings.load,
            blocks: self.replaces,
            encodings: Some(encodings),
            origin: origin_pairs(&self.table, 0, self.replaces, &[]),
        })
    }

    /// Looks at rows from all over the block, since neighbours are alike.
    fn choose_encodings(&self, block: &[RecordBatch]) -> Result<ColumnEncodings, ArrowError> {
        let all = places(block)?;
        let step = all.len().div_ceil(parts::SAMPLE_ROWS_MAX).max(1);
        let sampled: Vec<RowPlace> = all.into_iter().step_by(step).collect();
        Ok(ColumnEncodings::choose(&gather(block, &sampled)?, self.purpose))
    }
}

/// The rows of `order` (all if `None`) after equal keys became one, a part of the block at a time.
fn collapsed(
    mut collapser: Collapser,
    block: &[RecordBatch],
    order: Option<&[RowPlace]>,
) -> Result<Vec<RecordBatch>, TableError> {
    let mut rows = Vec::new();
    match order {
        None => block.iter().try_for_each(|batch| collapser.push(batch).map(|done| rows.extend(done)))?,
        Some(order) => {
            for some in order.chunks(COLLAPSE_ROWS) {
                let gathered = gather(block, some).map_err(|e| TableError::Gather(e.to_string()))?;
                rows.extend(collapser.push(&gathered)?);
            }
        }
    }
    rows.extend(collapser.finish()?);
    Ok(rows)
}

/// Rows of a row group, so that it has about the bytes it may have.
fn row_group_rows(block_rows: u64, block_bytes: u64) -> usize {
    let fitting = ROW_GROUP_BYTES_MAX * block_rows / block_bytes.max(1);
    usize::try_from(fitting.clamp(GATHER_ROWS as u64, ROW_GROUP_ROWS_MAX)).unwrap_or(GATHER_ROWS)
}

impl Drop for PartSink {
    fn drop(&mut self) {
        for part in &self.parts {
            // Failing that, the file is an orphan, which the next opening collects.
            let _ = self.table.store.delete(part.descriptor());
        }
    }
}

/// What the encoder holds is allocated already: it is counted past any limit, on top of the block's `before`.
fn count_encoded(grant: &mut MemoryGrant, before: u64, writer: &PartWriter) {
    let wanted = before + writer.memory_bytes();
    if wanted > grant.bytes() {
        grant.grow_anyway(wanted - grant.bytes());
    }
}
