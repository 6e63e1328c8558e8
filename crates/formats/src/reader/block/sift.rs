//! Appends the rows that can be read and tells which cannot.
//!
//! Invariant: afterwards every builder holds the good rows only. A run without a bad row costs nothing more; a run with
//! one is read up to three times.

use model::ErrorCode;

use super::{Block, builder_at, ended};
use crate::columns::builder::TypedColumnBuilder;
use crate::error::{FormatError, ValueError};
use crate::values::cell::Cell;

/// The first bad cell of a row.
pub(crate) struct BadCell {
    /// From 0, of the run given.
    pub(crate) row: usize,
    pub(crate) cell: usize,
    pub(crate) error: ValueError,
}

impl Block {
    /// Appends the good rows of a run and gives the bad ones, in order.
    pub(crate) fn append_good(
        &mut self,
        cells: &[Cell<'_>],
        plain: &str,
    ) -> Result<Vec<BadCell>, FormatError> {
        let Some(first) = self.try_append(cells, plain) else { return Ok(Vec::new()) };
        self.roll_back();
        let bad = self.sift(cells, first)?;
        let width = self.width();
        let mut good = Vec::with_capacity(cells.len());
        let mut next_bad = bad.iter().map(|cell| cell.row).peekable();
        for (row, cells) in cells.chunks_exact(width.max(1)).enumerate() {
            if next_bad.next_if_eq(&row).is_none() {
                good.extend_from_slice(cells);
            }
        }
        match self.try_append(&good, plain) {
            None => Ok(bad),
            Some(cell) => {
                let message = format!("a row was read once and not again: {}", cell.error);
                Err(FormatError::new(ErrorCode::LOGICAL_ERROR, message))
            }
        }
    }

    /// The first bad cell of a row that is not all there, or not as wide as it should be.
    pub(crate) fn first_bad(&mut self, cells: &[Cell<'_>]) -> Option<(usize, ValueError)> {
        for (cell, (slot, text)) in self.slots.iter().zip(cells).enumerate() {
            let builder = slot.as_ref().and_then(|slot| builder_at(&mut self.builders, slot));
            let Some(mut probe) = builder.and_then(|builder| builder.empty_twin().ok()) else { continue };
            if let Err(error) = probe.append_text(text.text, text.form) {
                let ends_line = self.ends_lines && cell + 1 == self.slots.len();
                return Some((cell, ended(error, *text, probe.column_type(), ends_line)));
            }
        }
        None
    }

    /// Takes back what an append that failed has left behind.
    fn roll_back(&mut self) {
        let rows = self.rows;
        self.builders.iter_mut().for_each(|builder| builder.truncate(rows));
    }

    /// Reads every row from the first bad one on into builders of its own.
    fn sift(&mut self, cells: &[Cell<'_>], first: BadCell) -> Result<Vec<BadCell>, FormatError> {
        let width = self.width();
        let mut probes: Vec<Option<TypedColumnBuilder>> = Vec::with_capacity(width);
        for slot in &self.slots {
            let builder = slot.as_ref().and_then(|slot| builder_at(&mut self.builders, slot));
            probes.push(match builder {
                Some(builder) => Some(builder.empty_twin()?),
                None => None,
            });
        }
        let start = first.row + 1;
        let mut bad = vec![first];
        for (row, cells) in cells.chunks_exact(width.max(1)).enumerate().skip(start) {
            for (cell, (text, probe)) in cells.iter().zip(&mut probes).enumerate() {
                let Some(probe) = probe else { continue };
                let before = probe.len();
                if let Err(error) = probe.append_text(text.text, text.form) {
                    probe.truncate(before);
                    bad.push(BadCell { row, cell, error });
                    break;
                }
            }
        }
        Ok(bad)
    }
}
