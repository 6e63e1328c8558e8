//! Values by key: `sumMap`, `minMap`, `maxMap`.
//!
//! Invariant: keys come out in order, each once; `sumMap` of arrays leaves out keys whose sum is 0, as ClickHouse does.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray, UInt64Array, make_comparator};
use arrow::compute::{SortOptions, interleave, sort_to_indices, take};
use arrow::datatypes::{ArrowNativeTypeOp, ArrowPrimitiveType, DataType, Decimal128Type, Decimal256Type};
use arrow::row::{RowConverter, SortField};
use model::ColumnType;
use model::saturating::u64_of;

use super::frequent::different;
use super::function::{AggregateFunction, Group, Parameters, array_of, illegal};
use crate::cast::{CastMode, default_array};
use crate::columns::container::{first_elements, list_of, map_of, offsets_of, range, tuple_of, unnamed};
use crate::columns::number::with_number;
use crate::error::FunctionError;

/// How values of one key become one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Sum,
    /// As `Sum`, cut to the type of the values, of which nothing is a map.
    Wrap,
    Min,
    Max,
}

/// The type of sums.
fn summed(value: &ColumnType) -> Option<ColumnType> {
    match value.value_type() {
        ColumnType::Float32 | ColumnType::Float64 => Some(ColumnType::Float64),
        ColumnType::UInt8
        | ColumnType::UInt16
        | ColumnType::UInt32
        | ColumnType::UInt64
        | ColumnType::Bool => Some(ColumnType::UInt64),
        ColumnType::Decimal { precision, scale } => {
            Some(ColumnType::Decimal { precision: if *precision > 38 { 76 } else { 38 }, scale: *scale })
        }
        other if other.is_integer() => Some(ColumnType::Int64),
        _ => None,
    }
}

/// Values that are no plain numbers and have an order.
fn is_compared(value: &ColumnType) -> bool {
    use ColumnType::{Array, Date, Date32, DateTime, DateTime64, Decimal, Tuple, Uuid};
    let value = value.value_type();
    let is_time = matches!(value, Date | Date32 | DateTime { .. } | DateTime64 { .. });
    is_time || value.is_string() || matches!(value, Array(_) | Tuple(_) | Decimal { .. } | Uuid)
}

/// The type without a dictionary.
fn plain(key: &ColumnType) -> ColumnType {
    let value = key.value_type().clone();
    if key.is_nullable() { value.nullable() } else { value }
}

fn rule(way: Way, args: &[ColumnType], parameters: Parameters<'_>) -> Result<ColumnType, FunctionError> {
    let is_map = matches!(args, [ColumnType::Map(..)]);
    let value = |value: &ColumnType| match (way, value.value_type()) {
        // Of arrays they stay in their type.
        (Way::Sum, decimal @ ColumnType::Decimal { .. }) if !is_map => Ok(decimal.clone()),
        (Way::Sum, _) => summed(value).ok_or_else(|| illegal(value, parameters.function)),
        (Way::Wrap, plain) if summed(value).is_some() => Ok(plain.clone()),
        (Way::Wrap, _) => Err(illegal(value, parameters.function)),
        _ if value.is_number() || is_compared(value) => Ok(value.clone()),
        _ => Err(illegal(value, parameters.function)),
    };
    match args {
        [ColumnType::Map(key, of)] if way != Way::Wrap => {
            let of = if of.is_nullable() { value(of)?.nullable() } else { value(of)? };
            Ok(ColumnType::Map(Box::new(key.value_type().clone()), Box::new(of)))
        }
        [ColumnType::Array(key), rest @ ..] if !rest.is_empty() => {
            let mut elements = vec![array_of(plain(key))];
            for list in rest {
                let ColumnType::Array(of) = list else { return Err(illegal(list, parameters.function)) };
                let of = value(of)?;
                elements.push(array_of(if of.is_number() { of.value_type().clone() } else { of }));
            }
            Ok(unnamed(elements))
        }
        [ColumnType::Tuple(elements)] => {
            let lists: Vec<ColumnType> = elements.iter().map(|element| element.column_type.clone()).collect();
            if lists.len() < 2 {
                Err(illegal(&args[0], parameters.function))
            } else {
                rule(way, &lists, parameters)
            }
        }
        [other, ..] => Err(illegal(other, parameters.function)),
        [] => Err(FunctionError::bad_argument("keys and values are needed")),
    }
}

