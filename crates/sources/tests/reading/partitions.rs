//! Columns that stand in paths, and what a statement says of files before they are listed.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use stores::{FileCondition, FileFilter, FilterValue};

use crate::fixture::{Fixture, parquet, types};

fn numbers(values: Vec<i64>) -> ArrayRef {
    Arc::new(Int64Array::from(values))
}

/// Two years of twelve months, a file each, and one file in the last month more.
fn years() -> Fixture {
    let fixture = Fixture::new();
    for year in [2023, 2024] {
        for month in 1..=12 {
            let key = format!("t/year={year}/month={month:02}/f.parquet");
            fixture.server.put("b", &key, parquet(vec![("a", numbers(vec![year * 100 + month]))], 10));
        }
    }
    fixture
}

fn equal(column: &str, value: FilterValue) -> FileFilter {
    FileFilter { conditions: vec![FileCondition { column: column.to_owned(), values: vec![value] }] }
}

#[test]
fn partitions_are_columns_of_every_format() {
    let mut fixture = years();
    let table = fixture.s3("b/t/**.parquet", &[]).unwrap();
    assert_eq!(types(&table), "a Int64, month Int64, year Int64");
    let shown =
        fixture.query(&table, "select a, month, year from t where year = 2024 and month < 3 order by a");
    assert_eq!(shown.unwrap(), ["202401|1|2024", "202402|2|2024"]);
    fixture.server.put("b", "c/d=1/x.csv", "a,d\n1,7\n");
    fixture.server.put("b", "c/d=2/x.csv", "a,d\n2,8\n");
    let table = fixture.s3("b/c/*/x.csv", &[]).unwrap();
    assert_eq!(types(&table), "a Nullable(Int64), d Nullable(Int64)");
    assert_eq!(fixture.query(&table, "select a, d from t order by a").unwrap(), ["1|1", "2|2"]);
    let given = fixture.s3("b/c/*/x.csv", &["CSVWithNames", "a Int8"]).unwrap();
    assert_eq!(types(&given), "a Int8");
    assert_eq!(given.with_columns_named(|name| name == "d").hidden_columns(), ["d"]);
    let given = fixture.s3("b/c/*/x.csv", &["CSVWithNames", "a Int8, d String"]).unwrap();
    assert_eq!(fixture.query(&given, "select a, d from t where d = '2'").unwrap(), ["2|2"]);
    fixture.settings(|settings| settings.hive_partitioning = false);
    let table = fixture.s3("b/c/*/x.csv", &[]).unwrap();
    assert_eq!(fixture.query(&table, "select a, d from t order by a").unwrap(), ["1|7", "2|8"]);
}

#[test]
fn a_filter_on_partitions_reads_only_their_files() {
    let fixture = years();
    let table = fixture.s3("b/t/**.parquet", &["Parquet", "a Int64, year UInt16, month UInt8"]).unwrap();
    fixture.server.forget_arrived();
    let shown = fixture.query(&table, "select a from t where year = 2023 and month = 7").unwrap();
    assert_eq!(shown, ["202307"]);
    let paths: Vec<String> = fixture.server.arrived().into_iter().map(|one| one.path).collect();
    assert!(
        !paths.is_empty()
            && paths.iter().all(|path| path.replace("%3D", "=").ends_with("/year=2023/month=07/f.parquet")),
        "{paths:?}"
    );
}

#[test]
fn the_bounds_of_a_files_own_column_say_nothing_of_its_partition() {
    let fixture = Fixture::new();
    let columns = || vec![("a", numbers(vec![1])), ("x", numbers(vec![5]))];
    fixture.server.put("b", "t/x=1/f.parquet", parquet(columns(), 10));
    let table = fixture.s3("b/t/**.parquet", &[]).unwrap();
    assert_eq!(types(&table), "a Int64, x Int64");
    assert_eq!(fixture.query(&table, "select a, x from t where x = 1").unwrap(), ["1|1"]);
    assert_eq!(fixture.query(&table, "select a, x from t where x + a = 2").unwrap(), ["1|1"]);
}

