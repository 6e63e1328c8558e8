use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{Field, Int32Type, Schema, TimestampSecondType};
use model::type_arrow::to_field;

use super::*;
use crate::settings::DateTimeInput;

fn schema(structure: &[(&str, &str)]) -> SchemaRef {
    let field = |(name, text): &(&str, &str)| to_field(name, &model::type_name::parse(text).unwrap());
    Arc::new(Schema::new(structure.iter().map(field).collect::<Vec<Field>>()))
}

fn read(kind: FormatKind, structure: &[(&str, &str)], text: &[u8]) -> Result<Vec<RecordBatch>, FormatError> {
    let mut reader = new_reader(kind, schema(structure), &FormatSettings::default())?;
    let mut out = Vec::new();
    assert_eq!(reader.read(text, true, &mut out)?, text.len());
    Ok(out)
}

#[test]
fn a_reader_that_is_told_the_types_reads_the_same() {
    let columns = [("id", "Nullable(Int32)"), ("pair", "Tuple(a Int8, b String)"), ("e", "Enum8('x' = 1)")];
    let (schema, settings) = (schema(&columns), FormatSettings::default());
    let types = types_of(&schema);
    for (kind, text) in [
        (FormatKind::Values, "(1, (2, 'a'), 'x'), (NULL, (3, ''), 'x')"),
        (FormatKind::Csv, "1,2,a,x\n\\N,3,,x\n"),
    ] {
        let mut reader = new_typed_reader(kind, Arc::clone(&schema), &types, &settings).unwrap();
        let mut out = Vec::new();
        reader.read(text.as_bytes(), true, &mut out).unwrap();
        assert_eq!(out, read(kind, &columns, text.as_bytes()).unwrap(), "{kind:?}");
        assert_eq!(out[0].num_rows(), 2);
    }
}

#[test]
fn errors_name_row_column_and_position() {
    let columns = [("id", "Int32"), ("name", "String")];
    for (kind, text, error) in [
        (FormatKind::Csv, "1,a\n2,b\nx,c\n", "cannot read \"x\" as Int32 (at row 3, column \"id\", byte 8)"),
        (
            FormatKind::Csv,
            "1,a\n2\n",
            "row has 1 columns, 2 expected: the next column is missing (at row 2, column \"name\", byte 5)",
        ),
        (
            FormatKind::Csv,
            "1,a,7\n",
            "expected end of line: row has 3 columns, 2 expected (at row 1, byte 5)",
        ),
        (
            FormatKind::Csv,
            "1,\"a\" b\n",
            "cannot parse input: expected ',' before: b\\n (at row 1, column \"name\", byte 6)",
        ),
        (
            FormatKind::Csv,
            "99999999999,a\nx,",
            "value 99999999999 does not fit type Int32 (at row 1, column \"id\", byte 0)",
        ),
        (
            FormatKind::TabSeparated,
            "1\ta\n\t\nx\ta\n",
            "cannot read \"x\" as Int32 (at row 3, column \"id\", byte 6)",
        ),
        (
            FormatKind::JsonEachRow,
            "{\"id\":1}\n{\"id\":{}}",
            "cannot read \"{}\" as Int32 (at row 2, column \"id\", byte 15)",
        ),
        (
            FormatKind::JsonEachRow,
            "{\"id\":1",
            "JSON ends inside a row: {\\\"id\\\":1 (at row 1, column \"id\", byte 0)",
        ),
        (
            FormatKind::Values,
            "(1, 'a'), (2)",
            "row has 1 columns, 2 expected: the next column is missing (at row 2, column \"name\", byte 12)",
        ),
        (FormatKind::CsvWithNames, "id,name,id\n", "column \"id\" stands twice in the header"),
    ] {
        assert_eq!(read(kind, &columns, text.as_bytes()).unwrap_err().to_string(), error);
    }
}

