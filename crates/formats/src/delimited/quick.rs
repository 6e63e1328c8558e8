//! CSV rows as almost all are, split by marks.
//!
//! Invariant: every row that is taken has the cells that `CsvRows::row` gives it; a row that is in any way unusual (blanks
//! around cells, a lone CR, another number of cells, cut short) is left to that. Must not know: errors.

use super::CsvRows;
use crate::cell::{Cell, TextForm};
use crate::marks::{Lanes, Marked, Marks, Needles, with_lanes};
use crate::split::{Room, Taken};

/// Rows from `at` on, of `room.width` cells.
struct QuickRows<'s, 'a, 'c> {
    csv: &'s CsvRows,
    bytes: &'a [u8],
    at: usize,
    room: Room,
    cells: &'c mut Vec<Cell<'a>>,
}

impl CsvRows {
    /// Whether quick rows are those of these settings.
    pub(super) fn has_quick_rows(&self) -> bool {
        let is_usual = self.double_quotes && !self.single_quotes && !self.cr_ends;
        is_usual && !matches!(self.delimiter, 0 | b'\n' | b'\r' | b'"' | b' ' | b'\t')
    }

    pub(super) fn take_quick<'a>(
        &self,
        bytes: &'a [u8],
        at: usize,
        room: Room,
        cells: &mut Vec<Cell<'a>>,
    ) -> Taken {
        with_lanes(QuickRows { csv: self, bytes, at, room, cells })
    }
}

impl Marked for QuickRows<'_, '_, '_> {
    type Done = Taken;

    #[inline(always)]
    fn run<L: Lanes>(mut self) -> Taken {
        let needles = Needles { quote: b'"', ends: [self.csv.delimiter, b'\n', b'\r'] };
        let mut marks = Marks::<L>::new(self.bytes, needles);
        let mut taken = Taken { rows: 0, next: self.at };
        let until = self.at.saturating_add(self.room.bytes);
        while taken.rows < self.room.rows && taken.next < until {
            let first = self.cells.len();
            match self.row(&mut marks, taken.next) {
                Some(next) => taken = Taken { rows: taken.rows + 1, next },
                None => {
                    self.cells.truncate(first);
                    break;
                }
            }
        }
        taken
    }
}

impl<'a> QuickRows<'_, 'a, '_> {
    /// Where the row behind the one at `at` starts.
    #[inline(always)]
    fn row<L: Lanes>(&mut self, marks: &mut Marks<'a, L>, mut at: usize) -> Option<usize> {
        let bytes = self.bytes;
        // An empty line may be a row or none.
        if matches!(bytes.get(at)?, b'\n' | b'\r') {
            return None;
        }
        for left in (0..self.room.width).rev() {
            let end = if *bytes.get(at)? == b'"' {
                let (form, end) = quoted(bytes, marks, at + 1)?;
                let text = bytes.get(at + 1..end)?;
                let form = if text.is_empty() { TextForm::Empty } else { form };
                self.cells.push(Cell { text, form });
                end + 1
            } else {
                let end = marks.end(at)?;
                let text = bytes.get(at..end)?;
                self.cells.push(self.bare_cell(text)?);
                end
            };
            match *bytes.get(end)? {
                byte if byte == self.csv.delimiter && left > 0 => at = end + 1,
                b'\n' if left == 0 => return Some(end + 1),
                b'\r' if left == 0 && bytes.get(end + 1) == Some(&b'\n') => return Some(end + 2),
                _ => return None,
            }
        }
        None
    }

    #[inline(always)]
    fn bare_cell(&self, text: &'a [u8]) -> Option<Cell<'a>> {
        let form = match text {
            [] => self.csv.empty,
            [b' ' | b'\t', ..] | [.., b' ' | b'\t'] => return None,
            text if text == self.csv.null.as_slice() => TextForm::Null,
            _ => TextForm::Raw,
        };
        Some(Cell { text, form })
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
    use crate::settings::FormatSettings;
    use crate::split::{RowEnd, SplitRows};

    type Row = Vec<(Vec<u8>, TextForm)>;

    /// Rows of `width` cells up to the first that is none, and where it starts.
    fn rows(text: &[u8], width: usize, is_quick: bool) -> (Vec<Row>, usize) {
        let mut csv = CsvRows::new(&FormatSettings::default());
        let (mut found, mut at) = (Vec::new(), 0);
        loop {
            let mut cells = Vec::new();
            let room = Room { width, rows: 3, bytes: 1000 };
            let taken = if is_quick {
                csv.quick_rows(text, at, room, &mut cells)
            } else {
                Taken { rows: 0, next: at }
            };
            assert_eq!(cells.len(), taken.rows * width);
            if taken.rows == 0 {
                match csv.row(text, at, true, &mut cells) {
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
            prop_assert_eq!(rows(text.as_bytes(), width, true), rows(text.as_bytes(), width, false));
        }
    }
}
