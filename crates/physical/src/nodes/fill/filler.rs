//! The run of a FillExec: rows of the input passed on in stretches, rows made between them.
//!
//! Invariant: a batch out has about as many rows as the session's batches, however large a gap is.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::concat_batches;
use arrow::row::{OwnedRow, RowConverter};
use datafusion::common::Result;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::PhysicalExpr;
use futures::StreamExt;
use model::ColumnType;

use super::Plan;
use super::rows::Maker;
use super::stale::Course;
use crate::nodes::cells::{Cell, cells_of};

/// The batch whose rows are being passed on.
struct Current {
    batch: RecordBatch,
    keys: Vec<Vec<Cell>>,
    /// The values of the keys before the filled ones; nothing when there are none.
    ranges: Vec<OwnedRow>,
    /// The row that comes next.
    at: usize,
    /// The first row that was reached and is not put out yet.
    passed_from: usize,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq)]
enum Stage {
    /// The row has come, and may be of another range.
    Arrived,
    /// Rows up to the end of the range before are being made.
    Closing,
    /// Rows before this one are being made.
    Reaching,
}

pub(crate) struct Filler {
    maker: Maker,
    plan: Plan,
    types: Vec<ColumnType>,
    converter: RowConverter,
    filling: Course,
    /// The first row of the range, and the values of its keys when there are such.
    range: Option<(Option<OwnedRow>, RecordBatch)>,
    /// The last row that was put out.
    before: RecordBatch,
    pieces: Vec<RecordBatch>,
    rows: usize,
    rows_max: usize,
    current: Option<Current>,
    /// The input has ended and its last range is being closed.
    is_closing: bool,
    is_done: bool,
}

impl Filler {
    pub(crate) fn new(
        maker: Maker,
        plan: Plan,
        types: Vec<ColumnType>,
        converter: RowConverter,
        rows_max: usize,
    ) -> Filler {
        Filler {
            before: maker.defaults().clone(),
            filling: Course::new(plan.keys.iter().map(|(_, rule)| rule.clone()).collect(), &types),
            maker,
            plan,
            types,
            converter,
            range: None,
            pieces: vec![],
            rows: 0,
            rows_max,
            current: None,
            is_closing: false,
            is_done: false,
        }
    }

    /// The next batch of rows.
    pub(crate) async fn next(
        &mut self,
        input: &mut SendableRecordBatchStream,
    ) -> Result<Option<RecordBatch>> {
        while self.rows < self.rows_max && !self.is_done {
            if let Some(current) = self.current.take() {
                self.current = self.advanced(current)?;
            } else if self.is_closing {
                self.is_done = self.make(None)?;
            } else {
                match input.next().await {
                    Some(batch) => self.current = self.arrived(batch?)?,
                    None => self.end(),
                }
            }
        }
        if let Some(mut current) = self.current.take() {
            self.put_passed(&mut current);
            self.current = Some(current);
        }
        let pieces = std::mem::take(&mut self.pieces);
        self.rows = 0;
        let Some(first) = pieces.first() else { return Ok(None) };
        Ok(Some(concat_batches(&first.schema(), &pieces)?))
    }

    /// Without a row there is one range whose keys before the filled ones have their defaults.
    fn end(&mut self) {
        self.filling.leave();
        self.is_closing = true;
    }

    fn arrived(&mut self, batch: RecordBatch) -> Result<Option<Current>> {
        let rows = batch.num_rows();
        if rows == 0 {
            return Ok(None);
        }
        let array =
            |key: &Arc<dyn PhysicalExpr>| -> Result<ArrayRef> { key.evaluate(&batch)?.into_array(rows) };
        let mut columns = Vec::with_capacity(self.types.len());
        for ((key, _), column_type) in self.plan.keys.iter().zip(&self.types) {
            columns.push(cells_of(&array(key)?, column_type)?);
        }
        let keys = (0..rows).map(|row| columns.iter().map(|column| column[row]).collect()).collect();
        let prefix = self.plan.prefix.iter().map(array).collect::<Result<Vec<_>>>()?;
        let ranges = match prefix.is_empty() {
            true => vec![],
            false => self.converter.convert_columns(&prefix)?.iter().map(|row| row.owned()).collect(),
        };
        Ok(Some(Current { batch, keys, ranges, at: 0, passed_from: 0, stage: Stage::Arrived }))
    }

    /// Does the next thing for the batch: passes a row on, or makes some before it.
    fn advanced(&mut self, mut current: Current) -> Result<Option<Current>> {
        match current.stage {
            Stage::Arrived => {
                let own = current.ranges.get(current.at);
                let is_first = self.range.as_ref().is_none_or(|(range, _)| range.as_ref() != own);
                if is_first && self.range.is_some() {
                    self.put_passed(&mut current);
                    self.filling.leave();
                    current.stage = Stage::Closing;
                } else {
                    self.reach(&mut current, is_first);
                }
            }
            Stage::Closing => {
                if self.make(None)? {
                    self.reach(&mut current, true);
                }
            }
            Stage::Reaching => {
                if self.make(Some(&mut current))? {
                    (current.at, current.stage) = (current.at + 1, Stage::Arrived);
                    self.rows += 1;
                }
            }
        }
        if current.at < current.batch.num_rows() {
            return Ok(Some(current));
        }
        self.put_passed(&mut current);
        Ok(None)
    }

    fn reach(&mut self, current: &mut Current, is_first: bool) {
        if is_first {
            let own = current.ranges.get(current.at).cloned();
            self.range = Some((own, current.batch.slice(current.at, 1)));
        }
        self.filling.reach(&current.keys[current.at], is_first);
        current.stage = Stage::Reaching;
    }

    /// Makes missing rows until the batch is full; true when none is missing any more.
    fn make(&mut self, current: Option<&mut Current>) -> Result<bool> {
        let most = if self.maker.computes() { 1 } else { self.rows_max.saturating_sub(self.rows).max(1) };
        let mut keys = vec![];
        while keys.len() < most {
            match self.filling.missing() {
                Some(made) => keys.push(made),
                None => break,
            }
        }
        let is_done = keys.len() < most;
        if keys.is_empty() {
            return Ok(is_done);
        }
        if let Some(current) = current {
            self.put_passed(current);
        }
        let range = self.range.as_ref().map_or(self.maker.defaults(), |(_, row)| row);
        let made = self.maker.made(&keys, range, &self.before)?;
        self.before = made.slice(made.num_rows() - 1, 1);
        self.rows += made.num_rows();
        self.pieces.push(made);
        Ok(is_done)
    }

    /// Puts out the rows of the batch that have been passed since the last that was made; they are counted already.
    fn put_passed(&mut self, current: &mut Current) {
        let rows = current.at - current.passed_from;
        if rows > 0 {
            self.pieces.push(current.batch.slice(current.passed_from, rows));
            self.before = current.batch.slice(current.at - 1, 1);
            current.passed_from = current.at;
        }
    }
}
