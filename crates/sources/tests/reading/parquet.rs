//! Parquet over S3: rows, columns read, virtual columns, filters, units.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, Int32Array, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray,
};
use bytes::Bytes;
use model::raw_text;
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::{ParquetMetaDataReader, ParquetMetaDataWriter};
use parquet::file::properties::WriterProperties;
use parquet::file::statistics::Statistics;
use stores::Encoder;
use stores::codecs::compression::Compression;

use crate::fixture::{Fixture, parquet, types};

fn numbers(range: std::ops::Range<i64>, rows_per_group: usize) -> Bytes {
    let names: Vec<String> = range.clone().map(|n| format!("name {n}")).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("n", Arc::new(Int64Array::from_iter_values(range))),
        ("name", Arc::new(StringArray::from(names))),
    ];
    parquet(columns, rows_per_group)
}

fn two_files() -> Fixture {
    let fixture = Fixture::new();
    fixture.server.put("b", "d/1.parquet", numbers(0..100, 10));
    fixture.server.put("b", "d/2.parquet", numbers(100..150, 10));
    fixture
}

#[test]
fn rows_types_and_progress() {
    let fixture = two_files();
    let table = fixture.s3("b/d/*.parquet", &[]).unwrap();
    assert_eq!(types(&table), "n Int64, name String");
    assert_eq!((table.rows(), table.files().len()), (Some(150), 2));
    let all =
        fixture.query(&table, "select count(*), sum(n), max(name), count(distinct name) from t").unwrap();
    assert_eq!(all, ["150|11175|name 99|150"]);
    let counts = fixture.env.progress.counts();
    assert_eq!((counts.rows_read, counts.rows_total, counts.files_total), (150, 150, 2));
    assert!(counts.bytes_read >= counts.bytes_total && counts.bytes_total > 0, "{counts:?}");
    assert_eq!(fixture.env.memory.used(), 0);
    assert!(fixture.env.memory.peak() > 0);
}

#[test]
fn footers_are_read_once_and_only_wanted_columns_after_that() {
    let fixture = two_files();
    let big = "x".repeat(3_000_000);
    let columns: Vec<(&str, ArrayRef)> =
        vec![("small", Arc::new(Int64Array::from(vec![7]))), ("big", Arc::new(StringArray::from(vec![big])))];
    fixture.server.put("b", "wide.parquet", uncompressed(columns));
    let table = fixture.s3("b/wide.parquet", &[]).unwrap();
    assert_eq!(fixture.server.counts(), (0, 1, 1));
    fixture.server.forget_arrived();
    assert_eq!(fixture.query(&table, "select small from t").unwrap(), ["7"]);
    assert_eq!(fixture.server.counts(), (0, 0, 1));
    assert!(fixture.env.progress.bytes_read() < 1_000_000);
}

fn uncompressed(columns: Vec<(&str, ArrayRef)>) -> Bytes {
    written(columns, WriterProperties::builder().set_dictionary_enabled(false).build())
}

pub(crate) fn written(columns: Vec<(&str, ArrayRef)>, properties: WriterProperties) -> Bytes {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap().into()
}

#[test]
fn virtual_columns_need_no_bodies() {
    let fixture = two_files();
    let table = fixture.s3("b/d/*.parquet", &[]).unwrap();
    fixture.server.forget_arrived();
    let shown = fixture
        .query(
            &table,
            "select _path, _file, _size is not null, _time, count(*) from t group by all order by 1",
        )
        .unwrap();
    assert_eq!(
        shown,
        [
            "b/d/1.parquet|1.parquet|true|2020-09-13T12:26:40|100",
            "b/d/2.parquet|2.parquet|true|2020-09-13T12:26:40|50"
        ]
    );
    assert_eq!(fixture.server.counts(), (0, 0, 0));
    let etags = fixture.query(&table, "select count(distinct _etag) from t where _etag <> ''").unwrap();
    assert_eq!(etags, ["2"]);
}

