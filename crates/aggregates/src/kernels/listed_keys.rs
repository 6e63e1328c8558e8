//! `sumMapFiltered`: `sumMap` of arrays, of the keys that the parameter lists.
//!
//! Invariant: a number in the list is equal to a key that is the same number, also to a day or moment by its number; a text only
//! to the same text. Must not know: how sums are made.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, UInt64Array};
use arrow::compute::take;
use functions::aggregates::{AggregateFunction, Group, Parameters, illegal};
use functions::container::{list_of, offsets_of, tuple_of};
use functions::{CastMode, FunctionError, cast_column};
use model::saturating::u64_of;
use model::type_name::quoted_text;
use model::{ColumnType, ErrorCode};

/// The function that sums.
fn sums(name: &'static str) -> Result<&'static AggregateFunction, FunctionError> {
    let found = functions::aggregates::all().iter().find(|function| function.name == name);
    found.ok_or_else(|| FunctionError::new(ErrorCode::LOGICAL_ERROR, format!("there is no function {name}")))
}

/// The elements of the list as they are written: texts in quotes.
fn elements<'a>(parameters: &'a Parameters<'_>) -> Result<Vec<&'a str>, FunctionError> {
    let list = parameters.written().next().filter(|(_, is_text)| !is_text).map(|(list, _)| list);
    let inner = list.and_then(|list| list.strip_prefix('[')?.strip_suffix(']'));
    let inner = inner.ok_or_else(|| {
        let message = format!("the parameter of {} is an array of keys", parameters.function);
        FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message)
    })?;
    let (mut out, mut start, mut in_text, mut escaped) = (Vec::new(), 0, false, false);
    for (at, c) in inner.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_text => escaped = true,
            '\'' => in_text = !in_text,
            ',' if !in_text => {
                out.push(inner[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    if !inner.trim().is_empty() {
        out.push(inner[start..].trim());
    }
    Ok(out)
}

/// The number that stands for a key of this type; `None` where keys are texts.
fn as_number(key: &ColumnType, function: &str) -> Result<Option<ColumnType>, FunctionError> {
    match key.value_type() {
        ColumnType::Date => Ok(Some(ColumnType::UInt16)),
        ColumnType::DateTime { .. } => Ok(Some(ColumnType::UInt32)),
        ColumnType::Bool => Ok(Some(ColumnType::UInt8)),
        ColumnType::String => Ok(None),
        ColumnType::Float32 | ColumnType::Float64 => Ok(Some(ColumnType::Float64)),
        number if number.is_integer() => Ok(Some(number.clone())),
        other => {
            let message = format!("{function} with keys of type {other}");
            Err(FunctionError::new(ErrorCode::NOT_IMPLEMENTED, message))
        }
    }
}

fn rule(
    base: &'static str,
    args: &[ColumnType],
    parameters: Parameters<'_>,
) -> Result<ColumnType, FunctionError> {
    elements(&parameters)?;
    if let [map @ ColumnType::Map(..)] = args {
        return Err(illegal(map, parameters.function));
    }
    let result = sums(base)?.result_type(args, &[])?;
    match &result {
        ColumnType::Tuple(lists) => match lists.first().map(|keys| &keys.column_type) {
            Some(ColumnType::Array(key)) => as_number(key, parameters.function)?,
            _ => return Err(illegal(&result, parameters.function)),
        },
        other => return Err(illegal(other, parameters.function)),
    };
    Ok(result)
}

/// Which keys, each there once, are in the list.
fn listed(group: &Group<'_>, keys: &ArrayRef, key: &ColumnType) -> Result<Vec<bool>, FunctionError> {
    let written = elements(&group.parameters)?;
    let number = as_number(key, group.parameters.function)?;
    let is_nullable = keys.null_count() > 0;
    let plain = |column_type: &ColumnType| match is_nullable {
        true => column_type.clone().nullable(),
        false => column_type.clone(),
    };
    let (mut shown, mut from) = (Arc::clone(keys), plain(key.value_type()));
    if let Some(number) = &number {
        shown = cast_column(&shown, &from, &plain(number), CastMode::Strict)?;
        from = plain(number);
    }
    let shown = cast_column(&shown, &from, &plain(&ColumnType::String), CastMode::Strict)?;
    // A list without any float is one of whole numbers, which no float is equal to.
    let of_floats = written.iter().any(|one| one.parse::<i128>().is_err());
    let same_float = |written: &str, shown: &str| match (written.parse::<f64>(), shown.parse::<f64>()) {
        (Ok(a), Ok(b)) => of_floats && (a == b || a.is_nan() && b.is_nan()),
        _ => false,
    };
    let is_one = |written: &&str, shown: &str| match (&number, quoted_text(written)) {
        (None, Some(text)) => text == shown,
        (Some(ColumnType::Float64), None) => same_float(written, shown),
        (Some(_), None) => *written == shown,
        _ => false,
    };
    let is_listed = |shown: Option<&str>| shown.is_some_and(|key| written.iter().any(|one| is_one(one, key)));
    Ok(shown.as_string_view().iter().map(is_listed).collect())
}

fn kernel(base: &'static str, group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let columns: Vec<ArrayRef> = group.call.args.iter().map(|arg| Arc::clone(&arg.array)).collect();
    let types: Vec<ColumnType> = group.call.args.iter().map(|arg| arg.column_type.clone()).collect();
    let all = sums(base)?.evaluate(&columns, &types, &[], group.call.result_type)?;
    let (ColumnType::Tuple(lists), all) = (group.call.result_type, all.as_struct()) else {
        return Err(illegal(group.call.result_type, group.parameters.function));
    };
    let mut places = UInt64Array::from(Vec::<u64>::new());
    let mut kept = Vec::with_capacity(lists.len());
    for (at, (list, column)) in lists.iter().zip(all.columns()).enumerate() {
        let ColumnType::Array(element) = &list.column_type else {
            return Err(illegal(&list.column_type, group.parameters.function));
        };
        let values = column.as_list::<i32>().value(0);
        if at == 0 {
            let listed = listed(group, &values, element)?;
            places = (0..listed.len()).filter(|at| listed[*at]).map(|at| Some(u64_of(at))).collect();
        }
        kept.push(list_of(element, offsets_of([places.len()]), take(&values, &places, None)?, None)?);
    }
    Ok(tuple_of(lists, kept, None, 1)?)
}

fn function(name: &'static str, base: &'static str) -> AggregateFunction {
    AggregateFunction::new(
        name,
        1..=usize::MAX,
        move |args, parameters| rule(base, args, parameters),
        move |group| kernel(base, group),
    )
    .parameters(1..=1)
}

pub(super) fn functions() -> Vec<AggregateFunction> {
    vec![
        function("sumMapFiltered", "sumMap").doc(
            "sumMapFiltered([key, ...])(keys, values, ...)",
            "The sum of the values of each of these keys; those whose sum is 0 are left out.",
            "sumMapFiltered([1, 2])(keys, counts)",
        ),
        function("sumMapFilteredWithOverflow", "sumMapWithOverflow").doc(
            "sumMapFilteredWithOverflow([key, ...])(keys, values, ...)",
            "The sum of the values of each of these keys in the type of the values, which wraps.",
            "sumMapFilteredWithOverflow([1, 2])(keys, counts)",
        ),
    ]
}
