//! Columns of many files, and the cache of what was found.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, StringArray};
use stores::{InferenceMode, SourceErrorKind};

use crate::fixture::{Fixture, parquet, types};

fn three_files() -> Fixture {
    let fixture = Fixture::new();
    let column = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
    fixture.server.put("b", "1.parquet", parquet(vec![("a", column(vec![1]))], 10));
    fixture.server.put("b", "2.parquet", parquet(vec![("a", Arc::new(Int32Array::from(vec![2])))], 10));
    let text = Arc::new(StringArray::from(vec!["x"])) as ArrayRef;
    fixture.server.put("b", "3.parquet", parquet(vec![("late", text), ("a", column(vec![3]))], 10));
    fixture
}

#[test]
fn a_column_of_the_third_file_is_found_and_attributed() {
    let fixture = three_files();
    let table = fixture.s3("b/*.parquet", &[]).unwrap();
    assert_eq!(types(&table), "a Int64, late Nullable(String)");
    assert!(table.notes().iter().any(|note| note.contains("\"late\" first appears in \"b/3.parquet\"")));
    let shown = fixture.query(&table, "select a, late from t order by a").unwrap();
    assert_eq!(shown, ["1|NULL", "2|NULL", "3|x"]);
}

#[test]
fn the_default_mode_of_clickhouse_looks_at_one_file() {
    let mut fixture = three_files();
    fixture.settings(|settings| settings.inference_mode = InferenceMode::First);
    let table = fixture.s3("b/*.parquet", &[]).unwrap();
    assert_eq!(types(&table), "a Int64");
    assert_eq!(fixture.server.counts(), (1, 0, 1));
}

#[test]
fn conflicts_are_listed_with_their_files() {
    let fixture = three_files();
    fixture.server.put("b", "4.parquet", parquet(vec![("a", Arc::new(StringArray::from(vec!["x"])))], 10));
    let error = fixture.s3("b/*.parquet", &[]).unwrap_err();
    assert_eq!((error.kind(), error.code().number()), (SourceErrorKind::NoStructure, 636));
    let text = error.to_string();
    assert!(
        text.contains("Int64 in \"b/1.parquet\"") && text.contains("String in \"b/4.parquet\""),
        "{text}"
    );
    assert!(fixture.s3("b/*.parquet", &["Parquet", "a Nullable(Int64)"]).is_ok());
}

#[test]
fn the_second_look_makes_no_request_for_unchanged_files() {
    let mut fixture = three_files();
    fixture.s3("b/*.parquet", &[]).unwrap();
    fixture.server.forget_arrived();
    fixture.s3("b/*.parquet", &[]).unwrap();
    assert_eq!(fixture.server.counts(), (1, 0, 0));
    let rows = fixture.env.schema_cache.rows();
    assert_eq!(rows.len(), 3);
    assert!(rows[0].key.source.ends_with("/b/1.parquet"), "{:?}", rows[0].key);
    assert_eq!((rows[0].key.storage, rows[0].entry.rows), ("S3", Some(1)));
    // Another version is another entry; so is another setting.
    fixture.server.put("b", "1.parquet", parquet(vec![("z", Arc::new(Int64Array::from(vec![1])))], 10));
    assert_eq!(types(&fixture.s3("b/1.parquet", &[]).unwrap()), "z Int64");
    fixture.settings(|settings| settings.format.csv_delimiter = b';');
    fixture.s3("b/1.parquet", &[]).unwrap();
    assert_eq!(fixture.env.schema_cache.rows().len(), 5);
    // What is remembered survives a restart.
    let bytes = fixture.env.schema_cache.changed_bytes().unwrap();
    fixture.env.schema_cache = Arc::default();
    fixture.env.schema_cache.restore(&bytes);
    fixture.server.forget_arrived();
    let table = fixture.s3("b/1.parquet", &[]).unwrap();
    assert_eq!((types(&table).as_str(), table.rows()), ("z Int64", Some(1)));
    assert_eq!(fixture.server.counts(), (0, 1, 0));
    fixture.env.schema_cache.clear(None);
    assert_eq!(fixture.env.schema_cache.rows().len(), 0);
}

