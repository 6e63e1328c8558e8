//! Arguments of kernels as numbers, and results made of numbers.
//!
//! Invariant: what is no number is refused by the type rule, not here. Must not know: functions.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array};
use arrow::datatypes::Float64Type;
use functions::aggregates::{Group, Parameters};
use functions::container::tuple_of;
use functions::{CastMode, FunctionError, cast_column};
use model::{ColumnType, ErrorCode, TupleElement};

/// A wrong parameter or value.
pub(super) fn bad(message: impl Into<String>) -> FunctionError {
    FunctionError::new(ErrorCode::BAD_ARGUMENTS, message)
}

pub(super) fn is_float(column_type: &ColumnType) -> bool {
    matches!(column_type, ColumnType::Float32 | ColumnType::Float64)
}

/// An argument as floats.
pub(super) fn floats(group: &Group<'_>, index: usize) -> Result<Vec<f64>, FunctionError> {
    let arg = &group.call.args[index];
    let column = cast_column(&arg.array, &arg.column_type, &ColumnType::Float64, CastMode::Strict)?;
    Ok(column.as_primitive::<Float64Type>().values().to_vec())
}

/// A count as a float.
pub(super) fn float_of(count: usize) -> f64 {
    count as f64
}

/// All arguments are numbers.
pub(super) fn only_numbers(
    args: &[ColumnType],
    parameters: Parameters<'_>,
    code: ErrorCode,
) -> Result<(), FunctionError> {
    match args.iter().find(|arg| !arg.is_number() && **arg != ColumnType::Bool) {
        None => Ok(()),
        Some(other) => {
            let message = format!("aggregate function {} takes numbers, not {other}", parameters.function);
            Err(FunctionError::new(code, message))
        }
    }
}

/// A tuple of floats with names.
pub(super) fn named_floats(names: &[&str]) -> ColumnType {
    let element = |name: &&str| TupleElement { name: Some((*name).into()), column_type: ColumnType::Float64 };
    ColumnType::Tuple(names.iter().map(element).collect())
}

/// A value of [`named_floats`].
pub(super) fn tuple(group: &Group<'_>, values: &[f64]) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Tuple(elements) = group.call.result_type else {
        return Err(FunctionError::new(ErrorCode::LOGICAL_ERROR, "the result is a tuple"));
    };
    let columns = values.iter().map(|value| one(*value)).collect();
    Ok(tuple_of(elements, columns, None, 1)?)
}

/// One float.
pub(super) fn one(value: f64) -> ArrayRef {
    Arc::new(Float64Array::from(vec![value]))
}

/// The values of argument 0 by whether argument 1 is 0.
pub(super) fn two_samples(group: &Group<'_>) -> Result<[Vec<f64>; 2], FunctionError> {
    let (values, which) = (floats(group, 0)?, floats(group, 1)?);
    let mut samples = [Vec::new(), Vec::new()];
    for (value, which) in values.into_iter().zip(which) {
        samples[usize::from(which != 0.0)].push(value);
    }
    Ok(samples)
}

/// Refuses an empty sample.
pub(super) fn both_there(samples: &[Vec<f64>; 2], function: &str) -> Result<(), FunctionError> {
    match samples.iter().any(Vec::is_empty) {
        true => Err(bad(format!("aggregate function {function} needs values in both samples"))),
        false => Ok(()),
    }
}
