//! Batches out of runs: rows of several inputs in a given order.
//!
//! A run that lies in one batch is cut out of it without a copy; others are gathered. Texts are views, so gathering copies
//! sixteen bytes of each. Invariant: rows come out in the order of the runs; a batch of an input is kept only until its
//! rows are out. Must not know: keys.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, RecordBatch, RecordBatchOptions};
use arrow::compute::interleave;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use model::Evolution;
use model::saturating::usize_of;
use parts::PartReader;

use super::order::Run;
use super::rows::InputRows;
use crate::error::TableError;

/// Some columns of all inputs, being read.
pub(crate) struct Gather {
    target: SchemaRef,
    inputs: Vec<Cursor>,
}

struct Cursor {
    batches: InputRows,
    /// The current batch and its next row.
    current: Option<(RecordBatch, usize)>,
}

/// Rows that follow each other in one batch.
struct Piece {
    batch: usize,
    start: usize,
    rows: usize,
}

impl Gather {
    /// Reads `ranges` of the inputs, one of each, with the columns of `target`.
    pub(crate) fn new(
        readers: &[PartReader],
        ranges: &[Range<u64>],
        (target, evolution): (&SchemaRef, &Arc<Evolution>),
        batch_rows: usize,
    ) -> Gather {
        let inputs = readers.iter().zip(ranges).map(|(reader, range)| Cursor {
            batches: InputRows::new(reader, range.clone(), (target, evolution), batch_rows),
            current: None,
        });
        Gather { target: Arc::clone(target), inputs: inputs.collect() }
    }

    /// The rows of these runs, each from where the last run of its input ended.
    ///
    /// # Errors
    /// An input is damaged, or has fewer rows than the runs.
    pub(crate) fn rows(&mut self, runs: &[Run]) -> Result<RecordBatch, TableError> {
        let (mut batches, mut pieces) = (Vec::new(), Vec::new());
        // Where the current batch of an input is in `batches`, if it is.
        let mut places: Vec<Option<usize>> = vec![None; self.inputs.len()];
        for run in runs {
            let mut left = usize_of(run.rows);
            while left > 0 {
                let cursor = &mut self.inputs[run.input];
                if cursor.current.is_none() {
                    let batch =
                        cursor.batches.next()?.ok_or_else(|| failed("an input ended before its last run"))?;
                    cursor.current = Some((batch, 0));
                    places[run.input] = None;
                }
                let Some((current, start)) = &mut cursor.current else { continue };
                let batch = *places[run.input].get_or_insert_with(|| {
                    batches.push(current.clone());
                    batches.len() - 1
                });
                let rows = left.min(current.num_rows() - *start);
                pieces.push(Piece { batch, start: *start, rows });
                *start += rows;
                left -= rows;
                if *start >= current.num_rows() {
                    // Let go of it as soon as these rows are out, not when the input is next in turn.
                    cursor.current = None;
                }
            }
        }
        match pieces.as_slice() {
            [one] => Ok(batches[one.batch].slice(one.start, one.rows)),
            _ => interleaved(&self.target, &batches, &pieces).map_err(failed),
        }
    }
}

fn interleaved(
    target: &SchemaRef,
    batches: &[RecordBatch],
    pieces: &[Piece],
) -> Result<RecordBatch, ArrowError> {
    let mut rows = Vec::with_capacity(pieces.iter().map(|piece| piece.rows).sum());
    for piece in pieces {
        rows.extend((piece.start..piece.start + piece.rows).map(|row| (piece.batch, row)));
    }
    let columns = (0..target.fields().len()).map(|position| {
        let arrays: Vec<&dyn Array> = batches.iter().map(|batch| batch.column(position).as_ref()).collect();
        interleave(&arrays, &rows)
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(Arc::clone(target), columns, &options)
}

fn failed(error: impl std::fmt::Display) -> TableError {
    TableError::Gather(error.to_string())
}
