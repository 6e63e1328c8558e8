//! PartSink: batches in, durable and uncommitted parts out.
//!
//! Every block is sorted in memory and written once, as one part per partition. Texts are never copied: columns are
//! views until the Parquet encoder reads them. Invariant: a sink that does not finish leaves no file.
//! Synchronous; one thread drives one sink, several sinks of a statement run side by side.

use std::sync::Arc;

use arrow::array::{RecordBatch, UInt32Array};
use arrow::compute::{concat, take};
use host::{MemoryBudget, MemoryGrant};
use model::{BlockRange, LoadId, PartitionValue, SealedPart};
use parts::sorted::SortedCheck;
use parts::{ColumnEncodings, PartSpec, PartWriter, WritePurpose};

use super::blocks::{Block, BlockBuilder};
use super::partition::split;
use super::sort::BlockKeys;
use crate::error::TableError;
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
}

/// Rows gathered and encoded at once: small enough to stay in the processor's cache.
const GATHER_ROWS: usize = 8192;

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
        PartSink { table, settings, purpose, replaces, blocks, encodings: None, parts: Vec::new() }
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
        if let Some(block) = self.blocks.take() {
            self.write_block(block)?;
        }
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
        let Block { batches, mut grant, .. } = block;
        let rows = one_batch(&self.table, batches)?;
        let keys = BlockKeys::new(&self.table.keys, &rows)?;
        for piece in split(&self.table.keys, &rows, self.settings.partitions_max)? {
            let order = keys.sorted_rows(piece.rows.as_deref()).or(piece.rows);
            self.write_piece(&rows, piece.partition, order.as_deref(), &mut grant)?;
        }
        Ok(())
    }

    /// Writes the rows of `order` (all if `None`) as one part.
    fn write_piece(
        &mut self,
        block: &RecordBatch,
        partition: PartitionValue,
        order: Option<&[u32]>,
        grant: &mut MemoryGrant,
    ) -> Result<(), TableError> {
        let spec = self.spec(block, partition);
        let mut writer = PartWriter::new(&self.table.store, spec)?;
        // What the encoder holds is allocated already: it is counted past any limit.
        let before = grant.bytes();
        let mut counted = 0;
        let mut sorted = SortedCheck::new(if cfg!(debug_assertions) { &self.table.keys.sort } else { &[] });
        let total = order.map_or(block.num_rows(), <[u32]>::len);
        for start in (0..total).step_by(GATHER_ROWS) {
            let rows = GATHER_ROWS.min(total - start);
            let chunk = match order {
                None => block.slice(start, rows),
                Some(order) => gather(&self.table, block, &order[start..start + rows])?,
            };
            sorted.check(&chunk)?;
            writer.write(&chunk)?;
            let held = writer.memory_bytes();
            if held > counted {
                grant.grow_anyway(held - counted);
                counted = held;
            }
        }
        self.parts.push(writer.finish()?);
        grant.shrink(grant.bytes() - before);
        Ok(())
    }

    fn spec(&mut self, block: &RecordBatch, partition: PartitionValue) -> PartSpec {
        let purpose = self.purpose;
        let encodings =
            self.encodings.get_or_insert_with(|| Arc::new(ColumnEncodings::choose(block, purpose)));
        PartSpec {
            table: Arc::clone(&self.table.def),
            keys: Arc::clone(&self.table.keys),
            partition,
            sort: self.table.sort_order(),
            level: 0,
            purpose,
            load: self.settings.load,
            blocks: self.replaces,
            encodings: Some(Arc::clone(encodings)),
        }
    }
}

impl Drop for PartSink {
    fn drop(&mut self) {
        for part in &self.parts {
            // Failing that, the file is an orphan, which the next opening collects.
            let _ = self.table.store.delete(part.descriptor());
        }
    }
}

/// One batch out of many, column by column, so that at most one column is there twice. Texts stay where they are.
fn one_batch(table: &Table, mut batches: Vec<RecordBatch>) -> Result<RecordBatch, TableError> {
    let schema = table.def.arrow_schema();
    let mut columns = Vec::with_capacity(schema.fields().len());
    if batches.len() == 1 {
        columns.extend(batches.remove(0).columns().iter().cloned());
    }
    for _ in columns.len()..schema.fields().len() {
        let pieces: Vec<_> = batches.iter_mut().map(|batch| batch.remove_column(0)).collect();
        let pieces: Vec<&dyn arrow::array::Array> = pieces.iter().map(AsRef::as_ref).collect();
        columns.push(concat(&pieces).map_err(|e| table.rows_error(e))?);
    }
    RecordBatch::try_new(schema, columns).map_err(|e| table.rows_error(e))
}

pub(crate) fn gather(table: &Table, block: &RecordBatch, rows: &[u32]) -> Result<RecordBatch, TableError> {
    let rows = UInt32Array::from(rows.to_vec());
    let columns = block.columns().iter().map(|column| take(column, &rows, None));
    let columns = columns.collect::<Result<Vec<_>, _>>().map_err(|e| table.rows_error(e))?;
    RecordBatch::try_new(block.schema(), columns).map_err(|e| table.rows_error(e))
}
