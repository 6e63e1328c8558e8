//! `arrayNormalizedGini`: how well predictions put labels in order.
//!
//! Invariant: numbers are added in ClickHouse's order, so that the last digits are the same. Must not know: what is predicted.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array};
use model::saturating::u64_of;
use model::{ColumnType, ErrorCode};

use super::near::{Mark, floats};
use super::resize::element_of;
use crate::columns::container::{tuple_of, unnamed};
use crate::columns::number::wrap;
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::is_float;

const NAME: &str = "arrayNormalizedGini";
/// Longest arrays, as in ClickHouse.
const LENGTH_MAX: usize = 1 << 20;

fn result_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    for index in 0..2 {
        let element = element_of(args, index, NAME)?;
        if !element.is_integer() && !is_float(element) {
            return Err(FunctionError::illegal_type(element, NAME));
        }
    }
    Ok(unnamed([ColumnType::Float64, ColumnType::Float64, ColumnType::Float64]))
}

/// What is between the curve of all labels that are reached, in this order, and the straight line.
fn area(labels: impl Iterator<Item = f64>, total: f64, count: usize) -> f64 {
    let (mut reached, mut below) = (0.0, 0.0);
    for label in labels {
        reached += label / total;
        below += reached;
    }
    let count = wrap::<u64, f64>(u64_of(count));
    ((count + 1.0) / 2.0 - below) / count
}

/// The Gini coefficients of the labels in the order of the predictions and in their own, and the first over the second.
fn coefficients(predicted: &[Mark], labels: &[Mark]) -> [f64; 3] {
    let numbers = |marks: &[Mark]| marks.iter().map(|mark| mark.unwrap_or(0.0)).collect::<Vec<f64>>();
    let (predicted, mut labels) = (numbers(predicted), numbers(labels));
    let (total, count) = (labels.iter().sum::<f64>(), labels.len());
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| {
        let (a, b) = (predicted[*a], predicted[*b]);
        // NaN stands in front.
        a.partial_cmp(&b).unwrap_or_else(|| b.is_nan().cmp(&a.is_nan()))
    });
    let by_predictions = area(order.iter().map(|at| labels[*at]), total, count);
    labels.sort_by(f64::total_cmp);
    let best = area(labels.into_iter(), total, count);
    [by_predictions, best, by_predictions / best]
}

fn evaluate(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Tuple(elements) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, NAME));
    };
    let (predicted, labels) = (floats(call, 0)?, floats(call, 1)?);
    let mut columns: [Vec<f64>; 3] = Default::default();
    for row in 0..call.rows {
        let (predicted, labels) = (predicted.row(row), labels.row(row));
        let is_null = call.is_null(row);
        if !is_null && predicted.len() != labels.len() {
            let message = format!("{NAME} takes a label for each prediction");
            return Err(FunctionError::new(ErrorCode::ILLEGAL_COLUMN, message));
        }
        if labels.len() > LENGTH_MAX {
            let message = format!("{NAME} of {} labels: at most {LENGTH_MAX}", labels.len());
            return Err(FunctionError::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, message));
        }
        let numbers = if is_null { [0.0; 3] } else { coefficients(predicted, labels) };
        columns.iter_mut().zip(numbers).for_each(|(column, number)| column.push(number));
    }
    let columns =
        columns.into_iter().map(|column| Arc::new(Float64Array::from(column)) as ArrayRef).collect();
    Ok(tuple_of(elements, columns, None, call.rows)?)
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    vec![ScalarFunction::new(NAME, 2..=2, result_type, evaluate).doc(
        "arrayNormalizedGini(predicted, labels)",
        "The Gini coefficients of the labels in the order of predictions and in their own, and their quotient.",
        "arrayNormalizedGini([0.9, 0.3, 0.8, 0.7], [6, 1, 0, 2]) -> (0.18055555555555558,0.2638888888888889,0.6842105263157896)",
    )]
}
