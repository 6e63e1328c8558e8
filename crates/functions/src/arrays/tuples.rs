//! Making tuples and maps, and taking tuples apart.
//!
//! Invariant: a tuple's elements are found by name or by place from 1.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Scalar, StringViewArray, UInt64Array};
use arrow::compute::kernels::zip::zip;
use arrow::compute::{concat, interleave, is_not_null, take};
use model::saturating::u64_of;
use model::{ColumnType, ErrorCode, TupleElement};

use crate::cast::{CastMode, default_array};
use crate::columns::container::{list_of, map_of, offsets_of, tuple_of, unnamed};
use crate::error::FunctionError;
use crate::kernel::call::{Arg, ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::{constant_int, constant_text, expanded, repeated};
use crate::kernel::types::{contained, supertype};

fn tuple(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Tuple(elements) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, "tuple"));
    };
    let columns = call.args.iter().map(|arg| expanded(arg, call.rows)).collect::<Result<Vec<_>, _>>()?;
    Ok(tuple_of(elements, columns, None, call.rows)?)
}

fn place(elements: &[TupleElement], args: &[ArgType]) -> Result<usize, FunctionError> {
    if let Some(name) = constant_text(args, 1) {
        // An element without a name has its number for one.
        let is_named = |(at, element): (usize, &TupleElement)| match element.name.as_deref() {
            Some(own) => own == name,
            None => (at + 1).to_string() == name,
        };
        let found = elements.iter().enumerate().position(is_named);
        let message = format!("tuple doesn't have element with name '{name}'");
        return found.ok_or_else(|| FunctionError::bad_argument(message));
    }
    let number = constant_int(args, 1).ok_or_else(|| {
        FunctionError::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            "tupleElement needs a constant name or number",
        )
    })?;
    let count = i64::try_from(elements.len()).unwrap_or(i64::MAX);
    let place = if number < 0 { count + number } else { number - 1 };
    let message = format!("tuple doesn't have element with index '{number}'");
    usize::try_from(place)
        .ok()
        .filter(|place| *place < elements.len())
        .ok_or_else(|| FunctionError::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, message))
}

fn element_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    match args.first().map(|arg| &arg.column_type) {
        Some(tuples) => type_in(tuples, args),
        None => Err(FunctionError::bad_argument("a tuple is needed")),
    }
}

/// The type of an element of tuples; of those in arrays, arrays of it.
fn type_in(tuples: &ColumnType, args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    match tuples {
        ColumnType::Tuple(elements) => Ok(elements[place(elements, args)?].column_type.clone()),
        ColumnType::Array(inner) => Ok(ColumnType::Array(Box::new(type_in(inner, args)?))),
        // Of a tuple that is NULL an element is, too; what cannot be NULL is the default of its type.
        ColumnType::Nullable(inner) => type_in(inner, args).map(ColumnType::within_null),
        other => Err(FunctionError::illegal_type(other, "tupleElement")),
    }
}

fn element_in(tuples: &ArrayRef, of: &ColumnType, args: &[ArgType]) -> Result<ArrayRef, FunctionError> {
    match of {
        ColumnType::Tuple(elements) => Ok(Arc::clone(tuples.as_struct().column(place(elements, args)?))),
        ColumnType::Array(inner) => {
            let lists = tuples.as_list::<i32>();
            let values = element_in(lists.values(), inner, args)?;
            Ok(list_of(&type_in(inner, args)?, lists.offsets().clone(), values, lists.nulls().cloned())?)
        }
        ColumnType::Nullable(inner) => {
            let element = element_in(tuples, inner, args)?;
            let default = default_array(&type_in(of, args)?, 1);
            Ok(zip(&is_not_null(tuples)?, &element, &Scalar::new(default))?)
        }
        other => Err(FunctionError::illegal_type(other, "tupleElement")),
    }
}

fn element(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let arg = call.arg(0)?;
    let column = element_in(&arg.array, &arg.column_type, &call.types())?;
    expanded(&Arg { array: column, ..arg.clone() }, call.rows)
}

