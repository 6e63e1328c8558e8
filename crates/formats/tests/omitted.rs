//! Cells that ask for their default, as readers tell them.
//!
//! Invariant: every format says the same of the same rows.

use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::Schema;
use formats::{FormatKind, FormatSettings, OutputStats, new_reader, new_writer, with_omissions};
use model::type_arrow::to_field;
use model::type_name;

fn schema(columns: &[(&str, &str)]) -> Arc<Schema> {
    let field = |(name, of): &(&str, &str)| to_field(name, &type_name::parse(of).expect("a type"));
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// Cells of `b` and `c` that ask, row by row.
fn asked(kind: FormatKind, data: &[u8], settings: &FormatSettings) -> Vec<String> {
    let columns = schema(&[("a", "UInt8"), ("b", "String"), ("c", "Nullable(Int32)")]);
    let schema = with_omissions(&columns, |field| field.name() != "a");
    let mut reader = new_reader(kind, Arc::clone(&schema), settings).expect("a format that is read");
    let mut batches: Vec<RecordBatch> = Vec::new();
    reader.read(data, true, &mut batches).expect("it is read");
    let mut rows = Vec::new();
    for batch in &batches {
        assert_eq!(batch.schema(), schema);
        let bit = |column: usize, row: usize| match batch.column(column).as_boolean().value(row) {
            true => "?",
            false if batch.column(column - 2).is_null(row) => "0",
            false => "1",
        };
        rows.extend((0..batch.num_rows()).map(|row| format!("{}{}", bit(3, row), bit(4, row))));
    }
    rows
}

#[test]
fn what_a_text_leaves_out_asks() {
    use FormatKind as F;
    let defaults = FormatSettings::default();
    for (kind, data, expected) in [
        (
            F::JsonEachRow,
            "{\"a\":1}\n{\"a\":1,\"b\":null,\"c\":null}\n{\"b\":\"\",\"c\":5}\n",
            ["??", "?0", "11"],
        ),
        (F::Tskv, "a=1\nb=\\N\tc=\\N\nb=\tc=5\n", ["??", "?0", "11"]),
        (F::Csv, "1,,\n1,\\N,\\N\n1,\"\",5\n", ["??", "?0", "11"]),
        (F::TabSeparated, "1\t\\N\t\\N\n1\tx\t5\n1\t\t5\n", ["?0", "11", "11"]),
        (F::Values, "(1,NULL,NULL),(1,'',5),(2,'x',NULL)", ["?0", "11", "10"]),
        (F::CsvWithNames, "a,b\n1,x\n1,\n1,\\N\n", ["1?", "??", "??"]),
        (F::JsonCompactEachRowWithNames, "[\"c\"]\n[null]\n[1]\n[2]\n", ["?0", "?1", "?1"]),
    ] {
        assert_eq!(asked(kind, data.as_bytes(), &defaults), expected, "{}", kind.name());
        let off = FormatSettings { defaults_for_omitted_fields: false, ..defaults.clone() };
        let none = asked(kind, data.as_bytes(), &off);
        assert!(none.iter().all(|row| !row.contains('?')), "{}: {none:?}", kind.name());
    }
}

#[test]
fn rows_that_are_skipped_ask_for_nothing() {
    let settings = FormatSettings { allow_errors_num: 5, ..FormatSettings::default() };
    let data = b"{\"a\":1}\n{\"a\":\"x\",\"b\":\"y\"}\n{\"b\":\"z\"}\n{\"a\":]}\n{\"c\":1}\n";
    assert_eq!(asked(FormatKind::JsonEachRow, data, &settings), ["??", "1?", "?1"]);
}

#[test]
fn columns_that_a_file_lacks_ask() {
    let columns = schema(&[("b", "Nullable(String)"), ("x", "Int8")]);
    let reader = new_reader(FormatKind::JsonEachRow, Arc::clone(&columns), &FormatSettings::default());
    let mut batches = Vec::new();
    reader.unwrap().read(b"{\"b\":\"v\"}\n{\"b\":null}\n", true, &mut batches).unwrap();
    for kind in [FormatKind::Native, FormatKind::RowBinaryWithNamesAndTypes, FormatKind::ArrowStream] {
        let settings = FormatSettings::default();
        let mut writer = new_writer(kind, &settings).unwrap();
        let mut data = Vec::new();
        writer.start(&columns, &mut data).unwrap();
        writer.write(&batches[0], &mut data).unwrap();
        writer.finish(&OutputStats::default(), &mut data).unwrap();
        assert_eq!(asked(kind, &data, &settings), ["1?", "??"], "{}", kind.name());
    }
}

#[test]
fn marks_of_a_binary_format_ask() {
    let data = b"\x00\x01\x01\x01\x00\x02\x00\x01x\x00\x01";
    assert_eq!(asked(FormatKind::RowBinaryWithDefaults, data, &FormatSettings::default()), ["??", "10"]);
}
