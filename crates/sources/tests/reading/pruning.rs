//! Row groups that are not read: bounds in every type, bloom filters, and what ORDER BY with a LIMIT has no use for.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array,
    StringArray, TimestampMillisecondArray, UInt16Array, UInt32Array,
};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::fixture::{Fixture, parquet};
use crate::parquet_files::written;

/// Rows of a query, and how many rows were decoded for it.
fn rows_and_read(fixture: &Fixture, path: &str, structure: &str, sql: &str) -> (Vec<String>, u64) {
    let more: &[&str] = if structure.is_empty() { &[] } else { &["Parquet", structure] };
    let table = fixture.s3(path, more).unwrap();
    let before = fixture.env.progress.rows_read();
    (fixture.query(&table, sql).unwrap(), fixture.env.progress.rows_read() - before)
}

#[test]
fn bounds_are_known_in_every_type_that_is_read_in_order() {
    let fixture = Fixture::new();
    let half = |from: i32| from..from + 100;
    let days: Vec<i32> = half(0).chain(half(1000)).collect();
    let wide = || days.iter().map(|day| i64::from(*day));
    let millis = || TimestampMillisecondArray::from_iter_values(wide().map(|day| day * 86_400_000));
    let text: Vec<Vec<u8>> = days.iter().map(|day| format!("{day:05}").into_bytes()).collect();
    let decimals = Decimal128Array::from_iter_values(days.iter().map(|day| i128::from(*day) * 100));
    let columns: Vec<(&str, ArrayRef, &str, &str)> = vec![
        ("i", Arc::new(Int32Array::from(days.clone())), "Int64", "i = 1050"),
        ("dec", Arc::new(decimals.with_precision_and_scale(9, 2).unwrap()), "", "dec = 1050.00"),
        ("dec", Arc::new(Int32Array::from(days.clone())), "Decimal(18, 2)", "dec = 1050.00"),
        ("date", Arc::new(Date32Array::from(days.clone())), "", "date = '1972-11-16'"),
        (
            "date",
            Arc::new(UInt16Array::from_iter_values(days.iter().map(|day| u16::try_from(*day).unwrap()))),
            "Date",
            "date = '1972-11-16'",
        ),
        ("at", Arc::new(millis().with_timezone("UTC")), "", "at = '1972-11-16T00:00:00Z'"),
        (
            "at",
            Arc::new(millis().with_timezone("UTC")),
            "DateTime('Asia/Tokyo')",
            "at = '1972-11-16T00:00:00Z'",
        ),
        (
            "at",
            Arc::new(UInt32Array::from_iter_values(days.iter().map(|day| u32::try_from(*day).unwrap()))),
            "DateTime('UTC')",
            "at = '1970-01-01T00:17:30Z'",
        ),
        ("flag", Arc::new(BooleanArray::from_iter(days.iter().map(|day| Some(*day >= 1000)))), "", "flag"),
        (
            "flag",
            Arc::new(BooleanArray::from_iter(days.iter().map(|day| Some(*day >= 1000)))),
            "UInt8",
            "flag = 1",
        ),
        ("text", Arc::new(BinaryArray::from_iter_values(&text)), "", "text = '01050'"),
    ];
    for (i, (name, array, column_type, filter)) in columns.into_iter().enumerate() {
        let key = format!("{i}.parquet");
        fixture.server.put("b", &key, parquet(vec![(name, array)], 100));
        let structure = if column_type.is_empty() { String::new() } else { format!("{name} {column_type}") };
        let sql = format!("select count(*) from t where {filter}");
        let (found, read) = rows_and_read(&fixture, &format!("b/{key}"), &structure, &sql);
        let matching = if name == "flag" { "100" } else { "1" };
        assert_eq!((found, read), (vec![matching.to_owned()], 100), "{i}: {filter} as {column_type}");
    }
}

