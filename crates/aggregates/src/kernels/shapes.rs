//! The shape of points: `largestTriangleThreeBuckets`, and matrices of covariances.
//!
//! Invariant: points are taken in the order of x, of equal x in the order in which they came. Must not know: who draws them.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, UInt64Array};
use arrow::compute::take;
use arrow::datatypes::Int64Type;
use functions::aggregates::{AggregateFunction, Group, Parameters, array_of};
use functions::container::{list_of, offsets_of, tuple_of, unnamed};
use functions::{CastMode, FunctionError, cast_column};
use model::saturating::{u64_of, usize_of};
use model::type_arrow::to_data_type;
use model::{ColumnType, ErrorCode};

use super::numbers::{float_of, floats, only_numbers};

/// The type of a coordinate: times stay, numbers are floats.
fn coordinate(column_type: &ColumnType, function: &str) -> Result<ColumnType, FunctionError> {
    match column_type {
        ColumnType::Date
        | ColumnType::Date32
        | ColumnType::DateTime { .. }
        | ColumnType::DateTime64 { .. } => Ok(column_type.clone()),
        number if number.is_number() || *number == ColumnType::Bool => Ok(ColumnType::Float64),
        other => {
            let message = format!("aggregate function {function} takes times and numbers, not {other}");
            Err(FunctionError::new(ErrorCode::NOT_IMPLEMENTED, message))
        }
    }
}

fn points_type(args: &[ColumnType], parameters: Parameters<'_>) -> Result<ColumnType, FunctionError> {
    points_max(parameters)?;
    let types = args.iter().map(|arg| coordinate(arg, parameters.function)).collect::<Result<Vec<_>, _>>()?;
    Ok(array_of(unnamed(types)))
}

fn points_max(parameters: Parameters<'_>) -> Result<usize, FunctionError> {
    let wrong = |error: FunctionError| FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, error.message);
    Ok(parameters.count(0).map_err(wrong)?.unwrap_or(0))
}

/// A coordinate as a float: of a time its days or seconds.
fn measured(group: &Group<'_>, index: usize) -> Result<Vec<f64>, FunctionError> {
    let arg = &group.call.args[index];
    if !matches!(arg.column_type, ColumnType::Date | ColumnType::Date32 | ColumnType::DateTime { .. }) {
        return floats(group, index);
    }
    let ticks = cast_column(&arg.array, &arg.column_type, &ColumnType::Int64, CastMode::Strict)?;
    Ok(ticks.as_primitive::<Int64Type>().values().iter().map(|tick| *tick as f64).collect())
}

/// The places of the points that keep the shape, of points in order: of each bucket the one that makes the largest triangle
/// with the one before and the middle of the next bucket.
fn kept(x: &[f64], y: &[f64], points_max: usize) -> Vec<usize> {
    let count = x.len();
    if count <= points_max {
        return (0..count).collect();
    }
    match points_max {
        0 => return Vec::new(),
        1 => return vec![0],
        2 => return vec![0, count - 1],
        _ => {}
    }
    let every = float_of(count - 2) / float_of(points_max - 2);
    let bound = |bucket: usize| (whole(float_of(bucket) * every) + 1).min(count);
    let (mut places, mut last) = (vec![0], 0);
    for bucket in 0..points_max - 2 {
        let next = bound(bucket + 1)..bound(bucket + 2);
        let size = float_of(next.len());
        let middle_x = x[next.clone()].iter().sum::<f64>() / size;
        let middle_y = y[next].iter().sum::<f64>() / size;
        let (mut largest, mut best) = (-1.0, bound(bucket));
        for place in bound(bucket)..bound(bucket + 1) {
            let area = ((x[last] - middle_x) * (y[place] - y[last])
                - (x[last] - x[place]) * (middle_y - y[last]))
                .abs()
                / 2.0;
            if area > largest {
                (largest, best) = (area, place);
            }
        }
        places.push(best);
        last = best;
    }
    places.push(count - 1);
    places
}

/// A float that is not negative, cut.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in the points")]
fn whole(value: f64) -> usize {
    usize_of(value as u64)
}

