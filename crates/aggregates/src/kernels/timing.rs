//! `quantileTiming` and those with weights: milliseconds up to 30 seconds; of many, those above a second are rounded to 16.
//!
//! Invariant: a result is at most [`LONGEST`], whatever was given; negative times are none. Must not know: in what state times
//! wait for the end of their group.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float32Array};
use functions::FunctionError;
use functions::aggregates::{AggregateFunction, Group, Parameters, array_of};
use functions::container::{list_of, offsets_of};
use model::ColumnType;

use super::rounded_quantiles::{element, levels, values, weights};

/// Longer times count as this one.
const LONGEST: u16 = 30_000;
/// Times below are exact, whatever their number.
const EXACT_BELOW: u16 = 1024;
const ROUNDED_TO: u16 = 16;
/// So many times and more are rounded.
const MANY: usize = 5672;
/// So many weigh so little that they are kept as they are; a single weight is smaller.
const FEW: u64 = 31;

/// Above this and below nothing a value is no time: the largest Int64, as ClickHouse has it.
const TIME_MAX: f64 = 9_223_372_036_854_775_807.0;

/// A time as it is kept; `None` of what is no time.
pub(crate) fn kept(time: f64) -> Option<f64> {
    (0.0..=TIME_MAX).contains(&time).then(|| time.trunc().min(f64::from(LONGEST)))
}

/// The time at a level among those that are [`kept`] and in order.
pub(crate) fn at(sorted: &[f64], level: f64) -> f32 {
    let Some(last) = sorted.len().checked_sub(1) else { return f32::NAN };
    let count = u32::try_from(sorted.len()).map_or(f64::from(u32::MAX), f64::from);
    if sorted.len() < MANY {
        return narrowed(sorted[place(level * count).min(last)]);
    }
    rounded(sorted[place((level * count).ceil() - 1.0).min(last)])
}

/// A time as it is found among many.
fn rounded(time: f64) -> f32 {
    if time < f64::from(EXACT_BELOW) || time >= f64::from(LONGEST) {
        return narrowed(time);
    }
    let bucket = ((time - f64::from(EXACT_BELOW)) / f64::from(ROUNDED_TO)).floor();
    narrowed(bucket * f64::from(ROUNDED_TO) + f64::from(EXACT_BELOW) + moved(bucket))
}

/// A number of the bucket's own around 0, so that results are not all multiples of 16.
fn moved(bucket: f64) -> f64 {
    let bucket = u64::try_from(place(bucket)).unwrap_or(0);
    let mixed = functions::mix_32(bucket) % u32::from(ROUNDED_TO);
    f64::from(mixed) - f64::from(ROUNDED_TO / 2)
}

/// The whole part of a position, which is 0 below it.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "what is cut off is meant")]
fn place(position: f64) -> usize {
    position as usize
}

#[expect(clippy::cast_possible_truncation, reason = "times have fewer digits than a Float32")]
fn narrowed(time: f64) -> f32 {
    time as f32
}

/// The times at levels, of times that have weights.
fn weighted(times: &[f64], weights: &[u64], levels: &[f64]) -> Vec<f32> {
    let (mut counts, mut are_few): (BTreeMap<u64, u128>, bool) = (BTreeMap::new(), true);
    for (time, weight) in times.iter().zip(weights) {
        let Some(time) = kept(*time) else { continue };
        are_few &= *weight < FEW;
        // Positive floats are in the order of their bits.
        *counts.entry((time + 0.0).to_bits()).or_insert(0) += u128::from(*weight);
    }
    let total: u128 = counts.values().sum();
    if total == 0 {
        return vec![f32::NAN; levels.len()];
    }
    are_few &= total <= u128::from(FEW);
    let total = total as f64;
    let found = |level: &f64| {
        // The last row before which the wanted one is not.
        let before = match are_few {
            true => (level * total).floor().min(total - 1.0),
            false => ((level * total).ceil() - 1.0).max(0.0),
        };
        let mut sum = 0_u128;
        let reached = counts.iter().find(|(_, count)| {
            sum += **count;
            sum as f64 > before
        });
        let time =
            reached.or_else(|| counts.iter().next_back()).map_or(f64::NAN, |(bits, _)| f64::from_bits(*bits));
        if are_few { narrowed(time) } else { rounded(time) }
    };
    levels.iter().map(found).collect()
}

fn kernel(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let weights = weights(group)?.unwrap_or_default();
    let found = weighted(&values(group)?, &weights, &levels(group.parameters)?);
    let made: ArrayRef = Arc::new(Float32Array::from(found));
    Ok(match group.call.result_type {
        ColumnType::Array(of) => list_of(of, offsets_of([made.len()]), made, None)?,
        _ => made,
    })
}

fn function(name: &'static str, several: bool) -> AggregateFunction {
    let rule = move |args: &[ColumnType], parameters: Parameters<'_>| {
        element(args, parameters)?;
        Ok(if several { array_of(ColumnType::Float32) } else { ColumnType::Float32 })
    };
    AggregateFunction::new(name, 2..=2, rule, kernel).parameters(if several { 1..=usize::MAX } else { 0..=1 })
}

pub(super) fn functions() -> Vec<AggregateFunction> {
    vec![
        function("quantileTimingWeighted", false).aliases(&["medianTimingWeighted"]).doc(
            "quantileTimingWeighted[(level)](x, weight)",
            "As quantileTiming of values that have weights.",
            "quantileTimingWeighted(0.9)(time_ms, amount)",
        ),
        function("quantilesTimingWeighted", true).doc(
            "quantilesTimingWeighted(level, ...)(x, weight)",
            "As quantilesTiming of values that have weights.",
            "quantilesTimingWeighted(0.5, 0.9)(time_ms, amount)",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_whole_and_end_at_thirty_seconds() {
        assert_eq!([-0.5, 1.9, 1e9, f64::INFINITY].map(kept), [None, Some(1.0), Some(30_000.0), None]);
        assert!(at(&[], 0.5).is_nan());
        assert_eq!(at(&[1.0, 2.0, 30_000.0], 0.5), 2.0);
        let many: Vec<f64> = (0..40_000).filter_map(|time| kept(f64::from(time))).collect();
        assert_eq!((at(&many, 0.01), at(&many, 0.99)), (399.0, 30_000.0));
        assert!((at(&many, 0.1) - 3999.0).abs() < 24.0);
        assert_eq!(at(&many, 0.0), 0.0);
    }

    #[test]
    fn weights_are_rows_and_many_of_them_round() {
        assert!(weighted(&[1.0, 2.0], &[0, 0], &[0.5])[0].is_nan());
        assert_eq!(weighted(&[2000.0, 2001.0], &[15, 16], &[0.0, 0.5, 1.0]), [2000.0, 2001.0, 2001.0]);
        assert_eq!(weighted(&[2000.0], &[31], &[0.5, 1.0]), [2006.0, 2006.0]);
        assert_eq!(weighted(&[-5.0, 3.0, f64::NAN], &[40, u64::MAX, 1], &[0.0, 1.0]), [3.0, 3.0]);
    }
}
