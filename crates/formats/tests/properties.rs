//! Properties of every reader: rows survive writing and reading, chunking does not matter, no bytes make it panic.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::{Field, Schema, SchemaRef};
use formats::{
    FormatError, FormatKind, FormatSettings, OutputStats, RecordBoundaries, TextForm, TypedColumnBuilder,
    infer, new_reader, new_writer,
};
use model::Value;
use model::type_arrow::to_field;
use model::type_name;
use proptest::prelude::*;

const COLUMNS: &[(&str, &str)] = &[
    ("i", "Int64"),
    ("f", "Nullable(Float64)"),
    ("s", "String"),
    ("n", "Nullable(String)"),
    ("t", "DateTime64(3, 'Europe/Berlin')"),
    ("d", "Decimal(30, 7)"),
    ("a", "Array(Nullable(String))"),
    ("m", "Map(String, Array(Int32))"),
    ("e", "Enum8('it\\'s' = 1, 'b' = -2)"),
    ("b", "Bool"),
    ("u", "UUID"),
    ("p", "Tuple(x Int8, y String)"),
    ("ip4", "IPv4"),
    ("ip6", "Nullable(IPv6)"),
    ("i128", "Int128"),
    ("u256", "Nullable(UInt256)"),
];

const INPUTS: &[FormatKind] = &[
    FormatKind::Csv,
    FormatKind::CsvWithNames,
    FormatKind::CsvWithNamesAndTypes,
    FormatKind::TabSeparated,
    FormatKind::TabSeparatedWithNames,
    FormatKind::TabSeparatedWithNamesAndTypes,
    FormatKind::Values,
    FormatKind::JsonEachRow,
    FormatKind::JsonCompactEachRow,
    FormatKind::JsonCompactEachRowWithNames,
    FormatKind::JsonCompactEachRowWithNamesAndTypes,
];

fn schema() -> SchemaRef {
    let field = |(name, text): &(&str, &str)| to_field(name, &type_name::parse(text).unwrap());
    Arc::new(Schema::new(COLUMNS.iter().map(field).collect::<Vec<Field>>()))
}

type Row = (i64, Option<f64>, String, Option<String>, i64, i128, Vec<Option<String>>, bool, u128);

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z,;'\"\\\\\t\n\r {}\\[\\]()é日|]{0,12}",
        any::<String>(),
        Just("\\N".to_owned()),
        Just("NULL".to_owned()),
        Just("  padded  ".to_owned())
    ]
}

/// The hour that comes twice when summer time ends is written twice alike; which one a text means nobody can tell.
fn comes_once(milliseconds: &i64) -> bool {
    let Some(utc) = chrono::DateTime::from_timestamp_millis(*milliseconds) else { return false };
    let local = utc.with_timezone(&chrono_tz::Europe::Berlin).naive_local();
    chrono::TimeZone::from_local_datetime(&chrono_tz::Europe::Berlin, &local).single().is_some()
}

#[test]
fn the_hour_that_comes_twice_is_left_out() {
    // 1992-09-27: summer time ended at 03:00, which was 01:00 UTC.
    let at = |hour: i64| 717_552_000_000 + hour * 3_600_000;
    assert_eq!([-1, 0, 1, 2].map(|hour| comes_once(&at(hour))), [true, false, false, true]);
}

fn row() -> impl Strategy<Value = Row> {
    (
        any::<i64>(),
        proptest::option::of(proptest::num::f64::NORMAL | proptest::num::f64::ZERO),
        text(),
        proptest::option::of(text()),
        // Until 2096: the tables that know which hour comes twice end in 2100, and summer time does not.
        (-2_000_000_000_000_i64..4_000_000_000_000).prop_filter("an hour that comes once", comes_once),
        -10_i128.pow(29)..10_i128.pow(29),
        proptest::collection::vec(proptest::option::of(text()), 0..3),
        any::<bool>(),
        any::<u128>(),
    )
}

/// SQL literal of a string.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

fn batch(rows: &[Row]) -> RecordBatch {
    let mut builders: Vec<TypedColumnBuilder> = COLUMNS
        .iter()
        .map(|(_, text)| TypedColumnBuilder::new(&type_name::parse(text).unwrap()).unwrap())
        .collect();
    for (i, f, s, n, t, d, a, b, u) in rows {
        let items: Vec<String> =
            a.iter().map(|x| x.as_ref().map_or("NULL".to_owned(), |x| quoted(x))).collect();
        let literals = [
            (6, format!("[{}]", items.join(","))),
            (7, format!("{{{}:[{}],'k':[]}}", quoted(s), i32::try_from(*i % 1000).unwrap())),
            (11, format!("({}, {})", i8::try_from(*i % 100).unwrap(), quoted(s))),
        ];
        for (column, literal) in literals {
            builders[column].append_text(literal.as_bytes(), TextForm::Literal).unwrap();
        }
        let text = |text: &String| Value::Text(text.as_str().into());
        let values = [
            (0, Value::Int(*i)),
            (1, f.map_or(Value::Null, Value::Float)),
            (2, text(s)),
            (3, n.as_ref().map_or(Value::Null, text)),
            (4, Value::Int(*t)),
            (5, Value::Decimal(*d)),
            (8, Value::Int(if *b { 1 } else { -2 })),
            (9, Value::Bool(*b)),
            (10, Value::Bytes(u.to_be_bytes().as_slice().into())),
            (12, Value::UInt(u64::try_from(*u % (1 << 32)).unwrap())),
            (13, Value::Bytes(u.to_be_bytes().as_slice().into())),
            (14, Value::Bytes(u.to_be_bytes().as_slice().into())),
            (15, Value::Bytes([u.to_be_bytes(), d.to_be_bytes()].as_flattened().into())),
        ];
        for (column, value) in values {
            builders[column].append_value(&value).unwrap();
        }
    }
    let arrays = builders.iter_mut().map(|b| b.finish().unwrap()).collect();
    RecordBatch::try_new(schema(), arrays).unwrap()
}

