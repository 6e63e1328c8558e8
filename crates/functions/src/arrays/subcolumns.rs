//! Parts of values by ClickHouse's names: `null`, `size` of texts, `size0`, `keys`, `values`, elements of tuples, and paths of them.
//!
//! Invariant: the part of an array's elements is an array of theirs. Recursive: a type has a depth.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Scalar, UInt8Array, UInt64Array};
use arrow::compute::is_not_null;
use arrow::compute::kernels::zip::zip;
use model::saturating::u64_of;
use model::{ColumnType, ErrorCode, TupleElement, raw_text};

use crate::cast::default_array;
use crate::columns::container::list_of;
use crate::error::FunctionError;
use crate::kernel::call::{Arg, ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::{constant_text, expanded};

const NAME: &str = "getSubcolumn";

/// The type of a part of a value of a type; `None` where there is none of that name.
pub fn subcolumn_type(of: &ColumnType, path: &str) -> Option<ColumnType> {
    if path.is_empty() {
        return Some(of.clone());
    }
    match of {
        ColumnType::Tuple(elements) => {
            let (at, rest) = element(elements, path)?;
            subcolumn_type(&elements[at].column_type, rest)
        }
        ColumnType::Nullable(tuple) if path != "null" && matches!(**tuple, ColumnType::Tuple(_)) => {
            subcolumn_type(tuple, path).map(ColumnType::within_null)
        }
        ColumnType::Array(_) if path == "size0" => Some(ColumnType::UInt64),
        ColumnType::Array(inner) => Some(ColumnType::Array(Box::new(subcolumn_type(inner, &inside(path))?))),
        ColumnType::Map(..) if path == "size0" => Some(ColumnType::UInt64),
        ColumnType::Map(key, value) => {
            let (first, rest) = path.split_once('.').unwrap_or((path, ""));
            let side = match first {
                "keys" => key,
                "values" => value,
                _ => return None,
            };
            subcolumn_type(&ColumnType::Array(side.clone()), rest)
        }
        ColumnType::String if path == "size" => Some(ColumnType::UInt64),
        ColumnType::Nullable(text) if **text == ColumnType::String && path == "size" => {
            Some(ColumnType::UInt64.nullable())
        }
        plain => (plain.is_nullable() && path == "null").then_some(ColumnType::UInt8),
    }
}

/// Where the element is that a path begins with, and the path behind it. One without a name has its number for one.
fn element<'a>(elements: &[TupleElement], path: &'a str) -> Option<(usize, &'a str)> {
    elements.iter().enumerate().find_map(|(at, element)| {
        let number = (at + 1).to_string();
        let rest = path.strip_prefix(element.name.as_deref().unwrap_or(&number))?;
        if rest.is_empty() { Some((at, rest)) } else { Some((at, rest.strip_prefix('.')?)) }
    })
}

/// What a path of arrays asks of their elements: `size1` is the `size0` of each.
fn inside(path: &str) -> String {
    let depth = path.strip_prefix("size").and_then(|depth| depth.parse::<u32>().ok());
    match depth {
        Some(depth) if depth > 0 => format!("size{}", depth - 1),
        _ => path.to_owned(),
    }
}

fn missing(of: &ColumnType, path: &str) -> FunctionError {
    FunctionError::new(ErrorCode::ILLEGAL_COLUMN, format!("there is no subcolumn {path} in type {of}"))
}

fn part(array: &ArrayRef, of: &ColumnType, path: &str) -> Result<ArrayRef, FunctionError> {
    if path.is_empty() {
        return Ok(Arc::clone(array));
    }
    match of {
        ColumnType::Tuple(elements) => {
            let (at, rest) = element(elements, path).ok_or_else(|| missing(of, path))?;
            part(array.as_struct().column(at), &elements[at].column_type, rest)
        }
        ColumnType::Nullable(tuple) if path != "null" && matches!(**tuple, ColumnType::Tuple(_)) => {
            let made = subcolumn_type(of, path).ok_or_else(|| missing(of, path))?;
            let default = Scalar::new(default_array(&made, 1));
            Ok(zip(&is_not_null(array)?, &part(array, tuple, path)?, &default)?)
        }
        ColumnType::Array(_) if path == "size0" => {
            let lists = array.as_list::<i32>();
            Ok(sizes(lists.offsets().lengths()))
        }
        ColumnType::Array(inner) => {
            let (lists, path) = (array.as_list::<i32>(), inside(path));
            let made = subcolumn_type(inner, &path).ok_or_else(|| missing(of, &path))?;
            let values = part(lists.values(), inner, &path)?;
            Ok(list_of(&made, lists.offsets().clone(), values, lists.nulls().cloned())?)
        }
        ColumnType::Map(..) if path == "size0" => Ok(sizes(array.as_map().offsets().lengths())),
        ColumnType::Map(key, value) => {
            let (first, rest) = path.split_once('.').unwrap_or((path, ""));
            let map = array.as_map();
            let (side, values) = if first == "keys" { (key, map.keys()) } else { (value, map.values()) };
            let list = list_of(side, map.offsets().clone(), Arc::clone(values), map.nulls().cloned())?;
            part(&list, &ColumnType::Array(side.clone()), rest)
        }
        text if *text.value_type() == ColumnType::String && path == "size" => {
            let length = |text: &str| u64_of(raw_text::bytes(text).len());
            let lengths = array.as_string_view().iter().map(|text| text.map(length));
            Ok(Arc::new(lengths.collect::<UInt64Array>()))
        }
        _ => {
            let nulls = array.logical_nulls();
            let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
            Ok(Arc::new((0..array.len()).map(|row| Some(u8::from(is_null(row)))).collect::<UInt8Array>()))
        }
    }
}

fn sizes(lengths: impl Iterator<Item = usize>) -> ArrayRef {
    Arc::new(lengths.map(|length| Some(u64_of(length))).collect::<UInt64Array>())
}

fn path_of(args: &[ArgType]) -> Result<String, FunctionError> {
    constant_text(args, 1).ok_or_else(|| {
        let message = format!("the second argument of function {NAME} is a constant name");
        FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message)
    })
}

fn result_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let (of, path) = (&args[0].column_type, path_of(args)?);
    subcolumn_type(of, &path).ok_or_else(|| missing(of, &path))
}

fn taken(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let arg = call.arg(0)?;
    let path = path_of(&call.types())?;
    let array = part(&arg.array, &arg.column_type, &path)?;
    expanded(&Arg { array, ..arg.clone() }, call.rows)
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    vec![ScalarFunction::new(NAME, 2..=2, result_type, taken).own_nulls().doc(
        "getSubcolumn(x, 'name')",
        "A part of x as x.name has it: null, size, size0, keys, values, an element of a tuple, or a path of them.",
        "getSubcolumn([1, NULL], 'null') -> [0,1]",
    )]
}
