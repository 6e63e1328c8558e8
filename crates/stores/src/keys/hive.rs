//! Partitions that stand in paths: `year=2024/month=02/` gives every row of the file two columns.
//!
//! Pure. Invariant: a column's type holds the value of every file that was listed, so no value is refused later; what
//! a folder's name says wins over a column of the file with the same name. Must not know: stores, filters.

use std::collections::{BTreeMap, BTreeSet};

use model::{ColumnType, ErrorCode};
use percent_encoding::percent_decode_str;

use crate::error::{Result, SourceError};

/// What Hive and Spark write for NULL.
const NULL_PARTITION: &str = "__HIVE_DEFAULT_PARTITION__";

/// A column made of a piece of the path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HiveColumn {
    pub name: String,
    pub column_type: ColumnType,
}

/// `name=value` out of one component of a path; the value with its percent escapes resolved, `None` for NULL.
pub(crate) fn pair(component: &str) -> Option<(&str, Option<String>)> {
    let (name, value) = component.split_once('=')?;
    let value = (value != NULL_PARTITION).then(|| percent_decoded(value));
    (!name.is_empty()).then_some((name, value))
}

/// Pairs of the folders of a key, by name.
///
/// # Errors
/// A name that stands twice with different values.
pub(crate) fn pairs(path: &str) -> Result<BTreeMap<&str, Option<String>>> {
    let mut found = BTreeMap::new();
    let Some((folders, _)) = path.rsplit_once('/') else { return Ok(found) };
    for (name, value) in folders.split('/').filter_map(pair) {
        let value_now = value.clone();
        if found.insert(name, value).is_some_and(|before| before != value_now) {
            let message =
                format!("path \"{path}\" holds the partition key \"{name}\" twice, with different values");
            return Err(SourceError::corrupt(path, message)
                .with_code(ErrorCode::INCORRECT_DATA)
                .with_hint("use_hive_partitioning = 0 reads paths as plain names"));
        }
    }
    Ok(found)
}

/// The partition columns of a listing, by name. They are those of the first file, as its format is; a file that lacks
/// one of them is an error, because its rows would have no value.
///
/// # Errors
/// A file without one of the columns, or with one twice.
pub fn columns(paths: &[&str]) -> Result<Vec<HiveColumn>> {
    let Some(first) = paths.first() else { return Ok(Vec::new()) };
    let names: Vec<&str> = pairs(first)?.into_keys().collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let mut values: BTreeMap<&str, BTreeSet<Option<String>>> = BTreeMap::new();
    for path in paths {
        let mut own = pairs(path)?;
        for name in &names {
            let Some(value) = own.remove(name) else { return Err(no_partition(path, name)) };
            values.entry(name).or_default().insert(value);
        }
    }
    let typed = |(name, values): (&str, BTreeSet<Option<String>>)| HiveColumn {
        name: name.to_owned(),
        column_type: type_of(&values),
    };
    Ok(values.into_iter().map(typed).collect())
}

fn no_partition(path: &str, name: &str) -> SourceError {
    let message = format!("path \"{path}\" has no partition \"{name}=\", which the first file has");
    SourceError::corrupt(path, message)
        .with_code(ErrorCode::INCORRECT_DATA)
        .with_hint("narrow the pattern, or set use_hive_partitioning = 0 to read paths as plain names")
}

/// The value of a partition column in the file at `path`.
pub fn value_of(path: &str, name: &str) -> Result<Option<String>> {
    pairs(path)?.remove(name).ok_or_else(|| no_partition(path, name))
}

/// The narrowest of ClickHouse's inferred types that holds all values.
fn type_of(values: &BTreeSet<Option<String>>) -> ColumnType {
    let texts: Vec<&str> = values.iter().flatten().map(String::as_str).collect();
    let all = |fits: fn(&str) -> bool| !texts.is_empty() && texts.iter().all(|text| fits(text));
    let has_null = values.contains(&None);
    let plain = if all(|text| text.parse::<i64>().is_ok()) {
        ColumnType::Int64
    } else if all(|text| text.parse::<u64>().is_ok()) {
        ColumnType::UInt64
    } else if all(is_decimal_number) {
        ColumnType::Float64
    } else if all(|text| matches!(text, "true" | "false")) {
        ColumnType::Bool
    } else if all(is_date) {
        ColumnType::Date
    } else if all(is_time) {
        ColumnType::DateTime { time_zone: None }
    } else {
        let inner = if has_null { ColumnType::String.nullable() } else { ColumnType::String };
        return ColumnType::LowCardinality(Box::new(inner));
    };
    if has_null { plain.nullable() } else { plain }
}