/// The names of a tuple's elements; those without one are called by their place.
fn names_of(elements: &[TupleElement]) -> ArrayRef {
    let name = |(place, element): (usize, &TupleElement)| {
        element.name.as_deref().map_or_else(|| (place + 1).to_string(), str::to_owned)
    };
    Arc::new(StringViewArray::from(elements.iter().enumerate().map(name).collect::<Vec<_>>()))
}

fn tuple_parts<'a>(column_type: &'a ColumnType, name: &str) -> Result<&'a [TupleElement], FunctionError> {
    match column_type {
        ColumnType::Tuple(elements) if !elements.is_empty() => Ok(elements),
        other => Err(FunctionError::illegal_type(other, name)),
    }
}

fn names(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let names = names_of(tuple_parts(&call.arg(0)?.column_type, "tupleNames")?);
    let one = list_of(&ColumnType::String, offsets_of([names.len()]), names, None)?;
    repeated(&one, call.rows)
}

fn pairs_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let elements = tuple_parts(&args[0].column_type, "tupleToNameValuePairs")?;
    let value = &elements[0].column_type;
    if elements.iter().any(|element| element.column_type != *value) {
        return Err(FunctionError::illegal_type(
            &args[0].column_type,
            "tupleToNameValuePairs: one type is needed",
        ));
    }
    Ok(ColumnType::Array(Box::new(unnamed([ColumnType::String, value.clone()]))))
}

/// The names and values of a tuple's elements, row by row.
fn name_value_pairs(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let arg = call.arg(0)?;
    let elements = tuple_parts(&arg.column_type, "tupleToNameValuePairs")?;
    let pair = unnamed([ColumnType::String, elements[0].column_type.clone()]);
    let ColumnType::Tuple(parts) = &pair else { return Err(FunctionError::bad_argument("no tuple")) };
    let columns = arg.array.as_struct().columns().iter();
    let columns = columns
        .map(|column| expanded(&Arg { array: Arc::clone(column), ..arg.clone() }, call.rows))
        .collect::<Result<Vec<_>, _>>()?;
    let views: Vec<&dyn Array> = columns.iter().map(AsRef::as_ref).collect();
    let width = elements.len();
    let places = (0..call.rows).flat_map(|row| (0..width).map(move |column| (column, row)));
    let (columns, rows): (Vec<usize>, Vec<usize>) = places.unzip();
    let values = interleave(&views, &columns.iter().copied().zip(rows).collect::<Vec<_>>())?;
    let places: Vec<u64> = columns.into_iter().map(u64_of).collect();
    let names = take(&names_of(elements), &UInt64Array::from(places), None)?;
    let tuples = tuple_of(parts, vec![names, values], None, call.rows * width)?;
    Ok(list_of(&pair, offsets_of(vec![width; call.rows]), tuples, None)?)
}

fn map_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    if args.len() % 2 == 1 {
        let message = "map takes an even number of arguments: keys and values";
        return Err(FunctionError::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message));
    }
    let side = |odd: usize| {
        supertype(
            args.iter().enumerate().filter(|(index, _)| index % 2 == odd).map(|(_, arg)| &arg.column_type),
        )
    };
    let key = side(0)?;
    if key.is_nullable() && !args.is_empty() {
        return Err(FunctionError::bad_argument(format!("map cannot have a key of type {key}")));
    }
    Ok(ColumnType::Map(Box::new(key), Box::new(contained(side(1)?))))
}

fn map(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Map(key, value) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, "map"));
    };
    let pairs = call.args.len() / 2;
    let gathered = |odd: usize, to: &ColumnType| -> Result<ArrayRef, FunctionError> {
        let mut columns = Vec::with_capacity(pairs);
        for arg in call.args.iter().skip(odd).step_by(2) {
            let array = call.caster(CastMode::Strict).column(&arg.array, &arg.column_type, to)?;
            columns.push(expanded(&Arg { array, ..arg.clone() }, call.rows)?);
        }
        let views: Vec<&dyn Array> = columns.iter().map(AsRef::as_ref).collect();
        if views.is_empty() {
            return Ok(default_array(to, 0));
        }
        let place = |row: usize, pair: usize| u64_of(pair * call.rows + row);
        let order: Vec<u64> =
            (0..call.rows).flat_map(|row| (0..pairs).map(move |pair| place(row, pair))).collect();
        Ok(take(&concat(&views)?, &UInt64Array::from(order), None)?)
    };
    let offsets = offsets_of(vec![pairs; call.rows]);
    Ok(map_of(key, value, offsets, gathered(0, key)?, gathered(1, value)?, None)?)
}

