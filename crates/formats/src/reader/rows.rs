//! Rows of a text: split in runs, then appended column by column.
//!
//! Invariant: rows come in the order of the input, whichever way they are split; the first bad one is the one reported.

use arrow::array::RecordBatch;
use model::saturating::u64_of;
use model::{ErrorCode, raw_text};

use super::pace::Pace;
use super::{BLOCK_BYTES_MAX, Reader, offset_in};
use crate::error::FormatError;
use crate::rows::split::{Room, RowEnd, SplitError, SplitRows, Taken};
use crate::values::cell::Cell;

/// Cells split before they are appended; 24 bytes each, so a run stays in the second-level cache.
const RUN_CELLS: usize = 4096;

/// What became of one step through the rows.
enum Step {
    Rows(Taken),
    /// A bad row was passed over; the next one starts here.
    Skipped(usize),
    /// No further whole row; everything up to here is used up.
    Stop(usize),
}

impl<S: SplitRows> Reader<S> {
    /// Makes the cells of one row as many as the block expects, or says what is wrong.
    #[inline]
    fn fit_row(&self, cells: &mut Vec<Cell<'_>>, first: usize, next: usize) -> Result<(), SplitError> {
        let width = self.block.width();
        let count = cells.len() - first;
        if count == width {
            return Ok(());
        }
        let surplus_is_empty = cells.last().is_some_and(|cell| cell.text.is_empty());
        if count > width && self.variable_columns
            || count == width + 1 && self.trailing_delimiter && surplus_is_empty
        {
            cells.truncate(first + width);
            return Ok(());
        }
        if count < width && self.variable_columns {
            self.block.may_omit_from(count).map_err(|error| SplitError {
                code: error.code,
                message: error.message,
                at: next,
                cell: count,
            })?;
            cells.resize(first + width, Cell::DEFAULT);
            return Ok(());
        }
        let code = match count > width {
            true if self.trailing_delimiter => ErrorCode::INCORRECT_DATA,
            _ => self.width_code,
        };
        let message = match count < width {
            true => format!("row has {count} columns, {width} expected: the next column is missing"),
            false => format!("expected end of line: row has {count} columns, {width} expected"),
        };
        Err(SplitError { code, message, at: next, cell: count.min(width) })
    }

    /// Appends rows split from `bytes`, of which `plain` is known to be text.
    fn append(&mut self, bytes: &[u8], plain: &str, cells: &mut Vec<Cell<'_>>) -> Result<(), FormatError> {
        let position = self.position;
        let place = |cell: &Cell<'_>| position + u64_of(offset_in(bytes, cell.text));
        let Some(tolerance) = &mut self.tolerance else {
            self.block.append(cells, plain, place)?;
            cells.clear();
            return Ok(());
        };
        let (before, width, mut done) = (self.block.rows_total(), self.block.width(), 0);
        let bad = self.block.append_good(cells, plain)?;
        self.block.skip_rows(bad.len());
        for bad in bad {
            let (row, at) = (bad.row, place(&cells[bad.row * width + bad.cell]));
            let (start, end) = self.extents.get(row).copied().unwrap_or_default();
            tolerance.good(row - done);
            tolerance.bad(self.block.placed(bad, before).at_position(at), &bytes[start..end])?;
            done = row + 1;
        }
        tolerance.good(self.extents.len() - done);
        cells.clear();
        self.extents.clear();
        Ok(())
    }

    /// Where to go on after the row at `at`, which cannot be split; `None` when that is not in these bytes yet.
    fn skip_row(
        &mut self,
        bytes: &[u8],
        at: usize,
        end: bool,
        error: SplitError,
    ) -> Result<Option<usize>, FormatError> {
        let next = match self.rows.resume(bytes, error.at.max(at)) {
            Some(next) => next,
            None if end => bytes.len(),
            None if self.tolerance.is_some() && bytes.len() - at < self.row_bytes_max => return Ok(None),
            None => bytes.len(),
        };
        let placed = self.split_error(error, 0);
        match &mut self.tolerance {
            None => Err(placed),
            Some(tolerance) => {
                tolerance.bad(placed, &bytes[at..next])?;
                self.block.skip_rows(1);
                self.rows.skipped_row();
                Ok(Some(next))
            }
        }
    }