#[test]
fn batches_are_cut_at_the_limit() {
    let settings = FormatSettings { block_rows_max: 1000, ..FormatSettings::default() };
    let text: String = (0..2500).map(|n| format!("{n},x{n}\n")).collect();
    let columns = [("a", "Int32"), ("b", "String")];
    let mut reader = new_reader(FormatKind::Csv, schema(&columns), &settings).unwrap();
    let mut out = Vec::new();
    let (start, rest) = text.as_bytes().split_at(7777);
    let consumed = reader.read(start, false, &mut out).unwrap();
    let rest = [&start[consumed..], rest].concat();
    assert_eq!(reader.read(&rest, true, &mut out).unwrap(), rest.len());
    assert_eq!(out.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [1000, 1000, 500]);
    let all: Vec<i32> =
        out.iter().flat_map(|batch| batch.column(0).as_primitive::<Int32Type>().values().to_vec()).collect();
    assert_eq!(all, (0..2500).collect::<Vec<_>>());
}

#[test]
fn a_reader_in_the_middle_knows_the_files_columns() {
    let columns = [("a", "Int32"), ("b", "String"), ("t", "Tuple(x Int8, y Int8)")];
    let file_columns = vec!["b".to_owned(), "t.y".to_owned(), "other".to_owned(), "t.x".to_owned()];
    let start = ReaderStart::Middle { columns: Some(file_columns), position: 0 };
    let settings = FormatSettings::default();
    let mut reader =
        new_reader_at(FormatKind::CsvWithNames, schema(&columns), Some(&[2, 0]), &settings, &start).unwrap();
    let mut out = Vec::new();
    reader.read(b"x,1,?,2\ny,3,?,4\n", true, &mut out).unwrap();
    let batch = &out[0];
    assert_eq!(batch.schema().fields().iter().map(|f| f.name().as_str()).collect::<Vec<_>>(), ["t", "a"]);
    assert_eq!(batch.column(1).as_primitive::<Int32Type>().values(), &[0, 0]);
    assert_eq!(batch.column(0).as_struct().column(0).len(), 2);
}

#[test]
fn rows_are_counted_without_any_column() {
    let columns = [("a", "Int32")];
    let start = ReaderStart::File;
    let settings = FormatSettings::default();
    let mut reader = new_reader_at(FormatKind::Csv, schema(&columns), Some(&[]), &settings, &start).unwrap();
    let mut out = Vec::new();
    reader.read(b"1\nx\n3\n", true, &mut out).unwrap();
    assert_eq!((out[0].num_rows(), out[0].num_columns()), (3, 0));
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let mut reader =
        new_reader(FormatKind::Csv, schema(&[("a", "Int32")]), &FormatSettings::default()).unwrap();
    let mut out = Vec::new();
    assert_eq!(reader.read(b"\xef", false, &mut out), Ok(0));
    assert_eq!(reader.read(b"\xef\xbb\xbf7\n", true, &mut out), Ok(5));
    assert_eq!(out[0].column(0).as_primitive::<Int32Type>().values(), &[7]);
}

/// Rows read, as JSON lists, and rows skipped, when `allowed` bad ones may be.
fn tolerant(kind: FormatKind, structure: &[(&str, &str)], text: &str, step: usize) -> (String, Vec<String>) {
    let settings = FormatSettings { allow_errors_num: 100, ..FormatSettings::default() };
    let schema = schema(structure);
    let mut reader = new_reader(kind, Arc::clone(&schema), &settings).unwrap();
    let (mut out, mut from, mut rejected) = (Vec::new(), 0, Vec::new());
    for to in (step..text.len()).step_by(step).chain([text.len()]) {
        from += reader.read(&text.as_bytes()[from..to], to == text.len(), &mut out).unwrap();
        rejected.extend(reader.take_rejected());
    }
    assert_eq!(reader.rejected(), rejected.len() as u64);
    let mut writer = crate::new_writer(FormatKind::JsonCompactEachRow, &settings).unwrap();
    let mut written = Vec::new();
    writer.start(&schema, &mut written).unwrap();
    out.iter().for_each(|batch| writer.write(batch, &mut written).unwrap());
    let place = |row: RejectedRow| {
        let column = row.column.unwrap_or_default();
        format!("{} {} {column} {} {}", row.row, row.position, row.code, row.text)
    };
    (
        String::from_utf8(written).unwrap().replace('\n', "").replace(", ", ","),
        rejected.into_iter().map(place).collect(),
    )
}

