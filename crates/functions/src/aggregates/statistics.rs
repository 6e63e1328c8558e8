//! Moments, regression and sums with care.
//!
//! Invariant: results are Float64 and nan where there are too few rows, as in ClickHouse.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, UInt64Array};
use arrow::compute::take;
use model::saturating::u64_of;
use model::{ColumnType, TupleElement};

use super::frequent::different;
use super::function::{AggregateFunction, Group, Parameters, illegal};
use crate::cast::{CastMode, default_array};
use crate::columns::container::{tuple_of, unnamed};
use crate::columns::number::{with_number, wrap};
use crate::error::FunctionError;

fn floats(args: &[ColumnType], parameters: Parameters<'_>) -> Result<ColumnType, FunctionError> {
    match args.iter().find(|t| !t.is_number() && **t != ColumnType::Bool) {
        Some(other) => Err(illegal(other, parameters.function)),
        None => Ok(ColumnType::Float64),
    }
}

fn one(value: f64) -> ArrayRef {
    Arc::new(Float64Array::from(vec![value]))
}

fn values(group: &Group<'_>, index: usize) -> Result<Vec<f64>, FunctionError> {
    let numbers = group.call.floats(index)?;
    Ok((0..group.call.rows).map(|row| numbers.get(row)).collect())
}

fn count_of(values: &[f64]) -> f64 {
    wrap::<u64, f64>(u64_of(values.len()))
}

/// The mean of a power of the distances from the mean.
fn moment(values: &[f64], power: i32) -> f64 {
    let count = count_of(values);
    let mean = values.iter().sum::<f64>() / count;
    values.iter().map(|value| (value - mean).powi(power)).sum::<f64>() / count
}

/// A moment over a power of the deviation; of samples the deviation divides by one row less.
fn shape(group: &Group<'_>, power: i32, of_sample: bool) -> Result<ArrayRef, FunctionError> {
    let values = values(group, 0)?;
    let count = count_of(&values);
    let variance = moment(&values, 2) * if of_sample { count / (count - 1.0) } else { 1.0 };
    let deviation = if power == 3 { variance.powf(1.5) } else { variance.powi(2) };
    let shape = if deviation > 0.0 { moment(&values, power) / deviation } else { f64::NAN };
    Ok(one(shape))
}

/// Sums of a line's points: rows, mean x, mean y, squares and products of the distances from the means.
struct Line {
    rows: f64,
    mean: [f64; 2],
    squares: [f64; 2],
    products: f64,
}

impl Line {
    /// x is argument `x`.
    fn new(group: &Group<'_>, x: usize) -> Result<Self, FunctionError> {
        let (xs, ys) = (values(group, x)?, values(group, 1 - x)?);
        let rows = count_of(&xs);
        let mean = [xs.iter().sum::<f64>() / rows, ys.iter().sum::<f64>() / rows];
        let square = |all: &[f64], mean: f64| all.iter().map(|value| (value - mean).powi(2)).sum();
        let products = xs.iter().zip(&ys).map(|(x, y)| (x - mean[0]) * (y - mean[1])).sum();
        Ok(Self { rows, mean, squares: [square(&xs, mean[0]), square(&ys, mean[1])], products })
    }

    fn slope(&self) -> f64 {
        self.products / self.squares[0]
    }

    fn intercept(&self) -> f64 {
        self.mean[1] - self.slope() * self.mean[0]
    }
}

fn regression(name: &'static str, read: fn(&Line) -> f64) -> AggregateFunction {
    AggregateFunction::new(name, 2..=2, floats, move |group| {
        let line = Line::new(group, 1)?;
        // Sums over no rows are 0, and of none of them there is a line.
        Ok(one(if line.rows > 0.0 { read(&line) } else { f64::NAN }))
    })
}

fn kahan(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let (mut sum, mut lost) = (0.0_f64, 0.0_f64);
    for value in values(group, 0)? {
        let compensated = value - lost;
        let next = sum + compensated;
        lost = (next - sum) - compensated;
        sum = next;
    }
    Ok(one(sum))
}

/// The type sums have: 64 bits of the argument's kind.
fn summed(value: &ColumnType, function: &str) -> Result<ColumnType, FunctionError> {
    match value {
        ColumnType::UInt8
        | ColumnType::UInt16
        | ColumnType::UInt32
        | ColumnType::UInt64
        | ColumnType::Bool => Ok(ColumnType::UInt64),
        ColumnType::Float32 | ColumnType::Float64 => Ok(ColumnType::Float64),
        other if other.is_integer() => Ok(ColumnType::Int64),
        other => Err(illegal(other, function)),
    }
}

