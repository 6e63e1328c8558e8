//! What occurs most: `topK` and its kin, and `entropy`.
//!
//! Invariant: counts are exact, where ClickHouse's are approximate beyond a few thousand different values; of equal
//! counts the value met first comes first.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array, UInt64Array};
use arrow::compute::take;
use arrow::datatypes::UInt64Type;
use arrow::row::{RowConverter, SortField};
use model::saturating::u64_of;
use model::{ColumnType, ErrorCode, TupleElement};

use super::function::{AggregateFunction, Group, Parameters, array_of, illegal, list_at};
use crate::columns::container::{list_of, offsets_of, tuple_of};
use crate::error::FunctionError;
use crate::memory::allowance::reserve;
use crate::memory::row_bytes::row_bytes;

/// Default and most elements of `topK`.
const PLACES: usize = 10;
const PLACES_MAX: usize = 65_536;

/// Default and most values that `uniqUpTo` counts.
const TOLD_APART: usize = 5;
const TOLD_APART_MAX: usize = 100;

/// What a row takes while different ones are looked for, when all are: its place in the converted rows and two lists, and its
/// entry in a table that doubles.
const PLACE_BYTES: usize = 96;

/// Where each different row of columns occurs first, and which of them every row is.
///
/// # Errors
/// The statement may not have the memory, or values cannot be compared.
pub fn different(columns: &[ArrayRef]) -> Result<(Vec<usize>, Vec<usize>), FunctionError> {
    let count = columns.first().map_or(0, |column| column.len());
    let rows_bytes =
        columns.iter().map(row_bytes).fold(count.saturating_mul(PLACE_BYTES), usize::saturating_add);
    let _places = reserve("of an aggregate", rows_bytes)?;
    let fields = columns.iter().map(|column| SortField::new(column.data_type().clone())).collect();
    let rows = RowConverter::new(fields)?.convert_columns(columns)?;
    let mut known: HashMap<&[u8], usize> = HashMap::new();
    let (mut first, mut which) = (Vec::new(), Vec::with_capacity(rows.num_rows()));
    for at in 0..rows.num_rows() {
        let next = first.len();
        let place = *known.entry(rows.row(at).data()).or_insert(next);
        if place == next {
            first.push(at);
        }
        which.push(place);
    }
    Ok((first, which))
}

/// Each different value's first place and its weight.
fn weighed(group: &Group<'_>) -> Result<Vec<(usize, u64)>, FunctionError> {
    let (first, which) = different(&[Arc::clone(&group.call.arg(0)?.array)])?;
    let mut weights = vec![0_u64; first.len()];
    let given = match group.call.args.len() {
        1 => None,
        _ => Some(group.call.converted(1, &ColumnType::UInt64)?),
    };
    let given = given.as_ref().map(|given| given.as_primitive::<UInt64Type>());
    for (at, place) in which.into_iter().enumerate() {
        weights[place] = weights[place].wrapping_add(given.map_or(1, |given| given.value(at)));
    }
    Ok(first.into_iter().zip(weights).collect())
}

fn rule(args: &[ColumnType], parameters: Parameters<'_>) -> Result<ColumnType, FunctionError> {
    let (Some(value), weight) = (args.first(), args.get(1)) else {
        return Err(FunctionError::bad_argument("a value is needed"));
    };
    if let Some(weight) = weight.filter(|weight| !weight.is_integer()) {
        return Err(illegal(weight, parameters.function));
    }
    places(parameters)?;
    if parameters.text(2)?.is_some_and(|word| word == "counts") || parameters.function.starts_with("approx") {
        return Ok(array_of(counted(value)));
    }
    Ok(array_of(value.clone()))
}

fn counted(value: &ColumnType) -> ColumnType {
    let element = |name: &str, column_type: ColumnType| TupleElement { name: Some(name.into()), column_type };
    ColumnType::Tuple(vec![
        element("item", value.clone()),
        element("count", ColumnType::UInt64),
        element("error", ColumnType::UInt64),
    ])
}

fn places(parameters: Parameters<'_>) -> Result<usize, FunctionError> {
    let places = parameters.count(0)?.unwrap_or(PLACES);
    if (1..=PLACES_MAX).contains(&places) {
        return Ok(places);
    }
    let message = format!("{} takes 1 to {PLACES_MAX} places, {places} given", parameters.function);
    Err(FunctionError::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, message))
}

fn top(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let mut weighed = weighed(group)?;
    weighed.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
    weighed.truncate(places(group.parameters)?);
    let kept: Vec<usize> = weighed.iter().map(|(at, _)| *at).collect();
    let value = group.call.arg(0)?;
    let ColumnType::Array(element) = group.call.result_type else {
        return Err(illegal(group.call.result_type, group.parameters.function));
    };
    let ColumnType::Tuple(elements) = element.as_ref() else {
        return list_at(element, &value.array, &kept);
    };
    if elements.len() != 3 || elements[1].name.as_deref() != Some("count") {
        return list_at(element, &value.array, &kept);
    }
    let indices: UInt64Array = kept.iter().map(|at| u64::try_from(*at).ok()).collect();
    let counts: ArrayRef = Arc::new(UInt64Array::from_iter_values(weighed.iter().map(|(_, weight)| *weight)));
    let errors: ArrayRef = Arc::new(UInt64Array::from(vec![0; kept.len()]));
    let columns = vec![take(&value.array, &indices, None)?, counts, errors];
    let tuples = tuple_of(elements, columns, None, kept.len())?;
    Ok(list_of(element, offsets_of([kept.len()]), tuples, None)?)
}