#[test]
fn bad_rows_are_skipped_to_their_end() {
    let ab = &[("a", "Int32"), ("b", "String")][..];
    let nested = &[("s", "String"), ("l", "Array(Int32)"), ("t", "Tuple(Int8, Array(String))")][..];
    for (kind, structure, text, rows, bad) in [
        (FormatKind::Csv, ab, "1,x\nq,y\n3,z\n", "[1,\"x\"][3,\"z\"]", &["2 4 a 27 q,y"][..]),
        (
            FormatKind::Csv,
            ab,
            "1,x\n2\n3,z,4\n5,\"v\n w\"",
            "[1,\"x\"][5,\"v\\n w\"]",
            &["2 5 b 27 2", "3 11  117 3,z,4"],
        ),
        (
            FormatKind::Csv,
            ab,
            "1,\"x\"y\n2,\"z\n3,w\n",
            "[3,\"w\"]",
            &["1 5 b 27 1,\"x\"y", "2 9 b 26 2,\"z"],
        ),
        (
            FormatKind::TabSeparated,
            ab,
            "1\tx\nq\ty\\\nz\n3\tz\n",
            "[1,\"x\"][3,\"z\"]",
            &["2 4 a 27 q\ty\\\nz"],
        ),
        (
            FormatKind::JsonEachRow,
            ab,
            "{\"a\":1}\n{\"a\":[]}\n{\"a\":2\n}{\"a\" 3}\n{\"a\":4}",
            "[1,\"\"][2,\"\"][4,\"\"]",
            &["2 13 a 27 {\"a\":[]}", "4 30 a 27 {\"a\" 3}"],
        ),
        (
            FormatKind::JsonCompactEachRow,
            nested,
            "[\"a long text of many bytes\",[1],[1,[\"x\"]]]\n[\"b\",[1,\"q\"],[1,[]]]\n[\"c\",[2,3],[4,[\"y\",\"z\"]]]\n[\"d\",[5],[300,[]]]",
            "[\"a long text of many bytes\",[1],[1,[\"x\"]]][\"c\",[2,3],[4,[\"y\",\"z\"]]]",
            &["2 49 l 27 [\"b\",[1,\"q\"],[1,[]]]", "4 100 t 69 [\"d\",[5],[300,[]]]"],
        ),
    ] {
        for step in [1, 7, 1000] {
            let read = tolerant(kind, structure, text, step);
            assert_eq!(
                (read.0.as_str(), read.1),
                (rows, bad.iter().map(|b| (*b).to_owned()).collect()),
                "{text}"
            );
        }
    }
}

#[test]
fn a_row_has_a_longest() {
    let settings = FormatSettings { row_bytes_max: 10, ..FormatSettings::default() };
    let schema = schema(&[("s", "String")]);
    let mut reader = new_reader(FormatKind::Csv, schema, &settings).unwrap();
    let mut out = Vec::new();
    assert_eq!(reader.read(b"x\n\"123456789", false, &mut out), Ok(2));
    let error = reader.read(b"\"1234567890123", false, &mut out).unwrap_err();
    assert!(error.to_string().contains("input_format_max_row_bytes"), "{error}");
    assert_eq!((error.code.number(), error.row, error.position), (131, Some(2), Some(2)));
}

