//! Arrays of values in the order they came, and what is computed along them.
//!
//! Invariant: where order matters it is the order of rows; give the rows an order to rely on it.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, UInt64Array, make_comparator};
use arrow::compute::{SortOptions, concat, sort_to_indices, take};
use arrow::datatypes::{ArrowNativeTypeOp, ArrowPrimitiveType, Float64Type};
use model::saturating::u64_of;
use model::{ColumnType, ErrorCode};

use super::frequent::different;
use super::function::{AggregateFunction, Group, Parameters, array_of, illegal, list_at};
use crate::cast::{CastMode, type_default_array};
use crate::columns::container::{list_of, offsets_of, range};
use crate::columns::number::with_number;
use crate::error::FunctionError;

/// Elements that an array may be asked to have.
const ELEMENTS_MAX: usize = 1 << 24;

fn summed(value: &ColumnType, function: &str) -> Result<ColumnType, FunctionError> {
    match value {
        ColumnType::Float32 | ColumnType::Float64 => Ok(ColumnType::Float64),
        ColumnType::UInt8 | ColumnType::UInt16 | ColumnType::UInt32 | ColumnType::UInt64 => {
            Ok(ColumnType::UInt64)
        }
        other if other.is_integer() => Ok(ColumnType::Int64),
        other => Err(illegal(other, function)),
    }
}

fn first(args: &[ColumnType]) -> Result<&ColumnType, FunctionError> {
    args.first().ok_or_else(|| FunctionError::bad_argument("a value is needed"))
}

/// Sums over the last `window` values, or all so far.
fn moving_sums<T: ArrowPrimitiveType>(
    values: &arrow::array::PrimitiveArray<T>,
    window: usize,
) -> Vec<T::Native>
where
    T::Native: ArrowNativeTypeOp,
{
    let mut sum = T::Native::default();
    let mut sums = Vec::with_capacity(values.len());
    for at in 0..values.len() {
        sum = sum.add_wrapping(values.value(at));
        if at >= window {
            sum = sum.sub_wrapping(values.value(at - window));
        }
        sums.push(sum);
    }
    sums
}

fn moving_sum(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let window = group.parameters.count(0)?.unwrap_or(usize::MAX);
    let ColumnType::Array(element) = group.call.result_type else {
        return Err(illegal(group.call.result_type, group.parameters.function));
    };
    let values = group.call.converted(0, element)?;
    let sums: ArrayRef = with_number!(element.as_ref(), T => {
        Arc::new(arrow::array::PrimitiveArray::<T>::from_iter_values(moving_sums(values.as_primitive::<T>(), window)))
    }, else return Err(illegal(element, group.parameters.function)));
    Ok(list_of(element, offsets_of([sums.len()]), sums, None)?)
}

fn moving_average(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let values = group.call.floats(0)?.array;
    let window = group.parameters.count(0)?;
    // Without a window ClickHouse divides by the number of all values.
    let divisor = crate::columns::number::wrap::<u64, f64>(u64_of(window.unwrap_or(values.len())));
    let sums = moving_sums::<Float64Type>(&values, window.unwrap_or(usize::MAX));
    let averages: ArrayRef =
        Arc::new(Float64Array::from_iter_values(sums.into_iter().map(|sum| sum / divisor)));
    Ok(list_of(&ColumnType::Float64, offsets_of([averages.len()]), averages, None)?)
}

/// Values at the places that the second argument names.
fn insert_at(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let (value, places) = (group.call.arg(0)?, group.call.ints(1)?);
    let filler = match group.parameters.all.first() {
        None => type_default_array(&value.column_type, 1),
        Some(parameter) if parameter.text == "NULL" && !parameter.is_text => {
            type_default_array(&value.column_type, 1)
        }
        Some(parameter) => {
            let text: ArrayRef = Arc::new(arrow::array::StringViewArray::from(vec![parameter.text.as_str()]));
            group.call.caster(CastMode::Strict).column(&text, &ColumnType::String, &value.column_type)?
        }
    };
    let mut taken: Vec<usize> = vec![value.array.len(); group.parameters.count(1)?.unwrap_or(0)];
    let fixed = group.parameters.len() > 1;
    for row in 0..group.call.rows {
        let place = usize::try_from(places.get(row)).unwrap_or(usize::MAX);
        if place >= ELEMENTS_MAX {
            let message = format!("place {place} of groupArrayInsertAt is over {ELEMENTS_MAX}");
            return Err(FunctionError::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, message));
        }
        if place >= taken.len() {
            if fixed {
                continue;
            }
            taken.resize(place + 1, value.array.len());
        }
        if taken[place] == value.array.len() {
            taken[place] = row;
        }
    }
    let all = concat(&[value.array.as_ref(), filler.as_ref()])?;
    list_at(&value.column_type, &all, &taken)
}

