//! `quantileBFloat16` and its kin: of values cut to the 16 bits of a bfloat.
//!
//! Invariant: a value is one that 16 bits hold, the first up to which so many rows, or so much weight, lie. Must not know:
//! exact quantiles.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array, UInt64Array};
use arrow::datatypes::UInt64Type;
use functions::aggregates::{AggregateFunction, Group, Parameters, array_of, illegal};
use functions::container::{list_of, offsets_of};
use functions::{CastMode, FunctionError, cast_column, default_array};
use model::{ColumnType, ErrorCode};

use super::bitmap::bytes_of;
use super::numbers::floats;

fn is_temporal(column_type: &ColumnType) -> bool {
    matches!(column_type, ColumnType::Date | ColumnType::DateTime { .. })
}

pub(super) fn levels(parameters: Parameters<'_>) -> Result<Vec<f64>, FunctionError> {
    let mut levels = Vec::new();
    while let Some(level) = parameters.float(levels.len())? {
        if !(0.0..=1.0).contains(&level) {
            let message = format!("levels of {} are from 0 to 1", parameters.function);
            return Err(FunctionError::new(ErrorCode::PARAMETER_OUT_OF_BOUND, message));
        }
        levels.push(level);
    }
    if levels.is_empty() {
        levels.push(0.5);
    }
    Ok(levels)
}

/// The type of a value at a level, of a value and its weight.
pub(super) fn element(args: &[ColumnType], parameters: Parameters<'_>) -> Result<ColumnType, FunctionError> {
    levels(parameters)?;
    let counts = |weight: &&ColumnType| {
        use ColumnType::{Bool, UInt8, UInt16, UInt32, UInt64};
        matches!(weight, Bool | UInt8 | UInt16 | UInt32 | UInt64)
    };
    if let Some(weight) = args.get(1).filter(|weight| !counts(weight)) {
        return Err(illegal(weight, parameters.function));
    }
    match &args[0] {
        time if is_temporal(time) => Ok(time.clone()),
        number if bytes_of(number).is_some() || *number == ColumnType::Bool => Ok(ColumnType::Float64),
        ColumnType::Float32 | ColumnType::Float64 => Ok(ColumnType::Float64),
        other => Err(illegal(other, parameters.function)),
    }
}

/// The upper 16 bits of a float of 32.
fn cut(value: f64) -> f64 {
    #[expect(clippy::cast_possible_truncation, reason = "it is rounded to 32 bits before it is cut to 16")]
    let value = value as f32;
    f64::from(f32::from_bits(value.to_bits() & 0xFFFF_0000))
}

/// A float as a whole number that is in the order of floats.
fn ordered(value: f64) -> i64 {
    let bits = value.to_bits().cast_signed();
    bits ^ (bits >> 63).cast_unsigned().wrapping_shr(1).cast_signed()
}

/// Values as floats: of times their seconds or days.
pub(super) fn values(group: &Group<'_>) -> Result<Vec<f64>, FunctionError> {
    let arg = &group.call.args[0];
    if !is_temporal(&arg.column_type) {
        return floats(group, 0);
    }
    let ticks = cast_column(&arg.array, &arg.column_type, &ColumnType::UInt64, CastMode::Strict)?;
    Ok(ticks.as_primitive::<UInt64Type>().values().iter().map(|tick| *tick as f64).collect())
}

/// The weights of the rows.
pub(super) fn weights(group: &Group<'_>) -> Result<Option<Vec<u64>>, FunctionError> {
    let Some(arg) = group.call.args.get(1) else { return Ok(None) };
    let weights = cast_column(&arg.array, &arg.column_type, &ColumnType::UInt64, CastMode::Strict)?;
    Ok(Some(weights.as_primitive::<UInt64Type>().values().to_vec()))
}

fn found(group: &Group<'_>, element: &ColumnType) -> Result<ArrayRef, FunctionError> {
    let (levels, weights) = (levels(group.parameters)?, weights(group)?);
    let mut counts: BTreeMap<i64, (f64, u128)> = BTreeMap::new();
    for (row, value) in values(group)?.into_iter().enumerate().filter(|(_, value)| !value.is_nan()) {
        let weight = weights.as_ref().map_or(1, |weights| weights[row]);
        let value = cut(value);
        counts.entry(ordered(value)).or_insert((value, 0)).1 += u128::from(weight);
    }
    let total: u128 = counts.values().map(|(_, count)| *count).sum();
    if counts.is_empty() && is_temporal(element) {
        return Ok(default_array(element, levels.len()));
    }
    let at = |level: &f64| {
        let (wanted, mut sum) = (level * total as f64, 0_u128);
        let reached = counts.values().find(|(_, count)| {
            sum += count;
            sum as f64 >= wanted
        });
        reached.or_else(|| counts.values().next_back()).map_or(f64::NAN, |(value, _)| *value)
    };
    let picked: Vec<f64> = levels.iter().map(at).collect();
    if !is_temporal(element) {
        return Ok(Arc::new(Float64Array::from(picked)));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "ticks were whole and not negative"
    )]
    let ticks: ArrayRef = Arc::new(UInt64Array::from_iter_values(picked.iter().map(|tick| *tick as u64)));
    Ok(cast_column(&ticks, &ColumnType::UInt64, element, CastMode::Strict)?)
}

fn function(name: &'static str, is_weighted: bool, several: bool) -> AggregateFunction {
    let rule = move |args: &[ColumnType], parameters: Parameters<'_>| {
        let element = element(args, parameters)?;
        Ok(if several { array_of(element) } else { element })
    };
    let arguments = if is_weighted { 2..=2 } else { 1..=1 };
    AggregateFunction::new(name, arguments, rule, |group| match group.call.result_type {
        ColumnType::Array(element) => {
            let made = found(group, element)?;
            Ok(list_of(element, offsets_of([made.len()]), made, None)?)
        }
        element => found(group, element),
    })
    .parameters(if several { 1..=usize::MAX } else { 0..=1 })
}

pub(super) fn functions() -> Vec<AggregateFunction> {
    vec![
        function("quantileBFloat16", false, false).aliases(&["medianBFloat16"]).doc(
            "quantileBFloat16[(level)](x)",
            "The value at a level, of values cut to 16 bits.",
            "quantileBFloat16(0.9)(price)",
        ),
        function("quantilesBFloat16", false, true).doc(
            "quantilesBFloat16(level, ...)(x)",
            "The values at levels, of values cut to 16 bits.",
            "quantilesBFloat16(0.5, 0.9)(price)",
        ),
        function("quantileBFloat16Weighted", true, false).aliases(&["medianBFloat16Weighted"]).doc(
            "quantileBFloat16Weighted[(level)](x, weight)",
            "As quantileBFloat16 of values that have weights.",
            "quantileBFloat16Weighted(0.9)(price, amount)",
        ),
        function("quantilesBFloat16Weighted", true, true).doc(
            "quantilesBFloat16Weighted(level, ...)(x, weight)",
            "As quantilesBFloat16 of values that have weights.",
            "quantilesBFloat16Weighted(0.5, 0.9)(price, amount)",
        ),
    ]
}