#[test]
fn documents_are_read_row_by_row() {
    let ab = &[("a", "Int32"), ("b", "String")][..];
    let meta = r#"{"meta":[{"name":"a","type":"Int32"},{"name":"b","type":"String"}],"#;
    let long =
        format!("{meta}\"data\": [{{\"a\":1,\"b\":\"]\"}},\n {{\"b\":\"x\",\"a\":2}} ], \"rows\": 2}}\n");
    let lists =
        format!("{meta}\"extra\": {{\"data\": 1}}, \"data\":[[1,\"]\"],[2,\"x\"]],\"statistics\":{{}}}}");
    for (kind, text, rows) in [
        (FormatKind::Json, long.as_str(), "[1,\"]\"][2,\"x\"]"),
        (FormatKind::JsonCompact, &lists, "[1,\"]\"][2,\"x\"]"),
        (FormatKind::Json, "{\"meta\":[],\"data\":[]}", ""),
        (FormatKind::Json, "{\"a\":1}\n{\"a\":2,\"data\":[]}", "[1,\"\"][2,\"\"]"),
        (FormatKind::Json, "[{\"a\":1},{\"b\":\"y\"}]", "[1,\"\"][0,\"y\"]"),
        (FormatKind::Json, "", ""),
    ] {
        for step in [1, 5, 1000] {
            assert_eq!(tolerant(kind, ab, text, step), (rows.to_owned(), Vec::new()), "{text}");
        }
    }
    for cut in [
        "{\"meta\":[]",
        "{\"meta\":[],\"data\":",
        "{\"meta\":[],\"data\":[{\"a\":1}",
        "{\"meta\":[],\"data\":3}",
        "{\"meta\":[]}",
    ] {
        assert_eq!(
            read(FormatKind::Json, ab, cut.as_bytes()).unwrap_err().code,
            ErrorCode::INCORRECT_DATA,
            "{cut}"
        );
    }
    let columns = crate::infer(FormatKind::Json, long.as_bytes(), true, &FormatSettings::default()).unwrap();
    let columns: Vec<String> = columns.iter().map(|(name, of)| format!("{name} {of}")).collect();
    assert_eq!(columns, ["a Int32", "b String"]);
}

#[test]
fn settings_change_what_is_read() {
    let row = [("a", "Bool"), ("b", "DateTime")];
    let settings = FormatSettings {
        csv_cr_ends_row: true,
        bool_true: "ja".to_owned(),
        date_time_input: DateTimeInput::BestEffortUs,
        ..FormatSettings::default()
    };
    let mut reader = new_reader(FormatKind::Csv, schema(&row), &settings).unwrap();
    let (text, mut out) = (b"ja,01/02/2020 00:00:00\rfalse,\"01/03/2020\"\r\ntrue,01/01/1970\r", Vec::new());
    assert_eq!(reader.read(text, true, &mut out), Ok(text.len()));
    let times: Vec<i64> = out[0].column(1).as_primitive::<TimestampSecondType>().values().to_vec();
    assert_eq!(times, [1_577_923_200, 1_578_009_600, 0]);
    let flags: Vec<bool> = out[0].column(0).as_boolean().iter().flatten().collect();
    assert_eq!(flags, [true, false, true]);
}

#[test]
fn pairs_are_read_by_name() {
    let columns = &[("a", "Int32"), ("b", "Nullable(String)")][..];
    // As ClickHouse answers.
    let text = "a=1\tb=x\\ty\ntskv\tb=q\ta=2\n\na=1\tb\na=1\tzz=4\na\\tq=1\tb=2\na=1\ta=2\nb=\\N\ta=5";
    let rows = "[1,\"x\\ty\"][2,\"q\"][0,null][1,null][0,\"2\"][5,null]";
    let bad = ["4 29 b 117 a=1\tb".to_owned(), "7 51 a 117 a=1\ta=2".to_owned()];
    for step in [1, 6, 1000] {
        assert_eq!(tolerant(FormatKind::Tskv, columns, text, step), (rows.to_owned(), bad.to_vec()));
    }
    let sample = b"a=1\tb\\==x\n\nb\\==2\tc=\\N\n";
    let inferred = crate::infer(FormatKind::Tskv, sample, true, &FormatSettings::default()).unwrap();
    let inferred: Vec<String> = inferred.iter().map(|(name, of)| format!("{name} {of}")).collect();
    assert_eq!(inferred, ["a Nullable(Int64)", "b= Nullable(String)", "c Nullable(String)"]);
    let batches = read(FormatKind::Tskv, columns, b"b=x\\ty\ta=1\na=2").unwrap();
    let settings = FormatSettings::default();
    let (mut writer, mut out) = (crate::new_writer(FormatKind::Tskv, &settings).unwrap(), Vec::new());
    writer.start(&batches[0].schema(), &mut out).unwrap();
    writer.write(&batches[0], &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "a=1\tb=x\\ty\na=2\tb=\\N\n");
}
