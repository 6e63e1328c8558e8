//! `groupNumericIndexedVector`: the sum of the numbers of each index.
//!
//! Invariant: its states are the rows; what is made of them is a vector. Must not know: functions of vectors.

use std::sync::Arc;

use arrow::array::ArrayRef;
use functions::FunctionError;
use functions::aggregates::{AggregateFunction, Group, Parameters};
use model::{ColumnType, ErrorCode};

use super::bitmap::bits;
use super::indexed_vector::{Shape, gather};
use super::numbers::one;

fn shape(args: &[ColumnType], parameters: Parameters<'_>) -> Result<Shape, FunctionError> {
    let written: Vec<Arc<str>> = parameters
        .written()
        .map(|(text, is_text)| if is_text { Arc::from(format!("'{text}'")) } else { Arc::from(text) })
        .collect();
    match args {
        [index, value] => Shape::new(index, value, &written),
        _ => Err(FunctionError::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "an index and a value are needed",
        )),
    }
}

fn sum(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let types: Vec<ColumnType> = group.call.args.iter().map(|arg| arg.column_type.clone()).collect();
    let shape = shape(&types, group.parameters)?;
    let indices = bits(&group.call.args[0].array).unwrap_or_default();
    let fixed = shape.all_fixed(&group.call.args[1].array)?;
    Ok(one(shape.sum(&gather(&shape, &indices, &fixed))))
}

pub(super) fn functions() -> Vec<AggregateFunction> {
    let rule = |args: &[ColumnType], parameters: Parameters<'_>| {
        shape(args, parameters)?;
        Ok(ColumnType::Float64)
    };
    vec![AggregateFunction::new("groupNumericIndexedVector", 2..=2, rule, sum).parameters(0..=3).doc(
        "groupNumericIndexedVector[('BSI', whole_bits, fraction_bits)](index, x)",
        "The sum of the numbers of all indices; its state is a vector of the sums of each.",
        "numericIndexedVectorToMap(groupNumericIndexedVectorState(user_id, price))",
    )]
}
