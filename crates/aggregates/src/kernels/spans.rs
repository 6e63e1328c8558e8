//! Intervals from one argument to the other: how many are open at once, and how long all of them are together.
//!
//! Invariant: an interval that ends where another one starts is closed before. Both ends have one type.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array, UInt64Array};
use arrow::compute::take;
use arrow::datatypes::{Int64Type, UInt64Type};
use functions::aggregates::{AggregateFunction, Group, Parameters, illegal};
use functions::{CastMode, FunctionError, cast_column, default_array};
use model::ColumnType;
use model::saturating::u64_of;

use super::numbers::{bad, floats, is_float};

/// An end of an interval, in an order that is that of the values.
type Key = i128;

/// Floats as keys: the order of their bits is that of the numbers, once those below zero are turned.
fn key_of_float(value: f64) -> Option<Key> {
    let bits = (value + 0.0).to_bits().cast_signed();
    let ordered = if bits < 0 { bits ^ i64::MAX } else { bits };
    (!value.is_nan()).then(|| Key::from(ordered))
}

fn keys(group: &Group<'_>, index: usize) -> Result<Vec<Option<Key>>, FunctionError> {
    let arg = &group.call.args[index];
    if is_float(&arg.column_type) {
        return Ok(floats(group, index)?.into_iter().map(key_of_float).collect());
    }
    let to = if arg.column_type == ColumnType::UInt64 { ColumnType::UInt64 } else { ColumnType::Int64 };
    let column = cast_column(&arg.array, &arg.column_type, &to, CastMode::Strict)?;
    Ok(match column.as_primitive_opt::<UInt64Type>() {
        Some(values) => values.values().iter().map(|value| Some(Key::from(*value))).collect(),
        None => {
            column.as_primitive::<Int64Type>().values().iter().map(|value| Some(Key::from(*value))).collect()
        }
    })
}

/// Most intervals that are open at once, and the row of which the start opens the last of them first.
fn most_open(group: &Group<'_>) -> Result<(u64, Option<usize>), FunctionError> {
    let mut ends: Vec<(Key, i64, usize)> = Vec::with_capacity(group.call.rows * 2);
    for (argument, opens) in [(0, 1), (1, -1)] {
        let keys = keys(group, argument)?.into_iter().enumerate();
        ends.extend(keys.filter_map(|(row, key)| key.map(|key| (key, opens, row))));
    }
    ends.sort_unstable();
    let (mut open, mut most, mut place) = (0_i64, 0_i64, None);
    for (_, opens, row) in ends {
        open += opens;
        if open > most {
            (most, place) = (open, Some(row));
        }
    }
    Ok((u64::try_from(most).unwrap_or(0), place))
}

fn of_numbers(args: &[ColumnType], parameters: Parameters<'_>) -> Result<ColumnType, FunctionError> {
    let fits = |t: &ColumnType| t.is_integer() || is_float(t) || *t == ColumnType::Bool;
    match args {
        [start, end] if start == end && fits(start) => Ok(start.clone()),
        [start, end] => Err(illegal(if fits(start) { end } else { start }, parameters.function)),
        _ => Err(bad("a start and an end are needed")),
    }
}

fn lengths_type(args: &[ColumnType], parameters: Parameters<'_>) -> Result<ColumnType, FunctionError> {
    let [start, end] = args else { return Err(bad("a start and an end are needed")) };
    let is_other = matches!(start, ColumnType::Date | ColumnType::DateTime { .. } | ColumnType::Bool);
    if start != end || !start.is_integer() && !is_float(start) && !is_other {
        return Err(illegal(if start == end { start } else { end }, parameters.function));
    }
    Ok(if is_float(start) { ColumnType::Float64 } else { ColumnType::UInt64 })
}