#[test]
fn filters_on_path_and_file_come_before_any_request() {
    let fixture = two_files();
    let table = fixture.s3("b/d/*.parquet", &["Parquet", "n Int64, name String"]).unwrap();
    fixture.server.forget_arrived();
    assert_eq!(fixture.query(&table, "select sum(n) from t where _file = '2.parquet'").unwrap(), ["6225"]);
    assert!(fixture.server.arrived().iter().all(|one| one.path == "b/d/2.parquet"));
    fixture.server.forget_arrived();
    assert_eq!(
        fixture.query(&table, "select n from t where _path like '%/9.parquet'").unwrap(),
        Vec::<String>::new()
    );
    assert_eq!(fixture.server.counts(), (0, 0, 0));
}

#[test]
fn row_groups_that_cannot_match_are_not_read() {
    let fixture = two_files();
    let table = fixture.s3("b/d/*.parquet", &[]).unwrap();
    let found = fixture.query(&table, "select n, name from t where n between 42 and 43 order by n").unwrap();
    assert_eq!(found, ["42|name 42", "43|name 43"]);
    assert_eq!(fixture.env.progress.rows_read(), 10);
    let found = fixture.query(&table, "select n from t where name = 'name 142'").unwrap();
    assert_eq!(found, ["142"]);
    assert_eq!(fixture.query(&table, "select count(*) from t where n in (1, 101, 999)").unwrap(), ["2"]);
}

#[test]
fn pages_that_cannot_match_are_not_read() {
    let fixture = Fixture::new();
    let names: Vec<String> = (0..20_000).map(|n| format!("a rather long name of row {n}")).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("n", Arc::new(Int64Array::from_iter_values(0..20_000))),
        ("name", Arc::new(StringArray::from(names))),
    ];
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_data_page_row_count_limit(1000)
        .set_write_batch_size(1000)
        .build();
    fixture.server.put("b", "paged.parquet", written(columns, properties));
    let table = fixture.s3("b/paged.parquet", &[]).unwrap();
    let before = fixture.env.progress.bytes_read();
    let found = fixture.query(&table, "select n, name from t where n = 7777 and name <> ''").unwrap();
    assert_eq!(found, ["7777|a rather long name of row 7777"]);
    assert_eq!(fixture.env.progress.rows_read(), 1000);
    assert!(fixture.env.progress.bytes_read() - before < 200_000);
    assert_eq!(fixture.query(&table, "select count(*) from t where n >= 19500").unwrap(), ["500"]);
}

#[test]
fn limits_stop_early() {
    let fixture = two_files();
    let table = fixture.s3("b/d/*.parquet", &[]).unwrap();
    assert_eq!(fixture.query(&table, "select n from t limit 3").unwrap().len(), 3);
}

#[test]
fn units_cover_every_row_once_whatever_their_size() {
    let fixture = two_files();
    let table = fixture.s3("b/d/*.parquet", &[]).unwrap();
    let whole = fixture.units(&table, u64::MAX).unwrap();
    assert_eq!(whole.len(), 150);
    assert_eq!(fixture.units(&table, 1).unwrap(), whole);
    let cut = fixture.run(table.units(1)).unwrap();
    assert_eq!(cut.len(), 15);
    assert_eq!(cut.iter().map(|unit| unit.rows.unwrap()).sum::<u64>(), 150);
    assert_eq!(fixture.run(table.units(u64::MAX)).unwrap().len(), 2);
}

#[test]
fn a_structure_decides_types_and_missing_columns() {
    let fixture = Fixture::new();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("n", Arc::new(Int32Array::from(vec![Some(1), None]))),
        ("at", Arc::new(TimestampMillisecondArray::from(vec![0, 1500]).with_timezone("UTC"))),
    ];
    fixture.server.put("b", "f.parquet", parquet(columns, 100));
    let inferred = fixture.s3("b/f.parquet", &[]).unwrap();
    assert_eq!(types(&inferred), "n Nullable(Int32), at DateTime64(3, 'UTC')");
    let given = fixture.s3(
        "b/f.parquet",
        &["Parquet", "n Int64, at DateTime64(6, 'UTC'), more Nullable(Int8), text String"],
    );
    let shown = fixture.query(&given.unwrap(), "select n, at, more, text = '' from t order by n").unwrap();
    assert_eq!(shown, ["0|1970-01-01T00:00:01.500Z|NULL|true", "1|1970-01-01T00:00:00Z|NULL|true"]);
    let narrow = fixture.s3("b/f.parquet", &["Parquet", "n UUID"]).unwrap();
    let error = fixture.query(&narrow, "select n from t").unwrap_err();
    assert!(error.contains("column \"n\"") && error.contains("b/f.parquet"), "{error}");
}

