//! TabSeparated rows as almost all are.
//!
//! Invariant: that of `quick_rows`. Unusual are a CR in front of a line end, the first row, another number of cells. Must not
//! know: errors.

use super::TsvRows;
use crate::rows::quick_rows::QuickRow;
use crate::values::cell::Cell;
use scan::marks::{Lanes, Marks, Needles};

impl QuickRow for &TsvRows {
    #[inline(always)]
    fn needles(&self) -> Needles {
        // In raw text a backslash is a character.
        let backslash = if self.raw { b'\t' } else { b'\\' };
        Needles { quote: b'\n', ends: [b'\t', b'\n', backslash] }
    }

    #[inline(always)]
    fn row<'a, L: Lanes>(
        &mut self,
        bytes: &'a [u8],
        mut at: usize,
        width: usize,
        marks: &mut Marks<'a, L>,
        cells: &mut Vec<Cell<'a>>,
    ) -> Option<usize> {
        // Empty lines may be no rows.
        if self.skip_empty_end && matches!(bytes.get(at)?, b'\n' | b'\r') {
            return None;
        }
        for left in (0..width).rev() {
            let start = at;
            let mut escaped = false;
            let mut end = marks.end(at)?;
            while *bytes.get(end)? == b'\\' {
                escaped = true;
                // The byte behind it is part of the cell, whatever it is.
                end = marks.end(end + 2)?;
            }
            let text = bytes.get(start..end)?;
            match *bytes.get(end)? {
                b'\t' if left > 0 => {}
                b'\n' if left == 0 && text.last() != Some(&b'\r') => {}
                _ => return None,
            }
            cells.push(self.cell(text, escaped));
            at = end + 1;
        }
        Some(at)
    }
}
