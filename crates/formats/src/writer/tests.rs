use std::sync::Arc;

use arrow::array::{Array, ArrayRef, DictionaryArray, Int64Array, IntervalMonthDayNanoArray, StringArray};
use arrow::datatypes::{Field, Int32Type, IntervalMonthDayNanoType, Schema};

use super::*;

fn written(kind: FormatKind, batches: &[RecordBatch], settings: &FormatSettings) -> String {
    let mut writer = new_writer(kind, settings).unwrap();
    let mut out = Vec::new();
    writer.start(&batches[0].schema(), &mut out).unwrap();
    for batch in batches {
        writer.write(batch, &mut out).unwrap();
    }
    writer.finish(&OutputStats::default(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn numbers(range: std::ops::Range<i64>) -> RecordBatch {
    let array: ArrayRef = Arc::new(Int64Array::from_iter_values(range));
    RecordBatch::try_from_iter([("a", array)]).unwrap()
}

#[test]
fn batches_join_into_one_table_and_the_middle_is_left_out() {
    let settings = FormatSettings { pretty_rows_max: 5, ..FormatSettings::default() };
    let batches: Vec<RecordBatch> = (0..10).map(|at| numbers(at * 2..at * 2 + 2)).collect();
    let table = written(FormatKind::PrettyCompact, &batches, &settings);
    insta::assert_snapshot!(table, @r"
        ┌──a─┐
     1. │  0 │
     2. │  1 │
     3. │  2 │
        ─ ─ ─ 
    19. │ 18 │
    20. │ 19 │
        └────┘
    Showed 5 out of 20 rows.
    ");
}

#[test]
fn colours_mark_names_numbers_and_digit_groups() {
    let settings = FormatSettings { pretty_color: Some(true), ..FormatSettings::default() };
    let table = written(FormatKind::PrettyCompact, &[numbers(12_345_678..12_345_679)], &settings);
    assert_eq!(
        table.lines().nth(1).unwrap(),
        "\u{1b}[90m1. \u{1b}[0m│ 1\u{1b}[4m2\u{1b}[0m34\u{1b}[4m5\u{1b}[0m678 │\u{1b}[90m -- 12.35 million\u{1b}[0m"
    );
}

#[test]
fn foreign_layouts_are_shown() {
    let words: DictionaryArray<Int32Type> = vec!["x", "y"].into_iter().collect();
    let plain: ArrayRef = Arc::new(StringArray::from(vec![Some("a\tb"), None]));
    let interval = IntervalMonthDayNanoType::make_value(1, 2, 0);
    let spans: ArrayRef = Arc::new(IntervalMonthDayNanoArray::from(vec![interval; 2]));
    let fields = vec![
        Field::new("d", words.data_type().clone(), false),
        Field::new("s", plain.data_type().clone(), true),
        Field::new("i", spans.data_type().clone(), false),
    ];
    let batch =
        RecordBatch::try_new(Arc::new(Schema::new(fields)), vec![Arc::new(words), plain, spans]).unwrap();
    let text = written(FormatKind::TabSeparated, &[batch], &FormatSettings::default());
    assert_eq!(text, "x\ta\\tb\t1 mons 2 days\ny\t\\N\t1 mons 2 days\n");
}

#[test]
fn parquet_holds_the_rows() {
    let mut writer = new_writer(FormatKind::Parquet, &FormatSettings::default()).unwrap();
    let mut out = Vec::new();
    writer.start(&numbers(0..1).schema(), &mut out).unwrap();
    for at in 0..3 {
        writer.write(&numbers(at * 10..at * 10 + 10), &mut out).unwrap();
    }
    writer.finish(&OutputStats::default(), &mut out).unwrap();
    let reader =
        ::parquet::arrow::arrow_reader::ParquetRecordBatchReader::try_new(bytes::Bytes::from(out), 100)
            .unwrap();
    let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    assert_eq!(batches, vec![numbers(0..30)]);
}

#[test]
fn statistics_are_left_out_on_request() {
    let settings = FormatSettings { write_statistics: false, ..FormatSettings::default() };
    let document = written(FormatKind::Json, &[numbers(1..2)], &settings);
    assert!(document.ends_with("\n\t],\n\n\t\"rows\": 1\n}\n"), "{document}");
}

/// What ClickHouse prints.
#[test]
fn json_of_strings_and_of_columns_is_written() {
    let settings = FormatSettings { write_statistics: false, ..FormatSettings::default() };
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a\"b"), None]));
    let ids: ArrayRef = Arc::new(arrow::array::Int32Array::from(vec![1, 2]));
    let batch = RecordBatch::try_from_iter_with_nullable([("a", ids, false), ("s", texts, true)]).unwrap();
    let check = |kind, expected: &str| {
        assert_eq!(written(kind, std::slice::from_ref(&batch), &settings), expected, "{kind:?}");
    };
    let meta = "{\n\t\"meta\":\n\t[\n\t\t{\n\t\t\t\"name\": \"a\",\n\t\t\t\"type\": \"Int32\"\n\t\t},\n\t\t{\n\t\t\t\"name\": \"s\",\n\t\t\t\"type\": \"Nullable(String)\"\n\t\t}\n\t],\n\n\t\"data\":\n";
    check(
        FormatKind::JsonStrings,
        &format!(
            "{meta}\t[\n\t\t{{\n\t\t\t\"a\": \"1\",\n\t\t\t\"s\": \"a\\\"b\"\n\t\t}},\n\t\t{{\n\t\t\t\"a\": \"2\",\n\t\t\t\"s\": \"ᴺᵁᴸᴸ\"\n\t\t}}\n\t],\n\n\t\"rows\": 2\n}}\n"
        ),
    );
    check(
        FormatKind::JsonCompactStrings,
        &format!("{meta}\t[\n\t\t[\"1\", \"a\\\"b\"],\n\t\t[\"2\", \"ᴺᵁᴸᴸ\"]\n\t],\n\n\t\"rows\": 2\n}}\n"),
    );
    check(FormatKind::JsonColumns, "{\n\t\"a\": [1, 2],\n\t\"s\": [\"a\\\"b\", null]\n}\n");
    check(FormatKind::JsonCompactColumns, "[\n\t[1, 2],\n\t[\"a\\\"b\", null]\n]\n");
    check(
        FormatKind::JsonColumnsWithMetadata,
        &format!(
            "{meta}\t{{\n\t\t\"a\": [1, 2],\n\t\t\"s\": [\"a\\\"b\", null]\n\t}},\n\n\t\"rows\": 2\n}}\n"
        ),
    );
    check(
        FormatKind::JsonObjectEachRow,
        "{\n\t\"row_1\": {\"a\":1,\"s\":\"a\\\"b\"},\n\t\"row_2\": {\"a\":2,\"s\":null}\n}\n",
    );
}