#[test]
fn null_read_as_default_is_found_by_its_value() {
    let fixture = Fixture::new();
    let columns: Vec<(&str, ArrayRef)> = vec![("n", Arc::new(Int64Array::from(vec![Some(5), None])))];
    fixture.server.put("b", "f.parquet", parquet(columns, 100));
    let table = fixture.s3("b/f.parquet", &["Parquet", "n Int64"]).unwrap();
    assert_eq!(fixture.query(&table, "select n from t where n = 0").unwrap(), ["0"]);
}

#[test]
fn a_row_group_of_nulls_read_as_defaults_is_found_by_their_value() {
    let fixture = Fixture::new();
    let numbers: Vec<Option<i64>> = vec![None, None, None, Some(7)];
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("n", Arc::new(Int64Array::from(numbers))),
        ("id", Arc::new(Int64Array::from(vec![1, 2, 3, 4]))),
    ];
    fixture.server.put("b", "f.parquet", parquet(columns, 2));
    let table = fixture.s3("b/f.parquet", &["Parquet", "n Int64, id Int64"]).unwrap();
    let ids = |filter: &str| fixture.query(&table, &format!("select id from t where {filter} order by id"));
    assert_eq!(ids("n = 0").unwrap(), ["1", "2", "3"]);
    assert_eq!(ids("n < 5").unwrap(), ["1", "2", "3"]);
    assert_eq!(ids("n <> 7").unwrap(), ["1", "2", "3"]);
    assert_eq!(ids("n = 7").unwrap(), ["4"]);
    let nullable = fixture.s3("b/f.parquet", &[]).unwrap();
    let before = fixture.env.progress.rows_read();
    assert_eq!(fixture.query(&nullable, "select id from t where n = 7").unwrap(), ["4"]);
    assert_eq!(fixture.env.progress.rows_read() - before, 2, "the row group of NULLs is not read");
}

/// The same file with a footer that does not say how many NULLs there are.
fn without_null_counts(file: &Bytes) -> Bytes {
    let footer = ParquetMetaDataReader::new().parse_and_finish(file).unwrap();
    let mut builder = footer.into_builder();
    for row_group in builder.take_row_groups() {
        let mut row_group = row_group.into_builder();
        let columns = row_group.take_columns().into_iter().map(|column| {
            let known = column.statistics().unwrap();
            let bound = |bytes: Option<&[u8]>| bytes.map(|b| i64::from_le_bytes(b.try_into().unwrap()));
            let (min, max) = (bound(known.min_bytes_opt()), bound(known.max_bytes_opt()));
            let uncounted = Statistics::int64(min, max, None, None, false);
            column.into_builder().set_statistics(uncounted).build().unwrap()
        });
        let columns = columns.collect();
        builder = builder.add_row_group(row_group.set_column_metadata(columns).build().unwrap());
    }
    let length = u32::from_le_bytes(file[file.len() - 8..file.len() - 4].try_into().unwrap());
    let mut bytes = file[..file.len() - 8 - usize::try_from(length).unwrap()].to_vec();
    ParquetMetaDataWriter::new(&mut bytes, &builder.build()).finish().unwrap();
    bytes.into()
}

#[test]
fn a_missing_number_of_nulls_is_not_zero() {
    let fixture = Fixture::new();
    let columns: Vec<(&str, ArrayRef)> = vec![("n", Arc::new(Int64Array::from(vec![Some(5), None])))];
    fixture.server.put("b", "f.parquet", without_null_counts(&parquet(columns, 100)));
    let table = fixture.s3("b/f.parquet", &["Parquet", "n Nullable(Int64)"]).unwrap();
    assert_eq!(fixture.query(&table, "select count(*) from t where n is null").unwrap(), ["1"]);
    assert_eq!(fixture.query(&table, "select count(*) from t where n = 5").unwrap(), ["1"]);
    let table = fixture.s3("b/f.parquet", &["Parquet", "n Int64"]).unwrap();
    assert_eq!(fixture.query(&table, "select count(*) from t where n = 0").unwrap(), ["1"]);
}

