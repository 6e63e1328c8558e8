//! One schema for many files.
//!
//! Pure. Invariant: every column of every file is in the result, in order of first appearance; a column that some file
//! lacks is Nullable, because its rows there have no value. Types that cannot be brought together are listed, all of
//! them, with the files that have them. Must not know: formats, stores.

use std::collections::HashMap;

use model::ColumnType;

/// The columns of one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileSchema {
    pub path: String,
    pub columns: Vec<(String, ColumnType)>,
}

/// A column with types that do not go together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TypeConflict {
    pub column: String,
    /// Each type, and the first file that has it.
    pub types: Vec<(ColumnType, String)>,
}

/// What the files have together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MergedSchema {
    pub columns: Vec<(String, ColumnType)>,
    /// Of columns that the first file lacks: name and the file that introduced it.
    pub introduced: Vec<(String, String)>,
    pub conflicts: Vec<TypeConflict>,
}

struct Merging {
    name: String,
    /// `None` after a conflict.
    merged: Option<ColumnType>,
    types: Vec<(ColumnType, String)>,
    files: usize,
}

/// Brings schemas together.
pub fn merge(files: &[FileSchema]) -> MergedSchema {
    merge_settled(files, |_| false)
}

/// [`merge`], where `is_settled` says of which columns the type is known anyhow: those are never in conflict.
pub fn merge_settled(files: &[FileSchema], is_settled: impl Fn(&str) -> bool) -> MergedSchema {
    let mut columns: Vec<Merging> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut result = MergedSchema::default();
    for (i, file) in files.iter().enumerate() {
        for (name, column_type) in &file.columns {
            let place = *places.entry(name).or_insert(columns.len());
            let Some(known) = columns.get_mut(place) else {
                if i > 0 {
                    result.introduced.push((name.clone(), file.path.clone()));
                }
                let types = vec![(column_type.clone(), file.path.clone())];
                columns.push(Merging {
                    name: name.clone(),
                    merged: Some(column_type.clone()),
                    types,
                    files: 1,
                });
                continue;
            };
            known.files += 1;
            if !known.types.iter().any(|(t, _)| t == column_type) {
                known.types.push((column_type.clone(), file.path.clone()));
                known.merged = known.merged.take().and_then(|merged| wider(&merged, column_type));
            }
        }
    }
    for column in columns {
        match column.merged {
            Some(merged) => {
                let everywhere = column.files == files.len();
                result.columns.push((column.name, if everywhere { merged } else { optional(merged) }));
            }
            // Any type will do: it is replaced.
            None if is_settled(&column.name) => {
                result.columns.push((column.name, ColumnType::String.nullable()))
            }
            None => result.conflicts.push(TypeConflict { column: column.name, types: column.types }),
        }
    }
    result
}

/// Arrays, maps and tuples know no NULL: a missing one is empty.
fn optional(column_type: ColumnType) -> ColumnType {
    match column_type {
        nested @ (ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Tuple(_)) => nested,
        other => other.nullable(),
    }
}

/// A type that holds every value of both.
fn wider(a: &ColumnType, b: &ColumnType) -> Option<ColumnType> {
    let nullable = a.is_nullable() || b.is_nullable();
    let both = wider_values(a.value_type(), b.value_type())?;
    Some(if nullable { optional(both) } else { both })
}

fn wider_values(a: &ColumnType, b: &ColumnType) -> Option<ColumnType> {
    use ColumnType::{Array, Date32, DateTime, DateTime64, Float32, Float64, Nothing};
    match (a, b) {
        _ if a == b => Some(a.clone()),
        (Nothing, other) | (other, Nothing) => Some(other.clone()),
        (Float32 | Float64, other) | (other, Float32 | Float64) if other.is_number() => Some(Float64),
        _ if a.is_integer() && b.is_integer() => wider_integer(a, b),
        (DateTime { time_zone: zone }, DateTime64 { precision, time_zone: other })
        | (DateTime64 { precision, time_zone: zone }, DateTime { time_zone: other }) => {
            (zone == other).then(|| DateTime64 { precision: *precision, time_zone: zone.clone() })
        }
        (DateTime64 { precision: p, time_zone: zone }, DateTime64 { precision: q, time_zone: other }) => {
            (zone == other).then(|| DateTime64 { precision: *p.max(q), time_zone: zone.clone() })
        }
        (ColumnType::Date, Date32) | (Date32, ColumnType::Date) => Some(Date32),
        (Array(a), Array(b)) => wider(a, b).map(|inner| Array(Box::new(inner))),
        _ => None,
    }
}