#[test]
fn floats_of_64_bits_are_quoted_on_request() {
    let array: ArrayRef = Arc::new(arrow::array::Float64Array::from(vec![1.5, f64::NAN]));
    let narrow: ArrayRef = Arc::new(arrow::array::Float32Array::from(vec![1.5, 2.0]));
    let batch = RecordBatch::try_from_iter([("a", array), ("b", narrow)]).unwrap();
    let settings = FormatSettings { json_quote_64bit_floats: true, ..FormatSettings::default() };
    let rows = written(FormatKind::JsonEachRow, std::slice::from_ref(&batch), &settings);
    assert_eq!(rows, "{\"a\":\"1.5\",\"b\":1.5}\n{\"a\":\"null\",\"b\":2}\n");
    let settings = FormatSettings { json_quote_denormals: true, ..settings };
    let rows = written(FormatKind::JsonEachRow, &[batch], &settings);
    assert_eq!(rows, "{\"a\":\"1.5\",\"b\":1.5}\n{\"a\":\"nan\",\"b\":2}\n");
}

#[test]
fn native_says_what_its_reader_s_revision_knows() {
    let batch = numbers(1..2);
    let column = b"\x01\x01\x01a\x05Int64";
    for (revision, notes, serialization) in [(0, false, false), (54_405, true, false), (54_460, true, true)] {
        let settings = FormatSettings { native_revision: revision, ..FormatSettings::default() };
        let (mut writer, mut out) = (new_writer(FormatKind::Native, &settings).unwrap(), Vec::new());
        writer.start(&batch.schema(), &mut out).unwrap();
        writer.write(&batch, &mut out).unwrap();
        let mut expected = if notes { vec![1, 0, 2, 255, 255, 255, 255, 0] } else { vec![] };
        expected.extend_from_slice(column);
        expected.extend(serialization.then_some(0));
        expected.extend(1_i64.to_le_bytes());
        assert_eq!(out, expected, "revision {revision}");
    }
}