/// Keys and the columns of values, all rows one after the other.
fn flat(group: &Group<'_>) -> Result<(ArrayRef, Vec<(ArrayRef, ColumnType)>), FunctionError> {
    let first = group.call.arg(0)?;
    if let ColumnType::Map(_, value) = &first.column_type {
        let map = first.array.as_map();
        let offsets = map.value_offsets();
        let own =
            if map.is_empty() { 0..0 } else { range(offsets, 0).start..range(offsets, map.len() - 1).end };
        let cut = |array: &ArrayRef| array.slice(own.start, own.len());
        return Ok((cut(map.keys()), vec![(cut(map.values()), value.as_ref().clone())]));
    }
    let lists: Vec<(ArrayRef, ColumnType)> = match &first.column_type {
        ColumnType::Tuple(elements) => {
            let types = elements.iter().map(|element| element.column_type.clone());
            first.array.as_struct().columns().iter().map(Arc::clone).zip(types).collect()
        }
        _ => group.call.args.iter().map(|arg| (Arc::clone(&arg.array), arg.column_type.clone())).collect(),
    };
    let mut columns = Vec::with_capacity(lists.len());
    for (array, column_type) in &lists {
        let ColumnType::Array(element) = column_type else {
            return Err(illegal(column_type, group.parameters.function));
        };
        let (list, keys) = (array.as_list::<i32>(), lists[0].0.as_list::<i32>());
        let same = (0..list.len()).all(|row| list.value_length(row) == keys.value_length(row));
        if !same {
            let message = format!("the arrays of {} have different sizes", group.parameters.function);
            return Err(FunctionError::bad_argument(message));
        }
        columns.push((first_elements(list, usize::MAX)?, element.as_ref().clone()));
    }
    let values = columns.split_off(1);
    let keys =
        columns.pop().map(|(keys, _)| keys).ok_or_else(|| FunctionError::bad_argument("keys are needed"))?;
    Ok((keys, values))
}

/// One value for each key, in the type of the result.
fn folded(
    way: Way,
    values: &(ArrayRef, ColumnType),
    to: &ColumnType,
    which: &[usize],
    keys: usize,
    group: &Group<'_>,
) -> Result<(ArrayRef, Vec<bool>), FunctionError> {
    let from =
        if values.0.null_count() > 0 { values.1.clone().nullable() } else { values.1.value_type().clone() };
    let target =
        if values.0.null_count() > 0 { to.value_type().clone().nullable() } else { to.value_type().clone() };
    let column = group.call.caster(CastMode::Strict).column(&values.0, &from, &target)?;
    if is_compared(to) && !matches!(to.value_type(), ColumnType::Decimal { .. }) {
        return extremes(way, &column, to, which, keys);
    }
    // In a map of values that may be NULL a key without any other has NULL.
    let nothing_is_null = matches!(group.call.result_type, ColumnType::Map(_, value) if value.is_nullable());
    let nulls = (values.1.is_nullable(), nothing_is_null);
    match column.data_type() {
        DataType::Decimal128(..) => Ok(numbers::<Decimal128Type>(way, &column, which, keys, nulls)),
        DataType::Decimal256(..) => Ok(numbers::<Decimal256Type>(way, &column, which, keys, nulls)),
        _ => with_number!(to.value_type(), T => Ok(numbers::<T>(way, &column, which, keys, nulls)),
            else Err(illegal(to, group.parameters.function))),
    }
}

/// `nulls`: whether values may be NULL, and whether what no key has is NULL.
fn numbers<T: ArrowPrimitiveType<Native: ArrowNativeTypeOp>>(
    way: Way,
    column: &ArrayRef,
    which: &[usize],
    keys: usize,
    nulls: (bool, bool),
) -> (ArrayRef, Vec<bool>) {
    let column = column.as_primitive::<T>();
    let mut out: Vec<Option<T::Native>> = vec![None; keys];
    for (at, key) in which.iter().enumerate().filter(|(at, _)| column.is_valid(*at)) {
        let value = column.value(at);
        out[*key] = Some(match (out[*key], way) {
            (None, _) => value,
            (Some(sofar), Way::Sum | Way::Wrap) => sofar.add_wrapping(value),
            (Some(sofar), Way::Min) if value.is_lt(sofar) => value,
            (Some(sofar), Way::Max) if value.is_gt(sofar) => value,
            (Some(sofar), _) => sofar,
        });
    }
    // A sum that could be NULL and is not stays, whatever it is.
    let kept = out.iter().map(|value| value.is_some_and(|value| nulls.0 || !value.is_zero())).collect();
    let nothing = (!nulls.1).then(T::Native::default);
    let made: PrimitiveArray<T> = out.into_iter().map(|value| value.or(nothing)).collect();
    (Arc::new(made.with_data_type(column.data_type().clone())), kept)
}

/// The smallest or largest of each key's values, where these are no numbers; all keys stay.
fn extremes(
    way: Way,
    column: &ArrayRef,
    to: &ColumnType,
    which: &[usize],
    keys: usize,
) -> Result<(ArrayRef, Vec<bool>), FunctionError> {
    let compared = make_comparator(column, column, SortOptions::default())?;
    let better = if way == Way::Min { Ordering::Less } else { Ordering::Greater };
    let mut best: Vec<Option<usize>> = vec![None; keys];
    for (at, key) in which.iter().enumerate().filter(|(at, _)| column.is_valid(*at)) {
        if best[*key].is_none_or(|sofar| compared(at, sofar) == better) {
            best[*key] = Some(at);
        }
    }
    if let Some(places) = best.iter().map(|at| at.map(u64_of)).collect::<Option<Vec<u64>>>() {
        return Ok((take(column, &UInt64Array::from(places), None)?, vec![true; keys]));
    }
    let nothing = default_array(to, 1);
    let places: Vec<(usize, usize)> = best.into_iter().map(|at| at.map_or((1, 0), |at| (0, at))).collect();
    Ok((interleave(&[column.as_ref(), nothing.as_ref()], &places)?, vec![true; keys]))
}