fn triangles(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Array(element) = group.call.result_type else { return Err(no_points()) };
    let ColumnType::Tuple(elements) = element.as_ref() else { return Err(no_points()) };
    let (x, y) = (measured(group, 0)?, measured(group, 1)?);
    // What is no number is no point.
    let mut order: Vec<usize> =
        (0..x.len()).filter(|place| !x[*place].is_nan() && !y[*place].is_nan()).collect();
    order.sort_by(|a, b| x[*a].total_cmp(&x[*b]));
    let sorted = |values: &[f64]| order.iter().map(|place| values[*place]).collect::<Vec<f64>>();
    let kept = kept(&sorted(&x), &sorted(&y), points_max(group.parameters)?);
    let places: UInt64Array = kept.iter().map(|place| Some(u64_of(order[*place]))).collect();
    let mut columns = Vec::with_capacity(2);
    for (arg, element) in group.call.args.iter().zip(elements) {
        let taken = take(&arg.array, &places, None)?;
        columns.push(match arg.column_type == element.column_type {
            true => taken,
            false => cast_column(&taken, &arg.column_type, &element.column_type, CastMode::Strict)?,
        });
    }
    let points = tuple_of(elements, columns, None, kept.len())?;
    Ok(list_of(element, offsets_of([kept.len()]), points, None)?)
}

fn no_points() -> FunctionError {
    FunctionError::new(ErrorCode::LOGICAL_ERROR, "the result is an array of points")
}

fn matrix_type(args: &[ColumnType], parameters: Parameters<'_>) -> Result<ColumnType, FunctionError> {
    only_numbers(args, parameters, ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT)?;
    Ok(array_of(array_of(ColumnType::Float64)))
}

/// What stands in a matrix for two columns.
#[derive(Clone, Copy)]
enum Cell {
    OfSample,
    OfPopulation,
    Correlation,
}

/// Sums of two columns as ClickHouse keeps them.
fn cell(x: &[f64], y: &[f64], cell: Cell) -> f64 {
    let count = float_of(x.len());
    if count == 0.0 {
        return f64::NAN;
    }
    let sum = |values: &[f64]| values.iter().sum::<f64>();
    let products = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (sum_x, sum_y) = (sum(x), sum(y));
    let shared = products(x, y) - sum_x * sum_y / count;
    match cell {
        Cell::OfSample if count < 2.0 => f64::NAN,
        Cell::OfSample => shared / (count - 1.0),
        Cell::OfPopulation => shared / count,
        Cell::Correlation => {
            let square = |values: &[f64], sum: f64| products(values, values) * count - sum * sum;
            (products(x, y) * count - sum_x * sum_y) / (square(x, sum_x) * square(y, sum_y)).sqrt()
        }
    }
}

fn matrix(group: &Group<'_>, of: Cell) -> Result<ArrayRef, FunctionError> {
    let columns =
        (0..group.call.args.len()).map(|index| floats(group, index)).collect::<Result<Vec<_>, _>>()?;
    let mut cells = Vec::with_capacity(columns.len() * columns.len());
    for (i, x) in columns.iter().enumerate() {
        cells.extend(
            columns.iter().enumerate().map(|(j, y)| if i < j { cell(x, y, of) } else { cell(y, x, of) }),
        );
    }
    let row = array_of(ColumnType::Float64);
    debug_assert_eq!(*group.call.result_type, array_of(row.clone()));
    let lengths = columns.iter().map(|_| columns.len());
    let values: ArrayRef = Arc::new(Float64Array::from(cells));
    let rows = list_of(&ColumnType::Float64, offsets_of(lengths), values, None)?;
    debug_assert_eq!(*rows.data_type(), to_data_type(&row));
    Ok(list_of(&row, offsets_of([columns.len()]), rows, None)?)
}

pub(super) fn functions() -> Vec<AggregateFunction> {
    let matrices = |name: &'static str, of: Cell| {
        AggregateFunction::new(name, 1..=usize::MAX, matrix_type, move |group| matrix(group, of))
    };
    vec![
        AggregateFunction::new("largestTriangleThreeBuckets", 2..=2, points_type, triangles)
            .parameters(1..=1)
            .aliases(&["lttb"])
            .doc(
                "largestTriangleThreeBuckets(n)(x, y)",
                "At most n points in the order of x that keep the shape of all.",
                "largestTriangleThreeBuckets(100)(day, price)",
            ),
        matrices("covarSampMatrix", Cell::OfSample).doc(
            "covarSampMatrix(x, y, ...)",
            "The covariances of a sample of all pairs of columns.",
            "covarSampMatrix(price, amount)",
        ),
        matrices("covarPopMatrix", Cell::OfPopulation).doc(
            "covarPopMatrix(x, y, ...)",
            "The covariances of the population of all pairs of columns.",
            "covarPopMatrix(price, amount)",
        ),
        matrices("corrMatrix", Cell::Correlation).doc(
            "corrMatrix(x, y, ...)",
            "The correlations of all pairs of columns.",
            "corrMatrix(price, amount)",
        ),
    ]
}
