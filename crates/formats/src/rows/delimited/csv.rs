//! CSV rows as almost all are.
//!
//! Invariant: that of `quick_rows`. Unusual are blanks around cells, a lone CR, another number of cells. Must not know:
//! errors.

use super::CsvRows;
use crate::rows::quick_rows::QuickRow;
use crate::values::cell::{Cell, TextForm};
use scan::marks::{Lanes, Marks, Needles};

impl CsvRows {
    /// Whether quick rows are those of these settings.
    pub(super) fn has_quick_rows(&self) -> bool {
        let is_usual = self.double_quotes && !self.single_quotes && !self.cr_ends;
        is_usual && !matches!(self.delimiter, 0 | b'\n' | b'\r' | b'"' | b' ' | b'\t')
    }

    #[inline(always)]
    fn bare_cell<'a>(&self, text: &'a [u8]) -> Option<Cell<'a>> {
        let form = match text {
            [] => self.empty,
            [b' ' | b'\t', ..] | [.., b' ' | b'\t'] => return None,
            text if text == self.null.as_slice() => TextForm::Null,
            _ => TextForm::Raw,
        };
        Some(Cell { text, form })
    }
}

impl QuickRow for &CsvRows {
    #[inline(always)]
    fn needles(&self) -> Needles {
        Needles { quote: b'"', ends: [self.delimiter, b'\n', b'\r'] }
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
        // An empty line may be a row or none.
        if matches!(bytes.get(at)?, b'\n' | b'\r') {
            return None;
        }
        for left in (0..width).rev() {
            let end = if *bytes.get(at)? == b'"' {
                let (form, end) = quoted(bytes, marks, at + 1)?;
                let text = bytes.get(at + 1..end)?;
                let form = if text.is_empty() { TextForm::Empty } else { form };
                cells.push(Cell { text, form });
                end + 1
            } else {
                let end = marks.end(at)?;
                let text = bytes.get(at..end)?;
                cells.push(self.bare_cell(text)?);
                end
            };
            match *bytes.get(end)? {
                byte if byte == self.delimiter && left > 0 => at = end + 1,
                b'\n' if left == 0 => return Some(end + 1),
                b'\r' if left == 0 && bytes.get(end + 1) == Some(&b'\n') => return Some(end + 2),
                _ => return None,
            }
        }
        None
    }
}

/// The form of the quoted cell whose text starts at `from`, and where its closing quote stands.
#[inline(always)]
fn quoted<L: Lanes>(bytes: &[u8], marks: &mut Marks<'_, L>, mut from: usize) -> Option<(TextForm, usize)> {
    let mut form = TextForm::CsvQuoted;
    loop {
        let end = marks.quote(from)?;
        if bytes.get(end + 1) != Some(&b'"') {
            return Some((form, end));
        }
        form = TextForm::CsvDoubled(b'"');
        from = end + 2;
    }
}