fn with_blooms(columns: Vec<(&str, ArrayRef)>, rows_per_group: usize) -> Bytes {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(rows_per_group))
        .set_bloom_filter_enabled(true)
        .set_bloom_filter_max_ndv(u64::try_from(rows_per_group).unwrap())
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .build();
    written(columns, properties)
}

/// Text without order, so that bounds say nothing.
fn scattered(n: i64) -> String {
    format!("{:020}", n.wrapping_mul(0x1E37_79B9_7F4A_7C15).unsigned_abs())
}

fn scattered_file() -> Bytes {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("n", Arc::new(Int64Array::from_iter_values(0..8000))),
        ("s", Arc::new(StringArray::from_iter_values((0..8000).map(scattered)))),
    ];
    with_blooms(columns, 1000)
}

#[test]
fn bloom_filters_are_one_request_and_spare_row_groups() {
    let mut fixture = Fixture::new();
    fixture.server.put("b", "f.parquet", scattered_file());
    let table = fixture.s3("b/f.parquet", &[]).unwrap();
    let counted = |fixture: &Fixture, sql: &str| {
        fixture.server.forget_arrived();
        let before = fixture.env.progress.rows_read();
        let found = fixture.query(&table, sql).unwrap();
        (found, fixture.server.counts().2, fixture.env.progress.rows_read() - before)
    };
    let absent = format!("select n from t where s = '{}x'", scattered(5));
    let nothing: Vec<String> = Vec::new();
    assert_eq!(counted(&fixture, &absent), (nothing.clone(), 1, 0));
    // They are kept with the footer.
    assert_eq!(counted(&fixture, &absent), (nothing, 0, 0));
    let one = format!("select n from t where s = '{}'", scattered(4321));
    assert_eq!(counted(&fixture, &one), (vec!["4321".to_owned()], 1, 1000));
    let two = format!("select count(*) from t where s in ('{}', 'x', '{}')", scattered(1), scattered(7999));
    let (found, _, read) = counted(&fixture, &two);
    assert_eq!((found, read), (vec!["2".to_owned()], 2000));
    let not = format!("select count(*) from t where s <> '{}'", scattered(1));
    assert_eq!(counted(&fixture, &not).0, ["7999"]);
    assert_eq!(fixture.env.memory.used(), 0);
    fixture.settings(|settings| settings.parquet_bloom_filters = false);
    let (_, _, read) = rows_and_read_of(&fixture, &one);
    assert_eq!(read, 8000);
}

fn rows_and_read_of(fixture: &Fixture, sql: &str) -> (Vec<String>, (), u64) {
    let (found, read) = rows_and_read(fixture, "b/f.parquet", "", sql);
    (found, (), read)
}

#[test]
fn damaged_bloom_filters_prove_nothing() {
    let fixture = Fixture::new();
    let columns: Vec<(&str, ArrayRef)> =
        vec![("s", Arc::new(StringArray::from_iter_values((0..2000).map(scattered))))];
    let batch = arrow::array::RecordBatch::try_from_iter(columns).unwrap();
    let properties =
        WriterProperties::builder().set_bloom_filter_enabled(true).set_bloom_filter_max_ndv(2000);
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties.build())).unwrap();
    writer.write(&batch).unwrap();
    let footer = writer.close().unwrap();
    let at = footer.row_group(0).column(0).bloom_filter_offset().unwrap();
    let at = usize::try_from(at).unwrap();
    bytes[at..at + 8].fill(0xff);
    fixture.server.put("b", "f.parquet", bytes);
    let sql = format!("select count(*) from t where s = '{}'", scattered(77));
    let (found, _, read) = rows_and_read_of(&fixture, &sql);
    assert_eq!((found, read), (vec!["1".to_owned()], 2000));
}

/// How a number is stored.
type Stored = fn(Option<i64>) -> i64;

