//! Parts in, one part out.
//!
//! The order is found first, for one row group at a time, from the columns of the sort key alone; then the columns follow,
//! in groups as large as the memory allows: all together for a few inputs, one by one for a hundred. Invariant: memory
//! is granted before it is used and does not grow with the number of rows; a merge that fails or is cancelled leaves
//! no file.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use host::{MemoryBudget, MemoryGrant};
use model::{BlockRange, PartDescriptor, PartId, SealedPart};
use parts::array_size::batch_bytes;
use parts::writer::ROW_GROUP_ROWS_MAX;
use parts::{PartReader, PartSpec, PartWriter, WritePurpose};

use super::gather::Gather;
use super::inputs::{Inputs, check_cancelled};
use super::memory::{ColumnGroup, MergeCosts, MergeLayout};
use super::order::{MergeOrder, Run};
use crate::error::TableError;
use crate::origin::{origin_pairs, replaced_within};
use crate::table::Table;
use crate::write::collapse::{Collapser, For};

/// How far a merge is; read by `system.merges` while it runs.
#[derive(Debug, Default)]
pub struct MergeProgress {
    rows_total: AtomicU64,
    rows_read: AtomicU64,
    rows_written: AtomicU64,
    bytes_written: AtomicU64,
    memory_bytes: AtomicU64,
}

impl MergeProgress {
    /// Rows of all inputs.
    pub fn rows_total(&self) -> u64 {
        self.rows_total.load(Ordering::Relaxed)
    }

    /// Rows whose place in the result is known.
    pub fn rows_read(&self) -> u64 {
        self.rows_read.load(Ordering::Relaxed)
    }

    /// Rows of the result whose columns are all written.
    pub fn rows_written(&self) -> u64 {
        self.rows_written.load(Ordering::Relaxed)
    }

    /// Bytes written so far, before encoding.
    pub fn bytes_written(&self) -> u64 {
        self.bytes_written.load(Ordering::Relaxed)
    }

    /// Bytes granted.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes.load(Ordering::Relaxed)
    }
}

/// One merge.
pub(crate) struct MergeJob<'a> {
    pub(crate) table: &'a Table,
    /// In block order.
    pub(crate) inputs: &'a [Arc<PartDescriptor>],
    pub(crate) memory: &'a MemoryBudget,
    pub(crate) progress: &'a MergeProgress,
    pub(crate) cancelled: &'a AtomicBool,
}

/// Rows gathered and encoded at once, if they are small.
const CHUNK_ROWS: u64 = 8192;

impl MergeJob<'_> {
    /// The merged part, durable and uncommitted; `None` if no row is left.
    ///
    /// # Errors
    /// An input is damaged, there is too little memory, the disk refuses, or it was cancelled.
    pub(crate) fn run(&self) -> Result<Option<SealedPart>, TableError> {
        self.progress.rows_total.store(self.inputs.iter().map(|part| part.rows).sum(), Ordering::Relaxed);
        let inputs = Inputs::open(self.table, self.inputs, self.memory, self.cancelled)?;
        let costs = inputs.costs(self.table);
        let grant = self.grant(&costs)?;
        self.progress.memory_bytes.store(grant.bytes(), Ordering::Relaxed);
        let mut layout = costs.layout(grant.bytes());
        let schema = self.table.def.arrow_schema();
        let collapser = Collapser::new(&self.table.def, &self.table.keys, &schema, For::Storage)?;
        if collapser.is_some() {
            // What stays of rows depends on several columns.
            layout.read_together();
        }
        let mut writer = PartWriter::new(&self.table.store, self.spec())?;
        writer.choose_encodings(&inputs.sample()?);
        writer.use_workers(&self.table.host.workers);
        let mut merging = Merging {
            job: self,
            order: MergeOrder::new(self.table, &inputs.readers, layout.key_batch_rows)?,
            schema,
            collapser,
            rows_written: 0,
            done: vec![0; inputs.readers.len()],
            whole: None,
            inputs: &inputs,
            layout,
        };
        while merging.row_group(&mut writer)? {}
        if merging.collapser.is_some() && merging.rows_written == 0 {
            return Ok(None);
        }
        Ok(Some(writer.finish()?))
    }

    fn spec(&self) -> PartSpec {
        let first = self.inputs.first();
        let level = self.inputs.iter().map(|part| part.level + 1).max().unwrap_or(1);
        let blocks = BlockRange {
            min: self.inputs.iter().map(|part| part.blocks.min).min().unwrap_or(0),
            max: self.inputs.iter().map(|part| part.blocks.max).max().unwrap_or(0),
        };
        let partition = first.map_or_else(model::PartitionValue::all, |part| part.partition.clone());
        let inputs: Vec<PartId> = self.inputs.iter().map(|part| part.id).collect();
        let replaced = replaced_within(self.table, inputs, &partition, blocks);
        PartSpec {
            table: Arc::clone(&self.table.def),
            keys: Arc::clone(&self.table.keys),
            partition,
            sort: self.table.sort_order(),
            level,
            purpose: WritePurpose::Merge,
            load: None,
            blocks,
            origin: origin_pairs(self.table, level, blocks, &replaced),
            encodings: None,
        }
    }

    /// As much as helps, or most of what is free, but never less than what the promise needs.
    fn grant(&self, costs: &MergeCosts) -> Result<MemoryGrant, TableError> {
        let affordable = self.memory.available() / 10 * 9;
        let bytes = costs.bytes_wanted().min(affordable).max(costs.bytes_needed());
        Ok(self.memory.try_grant("merge", bytes)?)
    }
}