fn sorted_places(group: &Group<'_>) -> Result<Vec<usize>, FunctionError> {
    let most = group.parameters.count(0)?.unwrap_or(0);
    let values = &group.call.arg(0)?.array;
    if values.data_type().is_nested() {
        // Within an array or a tuple NULL is the smallest.
        let order = make_comparator(values, values, SortOptions { descending: false, nulls_first: true })?;
        let mut places: Vec<usize> = (0..values.len()).collect();
        places.sort_by(|a, b| order(*a, *b));
        places.truncate(most);
        return Ok(places);
    }
    let options = SortOptions { descending: false, nulls_first: false };
    // NaN is the smallest of floats.
    let floats = values.data_type().is_floating().then(|| group.call.floats(0)).transpose()?;
    let is_nan = |at: usize| floats.as_ref().is_some_and(|floats| floats.get(at).is_nan());
    let any_nan = (0..values.len()).any(is_nan);
    let order = sort_to_indices(values, Some(options), (!any_nan).then_some(most))?;
    let places = order.values().iter().filter_map(|at| usize::try_from(*at).ok());
    let mut places: Vec<usize> = places.collect();
    places.sort_by_key(|at| any_nan && !is_nan(*at));
    places.truncate(most);
    Ok(places)
}

fn sorted(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let value = group.call.arg(0)?;
    list_at(&value.column_type, &value.array, &sorted_places(group)?)
}

fn kept_sorted(group: &Group<'_>) -> Result<Vec<ArrayRef>, FunctionError> {
    let places: UInt64Array = sorted_places(group)?.into_iter().map(|at| u64::try_from(at).ok()).collect();
    Ok(vec![take(&group.call.arg(0)?.array, &places, None)?])
}

/// As in ClickHouse, a value takes the place of the one that came `n` before it.
fn last(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let value = group.call.arg(0)?;
    let (rows, most) = (group.call.rows, group.parameters.count(0)?.unwrap_or(0));
    let mut places: Vec<usize> = (rows.saturating_sub(most)..rows).collect();
    if most > 0 && rows > most {
        places.rotate_right(rows % most);
    }
    list_at(&value.column_type, &value.array, &places)
}

/// As many as say which place is next, too.
fn kept_last(group: &Group<'_>) -> Result<Vec<ArrayRef>, FunctionError> {
    let (rows, most) = (group.call.rows, group.parameters.count(0)?.unwrap_or(0));
    let kept = if rows > most { most + rows.checked_rem(most).unwrap_or(0) } else { rows };
    Ok(vec![group.call.arg(0)?.array.slice(rows - kept, kept)])
}

/// A uniform sample without replacement, the same for the same rows and seed.
fn sample(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let value = group.call.arg(0)?;
    let most = group.parameters.count(0)?.unwrap_or(0);
    let seed = group.parameters.count(1)?.unwrap_or(0);
    let random = crate::kernel::call::RandomStream::new(u64::try_from(seed).unwrap_or(0));
    let mut kept: Vec<usize> = (0..group.call.rows.min(most)).collect();
    for row in most..group.call.rows {
        let place = random.next_u64() % u64_of(row + 1);
        if let Some(kept) = usize::try_from(place).ok().and_then(|place| kept.get_mut(place)) {
            *kept = row;
        }
    }
    list_at(&value.column_type, &value.array, &kept)
}