fn kernel(way: Way, group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let (keys, values) = flat(group)?;
    let (first, which) = different(&[Arc::clone(&keys)])?;
    let places: UInt64Array = first.iter().map(|at| u64::try_from(*at).ok()).collect();
    let keys = take(&keys, &places, None)?;
    let targets: Vec<ColumnType> = match group.call.result_type {
        ColumnType::Map(_, value) => vec![value.as_ref().clone()],
        ColumnType::Tuple(elements) => {
            elements.iter().skip(1).map(|element| element_of(&element.column_type)).collect()
        }
        other => return Err(illegal(other, group.parameters.function)),
    };
    let mut columns = Vec::with_capacity(values.len());
    let mut any = vec![false; keys.len()];
    for (values, to) in values.iter().zip(&targets) {
        let wide = summed(to).filter(|_| way == Way::Wrap);
        let (mut column, kept) = folded(way, values, wide.as_ref().unwrap_or(to), &which, keys.len(), group)?;
        if let Some(wide) = wide {
            column = group.call.caster(CastMode::Strict).column(&column, &wide, to)?;
        }
        any.iter_mut().zip(kept).for_each(|(any, kept)| *any |= kept);
        columns.push(column);
    }
    // Of maps every key stays; of arrays those whose sums are all 0 do not.
    let leaves_out =
        matches!(way, Way::Sum | Way::Wrap) && matches!(group.call.result_type, ColumnType::Tuple(_));
    let order: UInt64Array = in_order(&keys)?
        .into_iter()
        .filter(|at| !leaves_out || usize::try_from(*at).is_ok_and(|at| any[at]))
        .map(Some)
        .collect();
    let (count, keys) = (order.len(), take(&keys, &order, None)?);
    let mut taken = Vec::with_capacity(columns.len());
    for column in &columns {
        taken.push(take(column, &order, None)?);
    }
    match group.call.result_type {
        ColumnType::Map(key, value) => {
            let values = taken.pop().ok_or_else(|| FunctionError::bad_argument("values are needed"))?;
            Ok(map_of(key, value, offsets_of([count]), keys, values, None)?)
        }
        ColumnType::Tuple(elements) => {
            let mut lists = Vec::with_capacity(elements.len());
            for (element, column) in elements.iter().zip(std::iter::once(keys).chain(taken)) {
                lists.push(list_of(&element_of(&element.column_type), offsets_of([count]), column, None)?);
            }
            Ok(tuple_of(elements, lists, None, 1)?)
        }
        other => Err(illegal(other, group.parameters.function)),
    }
}

/// The places of keys in their order.
fn in_order(keys: &ArrayRef) -> Result<Vec<u64>, FunctionError> {
    if !matches!(keys.data_type(), DataType::Null | DataType::Struct(_) | DataType::List(_)) {
        let order = sort_to_indices(keys, Some(SortOptions::default()), None)?;
        return Ok(order.values().iter().map(|at| u64::from(*at)).collect());
    }
    let converter = RowConverter::new(vec![SortField::new(keys.data_type().clone())])?;
    let rows = converter.convert_columns(std::slice::from_ref(keys))?;
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by(|one, other| rows.row(*one).cmp(&rows.row(*other)));
    Ok(order.into_iter().map(u64_of).collect())
}

fn element_of(list: &ColumnType) -> ColumnType {
    match list {
        ColumnType::Array(element) => element.as_ref().clone(),
        other => other.clone(),
    }
}

fn function(name: &'static str, way: Way) -> AggregateFunction {
    AggregateFunction::new(
        name,
        1..=usize::MAX,
        move |args, parameters| rule(way, args, parameters),
        move |group| kernel(way, group),
    )
}

pub(super) fn functions() -> Vec<AggregateFunction> {
    vec![
        function("sumMap", Way::Sum).aliases(&["sumMappedArrays"]).doc(
            "sumMap(map) or sumMap(keys, values, ...)",
            "The sum of the values of each key; of arrays, keys whose sum is 0 are left out.",
            "sumMap(counts)",
        ),
        function("sumMapWithOverflow", Way::Wrap).doc(
            "sumMapWithOverflow(keys, values, ...)",
            "The sum of the values of each key in the type of the values, which wraps.",
            "sumMapWithOverflow(keys, counts)",
        ),
        function("minMap", Way::Min).aliases(&["minMappedArrays"]).doc(
            "minMap(map) or minMap(keys, values, ...)",
            "The smallest value of each key.",
            "minMap(counts)",
        ),
        function("maxMap", Way::Max).aliases(&["maxMappedArrays"]).doc(
            "maxMap(map) or maxMap(keys, values, ...)",
            "The largest value of each key.",
            "maxMap(counts)",
        ),
    ]
}