/// A merge under way.
struct Merging<'a> {
    job: &'a MergeJob<'a>,
    inputs: &'a Inputs,
    schema: SchemaRef,
    layout: MergeLayout,
    order: MergeOrder,
    /// Rows of each input that are in the result.
    done: Vec<u64>,
    /// The one group of columns, when all are read together: it reads on from row group to row group.
    whole: Option<Gather>,
    /// Makes rows of equal key one.
    collapser: Option<Collapser>,
    rows_written: u64,
}

impl Merging<'_> {
    /// Writes one row group; false if there was nothing left.
    fn row_group(&mut self, writer: &mut PartWriter) -> Result<bool, TableError> {
        let chunks = self.next_chunks()?;
        if chunks.is_empty() {
            if let Some(last) = self.collapser.as_mut().map(Collapser::finish).transpose()?.flatten() {
                self.write_rows(&(0..last.num_columns()).collect::<Vec<_>>(), &last, writer)?;
                writer.end_row_group()?;
            }
            return Ok(false);
        }
        let mut taken = vec![0; self.done.len()];
        chunks.iter().flatten().for_each(|run| taken[run.input] += run.rows);
        let ranges: Vec<Range<u64>> =
            self.done.iter().zip(&taken).map(|(done, taken)| *done..done + taken).collect();
        for group in self.layout.groups.clone() {
            self.write_group(&group, &chunks, &ranges, writer)?;
        }
        self.done.iter_mut().zip(&taken).for_each(|(done, taken)| *done += taken);
        writer.end_row_group()?;
        self.job.progress.rows_written.fetch_add(taken.iter().sum(), Ordering::Relaxed);
        Ok(true)
    }

    fn write_group(
        &mut self,
        group: &ColumnGroup,
        chunks: &[Vec<Run>],
        ranges: &[Range<u64>],
        writer: &mut PartWriter,
    ) -> Result<(), TableError> {
        let target = self.schema.project(&group.positions).map(Arc::new);
        let target = target.map_err(|e| TableError::Gather(e.to_string()))?;
        let all_together = self.layout.groups.len() == 1;
        let readers = &self.inputs.readers;
        let wanted = (&target, &self.job.table.keys.evolution);
        let mut gather = match self.whole.take() {
            Some(gather) => gather,
            None if all_together => {
                let to_the_end: Vec<Range<u64>> =
                    readers.iter().map(PartReader::rows).map(|rows| 0..rows).collect();
                Gather::new(readers, &to_the_end, wanted, group.batch_rows)
            }
            None => Gather::new(readers, ranges, wanted, group.batch_rows),
        };
        for runs in chunks {
            check_cancelled(self.job.cancelled)?;
            let mut rows = gather.rows(runs)?;
            if self.job.table.host.faults.planted("mergetree.merge_drops_last_row") {
                rows = rows.slice(0, rows.num_rows().saturating_sub(1));
            }
            self.job.progress.bytes_written.fetch_add(batch_bytes(&rows), Ordering::Relaxed);
            let rows = match &mut self.collapser {
                None => Some(rows),
                Some(collapser) => collapser.push(&rows)?,
            };
            if let Some(rows) = rows {
                self.write_rows(&group.positions, &rows, writer)?;
            }
        }
        self.whole = all_together.then_some(gather);
        Ok(())
    }

    fn write_rows(
        &mut self,
        positions: &[usize],
        rows: &RecordBatch,
        writer: &mut PartWriter,
    ) -> Result<(), TableError> {
        self.rows_written += rows.num_rows() as u64;
        for (position, column) in positions.iter().zip(rows.columns()) {
            writer.write_column(*position, column)?;
        }
        Ok(())
    }

    /// The order of the next row group, in chunks.
    fn next_chunks(&mut self) -> Result<Vec<Vec<Run>>, TableError> {
        let (mut rows, mut bytes) = (0, 0);
        let mut chunks = Vec::new();
        while rows < ROW_GROUP_ROWS_MAX && bytes < self.layout.row_group_bytes {
            check_cancelled(self.job.cancelled)?;
            let chunk = self.next_chunk(ROW_GROUP_ROWS_MAX - rows)?;
            if chunk.is_empty() {
                break;
            }
            let taken: u64 = chunk.iter().map(|run| run.rows).sum();
            self.job.progress.rows_read.fetch_add(taken, Ordering::Relaxed);
            rows += taken;
            bytes += chunk.iter().map(|run| run.rows * self.inputs.row_bytes[run.input]).sum::<u64>();
            chunks.push(chunk);
        }
        Ok(chunks)
    }

    fn next_chunk(&mut self, rows_max: u64) -> Result<Vec<Run>, TableError> {
        let (mut rows, mut bytes) = (CHUNK_ROWS.min(rows_max), self.layout.chunk_bytes);
        let mut chunk: Vec<Run> = Vec::new();
        while rows > 0 && bytes > 0 {
            // At least one row, however large.
            let row_bytes = self.order.next_input().map_or(1, |input| self.inputs.row_bytes[input]).max(1);
            let Some(run) = self.order.next_run(rows.min(bytes.div_ceil(row_bytes)))? else { break };
            rows -= run.rows;
            bytes = bytes.saturating_sub(run.rows * row_bytes);
            match chunk.last_mut() {
                Some(last) if last.input == run.input => last.rows += run.rows,
                _ => chunk.push(run),
            }
        }
        Ok(chunk)
    }
}