    /// The row at `at` with as many cells as the block expects.
    #[inline]
    fn split_row<'a>(
        &mut self,
        bytes: &'a [u8],
        at: usize,
        end: bool,
        cells: &mut Vec<Cell<'a>>,
    ) -> Result<RowEnd, SplitError> {
        let first = cells.len();
        let row_end = self.rows.row(bytes, at, end, cells)?;
        if let RowEnd::Row(next) = row_end {
            self.fit_row(cells, first, next.saturating_sub(1))?;
            if self.tolerance.is_some() {
                self.extents.push((at, next));
            }
        }
        Ok(row_end)
    }

    /// Reads the rows at `at`; gives where the first that is not whole starts.
    pub(super) fn data(
        &mut self,
        bytes: &[u8],
        mut at: usize,
        end: bool,
        out: &mut Vec<RecordBatch>,
    ) -> Result<usize, FormatError> {
        let width = self.block.width().max(1);
        let run_rows = (RUN_CELLS / width).max(1);
        // About a cell a byte is the most there can be: a short text needs no room for a whole run.
        let cells_expected = (run_rows * width + width).min(bytes.len().saturating_sub(at) + width);
        let mut cells: Vec<Cell<'_>> = Vec::with_capacity(cells_expected);
        let plain = raw_text::plain_start(bytes);
        let mut pace = Pace::default();
        let (mut pending, mut full_at) = (0, at);
        loop {
            let room = self.room(width, run_rows, pending, at - full_at);
            let quick = match self.tolerance {
                None => pace.take(&mut self.rows, bytes, at, room, &mut cells),
                Some(_) => None,
            };
            let step = match quick {
                Some(taken) => Step::Rows(taken),
                None => self.slow_step(bytes, at, end, plain, &mut cells)?,
            };
            match step {
                Step::Rows(taken) => {
                    pending += taken.rows;
                    at = taken.next;
                }
                // What was pending has been appended.
                Step::Skipped(next) => {
                    pending = 0;
                    at = next;
                }
                Step::Stop(next) => {
                    self.block_bytes += at - full_at;
                    return Ok(next);
                }
            }
            let full = self.block.rows() + pending >= self.rows_max
                || self.block_bytes + (at - full_at) >= BLOCK_BYTES_MAX;
            if pending >= run_rows || full {
                self.append(bytes, plain, &mut cells)?;
                pending = 0;
                if full {
                    out.extend(self.block.finish()?);
                    self.block_bytes = 0;
                    full_at = at;
                }
            }
        }
    }

    /// How many quick rows may follow `pending` ones.
    fn room(&self, width: usize, run_rows: usize, pending: usize, bytes: usize) -> Room {
        let left = self.rows_max.saturating_sub(self.block.rows() + pending);
        Room {
            width,
            rows: left.min(run_rows.saturating_sub(pending)),
            bytes: BLOCK_BYTES_MAX.saturating_sub(self.block_bytes + bytes),
        }
    }

    /// One row at `at`, whatever it is.
    fn slow_step<'a>(
        &mut self,
        bytes: &'a [u8],
        at: usize,
        end: bool,
        plain: &str,
        cells: &mut Vec<Cell<'a>>,
    ) -> Result<Step, FormatError> {
        let first = cells.len();
        let split = self.split_row(bytes, at, end, cells);
        if let Ok(RowEnd::Row(next)) = split {
            return Ok(Step::Rows(Taken { rows: 1, next }));
        }
        // A bad value in an earlier row comes first, and then one ahead of what is wrong in this one.
        let of_row = cells.split_off(first);
        self.append(bytes, plain, cells)?;
        match split {
            Ok(RowEnd::Finished(next)) => Ok(Step::Stop(next)),
            Ok(_) => Ok(Step::Stop(at)),
            Err(mut error) => {
                let is_syntax = error.code == ErrorCode::SYNTAX_ERROR;
                if let Some((cell, bad)) = self.block.first_bad(&of_row)
                    // An expression is read to its end before its names are looked for, the row before they have values.
                    && (!is_syntax || bad.code == ErrorCode::UNKNOWN_IDENTIFIER && cell + 1 < error.cell)
                {
                    error = SplitError { code: bad.code, message: bad.message, at: error.at, cell };
                }
                let next = self.skip_row(bytes, at, end, error)?;
                Ok(next.map_or(Step::Stop(at), Step::Skipped))
            }
        }
    }
}
