//! The values of one column of a row group, and who writes them: whoever brings them, or a worker beside it.
//!
//! Invariant: values are written in the order in which they came, however many threads take turns. A worker that ends early is
//! an error of the column, never a wait without end. Must not know: other columns, files.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ::parquet::arrow::arrow_writer::{ArrowColumnWriter, compute_leaves};
use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::writer::SerializedRowGroupWriter;
use arrow::array::ArrayRef;
use arrow::datatypes::FieldRef;
use host::Workers;
use parking_lot::{Condvar, Mutex};

use crate::parquet::spliced_chunk::SplicedChunk;
use crate::parquet::summed_pages::ChunkPages;
use crate::parquet::text_chunk::TextChunk;

/// Batches of a column that wait for a worker.
const WAITING_MAX: usize = 2;

/// One leaf of a column.
pub(crate) enum LeafWriter {
    Text(Box<TextChunk>),
    Other(Box<ArrowColumnWriter>, Arc<Mutex<ChunkPages>>),
    Spliced(Box<SplicedChunk>),
}

/// All leaves of a column.
pub(crate) struct ColumnWriter {
    leaves: Vec<LeafWriter>,
}

impl ColumnWriter {
    pub(crate) fn new(leaves: Vec<LeafWriter>) -> ColumnWriter {
        ColumnWriter { leaves }
    }

    fn write(&mut self, field: &FieldRef, values: &ArrayRef) -> ParquetResult<()> {
        if let [LeafWriter::Text(chunk)] = self.leaves.as_mut_slice() {
            return chunk.write(values);
        }
        let arrays = compute_leaves(field, values)?;
        for (leaf, array) in self.leaves.iter_mut().zip(&arrays) {
            match leaf {
                LeafWriter::Other(writer, _) => writer.write(array)?,
                LeafWriter::Text(_) => return Err(ParquetError::General("a nested text".to_owned())),
                LeafWriter::Spliced(_) => {
                    let message = format!("column {} has been copied already", field.name());
                    return Err(ParquetError::General(message));
                }
            }
        }
        Ok(())
    }

    fn splice(&mut self, chunk: SplicedChunk) -> ParquetResult<()> {
        match self.leaves.as_mut_slice() {
            [leaf] => *leaf = LeafWriter::Spliced(Box::new(chunk)),
            _ => return Err(ParquetError::General("a chunk is copied into a nested column".to_owned())),
        }
        Ok(())
    }

    fn memory_size(&self) -> u64 {
        let bytes = self.leaves.iter().map(|leaf| match leaf {
            LeafWriter::Text(chunk) => chunk.memory_size(),
            LeafWriter::Other(writer, _) => writer.memory_size(),
            LeafWriter::Spliced(chunk) => chunk.memory_size(),
        });
        bytes.map(|bytes| bytes as u64).sum()
    }

    fn append_to<W: Write + Send>(
        self,
        target: &mut SerializedRowGroupWriter<'_, W>,
        sums: &mut Vec<u32>,
    ) -> ParquetResult<()> {
        for leaf in self.leaves {
            match leaf {
                LeafWriter::Text(chunk) => chunk.append_to(target, sums)?,
                LeafWriter::Spliced(chunk) => chunk.append_to(target, sums)?,
                LeafWriter::Other(writer, pages) => {
                    ChunkPages::append(&pages, writer.close()?, target, sums)?;
                }
            }
        }
        Ok(())
    }
}

/// A column while its row group is open.
pub(crate) enum OpenColumn {
    Here(ColumnWriter),
    Beside(Arc<Lane>, Workers),
}

impl OpenColumn {
    /// Written by workers, if there are any.
    pub(crate) fn new(writer: ColumnWriter, workers: &Workers) -> OpenColumn {
        match workers.threads() {
            0 => OpenColumn::Here(writer),
            _ => OpenColumn::Beside(Arc::new(Lane::new(writer)), workers.clone()),
        }
    }

    /// Appends values; an error may be that of values before.
    pub(crate) fn write(&mut self, field: &FieldRef, values: &ArrayRef) -> ParquetResult<()> {
        match self {
            OpenColumn::Here(writer) => writer.write(field, values),
            OpenColumn::Beside(lane, workers) => lane.write(workers, field, values),
        }
    }

    /// Makes a chunk all of its values.
    pub(crate) fn splice(&mut self, chunk: SplicedChunk) -> ParquetResult<()> {
        match self {
            OpenColumn::Here(writer) => writer.splice(chunk),
            OpenColumn::Beside(lane, _) => {
                let mut writer = lane.idle()?;
                writer.splice(chunk)?;
                lane.put_back(writer);
                Ok(())
            }
        }
    }