fn merged(group: &Group<'_>) -> Result<Vec<ArrayRef>, FunctionError> {
    let weighed = weighed(group)?;
    let indices: UInt64Array = weighed.iter().map(|(at, _)| u64::try_from(*at).ok()).collect();
    let weights: ArrayRef =
        Arc::new(UInt64Array::from_iter_values(weighed.iter().map(|(_, weight)| *weight)));
    let wanted = model::type_arrow::to_data_type(&group.call.arg(1)?.column_type);
    let weights =
        if wanted == *weights.data_type() { weights } else { arrow::compute::cast(&weights, &wanted)? };
    Ok(vec![take(&group.call.arg(0)?.array, &indices, None)?, weights])
}

/// How many different values `uniqUpTo` knows apart.
fn told_apart(parameters: Parameters<'_>) -> Result<usize, FunctionError> {
    let most = parameters.count(0)?.unwrap_or(TOLD_APART);
    if most <= TOLD_APART_MAX {
        return Ok(most);
    }
    let message = format!("{} counts up to {TOLD_APART_MAX} values, {most} asked for", parameters.function);
    Err(FunctionError::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, message))
}

fn columns_of(group: &Group<'_>) -> Vec<ArrayRef> {
    group.call.args.iter().map(|arg| Arc::clone(&arg.array)).collect()
}

fn count_up_to(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let (first, _) = different(&columns_of(group))?;
    let count = first.len().min(told_apart(group.parameters)? + 1);
    Ok(Arc::new(UInt64Array::from(vec![u64_of(count)])))
}

/// One row of each value, of one more than are told apart at most.
fn one_of_each(group: &Group<'_>) -> Result<Vec<ArrayRef>, FunctionError> {
    let columns = columns_of(group);
    let (mut first, _) = different(&columns)?;
    first.truncate(told_apart(group.parameters)? + 1);
    let places: UInt64Array = first.into_iter().map(|at| u64::try_from(at).ok()).collect();
    columns.iter().map(|column| Ok(take(column, &places, None)?)).collect()
}

fn entropy(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let (first, which) = different(&columns_of(group))?;
    let mut counts = vec![0.0_f64; first.len()];
    which.iter().for_each(|place| counts[*place] += 1.0);
    let total: f64 = counts.iter().sum();
    // In ClickHouse's order, so that the last digit is the same; the difference from 0 has no sign where it is 0.
    let bits =
        counts.iter().map(|count| count / total).fold(0.0_f64, |bits, share| bits - share * share.log2());
    Ok(Arc::new(Float64Array::from(vec![bits])))
}

pub(super) fn functions() -> Vec<AggregateFunction> {
    vec![
        AggregateFunction::new("topK", 1..=1, rule, top).parameters(0..=3).doc(
            "topK[(n[, load_factor[, 'counts']])](x)",
            "The n values that occur most, 10 if not said, most frequent first; counts are exact.",
            "topK(3)(name)",
        ),
        AggregateFunction::new("topKWeighted", 2..=2, rule, top).parameters(0..=3).compacted(merged).doc(
            "topKWeighted[(n[, load_factor[, 'counts']])](x, weight)",
            "The n values with the largest sums of weights.",
            "topKWeighted(3)(name, price)",
        ),
        AggregateFunction::new("approx_top_k", 1..=1, rule, top)
            .parameters(0..=2)
            .aliases(&["approx_top_count"])
            .doc(
                "approx_top_k[(n)](x)",
                "The n values that occur most, with their counts.",
                "approx_top_k(3)(name)",
            ),
        AggregateFunction::new("approx_top_sum", 2..=2, rule, top).parameters(0..=2).compacted(merged).doc(
            "approx_top_sum[(n)](x, weight)",
            "The n values with the largest sums of weights, with these sums.",
            "approx_top_sum(3)(name, price)",
        ),
        AggregateFunction::new(
            "uniqUpTo",
            1..=usize::MAX,
            |_, parameters| told_apart(parameters).map(|_| ColumnType::UInt64),
            count_up_to,
        )
        .parameters(0..=1)
        .never_null()
        .compacted(one_of_each)
        .doc(
            "uniqUpTo[(n)](x, ...)",
            "Number of different values up to n, 5 if not said; n + 1 where there are more.",
            "uniqUpTo(3)(name)",
        ),
        AggregateFunction::new("entropy", 1..=usize::MAX, |_, _| Ok(ColumnType::Float64), entropy).doc(
            "entropy(x, ...)",
            "Shannon's entropy of the values, in bits.",
            "entropy(name)",
        ),
    ]
}
