//! Tables of where records end, and the property that pieces hold the rows of the file.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::{Schema, SchemaRef};
use model::type_arrow::to_field;
use proptest::prelude::*;

use super::*;
use crate::reader::{ReaderStart, new_reader_at};
use crate::rows::split::{Header, RowReader};

fn last_end(kind: FormatKind, text: &[u8], settings: &FormatSettings) -> Option<usize> {
    RecordBoundaries::new(kind, settings).unwrap().advance(text)
}

#[test]
fn records_end_outside_of_quotes() {
    use FormatKind as F;
    for (kind, text, end) in [
        (F::Csv, "1,a\n2,\"x\ny\"\n3,\"z\n", Some(12)),
        (F::Csv, "\"a\"\"\n\",1", None),
        // Not at the start of a cell a quote is a character.
        (F::Csv, "5\",a\n6,b\n7", Some(9)),
        (F::Csv, "1,  \"x\n\"\n2", Some(9)),
        (F::Csv, "1,\"x\"\r\n\"", Some(7)),
        (F::TabSeparated, "1\t2\n3\t4", Some(4)),
        (F::TabSeparated, "1\ta\\\nb\n3", Some(7)),
        (F::TabSeparated, "1\ta\\\\\nb", Some(6)),
        (F::TabSeparatedRaw, "1\ta\\\nb", Some(5)),
        (F::LineAsString, "\"\n", Some(2)),
        (F::JsonEachRow, "{\"a\":\"}\\\"\n\"}\n{\"a\":{\n}}\n{", Some(23)),
        (F::JsonEachRow, "[{\"a\":1},\n{\"a\":2}]\n", None),
        (F::JsonCompactEachRow, "[1,\n\"]\n\"]\n[", Some(10)),
    ] {
        assert_eq!(last_end(kind, text.as_bytes(), &FormatSettings::default()), end, "{text}");
    }
}

#[test]
fn settings_decide_what_a_quote_is() {
    let single = FormatSettings { csv_single_quotes: true, ..FormatSettings::default() };
    let none = FormatSettings { csv_double_quotes: false, ..FormatSettings::default() };
    let keeps_blanks = FormatSettings { csv_trim_whitespace: false, ..FormatSettings::default() };
    let semicolon = FormatSettings { csv_delimiter: b';', ..FormatSettings::default() };
    for (settings, text, end) in [
        (&single, "'a\n\"'\nb", Some(6)),
        (&none, "\"a\nb", Some(3)),
        (&keeps_blanks, "1, \"a\nb", Some(6)),
        (&semicolon, "1;\"a\n\"\n", Some(7)),
        (&semicolon, "1,\"a\n\"\n", Some(5)),
    ] {
        assert_eq!(last_end(FormatKind::Csv, text.as_bytes(), settings), end, "{text}");
    }
    for settings in [
        FormatSettings { csv_delimiter: b'"', ..FormatSettings::default() },
        FormatSettings { csv_skip_first_lines: 1, ..FormatSettings::default() },
    ] {
        assert!(RecordBoundaries::new(FormatKind::Csv, &settings).is_none());
    }
    // Empty lines are skipped at the end of the file, and nowhere else.
    let mut skips = FormatSettings::default();
    skips.delimited.csv_skip_trailing_empty_lines = true;
    for (kind, is_cut) in [(FormatKind::CsvWithNames, false), (FormatKind::TabSeparated, true)] {
        assert_eq!(RecordBoundaries::new(kind, &skips).is_some(), is_cut);
    }
    skips.delimited.tsv_skip_trailing_empty_lines = true;
    for kind in [FormatKind::TabSeparated, FormatKind::TabSeparatedRawWithNames] {
        assert!(RecordBoundaries::new(kind, &skips).is_none());
    }
    assert!(RecordBoundaries::new(FormatKind::Values, &FormatSettings::default()).is_none());
}

fn schema() -> SchemaRef {
    let text = model::type_name::parse("String").unwrap();
    Arc::new(Schema::new(["a", "b"].map(|name| to_field(name, &text)).to_vec()))
}