#[test]
fn bytes_without_a_mark_are_text_and_those_that_are_no_utf8_are_carried() {
    let fixture = Fixture::new();
    let file = |bytes: &[u8]| {
        let columns: Vec<(&str, ArrayRef)> =
            vec![("s", Arc::new(BinaryArray::from(vec![b"long enough for a view", bytes])))];
        parquet(columns, 100)
    };
    fixture.server.put("b", "good.parquet", file("ж".as_bytes()));
    fixture.server.put("b", "bad.parquet", file(&[0xc3, 0x28]));
    let good = fixture.s3("b/good.parquet", &[]).unwrap();
    assert_eq!(types(&good), "s String");
    assert_eq!(fixture.query(&good, "select s from t where s = 'ж'").unwrap(), ["ж"]);
    let other = fixture.s3("b/bad.parquet", &[]).unwrap();
    let carried = raw_text::text(&[0xc3, 0x28]);
    let rows = |filter: &str| fixture.query(&other, &format!("select s from t {filter}")).unwrap();
    assert_eq!(rows("order by s"), ["long enough for a view".to_owned(), carried.clone()]);
    assert_eq!(rows(&format!("where s = '{carried}'")), [carried]);
}

#[test]
fn nothing_is_fetched_ahead_when_told_so_and_rows_are_the_same() {
    let mut fixture = two_files();
    fixture.settings(|settings| {
        settings.read_method = stores::ReadMethod::Read;
        settings.max_download_buffer_size = 64 << 10;
    });
    let table = fixture.s3("b/d/*.parquet", &[]).unwrap();
    assert_eq!(
        fixture.query(&table, "select count(*), sum(n), max(name) from t").unwrap(),
        ["150|11175|name 99"]
    );
}

#[test]
fn wide_columns_are_read_only_where_a_filter_leaves_rows() {
    let fixture = Fixture::new();
    let wide = |n: i64| format!("{n} {}", format!("{}", n.wrapping_mul(0x1E37_79B9_7F4A_7C15)).repeat(20));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("n", Arc::new(Int64Array::from_iter_values((0..40_000).map(|n| n * 7919 % 40_000)))),
        ("wide", Arc::new(StringArray::from_iter_values((0..40_000).map(wide)))),
    ];
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(10_000)).build();
    let bytes = written(columns, properties);
    let size = u64::try_from(bytes.len()).unwrap();
    fixture.server.put("b", "wide.parquet", bytes);
    let table = fixture.s3("b/wide.parquet", &[]).unwrap();
    let read = |sql: &str| {
        let before = fixture.env.progress.bytes_read();
        (fixture.query(&table, sql).unwrap(), fixture.env.progress.bytes_read() - before)
    };
    let (rows, few) = read("select n, length(wide) > 100 from t where n % 40000 = 7919");
    assert_eq!(rows, ["7919|true"]);
    let (all, much) = read("select count(*), count(distinct wide) from t where n % 40000 >= 0");
    assert_eq!(all, ["40000|40000"]);
    let (_, none) = read("select wide from t where n % 40000 = 40000");
    assert!(none < size / 10 && few < size / 2 && much > size / 2, "{none} {few} {much} of {size}");
    assert_eq!(fixture.env.memory.used(), 0);
}

