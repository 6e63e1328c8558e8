//! Quantiles whose values have weights.
//!
//! Invariant: a weight is a number of rows. Values of weight 0 have a place among the others, except where the rows are asked for
//! that the weights stand for.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, UInt64Array};
use arrow::compute::{concat, sort_to_indices, take};
use arrow::datatypes::UInt64Type;
use model::ColumnType;

use super::function::{AggregateFunction, Group, Parameters, array_of, illegal};
use crate::cast::{CastMode, default_array};
use crate::columns::container::{list_of, offsets_of};
use crate::columns::number::wrap;
use crate::error::FunctionError;
use crate::kernel::types::{integer_shape, is_date, is_time};

/// How the value at a level is found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The first value up to which the weights reach the level.
    Exact,
    /// Between the two values nearest to the level.
    Interpolated,
    /// Between the two nearest of the rows that the weights stand for.
    Spread,
}

pub(super) fn levels(parameters: Parameters<'_>) -> Result<Vec<f64>, FunctionError> {
    let mut levels = Vec::with_capacity(parameters.len().max(1));
    for index in 0..parameters.len() {
        let level = parameters.float(index)?.filter(|level| (0.0..=1.0).contains(level));
        levels.push(level.ok_or_else(|| {
            FunctionError::bad_argument(format!("levels of {} are from 0 to 1", parameters.function))
        })?);
    }
    if levels.is_empty() {
        levels.push(0.5);
    }
    Ok(levels)
}

fn float(weight: u64) -> f64 {
    wrap::<u64, f64>(weight)
}

fn wide(weight: u128) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a sum of weights is compared with a share of itself")]
    let weight = weight as f64;
    weight
}

/// Values in order as places of the rows with their weights.
fn ordered(group: &Group<'_>, way: Way) -> Result<(Vec<usize>, Vec<u64>), FunctionError> {
    let weights = group.call.converted(1, &ColumnType::UInt64)?;
    let weights = weights.as_primitive::<UInt64Type>();
    let order = sort_to_indices(&group.call.arg(0)?.array, None, None)?;
    let places = order.values().iter().filter_map(|at| usize::try_from(*at).ok());
    let weighted = places.map(|at| (at, weights.value(at)));
    Ok(weighted.filter(|(_, weight)| *weight > 0 || way != Way::Spread).unzip())
}

/// The place of a value among the ordered ones.
fn exact(weights: &[u64], level: f64) -> usize {
    let total: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    let wanted = (wide(total) * level).ceil();
    let mut sum = 0_u128;
    let reached = weights.iter().position(|weight| {
        sum += u128::from(*weight);
        wide(sum) >= wanted
    });
    reached.unwrap_or(weights.len().saturating_sub(1))
}

/// Equal values as one that has all their weight; the values are in order.
fn joined(values: impl Iterator<Item = f64>, weights: &[u64]) -> Vec<(f64, f64)> {
    let mut joined: Vec<(f64, f64)> = vec![];
    for (value, weight) in values.zip(weights) {
        match joined.last_mut().filter(|(last, _)| *last == value) {
            Some((_, sum)) => *sum += float(*weight),
            None => joined.push((value, float(*weight))),
        }
    }
    joined
}

/// Between the two values nearest to the level, each of which stands in the middle of its weight.
fn interpolated(weighted: &[(f64, f64)], level: f64) -> f64 {
    let total: f64 = weighted.iter().map(|(_, weight)| *weight).sum();
    let mut sum = 0.0;
    let mut before: Option<(f64, f64)> = None;
    for (value, weight) in weighted {
        sum += weight;
        let place = (sum - 0.5 * weight) / total;
        // No weight at all has no places: the first value is at level 0, and the last one at all others.
        if place >= level || total == 0.0 && level == 0.0 {
            return match before {
                Some((low, at)) if place > at => low + (value - low) / (place - at) * (level - at),
                _ => *value,
            };
        }
        before = Some((*value, place));
    }
    before.map_or(f64::NAN, |(value, _)| value)
}

/// Between the two rows nearest to the level, if each value stood in as many rows as it weighs.
fn spread(values: &[f64], weights: &[u64], level: f64) -> f64 {
    let total: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    let place = wide(total.saturating_sub(1)) * level;
    let at = |place: f64| {
        let mut sum = 0_u128;
        let reached = weights.iter().position(|weight| {
            sum += u128::from(*weight);
            wide(sum) > place
        });
        reached.or(values.len().checked_sub(1)).map_or(f64::NAN, |place| values[place])
    };
    let (low, high) = (at(place.floor()), at(place.ceil()));
    low + (high - low) * (place - place.floor())
}