/// The sum of argument 0 in a type, which wraps.
fn sum_as(group: &Group<'_>, to: &ColumnType) -> Result<ArrayRef, FunctionError> {
    use arrow::datatypes::{ArrowNativeTypeOp, ArrowPrimitiveType};
    let arg = group.call.arg(0)?;
    let column = group.call.caster(CastMode::Strict).column(&arg.array, &arg.column_type, to)?;
    with_number!(to, T => {
        let values = column.as_primitive::<T>().values().iter();
        let sum = values.fold(<T as ArrowPrimitiveType>::Native::default(), |sum, value| sum.add_wrapping(*value));
        Ok(Arc::new(arrow::array::PrimitiveArray::<T>::from_iter_values([sum])))
    }, else Err(illegal(to, group.parameters.function)))
}

fn sum_count(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Tuple(elements) = group.call.result_type else {
        return Err(illegal(group.call.result_type, group.parameters.function));
    };
    let sum = sum_as(group, &elements[0].column_type)?;
    let count: ArrayRef = Arc::new(UInt64Array::from(vec![u64_of(group.call.rows)]));
    Ok(tuple_of(elements, vec![sum, count], None, 1)?)
}

/// Ranks from 1, the same for equal values.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let same = order[start..].iter().take_while(|at| values[**at] == values[order[start]]).count().max(1);
        let rank = count_of(&values[..start]) + (count_of(&values[..same]) + 1.0) / 2.0;
        order[start..start + same].iter().for_each(|at| ranks[*at] = rank);
        start += same;
    }
    ranks
}

fn rank_correlation(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let (xs, ys) = (ranks(&values(group, 0)?), ranks(&values(group, 1)?));
    let count = count_of(&xs);
    let distances: f64 = xs.iter().zip(&ys).map(|(x, y)| (x - y).powi(2)).sum();
    Ok(one(1.0 - 6.0 * distances / (count * (count * count - 1.0))))
}

/// The value all rows have; NULL where they differ.
fn single(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let value = group.call.arg(0)?;
    let (first, _) = different(&[Arc::clone(&value.array)])?;
    if first.len() == 1 {
        return Ok(value.array.slice(0, 1));
    }
    Ok(default_array(&value.column_type.clone().nullable(), 1))
}

/// A value that more than half of the rows have, if there is one (Boyer and Moore's majority vote).
fn heavy(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let value = group.call.arg(0)?;
    let (first, which) = different(&[Arc::clone(&value.array)])?;
    let (mut held, mut votes) = (None, 0_u64);
    for place in which {
        match held {
            Some(own) if own == place => votes += 1,
            _ if votes == 0 => (held, votes) = (Some(place), 1),
            _ => votes -= 1,
        }
    }
    match held {
        None => Ok(default_array(&value.column_type, 1)),
        Some(place) => {
            let at = UInt64Array::from(vec![u64_of(first[place])]);
            Ok(take(&value.array, &at, None)?)
        }
    }
}

fn same(args: &[ColumnType], _: Parameters<'_>) -> Result<ColumnType, FunctionError> {
    args.first().cloned().ok_or_else(|| FunctionError::bad_argument("a value is needed"))
}

fn moments() -> Vec<AggregateFunction> {
    let shape = |name: &'static str, power: i32, of_sample: bool| {
        AggregateFunction::new(name, 1..=1, floats, move |group| shape(group, power, of_sample))
    };
    vec![
        shape("skewPop", 3, false).doc("skewPop(x)", "Skewness of the population.", "skewPop(price)"),
        shape("skewSamp", 3, true).doc("skewSamp(x)", "Skewness of a sample.", "skewSamp(price)"),
        shape("kurtPop", 4, false).doc("kurtPop(x)", "Kurtosis of the population.", "kurtPop(price)"),
        shape("kurtSamp", 4, true).doc("kurtSamp(x)", "Kurtosis of a sample.", "kurtSamp(price)"),
        AggregateFunction::new("rankCorr", 2..=2, floats, rank_correlation).doc(
            "rankCorr(x, y)",
            "Spearman's rank correlation.",
            "rankCorr(x, y)",
        ),
        AggregateFunction::new("sumKahan", 1..=1, floats, kahan).doc(
            "sumKahan(x)",
            "The sum as Float64 with Kahan's compensation.",
            "sumKahan(price)",
        ),
    ]
}

