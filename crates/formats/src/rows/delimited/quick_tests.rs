//! Quick rows of CSV and TabSeparated are those that are split one by one.

use proptest::prelude::*;

use super::{CsvRows, TsvRows};
use crate::rows::split::{Room, RowEnd, SplitRows, Taken};
use crate::settings::FormatSettings;
use crate::values::cell::TextForm;

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