fn write(kind: FormatKind, batch: &RecordBatch) -> Vec<u8> {
    let mut writer = new_writer(kind, &FormatSettings::default()).unwrap();
    let mut out = Vec::new();
    writer.start(&batch.schema(), &mut out).unwrap();
    writer.write(batch, &mut out).unwrap();
    writer.finish(&OutputStats::default(), &mut out).unwrap();
    out
}

/// Feeds `bytes` in pieces of the given sizes, over and over.
fn read(kind: FormatKind, bytes: &[u8], pieces: &[usize]) -> Result<RecordBatch, FormatError> {
    let mut reader = new_reader(kind, schema(), &FormatSettings::default())?;
    let (mut out, mut held, mut at) = (Vec::new(), Vec::new(), 0);
    for size in pieces.iter().cycle() {
        let next = (at + size).min(bytes.len());
        held.extend_from_slice(&bytes[at..next]);
        at = next;
        let consumed = reader.read(&held, at == bytes.len(), &mut out)?;
        held.drain(..consumed);
        if at == bytes.len() {
            break;
        }
    }
    assert!(held.is_empty() || out.is_empty(), "everything is consumed at the end");
    Ok(concat_batches(&schema(), &out).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_back(rows in proptest::collection::vec(row(), 1..8), kind in proptest::sample::select(INPUTS)) {
        let batch = batch(&rows);
        let bytes = write(kind, &batch);
        let back = read(kind, &bytes, &[usize::MAX / 4]).unwrap();
        prop_assert_eq!(&back, &batch, "{}", String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn chunks_do_not_matter(
        rows in proptest::collection::vec(row(), 1..6),
        kind in proptest::sample::select(INPUTS),
        pieces in proptest::collection::vec(1_usize..40, 1..4),
        damage in proptest::option::of((any::<proptest::sample::Index>(), any::<u8>())),
    ) {
        let mut bytes = write(kind, &batch(&rows));
        if let Some((at, byte)) = damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        // The excerpt of the input in a message depends on the bytes at hand; its place and code do not.
        let outcome = |pieces: &[usize]| {
            read(kind, &bytes, pieces).map_err(|error| (error.code, error.row, error.column, error.position))
        };
        let whole = outcome(&[usize::MAX / 4]);
        prop_assert_eq!(&outcome(&pieces), &whole);
        prop_assert_eq!(&outcome(&[1]), &whole);
    }

    #[test]
    fn records_end_where_readers_end_them(rows in proptest::collection::vec(row(), 1..6), cut in any::<proptest::sample::Index>()) {
        for kind in [FormatKind::Csv, FormatKind::TabSeparated, FormatKind::JsonEachRow] {
            let bytes = write(kind, &batch(&rows));
            let start = &bytes[..cut.index(bytes.len())];
            let mut boundaries = RecordBoundaries::new(kind, &FormatSettings::default()).unwrap();
            let Some(boundary) = boundaries.advance(start) else { continue };
            let first = read(kind, &bytes[..boundary], &[usize::MAX / 4]).unwrap();
            let second = read(kind, &bytes[boundary..], &[usize::MAX / 4]).unwrap();
            prop_assert_eq!(first.num_rows() + second.num_rows(), rows.len());
        }
    }

    #[test]
    fn no_bytes_make_a_reader_panic(
        bytes in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..200),
            "[0-9a-z,;'\"\\\\\t\n\r {}\\[\\]():.-]{0,200}".prop_map(String::into_bytes)
        ],
        kind in proptest::sample::select(INPUTS),
    ) {
        let whole = read_lossy(kind, &bytes);
        prop_assert_eq!(whole, read_lossy(kind, &bytes));
        let _ = infer(kind, &bytes, true, &FormatSettings::default());
        if let Some(mut boundaries) = RecordBoundaries::new(kind, &FormatSettings::default()) {
            prop_assert!(boundaries.advance(&bytes).is_none_or(|end| bytes[end - 1] == b'\n'));
        }
        for (_, name) in COLUMNS {
            for form in [TextForm::Raw, TextForm::Escaped, TextForm::Literal, TextForm::Json, TextForm::CsvDoubled(b'"')] {
                let mut builder = TypedColumnBuilder::new(&type_name::parse(name).unwrap()).unwrap();
                if builder.append_text(&bytes, form).is_ok() {
                    prop_assert_eq!(builder.finish().unwrap().len(), 1);
                }
            }
        }
    }
}

fn read_lossy(kind: FormatKind, bytes: &[u8]) -> Option<usize> {
    read(kind, bytes, &[usize::MAX / 4]).ok().map(|batch| batch.num_rows())
}