fn line_shape() -> Vec<AggregateFunction> {
    vec![
        regression("regr_slope", Line::slope).doc(
            "regr_slope(y, x)",
            "The slope of the line of least squares.",
            "regr_slope(y, x)",
        ),
        regression("regr_intercept", Line::intercept).doc(
            "regr_intercept(y, x)",
            "Where the line of least squares has x = 0.",
            "regr_intercept(y, x)",
        ),
        regression("regr_r2", |line| line.products.powi(2) / (line.squares[0] * line.squares[1])).doc(
            "regr_r2(y, x)",
            "The share of the variance that the line explains.",
            "regr_r2(y, x)",
        ),
        regression("regr_avgx", |line| line.mean[0]).doc(
            "regr_avgx(y, x)",
            "The mean of x.",
            "regr_avgx(y, x)",
        ),
        regression("regr_avgy", |line| line.mean[1]).doc(
            "regr_avgy(y, x)",
            "The mean of y.",
            "regr_avgy(y, x)",
        ),
        regression("regr_sxx", |line| line.squares[0]).doc(
            "regr_sxx(y, x)",
            "The sum of the squared distances of x.",
            "regr_sxx(y, x)",
        ),
        regression("regr_syy", |line| line.squares[1]).doc(
            "regr_syy(y, x)",
            "The sum of the squared distances of y.",
            "regr_syy(y, x)",
        ),
        regression("regr_sxy", |line| line.products).doc(
            "regr_sxy(y, x)",
            "The sum of the products of the distances.",
            "regr_sxy(y, x)",
        ),
    ]
}

fn line_means() -> Vec<AggregateFunction> {
    vec![
        AggregateFunction::new(
            "regr_count",
            2..=2,
            |args, parameters| floats(args, parameters).map(|_| ColumnType::UInt64),
            |group| Ok(Arc::new(UInt64Array::from(vec![u64_of(group.call.rows)]))),
        )
        .never_null()
        .doc("regr_count(y, x)", "The rows where neither is NULL.", "regr_count(y, x)"),
        AggregateFunction::new(
            "simpleLinearRegression",
            2..=2,
            |args, parameters| {
                floats(args, parameters)?;
                let element =
                    |name: &str| TupleElement { name: Some(name.into()), column_type: ColumnType::Float64 };
                Ok(ColumnType::Tuple(vec![element("k"), element("b")]))
            },
            |group| {
                let line = Line::new(group, 0)?;
                let ColumnType::Tuple(elements) = group.call.result_type else {
                    return Err(illegal(group.call.result_type, group.parameters.function));
                };
                let known = line.rows > 0.0;
                let part = |value: f64| one(if known { value } else { f64::NAN });
                Ok(tuple_of(elements, vec![part(line.slope()), part(line.intercept())], None, 1)?)
            },
        )
        .doc(
            "simpleLinearRegression(x, y)",
            "Slope and intercept of the line of least squares.",
            "simpleLinearRegression(x, y)",
        ),
    ]
}

fn regressions() -> Vec<AggregateFunction> {
    let mut out = line_shape();
    out.extend(line_means());
    out
}

fn sums() -> Vec<AggregateFunction> {
    vec![
        AggregateFunction::new(
            "sumCount",
            1..=1,
            |args, parameters| {
                let sum = summed(&same(args, parameters)?, parameters.function)?;
                Ok(unnamed([sum, ColumnType::UInt64]))
            },
            sum_count,
        )
        .doc("sumCount(x)", "The sum and the number of values.", "sumCount(price)"),
        AggregateFunction::new(
            "sumWithOverflow",
            1..=1,
            |args, parameters| match same(args, parameters)? {
                number if number.is_number() && !matches!(number, ColumnType::Decimal { .. }) => Ok(number),
                other => Err(illegal(&other, parameters.function)),
            },
            |group| sum_as(group, group.call.result_type),
        )
        .doc(
            "sumWithOverflow(x)",
            "The sum in the type of the values, which wraps.",
            "sumWithOverflow(price)",
        ),
        AggregateFunction::new(
            "groupBitmap",
            1..=1,
            |args, parameters| match same(args, parameters)? {
                number if number.is_integer() => Ok(ColumnType::UInt64),
                other => Err(illegal(&other, parameters.function)),
            },
            |group| {
                let (first, _) = different(&[Arc::clone(&group.call.arg(0)?.array)])?;
                Ok(Arc::new(UInt64Array::from(vec![u64_of(first.len())])))
            },
        )
        .doc("groupBitmap(n)", "How many different integers there are.", "groupBitmap(user_id)"),
    ]
}

fn single_values() -> Vec<AggregateFunction> {
    vec![
        AggregateFunction::new(
            "singleValueOrNull",
            1..=1,
            |args, parameters| same(args, parameters).map(ColumnType::nullable),
            single,
        )
        .doc(
            "singleValueOrNull(x)",
            "The value that all rows have; NULL if they differ.",
            "singleValueOrNull(name)",
        ),
        AggregateFunction::new("anyHeavy", 1..=1, same, heavy).doc(
            "anyHeavy(x)",
            "The value of more than half of the rows, if there is one, else any.",
            "anyHeavy(name)",
        ),
    ]
}

pub(super) fn functions() -> Vec<AggregateFunction> {
    let mut out = moments();
    out.extend(regressions());
    out.extend(sums());
    out.extend(single_values());

    out
}