#[test]
fn rows_of_text_are_counted_once() {
    let fixture = Fixture::new();
    fixture.server.put("b", "1.csv", "a\n1\n2\n");
    fixture.server.put("b", "2.csv", "a\n3\n");
    let read = |sql: &str| {
        fixture.query(&fixture.s3("b/*.csv", &["CSVWithNames", "a Int64"]).unwrap(), sql).unwrap()
    };
    // A row that is refused is no count, and neither is a part of the file.
    let refused = fixture.s3("b/1.csv", &["CSVWithNames", "a Date"]).unwrap();
    assert!(fixture.query(&refused, "select a from t").is_err());
    assert!(fixture.env.schema_cache.rows().iter().all(|row| row.entry.rows.is_none()));
    assert_eq!(read("select count(*) from t"), ["3"]);
    fixture.server.forget_arrived();
    assert_eq!(read("select count(*) from t"), ["3"]);
    assert_eq!(read("select _file, count(*) from t group by 1 order by 1"), ["1.csv|2", "2.csv|1"]);
    assert_eq!(read("select distinct _size from t order by 1"), ["4", "6"]);
    assert_eq!(fixture.server.counts(), (3, 0, 0));
    fixture.server.put("b", "2.csv", "a\n3\n4\n5\n");
    assert_eq!(read("select count(*) from t"), ["5"]);
}

#[test]
fn types_given_from_outside() {
    let mut fixture = Fixture::new();
    fixture.server.put("b", "1.jsonl", "{\"a\":1,\"b\":null}\n");
    fixture.server.put("b", "2.jsonl", "{\"a\":{\"x\":1},\"b\":null}\n");
    fixture.server.put("b", "1.csv", "1,x\n2,y\n");
    assert!(fixture.s3("b/*.jsonl", &[]).unwrap_err().to_string().contains("\"a\""));
    fixture.settings(|settings| settings.inference.hints = "a String".to_owned());
    assert_eq!(types(&fixture.s3("b/*.jsonl", &[]).unwrap()), "a String, b Nullable(String)");
    fixture.settings(|settings| {
        settings.inference.hints = String::new();
        settings.inference.column_names = vec!["x".to_owned(), "y".to_owned()];
    });
    let table = fixture.s3("b/1.csv", &[]).unwrap();
    assert_eq!(types(&table), "x Nullable(Int64), y Nullable(String)");
    assert_eq!(fixture.query(&table, "select y, x from t order by x").unwrap(), ["x|1", "y|2"]);
    fixture.settings(|settings| settings.inference.column_names.push("z".to_owned()));
    let error = fixture.s3("b/1.csv", &[]).unwrap_err();
    assert_eq!(error.code().number(), 636);
    assert!(error.to_string().contains("3 names") && error.to_string().contains("b/1.csv"), "{error}");
}

#[test]
fn a_format_is_found_by_content_where_nothing_else_tells_it() {
    let fixture = Fixture::new();
    let native = &b"\x01\x02\x01a\x05Int32\x01\0\0\0\x02\0\0\0"[..];
    let long_csv = "17,some text\n".repeat(20_000);
    for (key, content, format, rows) in [
        ("objects", &b"{\"a\": 1}\n{\"a\": 2}\n"[..], "JSONEachRow", "2"),
        ("tabs", b"1\tx\n2\ty\n3\tz\n", "TabSeparated", "3"),
        ("commas.dat", long_csv.as_bytes(), "CSV", "20000"),
        ("native", native, "Native", "2"),
    ] {
        fixture.server.put("d", key, content.to_vec());
        fixture.server.forget_arrived();
        let table = fixture.s3(&format!("d/{key}"), &[]).unwrap();
        assert_eq!(table.format().name(), format, "{key}");
        // One look for the format, one for the columns.
        assert_eq!(fixture.server.counts().2, 2, "{key}");
        assert_eq!(fixture.query(&table, "select count(*) from t").unwrap(), [rows], "{key}");
    }
    fixture.server.put("d", "words", "hello world\nand more\n");
    let error = fixture.s3("d/words", &[]).unwrap_err();
    assert_eq!((error.kind(), error.code().number()), (SourceErrorKind::NoStructure, 715));
    assert!(
        error.to_string().contains("\"d/words\"") && error.to_string().contains("give the format"),
        "{error}"
    );
    assert_eq!(types(&fixture.s3("d/words", &["LineAsString"]).unwrap()), "line String");
}