#[test]
fn a_row_group_that_is_too_large_for_the_memory_is_read_page_by_page() {
    let mut fixture = Fixture::new();
    // Large enough that a row group of a bucket is copied, too.
    let rows = 5_000_000_i64;
    let numbers = || (0..rows).map(|n| n.wrapping_mul(0x1E37_79B9_7F4A_7C15));
    let columns: Vec<(&str, ArrayRef)> = vec![("n", Arc::new(Int64Array::from_iter_values(numbers())))];
    let whole = WriterProperties::builder().set_max_row_group_row_count(None).build();
    let bytes = written(columns, whole);
    let size = u64::try_from(bytes.len()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.parquet");
    #[expect(clippy::disallowed_methods, reason = "a test makes its own input")]
    std::fs::write(&path, &bytes).unwrap();
    fixture.server.put("b", "large.parquet", bytes);
    fixture.settings(|settings| {
        (settings.max_download_buffer_size, settings.max_download_threads) = (1 << 20, 4)
    });
    let expected = format!("{}|{}", numbers().max().unwrap(), numbers().map(|n| n % 1000).sum::<i64>());
    for (limit, is_held) in [(1 << 30, true), (4 << 20, false)] {
        for from in ["file", "s3"] {
            fixture.env.memory = host::MemoryBudget::new(limit);
            let table = match from {
                "file" => fixture.resolve("file", &[path.to_str().unwrap(), "Parquet"]).unwrap(),
                _ => fixture.s3("b/large.parquet", &[]).unwrap(),
            };
            let shown = fixture.query(&table, "select max(n), sum(n % 1000) from t").unwrap();
            assert_eq!(shown, [expected.as_str()], "{from} {limit}");
            let (used, peak) = (fixture.env.memory.used(), fixture.env.memory.peak());
            assert_eq!((used, peak > size), (0, is_held), "{from} {limit}: {peak}");
        }
    }
}

fn wrapped(method: &str, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = Encoder::new(
        Compression::by_name(method).unwrap(),
        stores::Effort { level: Some(1), ..stores::Effort::default() },
    )
    .unwrap();
    encoder.encode(content, &mut out).unwrap();
    encoder.finish(&mut out).unwrap();
    out
}

#[test]
fn a_file_compressed_as_a_whole_is_decompressed_first_and_one_that_is_only_named_so_is_not() {
    let fixture = Fixture::new();
    for method in ["gz", "zst", "snappy"] {
        fixture.server.put("b", &format!("w/1.parquet.{method}"), wrapped(method, &numbers(0..100, 10)));
        fixture.server.put("b", &format!("w/2.parquet.{method}"), numbers(100..150, 10));
        let table = fixture.s3(&format!("b/w/*.parquet.{method}"), &[]).unwrap();
        assert_eq!((types(&table).as_str(), table.rows()), ("n Int64, name String", Some(150)));
        let notes = table.notes().join("\n");
        assert!(notes.contains("1 Parquet file(s) are compressed as a whole"), "{notes}");
        let shown = fixture.query(&table, "select count(*), sum(n) from t where n >= 90").unwrap();
        assert_eq!(shown, ["60|7170"], "{method}");
        assert!(fixture.env.memory.used() > 0, "what is kept is granted");
        drop(table);
        assert_eq!(fixture.env.memory.used(), 0);
    }
    fixture.server.put("b", "n/1.parquet.zst", numbers(0..10, 10));
    let table = fixture.s3("b/n/1.parquet.zst", &[]).unwrap();
    assert!(!table.notes().join("\n").contains("as a whole"), "{:?}", table.notes());
    assert_eq!(fixture.query(&table, "select sum(n) from t").unwrap(), ["45"]);
    let cut = wrapped("gz", &numbers(0..100, 10));
    fixture.server.put("b", "c/1.parquet.gz", cut[..cut.len() - 9].to_vec());
    let error = fixture.s3("b/c/1.parquet.gz", &[]).unwrap_err();
    assert!(error.to_string().contains("\"b/c/1.parquet.gz\" is cut"), "{error}");
    assert_eq!(fixture.env.memory.used(), 0);
}

#[test]
fn rows_have_numbers_whatever_is_left_out() {
    let fixture = Fixture::new();
    for (key, first) in [("a", 0_i64), ("b", 100_000)] {
        let numbers = (0..50_000).map(|at| first + at);
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("n", Arc::new(Int64Array::from_iter_values(numbers.clone()))),
            (
                "t",
                Arc::new(StringArray::from_iter_values(
                    numbers.map(|n| format!("a text that is read late {n:060}")),
                )),
            ),
        ];
        fixture.server.put("numbers", &format!("{key}.parquet"), parquet(columns, 10_000));
    }
    let table = fixture.s3("numbers/*.parquet", &[]).unwrap();
    for (sql, expected) in [
        ("select _row_number from t where n = 43210", &["43210"][..]),
        ("select _file, _row_number, length(t) from t where n = 143210", &["b.parquet|43210|85"]),
        ("select count(*), sum(_row_number) from t where _file = 'b.parquet'", &["50000|1249975000"]),
        ("select count(*) from t where _row_number <> n % 100000", &["0"]),
        ("select n from t where _row_number = 10000 order by n", &["10000", "110000"]),
        ("select min(_row_number), max(_row_number) from t", &["0|49999"]),
        ("select n from t order by _row_number desc, n desc limit 1", &["149999"]),
    ] {
        assert_eq!(fixture.query(&table, sql).unwrap(), expected, "{sql}");
    }
}
