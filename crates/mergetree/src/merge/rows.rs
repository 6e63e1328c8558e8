//! A range of the rows of one input, with the columns of the result; or rows that are held, in the same words.
//!
//! Invariant: batches have rows, and together exactly those of the range. A range is opened when its first batch is
//! asked for, so a hundred inputs that follow each other are not all read at once.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use model::Evolution;
use model::saturating::usize_of;
use parts::evolve::{columns_read, evolve};
use parts::{PartBatches, PartError, PartReader};

use crate::error::TableError;

/// Rows in the order of the key: of a part, or held in memory.
pub(crate) enum SortedRows {
    Part(Box<InputRows>),
    Held { rows: RecordBatch, batch_rows: usize },
}

impl SortedRows {
    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// As [`InputRows::next`].
    pub(crate) fn next(&mut self) -> Result<Option<RecordBatch>, TableError> {
        match self {
            SortedRows::Part(rows) => rows.next(),
            SortedRows::Held { rows, .. } if rows.num_rows() == 0 => Ok(None),
            SortedRows::Held { rows, batch_rows } => {
                let taken = rows.num_rows().min((*batch_rows).max(1));
                let next = rows.slice(0, taken);
                *rows = rows.slice(taken, rows.num_rows() - taken);
                Ok(Some(next))
            }
        }
    }

    /// Rows that were not asked for yet.
    pub(crate) fn left(&self) -> u64 {
        match self {
            SortedRows::Part(rows) => rows.left(),
            SortedRows::Held { rows, .. } => rows.num_rows() as u64,
        }
    }

    /// As [`InputRows::pass`].
    pub(crate) fn pass(&mut self, rows_max: u64) -> u64 {
        match self {
            SortedRows::Part(rows) => rows.pass(rows_max),
            SortedRows::Held { rows, .. } => {
                let passed = rows.num_rows().min(usize_of(rows_max));
                *rows = rows.slice(passed, rows.num_rows() - passed);
                passed as u64
            }
        }
    }

    /// What is said of rows that are not as they were written.
    pub(crate) fn damaged(&self, message: &str) -> TableError {
        match self {
            SortedRows::Part(rows) => rows.damaged(message),
            SortedRows::Held { .. } => TableError::Gather(message.to_owned()),
        }
    }
}

pub(crate) struct InputRows {
    reader: PartReader,
    /// Not asked for yet.
    range: Range<u64>,
    target: SchemaRef,
    evolution: Arc<Evolution>,
    batch_rows: usize,
    batches: Option<PartBatches>,
}

impl InputRows {
    /// The columns of `target`, made of those of the part as `evolution` says, in batches of at most `batch_rows` rows.
    pub(crate) fn new(
        reader: &PartReader,
        range: Range<u64>,
        (target, evolution): (&SchemaRef, &Arc<Evolution>),
        batch_rows: usize,
    ) -> InputRows {
        InputRows {
            reader: reader.clone(),
            range,
            target: Arc::clone(target),
            evolution: Arc::clone(evolution),
            batch_rows,
            batches: None,
        }
    }

    /// The next rows; `None` at the end of the range.
    ///
    /// # Errors
    /// The part is damaged, or has a column that cannot become the target's.
    pub(crate) fn next(&mut self) -> Result<Option<RecordBatch>, TableError> {
        while self.range.start < self.range.end {
            let batches = match &mut self.batches {
                Some(batches) => batches,
                None => {
                    let columns = columns_read(self.reader.schema(), &self.target, &self.evolution);
                    let read = self.reader.read_rows(&columns, self.range.clone(), self.batch_rows)?;
                    self.batches.insert(read)
                }
            };
            let Some(batch) = batches.next() else { return Err(self.damaged("it ends before its last row")) };
            let batch = batch?;
            self.range.start += batch.num_rows() as u64;
            if batch.num_rows() > 0 {
                let evolved = evolve(&batch, &self.target, &self.evolution);
                return evolved.map(Some).map_err(|e| self.damaged(&e.to_string()));
            }
        }
        self.batches = None;
        Ok(None)
    }

    /// Rows of the range that were not asked for yet.
    pub(crate) fn left(&self) -> u64 {
        self.range.end.saturating_sub(self.range.start)
    }

    /// Passes over up to `rows_max` rows without reading them; returns how many there were. Only before the first
    /// [`InputRows::next`].
    pub(crate) fn pass(&mut self, rows_max: u64) -> u64 {
        let rows = rows_max.min(self.left());
        self.range.start += rows;
        rows
    }

    fn damaged(&self, message: &str) -> TableError {
        PartError::Damaged { part: self.reader.part(), message: message.to_owned() }.into()
    }
}