fn wanted(text: &str) -> stores::WantedTypes {
    let column = |one: &str| {
        let (name, type_name) = one.split_once(' ').unwrap();
        (name.to_owned(), model::type_name::parse(type_name).unwrap())
    };
    stores::WantedTypes {
        columns: text.split(", ").map(column).collect(),
        whole: true,
        ..stores::WantedTypes::default()
    }
}

#[test]
fn types_of_a_table_go_by_place_where_no_name_is_known() {
    let mut fixture = Fixture::new();
    fixture.server.put("b", "1.csv", "b,a\n0.1,1.25\n");
    fixture.server.put("b", "2.csv", "b,a\n0.2,x\n");
    fixture.settings(|settings| settings.wanted_types = wanted("x Float64, y String"));
    let table = fixture.s3("b/*.csv", &["CSVWithNames"]).unwrap();
    assert_eq!(types(&table), "b Float64, a String");
    assert_eq!(fixture.query(&table, "select b, a from t order by b").unwrap(), ["0.1|1.25", "0.2|x"]);
    // A table of fewer columns takes no rows of these files.
    fixture.settings(|settings| settings.wanted_types = wanted("x Float64"));
    let narrow = fixture.s3("b/1.csv", &["CSVWithNames"]).unwrap();
    assert_eq!(types(&narrow), "b Nullable(Float64), a Nullable(Float64)");
}

#[test]
fn columns_of_a_table_are_found_by_their_names() {
    let mut fixture = Fixture::new();
    fixture.server.put("b", "1.csv", "b,a\n0.1,1.25\n");
    fixture.server.put("b", "2.csv", "a,z\n7,8\n");
    for (format, shown) in [("CSVWithNames", ["1.25|0.1|0", "7|0.0|0"]), ("CSV", ["1.25|0.1|0", "7|0.0|0"])] {
        fixture.settings(|settings| settings.wanted_types = wanted("a String, b Float64, c UInt8"));
        let table = fixture.s3(if format == "CSV" { "b/1.csv" } else { "b/*.csv" }, &[format]).unwrap();
        assert_eq!(types(&table), "a String, b Float64, c UInt8");
        let rows = fixture.query(&table, "select a, b, c from t order by a").unwrap();
        assert_eq!(rows, shown[..rows.len()], "{format}");
    }
    // Those that the table does not have are left out.
    fixture.settings(|settings| settings.wanted_types = wanted("b Float64"));
    assert_eq!(types(&fixture.s3("b/1.csv", &["CSVWithNames"]).unwrap()), "b Float64");
}

#[test]
fn rows_are_counted_by_the_columns_a_file_is_read_with() {
    let mut fixture = Fixture::new();
    fixture.server.put("b", "x.csv", "a,b\n1,2\n3,4\n");
    let count = |fixture: &Fixture, more: &[&str]| {
        let table = fixture.s3("b/x.csv", more).unwrap();
        fixture.query(&table, "select count(*) from t").unwrap()
    };
    for _ in 0..2 {
        // The first line is no header of these columns.
        assert_eq!(count(&fixture, &["CSV", "x String, y String"]), ["3"]);
        assert_eq!(count(&fixture, &["CSV"]), ["2"]);
    }
    fixture.server.forget_arrived();
    assert_eq!(count(&fixture, &["CSV"]), ["2"]);
    assert_eq!(fixture.server.counts(), (0, 1, 0), "counted before");
    // Which rows are skipped depends on what is read of them.
    fixture.settings(|settings| settings.format.allow_errors_num = 10);
    fixture.server.put("b", "y.csv", "1\nx\n3\n");
    let table = fixture.s3("b/y.csv", &["CSV", "n Int64"]).unwrap();
    assert_eq!(fixture.query(&table, "select n from t order by n").unwrap(), ["1", "3"]);
    let rows = fixture.env.schema_cache.rows();
    assert!(rows.iter().all(|row| !row.key.source.ends_with("/y.csv")), "{rows:?}");
}

#[test]
fn a_file_that_cannot_be_inferred_is_no_table_without_columns() {
    let mut fixture = Fixture::new();
    fixture.server.put("b", "cut.csv", "\"hello\n\n world\n");
    fixture.settings(|settings| {
        settings.wanted_types = stores::WantedTypes { whole: true, ..stores::WantedTypes::default() };
    });
    let error = fixture.s3("b/cut.csv", &["CSV"]).unwrap_err();
    assert_eq!((error.kind(), error.code().number()), (SourceErrorKind::NoStructure, 636));
}