#[test]
fn a_bloom_filter_never_drops_a_row() {
    let mut fixture = Fixture::new();
    let values = prop::collection::vec(prop::option::of(-300_i64..300), 40..200);
    let asked = prop::collection::vec(-300_i64..300, 1..4);
    let key = std::cell::Cell::new(0);
    // The kind says how the numbers are stored, and as what they are read.
    let kinds: [(Stored, &str, &str); 6] = [
        (|n| n.unwrap_or(0), "", "Nullable(Int64)"),
        (|n| n.unwrap_or(0), "", "Int32"),
        (|n| n.unwrap_or(0), "", "Int16"),
        (|n| n.unwrap_or(0).abs(), "u", "UInt64"),
        (|n| n.unwrap_or(0).abs(), "u", "Int64"),
        (|n| n.unwrap_or(0), "text", "String"),
    ];
    fixture.settings(|settings| settings.parquet_skip_row_groups = true);
    let mut runner = TestRunner::new(Config { cases: 40, failure_persistence: None, ..Config::default() });
    let checked = runner.run(&(values, asked, 0..kinds.len()), |(values, asked, kind)| {
        let (number, stored, read_as) = kinds[kind];
        let as_text = |n: i64| if stored == "text" { format!("'{n}'") } else { n.to_string() };
        let column: ArrayRef = match stored {
            "text" => Arc::new(StringArray::from_iter(values.iter().map(|n| n.map(|n| n.to_string())))),
            "u" => Arc::new(UInt32Array::from_iter(
                values.iter().map(|n| n.map(|_| u32::try_from(number(*n)).unwrap())),
            )),
            _ if kind == 0 => Arc::new(Int64Array::from(values.clone())),
            _ => Arc::new(Int32Array::from_iter(values.iter().map(|n| n.map(|n| i32::try_from(n).unwrap())))),
        };
        // A NULL is the default where the type has no NULL.
        let default = if stored == "text" { String::new() } else { "0".to_owned() };
        let nullable = read_as.starts_with("Nullable");
        let shown = |n: &Option<i64>| match n {
            Some(_) if stored == "u" => Some(number(*n).to_string()),
            Some(n) => Some(n.to_string()),
            None => (!nullable).then(|| default.clone()),
        };
        let wanted: Vec<String> = asked.iter().map(ToString::to_string).collect();
        let expected =
            values.iter().filter(|n| shown(n).is_some_and(|shown| wanted.contains(&shown))).count();
        key.set(key.get() + 1);
        let name = format!("p{}.parquet", key.get());
        let padding = StringArray::from_iter_values(
            (0..values.len()).map(|i| scattered(i64::try_from(i).unwrap()).repeat(9)),
        );
        fixture.server.put("b", &name, with_blooms(vec![("v", column), ("pad", Arc::new(padding))], 20));
        let list: Vec<String> = asked.iter().map(|n| as_text(*n)).collect();
        let sql = format!("select count(*) from t where v in ({})", list.join(", "));
        let (found, _) = rows_and_read(&fixture, &format!("b/{name}"), &format!("v {read_as}"), &sql);
        prop_assert_eq!(found, vec![expected.to_string()], "{} read as {}", sql, read_as);
        Ok(())
    });
    checked.unwrap();
}

/// Twenty row groups of a hundred rows each, in no order, with a column that is large.
fn shuffled_file() -> Bytes {
    let group = |n: i64| (n / 100 * 7 % 20) * 100 + n % 100;
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("n", Arc::new(Int64Array::from_iter_values((0..2000).map(group)))),
        ("m", Arc::new(Int64Array::from_iter((0..2000).map(|n| (n % 3 > 0).then(|| group(n)))))),
        (
            "f",
            Arc::new(Float64Array::from_iter_values(
                (0..2000).map(|n| if n == 1555 { f64::NAN } else { 1.0 }),
            )),
        ),
        ("pad", Arc::new(StringArray::from_iter_values((0..2000).map(|n| scattered(n).repeat(300))))),
    ];
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(100))
        .set_dictionary_enabled(false)
        .set_compression(parquet::basic::Compression::UNCOMPRESSED)
        .build();
    written(columns, properties)
}