/// The narrowest integer type above both; above Int64 there is none for mixed signs.
fn wider_integer(a: &ColumnType, b: &ColumnType) -> Option<ColumnType> {
    use ColumnType::{Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    let bits = |t: &ColumnType| match t {
        UInt8 => Some((8, false)),
        UInt16 => Some((16, false)),
        UInt32 => Some((32, false)),
        UInt64 => Some((64, false)),
        Int8 => Some((8, true)),
        Int16 => Some((16, true)),
        Int32 => Some((32, true)),
        Int64 => Some((64, true)),
        _ => None,
    };
    let ((bits_a, signed_a), (bits_b, signed_b)) = (bits(a)?, bits(b)?);
    // An unsigned number needs one bit more in a signed type, so the next one up.
    let as_signed = |bits: i32, signed: bool| if signed { bits } else { bits * 2 };
    if signed_a == signed_b {
        return Some(if bits_a >= bits_b { a.clone() } else { b.clone() });
    }
    match as_signed(bits_a, signed_a).max(as_signed(bits_b, signed_b)) {
        8 => Some(Int8),
        16 => Some(Int16),
        32 => Some(Int32),
        64 => Some(Int64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use model::type_name;

    use super::*;

    fn file(path: &str, columns: &str) -> FileSchema {
        FileSchema { path: path.to_owned(), columns: crate::schema::structure::parse(columns).unwrap() }
    }

    fn shown(columns: &[(String, ColumnType)]) -> String {
        columns.iter().map(|(name, t)| format!("{name} {t}")).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn a_column_of_the_third_file_is_found() {
        let merged = merge(&[file("1", "a Int64"), file("2", "a Int64"), file("3", "a Int64, b String")]);
        assert_eq!(shown(&merged.columns), "a Int64, b Nullable(String)");
        assert_eq!(merged.introduced, [("b".to_owned(), "3".to_owned())]);
    }

    #[test]
    fn numbers_and_times_widen() {
        for (a, b, both) in [
            ("Int32", "Int64", Some("Int64")),
            ("UInt8", "Int8", Some("Int16")),
            ("UInt32", "Int64", Some("Int64")),
            ("UInt64", "Int8", None),
            ("Int64", "Float32", Some("Float64")),
            ("Int8", "Nullable(Int16)", Some("Nullable(Int16)")),
            ("DateTime64(3)", "DateTime64(6)", Some("DateTime64(6)")),
            ("DateTime64(3)", "DateTime64(3, 'UTC')", None),
            ("Array(Int8)", "Array(Int32)", Some("Array(Int32)")),
            ("String", "Int64", None),
        ] {
            let parsed = |text: &str| type_name::parse(text).unwrap();
            assert_eq!(wider(&parsed(a), &parsed(b)), both.map(parsed), "{a} {b}");
            assert_eq!(wider(&parsed(b), &parsed(a)), both.map(parsed), "{b} {a}");
        }
    }

    #[test]
    fn every_conflict_is_listed_with_its_files() {
        let merged =
            merge(&[file("1", "a Int64, b Int8"), file("2", "a String, b Date"), file("3", "a String")]);
        let listed: Vec<String> = merged
            .conflicts
            .iter()
            .map(|c| {
                format!(
                    "{}: {}",
                    c.column,
                    c.types.iter().map(|(t, f)| format!("{t} in {f}")).collect::<Vec<_>>().join(", ")
                )
            })
            .collect();
        assert_eq!(listed, ["a: Int64 in 1, String in 2", "b: Int8 in 1, Date in 2"]);
    }

    #[test]
    fn a_settled_column_keeps_its_place() {
        let files = [file("1", "x Int8, a Int64, b Int8"), file("2", "x Int8, a String, b Int8")];
        let merged = merge_settled(&files, |name| name == "a");
        assert_eq!(shown(&merged.columns), "x Int8, a Nullable(String), b Int8");
        assert!(merged.conflicts.is_empty());
    }
}