/// Elements that the arrays of all rows have.
fn intersection(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let lists = group.call.lists(0)?;
    let (first, which) = different(&[Arc::clone(lists.values())])?;
    let mut rows_with: Vec<usize> = vec![0; first.len()];
    for row in 0..group.call.rows {
        for at in range(lists.array.value_offsets(), row) {
            // Counted once a row: in the n-th row it was in the n before.
            if rows_with[which[at]] == row {
                rows_with[which[at]] += 1;
            }
        }
    }
    let everywhere = first.iter().zip(&rows_with).filter(|(_, rows)| **rows == group.call.rows);
    let places: Vec<usize> = everywhere.map(|(at, _)| *at).collect();
    list_at(&lists.element, lists.values(), &places)
}

/// The sum of the rises from one value to the next.
fn delta_sum(group: &Group<'_>, order: Option<usize>) -> Result<ArrayRef, FunctionError> {
    let value = group.call.arg(0)?;
    let array = match order {
        None => Arc::clone(&value.array),
        Some(by) => {
            let order = sort_to_indices(&group.call.arg(by)?.array, None, None)?;
            take(&value.array, &order, None)?
        }
    };
    with_number!(&value.column_type, T => {
        let values = array.as_primitive::<T>().values();
        let mut sum = <T as ArrowPrimitiveType>::Native::default();
        // NaN is neither more nor less.
        for pair in values.windows(2).filter(|pair| pair[1] > pair[0]) {
            sum = sum.add_wrapping(pair[1].sub_wrapping(pair[0]));
        }
        Ok(Arc::new(arrow::array::PrimitiveArray::<T>::from_iter_values([sum])))
    }, else Err(illegal(&value.column_type, group.parameters.function)))
}

fn exponential_average(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let half = group.parameters.float(0)?.unwrap_or(1.0);
    let (values, times) = (group.call.floats(0)?, group.call.floats(1)?);
    let mut rows: Vec<(f64, f64)> =
        (0..group.call.rows).map(|row| (times.get(row), values.get(row))).collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let Some((end, _)) = rows.last().copied() else { return Ok(Arc::new(Float64Array::from(vec![0.0]))) };
    let decayed: f64 = rows.iter().map(|(time, value)| value * (-(end - time) / half).exp2()).sum();
    // The weights of a series without end that has one value a unit of time.
    Ok(Arc::new(Float64Array::from(vec![decayed * (1.0 - (-1.0 / half).exp2())])))
}

/// The slope from the first point to the last.
fn bounding_ratio(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let (xs, ys) = (group.call.floats(0)?, group.call.floats(1)?);
    let by_x = |a: &usize, b: &usize| xs.get(*a).total_cmp(&xs.get(*b));
    let rows = 0..group.call.rows;
    let slope = match (rows.clone().min_by(by_x), rows.rev().min_by(|a, b| by_x(b, a))) {
        (Some(low), Some(high)) if xs.get(low) < xs.get(high) => {
            (ys.get(high) - ys.get(low)) / (xs.get(high) - xs.get(low))
        }
        _ => f64::NAN,
    };
    Ok(Arc::new(Float64Array::from(vec![slope])))
}

fn numbers(args: &[ColumnType], parameters: Parameters<'_>) -> Result<ColumnType, FunctionError> {
    match args.iter().find(|t| !t.is_number() || matches!(t, ColumnType::Decimal { .. })) {
        Some(other) => Err(illegal(other, parameters.function)),
        None => Ok(ColumnType::Float64),
    }
}

fn list(args: &[ColumnType], _: Parameters<'_>) -> Result<ColumnType, FunctionError> {
    first(args).map(|value| array_of(value.clone()))
}

fn counted(args: &[ColumnType], parameters: Parameters<'_>) -> Result<ColumnType, FunctionError> {
    parameters.count(0)?;
    list(args, parameters)
}