#[test]
fn row_groups_that_cannot_be_among_the_first_rows_are_not_fetched() {
    let fixture = Fixture::new();
    fixture.server.put("b", "f.parquet", shuffled_file());
    let table = fixture.s3("b/f.parquet", &[]).unwrap();
    let asked = |sql: &str| {
        fixture.server.forget_arrived();
        let before = fixture.env.progress.rows_read();
        let found = fixture.query(&table, sql).unwrap();
        (found, fixture.server.counts().2, fixture.env.progress.rows_read() - before)
    };
    // Two streams read a row group each before anybody knows better.
    for (sql, expected, gets_max) in [
        ("select n, length(pad) from t order by n limit 2", ["0|6000", "1|6000"], 4),
        ("select n, length(pad) from t order by n desc limit 2", ["1999|6000", "1998|6000"], 4),
        ("select m, length(pad) from t order by m desc nulls last limit 2", ["1999|6000", "1998|6000"], 4),
        (
            "select n, length(pad) from t where n % 2 = 1 order by n desc limit 2",
            ["1999|6000", "1997|6000"],
            20,
        ),
    ] {
        let (found, gets, read) = asked(sql);
        assert_eq!(found, expected, "{sql}");
        assert!(
            gets > 0 && gets <= gets_max && read <= 100 * u64::try_from(gets_max).unwrap(),
            "{sql}: {gets} {read}"
        );
    }
    // Every row is asked for. NaN is no bound; its row is 1555, its number 555.
    let (found, gets, read) = asked("select n from t order by n limit 5000");
    assert_eq!((found.len(), read), (2000, 2000), "{gets}");
    assert_eq!(asked("select n from t order by f desc, n limit 1").0, ["555"]);
    assert_eq!(fixture.env.memory.used(), 0);
}

#[test]
fn joins_fetch_no_row_group_without_a_key() {
    let fixture = Fixture::new();
    fixture.server.put("b", "f.parquet", shuffled_file());
    let table = fixture.s3("b/f.parquet", &[]).unwrap();
    let sql = "select n, length(pad) from t join (values (1234), (1235)) k(key) on n = key order by n";
    let before = fixture.env.progress.rows_read();
    assert_eq!(fixture.query(&table, sql).unwrap(), ["1234|6000", "1235|6000"]);
    assert!(fixture.env.progress.rows_read() - before <= 2000);
}

#[test]
fn the_first_rows_are_those_of_a_full_sort() {
    let fixture = Fixture::new();
    let values = prop::collection::vec(prop::option::of(-50_i64..50), 1..120);
    let mut runner = TestRunner::new(Config { cases: 30, failure_persistence: None, ..Config::default() });
    let key = std::cell::Cell::new(0);
    let checked =
        runner.run(&(values, 1..12_usize, any::<bool>(), any::<bool>()), |(values, k, desc, first)| {
            key.set(key.get() + 1);
            let name = format!("q{}.parquet", key.get());
            fixture.server.put(
                "b",
                &name,
                parquet(vec![("v", Arc::new(Int64Array::from(values.clone())))], 7),
            );
            let mut expected = values;
            // NULL is beyond every number, on the side asked for.
            expected.sort_by_key(|v| (v.is_none() != first, v.map(|v| if desc { -v } else { v })));
            let expected: Vec<String> =
                expected.iter().take(k).map(|v| v.map_or("NULL".to_owned(), |v| v.to_string())).collect();
            let direction = if desc { "desc" } else { "asc" };
            let nulls = if first { "first" } else { "last" };
            let sql = format!("select v from t order by v {direction} nulls {nulls} limit {k}");
            let (found, _) = rows_and_read(&fixture, &format!("b/{name}"), "", &sql);
            prop_assert_eq!(found, expected, "{}", sql);
            Ok(())
        });
    checked.unwrap();
}