    /// Bytes of encoded pages.
    pub(crate) fn memory_size(&self) -> u64 {
        match self {
            OpenColumn::Here(writer) => writer.memory_size(),
            OpenColumn::Beside(lane, _) => lane.bytes.load(Ordering::Relaxed),
        }
    }

    /// Ends the column and appends it to a row group, and the sums of its pages to `sums`.
    pub(crate) fn append_to<W: Write + Send>(
        self,
        target: &mut SerializedRowGroupWriter<'_, W>,
        sums: &mut Vec<u32>,
    ) -> ParquetResult<()> {
        match self {
            OpenColumn::Here(writer) => writer.append_to(target, sums),
            OpenColumn::Beside(lane, _) => lane.idle()?.append_to(target, sums),
        }
    }
}

/// A column that workers write: one of them at a time, for as long as values wait.
pub(crate) struct Lane {
    state: Mutex<LaneState>,
    changed: Condvar,
    /// Of encoded pages.
    bytes: AtomicU64,
}

struct LaneState {
    /// With the worker while it works.
    writer: Option<ColumnWriter>,
    waiting: VecDeque<(FieldRef, ArrayRef)>,
    failed: Option<String>,
}

impl Lane {
    fn new(writer: ColumnWriter) -> Lane {
        let state = LaneState { writer: Some(writer), waiting: VecDeque::new(), failed: None };
        Lane { state: Mutex::new(state), changed: Condvar::new(), bytes: AtomicU64::new(0) }
    }

    fn write(self: &Arc<Lane>, workers: &Workers, field: &FieldRef, values: &ArrayRef) -> ParquetResult<()> {
        let mut state = self.state.lock();
        while state.waiting.len() >= WAITING_MAX && state.failed.is_none() {
            self.changed.wait(&mut state);
        }
        state.check()?;
        state.waiting.push_back((Arc::clone(field), Arc::clone(values)));
        let Some(writer) = state.writer.take() else { return Ok(()) };
        drop(state);
        let mut turn = Turn { lane: Arc::clone(self), writer: Some(writer) };
        workers.run("column", move || turn.work());
        Ok(())
    }

    /// The writer, once nothing waits.
    fn idle(&self) -> ParquetResult<ColumnWriter> {
        let mut state = self.state.lock();
        loop {
            state.check()?;
            if state.waiting.is_empty()
                && let Some(writer) = state.writer.take()
            {
                return Ok(writer);
            }
            self.changed.wait(&mut state);
        }
    }

    fn put_back(&self, writer: ColumnWriter) {
        self.bytes.store(writer.memory_size(), Ordering::Relaxed);
        self.state.lock().writer = Some(writer);
        self.changed.notify_all();
    }
}

impl LaneState {
    fn check(&self) -> ParquetResult<()> {
        match &self.failed {
            Some(problem) => Err(ParquetError::General(problem.clone())),
            None => Ok(()),
        }
    }
}

/// A worker's turn. One that is not worked to its end, because it panicked or there is nobody to run it, fails the column.
struct Turn {
    lane: Arc<Lane>,
    writer: Option<ColumnWriter>,
}

impl Turn {
    fn work(&mut self) {
        let Some(mut writer) = self.writer.take() else { return };
        let mut ended = Ended { lane: &self.lane, is_expected: false };
        loop {
            let mut state = self.lane.state.lock();
            let Some((field, values)) = state.waiting.pop_front() else {
                state.writer = Some(writer);
                drop(state);
                self.lane.changed.notify_all();
                ended.is_expected = true;
                return;
            };
            drop(state);
            self.lane.changed.notify_all();
            let written = writer.write(&field, &values);
            self.lane.bytes.store(writer.memory_size(), Ordering::Relaxed);
            if let Err(problem) = written {
                self.lane.state.lock().failed.get_or_insert(problem.to_string());
                return;
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.writer.is_some() {
            self.lane.state.lock().failed.get_or_insert_with(ended_early);
            self.lane.changed.notify_all();
        }
    }
}

/// Tells those who wait that nobody writes any more.
struct Ended<'a> {
    lane: &'a Lane,
    is_expected: bool,
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        if !self.is_expected {
            self.lane.state.lock().failed.get_or_insert_with(ended_early);
            self.lane.changed.notify_all();
        }
    }
}

fn ended_early() -> String {
    "a worker ended before its column was written".to_owned()
}