fn pick(way: Way, group: &Group<'_>, element: &ColumnType) -> Result<ArrayRef, FunctionError> {
    let levels = levels(group.parameters)?;
    let (places, weights) = ordered(group, way)?;
    let value = group.call.arg(0)?;
    if places.is_empty() && way == Way::Spread && *element == ColumnType::Float64 {
        return Ok(Arc::new(arrow::array::Float64Array::from(vec![f64::NAN; levels.len()])));
    }
    if places.is_empty() {
        return Ok(default_array(element, levels.len()));
    }
    let caster = group.call.caster(CastMode::Strict);
    if way == Way::Exact {
        let at = levels.iter().map(|level| u64::try_from(places[exact(&weights, *level)]).ok());
        let taken = take(&value.array, &at.collect::<UInt64Array>(), None)?;
        return Ok(caster.column(&taken, &value.column_type, element)?);
    }
    let numbers = group.call.floats(0)?;
    let values = places.iter().map(|at| numbers.get(*at));
    let found: Vec<f64> = if way == Way::Spread {
        let values: Vec<f64> = values.collect();
        levels.iter().map(|level| spread(&values, &weights, *level)).collect()
    } else {
        let weighted = joined(values, &weights);
        levels.iter().map(|level| interpolated(&weighted, *level)).collect()
    };
    let found: ArrayRef = Arc::new(arrow::array::Float64Array::from(found));
    Ok(caster.column(&found, &ColumnType::Float64, element)?)
}

fn function(
    name: &'static str,
    way: Way,
    several: bool,
    of: fn(&ColumnType) -> ColumnType,
) -> AggregateFunction {
    let rule = move |args: &[ColumnType], parameters: Parameters<'_>| {
        levels(parameters)?;
        let [value, weight] = args else {
            return Err(FunctionError::bad_argument("a value and a weight are needed"));
        };
        let fits = value.is_number() || way != Way::Interpolated && (is_date(value) || is_time(value));
        let is_weight = integer_shape(weight).is_some_and(|(_, signed)| !signed);
        if !fits || !is_weight {
            return Err(illegal(if fits { weight } else { value }, parameters.function));
        }
        Ok(if several { array_of(of(value)) } else { of(value) })
    };
    AggregateFunction::new(name, 2..=2, rule, move |group| match group.call.result_type {
        ColumnType::Array(element) => {
            let made = pick(way, group, element)?;
            let parts = concat(&[made.as_ref()])?;
            Ok(list_of(element, offsets_of([parts.len()]), parts, None)?)
        }
        element => pick(way, group, element),
    })
    .parameters(if several { 1..=usize::MAX } else { 0..=1 })
}

pub(super) fn functions() -> Vec<AggregateFunction> {
    let same: fn(&ColumnType) -> ColumnType = ColumnType::clone;
    let measured: fn(&ColumnType) -> ColumnType = |value| match value {
        number if number.is_number() && !matches!(number, ColumnType::Decimal { .. }) => ColumnType::Float64,
        other => other.clone(),
    };
    vec![
        function("quantileExactWeighted", Way::Exact, false, same).aliases(&["medianExactWeighted"]).doc(
            "quantileExactWeighted[(level)](x, weight)",
            "The value up to which the weights reach the level.",
            "quantileExactWeighted(0.9)(price, amount)",
        ),
        function("quantilesExactWeighted", Way::Exact, true, same).doc(
            "quantilesExactWeighted(level, ...)(x, weight)",
            "The values up to which the weights reach the levels.",
            "quantilesExactWeighted(0.5, 0.9)(price, amount)",
        ),
        function("quantileInterpolatedWeighted", Way::Interpolated, false, same)
            .aliases(&["medianInterpolatedWeighted"])
            .doc(
                "quantileInterpolatedWeighted[(level)](x, weight)",
                "The value at a level, between the two nearest by their weights.",
                "quantileInterpolatedWeighted(0.9)(price, amount)",
            ),
        function("quantilesInterpolatedWeighted", Way::Interpolated, true, same).doc(
            "quantilesInterpolatedWeighted(level, ...)(x, weight)",
            "The values at levels, between the two nearest by their weights.",
            "quantilesInterpolatedWeighted(0.5, 0.9)(price, amount)",
        ),
        function("quantileExactWeightedInterpolated", Way::Spread, false, measured)
            .aliases(&["medianExactWeightedInterpolated"])
            .doc(
                "quantileExactWeightedInterpolated[(level)](x, weight)",
                "The value at a level, between the two nearest, as if each stood in as many rows as it weighs.",
                "quantileExactWeightedInterpolated(0.9)(price, amount)",
            ),
        function("quantilesExactWeightedInterpolated", Way::Spread, true, measured).doc(
            "quantilesExactWeightedInterpolated(level, ...)(x, weight)",
            "The values at levels, as of quantileExactWeightedInterpolated.",
            "quantilesExactWeightedInterpolated(0.5, 0.9)(price, amount)",
        ),
    ]
}