/// Intervals in order, those that meet made one. Their ends may stand the other way round.
fn united<T: PartialOrd + Copy>(spans: impl Iterator<Item = (T, T)>) -> Vec<(T, T)> {
    let mut spans: Vec<(T, T)> = spans.map(|(a, b)| if b < a { (b, a) } else { (a, b) }).collect();
    spans.sort_unstable_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    let mut out: Vec<(T, T)> = Vec::new();
    for (start, end) in spans {
        match out.last_mut() {
            Some(last) if start <= last.1 => last.1 = if end > last.1 { end } else { last.1 },
            _ => out.push((start, end)),
        }
    }
    out
}

/// The number that a Float32 widened to it was.
#[expect(clippy::cast_possible_truncation, reason = "nothing is cut: it was one")]
fn single(value: f64) -> f32 {
    value as f32
}

fn lengths(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let element = &group.call.args[0].column_type;
    if is_float(element) {
        let (starts, ends) = (floats(group, 0)?, floats(group, 1)?);
        let spans = starts.into_iter().zip(ends);
        let is_single = *element == ColumnType::Float32;
        let length = |(start, end): (f64, f64)| match is_single {
            // A difference of Float32 is one.
            true => f64::from(single(end) - single(start)),
            false => end - start,
        };
        let is_known = spans.clone().all(|(start, end)| !start.is_nan() && !end.is_nan());
        let sum = united(spans).into_iter().map(length).sum::<f64>();
        return Ok(Arc::new(Float64Array::from(vec![if is_known { sum } else { f64::NAN }])));
    }
    let (starts, ends) = (keys(group, 0)?, keys(group, 1)?);
    let spans = united(starts.into_iter().flatten().zip(ends.into_iter().flatten()));
    let length: Key = spans.into_iter().map(|(start, end)| end - start).sum();
    Ok(Arc::new(UInt64Array::from(vec![u64::try_from(length).unwrap_or(u64::MAX)])))
}

pub(super) fn functions() -> Vec<AggregateFunction> {
    let count = |args: &[ColumnType], parameters: Parameters<'_>| {
        of_numbers(args, parameters).map(|_| ColumnType::UInt64)
    };
    vec![
        AggregateFunction::new("maxIntersections", 2..=2, count, |group| {
            Ok(Arc::new(UInt64Array::from(vec![most_open(group)?.0])))
        })
        .doc(
            "maxIntersections(start, end)",
            "How many intervals are open at once at most.",
            "maxIntersections(opened, closed)",
        ),
        AggregateFunction::new("maxIntersectionsPosition", 2..=2, of_numbers, |group| {
            let start = &group.call.args[0];
            match most_open(group)?.1 {
                Some(row) => Ok(take(&start.array, &UInt64Array::from(vec![u64_of(row)]), None)?),
                None => Ok(default_array(&start.column_type, 1)),
            }
        })
        .doc(
            "maxIntersectionsPosition(start, end)",
            "The start at which most intervals are open for the first time.",
            "maxIntersectionsPosition(opened, closed)",
        ),
        AggregateFunction::new("intervalLengthSum", 2..=2, lengths_type, lengths).never_null().doc(
            "intervalLengthSum(start, end)",
            "How long all intervals are together, where they lie over each other counted once.",
            "intervalLengthSum(opened, closed)",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_that_meet_are_one() {
        assert_eq!(
            united([(1, 5), (3, 7), (12, 14), (10, 12), (20, 15)].into_iter()),
            [(1, 7), (10, 14), (15, 20)]
        );
        assert_eq!(united([(1, 9), (2, 3)].into_iter()), [(1, 9)]);
    }

    #[test]
    fn keys_are_in_the_order_of_floats() {
        let floats = [f64::NEG_INFINITY, -2.5, -0.0, 1e-300, 3.0, f64::INFINITY];
        assert!(floats.map(key_of_float).is_sorted());
        assert_eq!(key_of_float(-0.0), key_of_float(0.0));
        assert_eq!(key_of_float(f64::NAN), None);
    }
}
