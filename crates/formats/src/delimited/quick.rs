//! CSV rows as almost all are.
//!
//! Invariant: that of `quick_rows`. Unusual are blanks around cells, a lone CR, another number of cells. Must not know:
//! errors.

use super::CsvRows;
use crate::cell::{Cell, TextForm};
use crate::marks::{Lanes, Marks, Needles};
use crate::quick_rows::QuickRow;

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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::delimited::TsvRows;
    use crate::settings::FormatSettings;
    use crate::split::{Room, RowEnd, SplitRows, Taken};

    type Row = Vec<(Vec<u8>, TextForm)>;

    /// Rows of `width` cells up to the first that is none, and where it starts.
    fn rows(splitter: &mut impl SplitRows, text: &[u8], width: usize, is_quick: bool) -> (Vec<Row>, usize) {
        let (mut found, mut at) = (Vec::new(), 0);
        loop {
            let mut cells = Vec::new();
            let room = Room { width, rows: 3, bytes: 1000 };
            let taken = if is_quick {
                splitter.quick_rows(text, at, room, &mut cells)
            } else {
                Taken { rows: 0, next: at }
            };
            assert_eq!(cells.len(), taken.rows * width);
            if taken.rows == 0 {
                match splitter.row(text, at, true, &mut cells) {
                    Ok(RowEnd::Row(next)) if cells.len() == width => at = next,
                    _ => return (found, at),
                }
            } else {
                at = taken.next;
            }
            let plain = cells.iter().map(|cell| (cell.text.to_vec(), cell.form)).collect::<Vec<_>>();
            found.extend(plain.chunks(width).map(<[_]>::to_vec));
        }
    }

    #[test]
    fn usual_rows_are_quick() {
        let text = b"1,\"a,\"\"b\n\",\\N\n,\"\",x y\r\n";
        let mut csv = CsvRows::new(&FormatSettings::default());
        let mut cells = Vec::new();
        let taken = csv.quick_rows(text, 0, Room { width: 3, rows: 9, bytes: 99 }, &mut cells);
        assert_eq!(taken, Taken { rows: 2, next: text.len() });
        let forms: Vec<_> = cells.iter().map(|cell| cell.form).collect();
        use TextForm as F;
        let nothing = if FormatSettings::default().csv_empty_as_default { F::Default } else { F::Empty };
        assert_eq!(forms, [F::Raw, F::CsvDoubled(b'"'), F::Null, nothing, F::Empty, F::Raw]);
    }

    proptest! {
        #[test]
        fn quick_rows_are_the_rows(
            parts in prop::collection::vec(
                prop::sample::select(vec!["a", "1", ",", ",", "\"", "\"", "\n", "\r\n", "\r", " ", "\\N", "\"b\"", "é", "0.5", "\t"]),
                0..120,
            ),
            width in 1..4_usize,
        ) {
            let text = parts.concat();
            let csv = |is_quick| {
                rows(&mut CsvRows::new(&FormatSettings::default()), text.as_bytes(), width, is_quick)
            };
            prop_assert_eq!(csv(true), csv(false));
        }

        #[test]
        fn quick_rows_of_tabs_are_the_rows(
            parts in prop::collection::vec(
                prop::sample::select(vec!["a", "1", "\t", "\t", "\\", "\n", "\r\n", "\\N", "\\t", "é", "0.5", "\"", "long text"]),
                0..120,
            ),
            width in 1..4_usize,
            raw: bool,
            crlf: bool,
            skip_empty_end: bool,
        ) {
            let text = parts.concat();
            let mut settings = FormatSettings { tsv_input_crlf: crlf, ..FormatSettings::default() };
            settings.delimited.tsv_skip_trailing_empty_lines = skip_empty_end;
            let tabs = |is_quick| rows(&mut TsvRows::new(&settings, raw), text.as_bytes(), width, is_quick);
            prop_assert_eq!(tabs(true), tabs(false));
        }
    }
}