fn picked() -> Vec<AggregateFunction> {
    vec![
        AggregateFunction::new(
            "groupArrayInsertAt",
            2..=2,
            |args, parameters| match args.get(1) {
                Some(place) if place.is_integer() => list(args, parameters),
                Some(other) => Err(illegal(other, parameters.function)),
                None => Err(FunctionError::bad_argument("a place is needed")),
            },
            insert_at,
        )
        .parameters(0..=2)
        .doc(
            "groupArrayInsertAt[(default[, size])](x, place)",
            "An array with each value at its place from 0.",
            "groupArrayInsertAt(name, number)",
        ),
        AggregateFunction::new("groupArraySorted", 1..=1, counted, sorted)
            .parameters(1..=1)
            .compacted(kept_sorted)
            .doc("groupArraySorted(n)(x)", "The n smallest values in order.", "groupArraySorted(3)(price)"),
        AggregateFunction::new("groupArrayLast", 1..=1, counted, last)
            .parameters(1..=1)
            .compacted(kept_last)
            .doc("groupArrayLast(n)(x)", "The last n values.", "groupArrayLast(3)(price)"),
        AggregateFunction::new("groupArraySample", 1..=1, counted, sample).parameters(1..=2).doc(
            "groupArraySample(n[, seed])(x)",
            "n values picked at random, each row at most once.",
            "groupArraySample(3)(price)",
        ),
        AggregateFunction::new(
            "groupArrayIntersect",
            1..=1,
            |args, parameters| match first(args)? {
                list @ ColumnType::Array(_) => Ok(list.clone()),
                other => Err(illegal(other, parameters.function)),
            },
            intersection,
        )
        .doc(
            "groupArrayIntersect(array)",
            "The elements that all arrays have.",
            "groupArrayIntersect(tags)",
        ),
    ]
}

fn moving() -> Vec<AggregateFunction> {
    vec![
        AggregateFunction::new(
            "groupArrayMovingSum",
            1..=1,
            |args, parameters| {
                parameters.count(0)?;
                summed(first(args)?, parameters.function).map(array_of)
            },
            moving_sum,
        )
        .parameters(0..=1)
        .doc(
            "groupArrayMovingSum[(window)](x)",
            "For each row the sum of the last values, of all so far without a window.",
            "groupArrayMovingSum(2)(price)",
        ),
        AggregateFunction::new(
            "groupArrayMovingAvg",
            1..=1,
            |args, parameters| {
                parameters.count(0)?;
                summed(first(args)?, parameters.function).map(|_| array_of(ColumnType::Float64))
            },
            moving_average,
        )
        .parameters(0..=1)
        .doc(
            "groupArrayMovingAvg[(window)](x)",
            "groupArrayMovingSum divided by the window, or by the number of values.",
            "groupArrayMovingAvg(2)(price)",
        ),
    ]
}

fn arrays() -> Vec<AggregateFunction> {
    let mut out = picked();
    out.extend(moving());
    out
}

pub(super) fn functions() -> Vec<AggregateFunction> {
    let same = |args: &[ColumnType], parameters: Parameters<'_>| {
        numbers(args, parameters)?;
        // Rows without a value are passed over, and over none of them it is 0.
        Ok(first(args)?.value_type().clone())
    };
    let mut out = arrays();
    out.extend([
        AggregateFunction::new("deltaSum", 1..=1, same, |group| delta_sum(group, None)).never_null().doc(
            "deltaSum(x)",
            "The sum of all rises from one row to the next.",
            "deltaSum(counter)",
        ),
        AggregateFunction::new(
            "deltaSumTimestamp",
            2..=2,
            |args, parameters| {
                numbers(&args[..1], parameters)?;
                Ok(first(args)?.value_type().clone())
            },
            |group| delta_sum(group, Some(1)),
        )
        .never_null()
        .doc(
            "deltaSumTimestamp(x, time)",
            "The sum of all rises in the order of time.",
            "deltaSumTimestamp(counter, time)",
        ),
        AggregateFunction::new("exponentialMovingAverage", 2..=2, numbers, exponential_average)
            .parameters(1..=1)
            .doc(
                "exponentialMovingAverage(half_life)(x, time)",
                "The mean of values whose weight halves with their age.",
                "exponentialMovingAverage(5)(price, day)",
            ),
        AggregateFunction::new("boundingRatio", 2..=2, numbers, bounding_ratio).doc(
            "boundingRatio(x, y)",
            "The slope from the point with the smallest x to the one with the largest.",
            "boundingRatio(day, price)",
        ),
    ]);
    out
}
