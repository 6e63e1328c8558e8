//! `quantileDeterministic` and its kin: of a sample that the second argument determines.
//!
//! Invariant: which rows are in the sample depends on the set of rows alone, not on their order, and is ClickHouse's. Must not know:
//! randomness.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array, UInt64Array};
use arrow::compute::take;
use arrow::datatypes::UInt64Type;
use model::ColumnType;
use model::saturating::{u64_of, usize_of};

use super::function::{AggregateFunction, Group, Parameters, array_of, illegal};
use super::quantiles::levels;
use crate::cast::{CastMode, default_array};
use crate::columns::container::{list_of, offsets_of};
use crate::columns::number::wrap;
use crate::error::FunctionError;
use crate::kernel::types::{integer_shape, is_float};

/// Most rows of a sample; ClickHouse's has as many.
const SAMPLE_MAX: usize = 8192;

fn is_time(column_type: &ColumnType) -> bool {
    matches!(column_type, ColumnType::Date | ColumnType::DateTime { .. })
}

/// The lower half of ClickHouse's intHash64.
fn hash(number: u64) -> u32 {
    let mut x = number ^ (number >> 33);
    x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^= x >> 33;
    x = x.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^= x >> 33;
    wrap(x)
}

struct Row {
    at: usize,
    value: f64,
    hash: u32,
}

/// The rows with numbers.
fn numbers(group: &Group<'_>) -> Result<Vec<Row>, FunctionError> {
    let values: Vec<f64> = match is_time(&group.call.arg(0)?.column_type) {
        true => {
            let numbers = group.call.ints(0)?;
            (0..group.call.rows).map(|row| wrap(numbers.get(row))).collect()
        }
        false => {
            let numbers = group.call.floats(0)?;
            (0..group.call.rows).map(|row| numbers.get(row)).collect()
        }
    };
    let determinators = group.call.converted(1, &ColumnType::UInt64)?;
    let determinators = determinators.as_primitive::<UInt64Type>();
    let rows = values.into_iter().enumerate().filter(|(_, value)| !value.is_nan());
    Ok(rows.map(|(at, value)| Row { at, value, hash: hash(determinators.value(at)) }).collect())
}

/// The rows whose hashes end in as many zeros as it takes for there to be few enough.
fn sample(group: &Group<'_>) -> Result<Vec<Row>, FunctionError> {
    let mut rows = numbers(group)?;
    if let Some(zeros) = zeros_of(&rows) {
        rows.retain(|row| row.hash.trailing_zeros() >= zeros);
    }
    rows.truncate(SAMPLE_MAX);
    Ok(rows)
}

/// How many zeros it takes; `None` where all rows are few enough.
fn zeros_of(rows: &[Row]) -> Option<u32> {
    let mut counts = [0; 33];
    rows.iter().for_each(|row| counts[usize_of(row.hash.trailing_zeros().into())] += 1);
    let mut left = rows.len();
    let few = |zeros: &u32| {
        let is_few = left <= SAMPLE_MAX;
        left -= counts[usize_of((*zeros).into())];
        is_few
    };
    let zeros = (0..u32::BITS).find(few).unwrap_or(u32::BITS);
    (zeros > 0).then_some(zeros)
}

/// What the sample of these rows and any others can be made of: the sample, and of the rows that it leaves out last as many as
/// show that it has to.
fn kept(group: &Group<'_>) -> Result<Vec<ArrayRef>, FunctionError> {
    let rows = numbers(group)?;
    let zeros = zeros_of(&rows).unwrap_or(0);
    let (mut sampled, mut others): (Vec<&Row>, Vec<&Row>) =
        rows.iter().partition(|row| row.hash.trailing_zeros() >= zeros);
    others.retain(|row| row.hash.trailing_zeros() + 1 == zeros);
    sampled.truncate(SAMPLE_MAX);
    others.truncate(SAMPLE_MAX + 1 - sampled.len());
    let mut places: Vec<u64> = sampled.into_iter().chain(others).map(|row| u64_of(row.at)).collect();
    places.sort_unstable();
    let places = UInt64Array::from(places);
    group.call.args.iter().map(|arg| Ok(take(&arg.array, &places, None)?)).collect()
}

/// Between the two values of a sample that are nearest to a level.
fn at(rows: &[Row], level: f64) -> f64 {
    let Some(last) = rows.len().checked_sub(1) else { return f64::NAN };
    let position = level * wrap::<u64, f64>(u64_of(last));
    let below = usize::try_from(wrap::<f64, u64>(position.floor())).unwrap_or(last).min(last);
    match rows.get(below + 1) {
        Some(above) => {
            let part = position - position.floor();
            rows[below].value * (position.floor() + 1.0 - position) + above.value * part
        }
        None => rows[last].value,
    }
}

fn values(group: &Group<'_>, element: &ColumnType) -> Result<ArrayRef, FunctionError> {
    let levels = levels(group.parameters)?;
    let mut rows = sample(group)?;
    if rows.is_empty() && is_time(element) {
        return Ok(default_array(element, levels.len()));
    }
    rows.sort_unstable_by(|a, b| a.value.total_cmp(&b.value).then(a.hash.cmp(&b.hash)));
    let found = levels.iter().map(|level| at(&rows, *level));
    let found: ArrayRef = Arc::new(Float64Array::from_iter_values(found));
    Ok(group.call.caster(CastMode::Strict).column(&found, &ColumnType::Float64, element)?)
}

fn function(name: &'static str, several: bool) -> AggregateFunction {
    let rule = move |args: &[ColumnType], parameters: Parameters<'_>| {
        levels(parameters)?;
        let [value, determinator] = args else {
            return Err(FunctionError::bad_argument("a value and a determinator are needed"));
        };
        if !value.is_integer() && !is_float(value) && !is_time(value) && *value != ColumnType::Bool {
            return Err(illegal(value, parameters.function));
        }
        // A number that is written may have come as an Int64.
        if integer_shape(determinator).is_none_or(|(bytes, signed)| signed && bytes < 8) {
            return Err(illegal(determinator, parameters.function));
        }
        let element = if is_time(value) { value.clone() } else { ColumnType::Float64 };
        Ok(if several { array_of(element) } else { element })
    };
    AggregateFunction::new(name, 2..=2, rule, move |group| match group.call.result_type {
        ColumnType::Array(element) => {
            let made = values(group, element)?;
            Ok(list_of(element, offsets_of([made.len()]), made, None)?)
        }
        element => values(group, element),
    })
    .parameters(if several { 1..=usize::MAX } else { 0..=1 })
    .compacted(kept)
}

pub(super) fn functions() -> Vec<AggregateFunction> {
    vec![
        function("quantileDeterministic", false).aliases(&["medianDeterministic"]).doc(
            "quantileDeterministic[(level)](x, determinator)",
            "The value at a level of a sample that the determinator decides; 0.5 if none is given.",
            "quantileDeterministic(0.9)(price, id)",
        ),
        function("quantilesDeterministic", true).doc(
            "quantilesDeterministic(level, ...)(x, determinator)",
            "The values at levels of a sample that the determinator decides.",
            "quantilesDeterministic(0.5, 0.9)(price, id)",
        ),
    ]
}
