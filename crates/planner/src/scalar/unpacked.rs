//! Functions of arrays, maps and tuples to which what is in these are plain values, where a dictionary had them.
//!
//! Invariant: as in ClickHouse, which takes LowCardinality off the arguments of most functions; those that only put values together
//! or hand them on keep it. Must not know: kernels.

use arrow::compute::cast;
use datafusion::common::Result;
use functions::{Arg, ArgType};
use model::type_arrow::to_data_type;
use model::{ColumnType, TupleElement};

/// Those named after arrays that are none of them: what is folded has the type of its start.
const PUTTING_TOGETHER: &[&str] = &["array", "arrayFold", "arrayJoin"];

/// Those that are not named after arrays.
const OTHERS: &[&str] = &[
    "coalesce",
    "concat",
    "ifNull",
    "mapApply",
    "mapKeys",
    "mapUpdate",
    "mapValues",
    "reverse",
    "tupleConcat",
    "tupleToNameValuePairs",
];

fn is_of_arrays(name: &str) -> bool {
    name.starts_with("array") && !PUTTING_TOGETHER.contains(&name)
}

/// The type of an argument as the function sees it.
fn seen(name: &str, column_type: ColumnType) -> ColumnType {
    let has_contents =
        matches!(column_type, ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Tuple(_));
    if is_of_arrays(name) || has_contents && OTHERS.contains(&name) {
        plain(column_type)
    } else {
        column_type
    }
}

/// What the function's type rule sees of an argument.
pub(crate) fn seen_type(name: &str, arg: ArgType) -> ArgType {
    ArgType { column_type: seen(name, arg.column_type), ..arg }
}

/// What the function's kernel sees of it.
pub(crate) fn seen_argument(name: &str, arg: Arg) -> Result<Arg> {
    let column_type = seen(name, arg.column_type.clone());
    if column_type == arg.column_type {
        return Ok(arg);
    }
    Ok(Arg { array: cast(&arg.array, &to_data_type(&column_type))?, column_type, ..arg })
}

/// The type of plain values, also inside of arrays, maps and tuples.
fn plain(column_type: ColumnType) -> ColumnType {
    match column_type {
        ColumnType::LowCardinality(inner) => *inner,
        ColumnType::Array(element) => ColumnType::Array(Box::new(plain(*element))),
        ColumnType::Map(key, value) => ColumnType::Map(Box::new(plain(*key)), Box::new(plain(*value))),
        ColumnType::Tuple(parts) => {
            let part = |part: TupleElement| TupleElement { column_type: plain(part.column_type), ..part };
            ColumnType::Tuple(parts.into_iter().map(part).collect())
        }
        other => other,
    }
}