fn from_arrays_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    match args {
        [
            ArgType { column_type: ColumnType::Array(key), .. },
            ArgType { column_type: ColumnType::Array(value), .. },
        ] => Ok(ColumnType::Map(Box::new(key_of(key)), value.clone())),
        _ => Err(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "mapFromArrays takes two arrays")),
    }
}

/// The type of keys that may be NULL by their type and are not.
fn key_of(element: &ColumnType) -> ColumnType {
    match element {
        ColumnType::LowCardinality(inner) => ColumnType::LowCardinality(Box::new(inner.value_type().clone())),
        other => other.value_type().clone(),
    }
}

/// A key and a value, and a place of each.
const PAIR_BYTES: usize = 32;

fn from_arrays(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (keys, values) = (call.lists(0)?, call.lists(1)?);
    let (mut key_places, mut value_places, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..call.rows {
        let (own_keys, own_values) = (keys.range(row), values.range(row));
        if own_keys.len() != own_values.len() {
            let message = "mapFromArrays needs as many keys as values";
            return Err(FunctionError::new(ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH, message));
        }
        // Arrays that are constants are there once, and stand in each row.
        call.reserve(own_keys.len().saturating_mul(PAIR_BYTES))?;
        call.allowance.check_elements(key_places.len().saturating_add(own_keys.len()))?;
        lengths.push(own_keys.len());
        key_places.extend(own_keys.map(u64_of));
        value_places.extend(own_values.map(u64_of));
    }
    let taken_keys = take(keys.values(), &UInt64Array::from(key_places), None)?;
    if taken_keys.logical_null_count() > 0 {
        return Err(FunctionError::bad_argument("the keys of mapFromArrays must not be NULL"));
    }
    let taken_values = take(values.values(), &UInt64Array::from(value_places), None)?;
    Ok(map_of(&key_of(&keys.element), &values.element, offsets_of(lengths), taken_keys, taken_values, None)?)
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new(
            "tuple",
            0..=usize::MAX,
            |args| Ok(unnamed(args.iter().map(|arg| contained(arg.column_type.clone())))),
            tuple,
        )
        .own_nulls()
        .doc("tuple(a, b, ...)", "A tuple of the arguments.", "tuple(1, 'a') -> (1,'a')"),
        ScalarFunction::new("tupleElement", 2..=3, element_type, element).own_nulls().doc(
            "tupleElement(tuple, n or name)",
            "One element of a tuple.",
            "tupleElement((1, 'a'), 2) -> 'a'",
        ),
        ScalarFunction::new(
            "tupleNames",
            1..=1,
            |args| {
                tuple_parts(&args[0].column_type, "tupleNames")?;
                Ok(ColumnType::Array(Box::new(ColumnType::String)))
            },
            names,
        )
        .own_nulls()
        .doc(
            "tupleNames(tuple)",
            "The names of the elements, or their places.",
            "tupleNames((5, 6)) -> ['1','2']",
        ),
        ScalarFunction::new("tupleToNameValuePairs", 1..=1, pairs_type, name_value_pairs).own_nulls().doc(
            "tupleToNameValuePairs(tuple)",
            "Pairs of the names and the values of the elements.",
            "tupleToNameValuePairs((5, 6)) -> [('1',5),('2',6)]",
        ),
        ScalarFunction::new("map", 0..=usize::MAX, map_type, map).own_nulls().doc(
            "map(key, value, ...)",
            "A map of the pairs.",
            "map('a', 1) -> {'a':1}",
        ),
        ScalarFunction::new("mapFromArrays", 2..=2, from_arrays_type, from_arrays)
            .aliases(&["MAP_FROM_ARRAYS"])
            .doc(
                "mapFromArrays(keys, values)",
                "A map of two arrays.",
                "mapFromArrays(['a'], [1]) -> {'a':1}",
            ),
    ]
}