#[test]
fn partitions_that_are_excluded_are_not_listed() {
    let mut fixture = years();
    let number = |text: &str| FilterValue::Number(text.to_owned());
    let text = |text: &str| FilterValue::Text(text.to_owned());
    for (page_keys, filter, counts, files) in [
        // One page holds all keys: nothing is saved by asking for less.
        (1000, equal("year", number("2024")), (1, 0, 0), 12),
        // A page, the years, the months of one year in three pages.
        (5, equal("year", number("2024")), (5, 0, 0), 12),
        // A page, the years, the months of both, and the two that are wanted.
        (20, equal("month", text("7")), (6, 0, 0), 2),
        (20, equal("status", text("x")), (3, 0, 0), 24),
        (20, equal("_path", text("b/t/year=2024/month=01/f.parquet")), (0, 1, 0), 1),
        // Why a key cannot be read only a GET says.
        (20, equal("_path", text("b/t/none.parquet")), (0, 1, 1), 0),
        (20, equal("_file", text("none")), (2, 0, 0), 0),
    ] {
        fixture.settings(|settings| {
            settings.wanted_files = filter.clone();
            settings.list_page_keys = page_keys;
        });
        fixture.server.forget_arrived();
        let table = fixture.s3("b/t/**.parquet", &["Parquet", "a Int64"]).unwrap();
        assert_eq!(table.files().len(), files, "{filter:?}");
        assert_eq!(fixture.server.counts(), counts, "{filter:?}");
    }
}

#[test]
fn without_a_file_left_the_columns_are_those_of_all() {
    let mut fixture = years();
    fixture
        .settings(|settings| settings.wanted_files = equal("year", FilterValue::Number("1999".to_owned())));
    let table = fixture.s3("b/t/**.parquet", &[]).unwrap();
    assert_eq!(types(&table), "a Int64, month Int64, year Int64");
    assert_eq!(fixture.query(&table, "select count(*) from t where year = 1999").unwrap(), ["0"]);
}

#[test]
fn a_real_column_is_no_path() {
    let mut fixture = Fixture::new();
    fixture.server.put("b", "t/f.csv", "a,_file\n1,x\n2,y\n");
    fixture.settings(|settings| settings.wanted_files = equal("_file", FilterValue::Text("x".to_owned())));
    let table = fixture.s3("b/t/*.csv", &["CSVWithNames"]).unwrap();
    assert_eq!(fixture.query(&table, "select a from t where _file = 'x'").unwrap(), ["1"]);
}

#[test]
fn what_is_left_of_a_listing_decides_no_format_and_hides_no_conditions_on_rows() {
    let mut fixture = years();
    let year = |digits: &str| equal("year", FilterValue::Number(digits.to_owned()));
    // A given structure, a format that only the content tells, and nothing left.
    fixture.server.put("b", "n/year=2024/data", parquet(vec![("a", numbers(vec![7]))], 10));
    fixture.settings(|settings| settings.wanted_files = year("1999"));
    let table = fixture.s3("b/n/*/data", &["auto", "a Int64, year UInt16"]).unwrap();
    assert_eq!(fixture.query(&table, "select count(*) from t where year = 1999").unwrap(), ["0"]);
    // Nothing can be inferred from what is left.
    fixture.server.put("b", "e/year=2023/f.csv", "");
    fixture.server.put("b", "e/year=2024/f.csv", "a\n1\n");
    fixture.settings(|settings| settings.wanted_files = year("2023"));
    let table = fixture.s3("b/e/*/f.csv", &["CSVWithNames"]).unwrap();
    assert_eq!(types(&table), "a Nullable(Int64), year Int64");
    // The first file has no partition, so the year stands in the files.
    let dated = |year: i64| parquet(vec![("year", numbers(vec![year]))], 10);
    fixture.server.put("b", "m/f.parquet", dated(2023));
    fixture.server.put("b", "m/year=2024/f.parquet", dated(2023));
    let table = fixture.s3("b/m/**.parquet", &[]).unwrap();
    assert_eq!(fixture.query(&table, "select count(*) from t where year = 2023").unwrap(), ["2"]);
    // Whether files were left out is told to whom misses a column.
    assert!(!table.is_narrowed());
    assert!(fixture.s3("b/t/**.parquet", &[]).unwrap().is_narrowed());
}