fn settings() -> FormatSettings {
    FormatSettings {
        csv_allow_variable_columns: true,
        tsv_allow_variable_columns: true,
        csv_single_quotes: true,
        ..FormatSettings::default()
    }
}

fn reader(kind: FormatKind, start: &ReaderStart) -> Box<dyn RowReader> {
    new_reader_at(kind, schema(), None, &settings(), start).unwrap()
}

fn joined(batches: &[RecordBatch]) -> RecordBatch {
    concat_batches(&schema(), batches).unwrap()
}

/// Rows of the pieces that end where the scan, fed in steps, says so; `None` if one of them cannot be read.
fn in_pieces(kind: FormatKind, text: &[u8], steps: &[usize]) -> Option<Vec<RecordBatch>> {
    let mut scan = RecordBoundaries::new(kind, &settings()).unwrap();
    let (mut at, mut from, mut out, mut pieces) = (0, 0, Vec::new(), Vec::new());
    for step in steps.iter().cycle() {
        let next = (at + step).min(text.len());
        if let Some(end) = scan.advance(&text[at..next]) {
            pieces.push(from..at + end);
            from = at + end;
        }
        at = next;
        if at == text.len() {
            break;
        }
    }
    pieces.push(from..text.len());
    let mut columns = None;
    for piece in pieces {
        let start = match piece.start {
            0 => ReaderStart::File,
            start => {
                ReaderStart::Middle { columns: columns.clone()?, position: u64::try_from(start).unwrap() }
            }
        };
        let mut reader = reader(kind, &start);
        reader.read(&text[piece.clone()], true, &mut out).ok()?;
        if piece.start == 0 {
            columns = match reader.header() {
                Header::Read(columns) => Some(columns.map(<[String]>::to_vec)),
                Header::Ahead => None,
            };
        }
    }
    Some(out)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn pieces_hold_the_rows_of_the_file(
        soup in "[ab,\"'\n\r\t \\\\]{0,60}",
        rows in proptest::collection::vec(("[ab\"\n, ]{0,6}", "[a'\n\t\\\\]{0,6}"), 0..8),
        kind in proptest::sample::select(&[
            FormatKind::Csv, FormatKind::CsvWithNames, FormatKind::TabSeparated, FormatKind::TabSeparatedRaw,
        ][..]),
        steps in proptest::collection::vec(1_usize..12, 1..4),
    ) {
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let lines = rows.iter().map(|(a, b)| format!("{},{}\n", quoted(a), quoted(b)));
        let csv: String = std::iter::once("b,a\n".to_owned()).chain(lines).collect();
        for text in [soup, csv] {
            let mut whole = Vec::new();
            if reader(kind, &ReaderStart::File).read(text.as_bytes(), true, &mut whole).is_err() {
                continue;
            }
            let pieces = in_pieces(kind, text.as_bytes(), &steps);
            // Without a header row in the first piece nobody can say what the columns are.
            let Some(pieces) = pieces else {
                prop_assert!(kind == FormatKind::CsvWithNames, "{text:?}");
                continue;
            };
            prop_assert_eq!(joined(&pieces), joined(&whole), "{:?}", text);
        }
    }

    #[test]
    fn pieces_hold_the_objects_of_the_file(
        rows in proptest::collection::vec("[ab\"\n\\\\{}\\[\\]]{0,6}", 0..8),
        gap in "[\n ]{1,3}",
        steps in proptest::collection::vec(1_usize..12, 1..4),
    ) {
        let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        let objects: String =
            rows.iter().map(|text| format!("{{\"a\":\"{}\",\"c\":[1,\"]\"]}}{gap}", escaped(text))).collect();
        let mut whole = Vec::new();
        let kind = FormatKind::JsonEachRow;
        reader(kind, &ReaderStart::File).read(objects.as_bytes(), true, &mut whole).unwrap();
        let pieces = in_pieces(kind, objects.as_bytes(), &steps).unwrap();
        prop_assert_eq!(joined(&pieces), joined(&whole), "{:?}", objects);
    }
}