/// Digits with a point or an exponent; `nan` and `infinity` are words here. Whole numbers beyond 64 bits stay text,
/// because a Float64 would change them.
fn is_decimal_number(text: &str) -> bool {
    let numeric = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E');
    let whole_beyond = text.bytes().all(|b| b.is_ascii_digit() || b == b'-') && text.parse::<i64>().is_err();
    text.chars().all(numeric) && text.parse::<f64>().is_ok() && !whole_beyond
}

fn is_date(text: &str) -> bool {
    // 1970 to 2149 is what a Date holds; other days stay text.
    let parsed = chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d");
    let (from, to) =
        (chrono::NaiveDate::from_ymd_opt(1970, 1, 1), chrono::NaiveDate::from_ymd_opt(2149, 6, 6));
    text.len() == 10 && parsed.is_ok_and(|day| Some(day) >= from && Some(day) <= to)
}

fn is_time(text: &str) -> bool {
    let parsed = chrono::NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S");
    text.len() == 19
        && parsed.is_ok_and(|time| (0..=i64::from(u32::MAX)).contains(&time.and_utc().timestamp()))
}

/// Escapes that are none stay as they are; so does what would not be UTF-8.
fn percent_decoded(value: &str) -> String {
    percent_decode_str(value).decode_utf8().map_or_else(|_| value.to_owned(), String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(paths: &[&str]) -> String {
        let columns = columns(paths).unwrap();
        columns.iter().map(|c| format!("{} {}", c.name, c.column_type)).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn types_hold_the_values_of_all_files() {
        for (paths, columns) in [
            (&["b/year=2024/month=02/f"][..], "month Int64, year Int64"),
            (&["b/f", "b/y=1/f"], ""),
            (&["b/x=1/f", "b/x=-3/f"], "x Int64"),
            (&["b/x=1/f", "b/x=18446744073709551615/f"], "x UInt64"),
            (&["b/x=1/f", "b/x=99999999999999999999/f"], "x LowCardinality(String)"),
            (&["b/x=1/f", "b/x=1.5/f"], "x Float64"),
            (&["b/x=nan/f"], "x LowCardinality(String)"),
            (&["b/x=true/f"], "x Bool"),
            (&["b/x=2024-01-01/f"], "x Date"),
            (&["b/x=1601-01-01/f"], "x LowCardinality(String)"),
            (&["b/x=2024-01-01 10:00:00/f"], "x DateTime"),
            (&["b/x=/f"], "x LowCardinality(String)"),
            (&["b/x=1/f", "b/x=__HIVE_DEFAULT_PARTITION__/f"], "x Nullable(Int64)"),
            (&["b/x=a/f", "b/x=__HIVE_DEFAULT_PARTITION__/f"], "x LowCardinality(Nullable(String))"),
            (&["b/x=007/f", "b/x=x/f"], "x LowCardinality(String)"),
        ] {
            assert_eq!(shown(paths), columns, "{paths:?}");
        }
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        for (paths, words) in [
            (&["b/d=1/d=2/f"][..], "twice"),
            (&["b/x=1/f", "b/y=1/f"], "no partition \"x=\""),
            (&["b/x=1/f", "b/f"], "\"b/f\""),
        ] {
            let error = columns(paths).unwrap_err();
            assert_eq!(error.code(), ErrorCode::INCORRECT_DATA, "{paths:?}");
            assert!(error.to_string().contains(words), "{error}");
        }
        assert_eq!(shown(&["b/d=1/d=1/f"]), "d Int64");
    }

    #[test]
    fn escapes_in_values() {
        for (component, value) in [
            ("n=x%20y", Some("x y")),
            ("n=a%2Fb", Some("a/b")),
            ("n=100%", Some("100%")),
            ("n=%zz", Some("%zz")),
            ("n=%ff", Some("%ff")),
            ("n=a=b", Some("a=b")),
            ("n=__HIVE_DEFAULT_PARTITION__", None),
        ] {
            assert_eq!(pair(component), Some(("n", value.map(str::to_owned))), "{component}");
        }
        assert_eq!((pair("=1"), pair("plain")), (None, None));
    }
}
