//! Moments put together from digits, cut below the second, and in rows of equal steps.
//!
//! Invariant: what is no moment is the first one of its type, as in ClickHouse.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array};
use arrow::datatypes::{Decimal128Type, Int64Type};
use model::{ColumnType, ErrorCode};

use super::local::{Locals, check};
use super::make::{SECONDS_MAX, beyond_range, finite, place_made};
use crate::columns::container::{list_of, offsets_of};
use crate::columns::number::wrap;
use crate::conversion::convert::zone_argument;
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::constant_int;
use crate::time::temporal::{digits_of, from_ticks, power_of_ten, precision_of, ticks, zone_of};
use crate::time::zone::Zone;

/// Seconds of a slot that is given no size.
const SLOT_SECONDS: i64 = 1800;

/// Year, month, day, hour, minute and second of `YYYYMMDDhhmmss`.
fn parts_of(digits: i64) -> [i64; 6] {
    let (date, time) = (digits / 1_000_000, digits % 1_000_000);
    [date / 10_000, date / 100 % 100, date % 100, time / 10_000, time / 100 % 100, time % 100]
}

/// `YYYYMMDDhhmmss`, as a DateTime or with a fraction as a DateTime64.
fn of_digits(name: &'static str, fractions: bool) -> ScalarFunction {
    let rule = move |args: &[ArgType]| {
        super::make::integers(args, 1, name)?;
        if !fractions {
            return Ok(ColumnType::DateTime { time_zone: zone_argument(args, 1)? });
        }
        let precision = if args.len() > 1 { constant_int(args, 1) } else { Some(3) };
        let precision =
            precision.and_then(|p| u8::try_from(p).ok()).filter(|p| *p <= 9).ok_or_else(|| {
                let message = format!("{name} needs a constant precision of 0 to 9");
                FunctionError::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, message)
            })?;
        Ok(ColumnType::DateTime64 { precision, time_zone: zone_argument(args, 2)? })
    };
    ScalarFunction::new(name, 1..=2 + usize::from(fractions), rule, move |call: &Call<'_>| {
        let numbers = finite(call, name)?;
        let result = call.result_type.value_type();
        let zone = Zone::new(zone_of(result, call.session.time_zone));
        let (per_second, precision) = (power_of_ten(digits_of(result)), precision_of(result));
        let up = power_of_ten(digits_of(result) - precision);
        let scale = wrap::<i64, f64>(power_of_ten(precision));
        let moment = |row: usize| {
            let number = numbers.get(row);
            let whole = if fractions { number.trunc() } else { number.round() };
            let epoch = zone.to_epoch(place_made(parts_of(wrap::<f64, i64>(whole))).seconds());
            if !fractions {
                return Ok(epoch.clamp(0, SECONDS_MAX));
            }
            // A fraction that rounds up to a second is one.
            let fraction = wrap::<f64, i64>(((number - whole) * scale).round());
            let ticks = epoch.checked_mul(per_second).and_then(|ticks| ticks.checked_add(fraction * up));
            ticks.ok_or_else(beyond_range)
        };
        let ticks: Result<Vec<i64>, FunctionError> =
            (0..call.rows).map(|row| if call.is_null(row) { Ok(0) } else { moment(row) }).collect();
        Ok(from_ticks(Int64Array::from(ticks?), result))
    })
}

/// Down to a fraction of so many digits, in the precision of the argument or that of the fraction.
fn below_second(name: &'static str, digits: u32) -> ScalarFunction {
    let rule = move |args: &[ArgType]| match &args[0].column_type {
        ColumnType::DateTime64 { precision, time_zone } => {
            let precision = (*precision).max(u8::try_from(digits).unwrap_or(9));
            let time_zone = zone_argument(args, 1)?.or_else(|| time_zone.clone());
            Ok(ColumnType::DateTime64 { precision, time_zone })
        }
        other => Err(FunctionError::illegal_type(other, name)),
    };
    ScalarFunction::new(name, 1..=2, rule, move |call: &Call<'_>| {
        let result = call.result_type.value_type();
        let moments = call.converted(0, result)?;
        let (moments, arg) = (ticks(&moments), call.arg(0)?);
        let span = power_of_ten(digits_of(result).saturating_sub(digits));
        let start = |row: usize| moments.value(arg.row(row)).div_euclid(span) * span;
        let ticks: Vec<i64> =
            (0..call.rows).map(|row| if call.is_null(row) { 0 } else { start(row) }).collect();
        Ok(from_ticks(Int64Array::from(ticks), result))
    })
    .increasing_by(0)
}

fn slots_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let fits = |arg: &ArgType, wide: bool| match &arg.column_type {
        ColumnType::UInt32 => !wide,
        ColumnType::Decimal { precision: 10..=18, .. } => wide,
        _ => false,
    };
    let wide = match &args[0].column_type {
        ColumnType::DateTime { .. } => false,
        ColumnType::DateTime64 { .. } => true,
        other => return Err(FunctionError::illegal_type(other, "timeSlots")),
    };
    if !fits(&args[1], wide) {
        return Err(FunctionError::illegal_type(&args[1].column_type, "timeSlots"));
    }
    Ok(ColumnType::Array(Box::new(args[0].column_type.clone())))
}

/// A span of time in ticks.
fn spans(call: &Call<'_>, index: usize, digits: u32) -> Result<Int64Array, FunctionError> {
    let arg = call.arg(index)?;
    if let ColumnType::Decimal { scale, .. } = arg.column_type {
        let up = i128::from(power_of_ten(digits.saturating_sub(u32::from(scale))));
        let down = i128::from(power_of_ten(u32::from(scale).saturating_sub(digits)));
        let values = arg.array.as_primitive::<Decimal128Type>();
        return Ok(values.unary::<_, Int64Type>(|value| i64::try_from(value * up / down).unwrap_or(i64::MAX)));
    }
    let per_second = power_of_ten(digits);
    Ok(call.ints(index)?.array.unary::<_, Int64Type>(|seconds| seconds.saturating_mul(per_second)))
}

/// The starts of the slots that a span of time touches.
fn time_slots(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Array(element) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, "timeSlots"));
    };
    let digits = digits_of(element);
    let (starts, start_arg) = (ticks(&call.arg(0)?.array), call.arg(0)?);
    let (durations, duration_arg) = (spans(call, 1, digits)?, call.arg(1)?);
    let size = if call.args.len() > 2 {
        spans(call, 2, digits)?.value(0)
    } else {
        SLOT_SECONDS * power_of_ten(digits)
    };
    if size <= 0 {
        let message = "the slots of timeSlots have a size above 0";
        return Err(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
    }
    let (mut all, mut lengths) = (Vec::new(), Vec::with_capacity(call.rows));
    for row in 0..call.rows {
        let before = all.len();
        if !call.is_null(row) {
            let start = starts.value(start_arg.row(row));
            let (first, last) = (
                start.div_euclid(size),
                start.saturating_add(durations.value(duration_arg.row(row))).div_euclid(size),
            );
            let count = usize::try_from(last.saturating_sub(first).saturating_add(1)).unwrap_or(0);
            call.reserve_indices(count)?;
            all.extend((first..=last).map(|slot| slot * size));
        }
        lengths.push(all.len() - before);
    }
    let values = from_ticks(Int64Array::from(all), element);
    Ok(list_of(element, offsets_of(lengths), Arc::clone(&values), None)?)
}

fn time_diff(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (a, b) = (Locals::new(call, 0, usize::MAX)?, Locals::new(call, 1, usize::MAX)?);
    call.each::<Int64Type>(|row| Ok(b.epoch(row) - a.epoch(row)))
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    vec![
        of_digits("YYYYMMDDhhmmssToDateTime", false).doc(
            "YYYYMMDDhhmmssToDateTime(n[, zone])",
            "The DateTime of its digits.",
            "YYYYMMDDhhmmssToDateTime(20230911131415) -> 2023-09-11 13:14:15",
        ),
        of_digits("YYYYMMDDhhmmssToDateTime64", true).doc(
            "YYYYMMDDhhmmssToDateTime64(n[, precision[, zone]])",
            "The DateTime64 of its digits.",
            "YYYYMMDDhhmmssToDateTime64(20230911131415) -> 2023-09-11 13:14:15.000",
        ),
        below_second("toStartOfMillisecond", 3).doc(
            "toStartOfMillisecond(t[, zone])",
            "Down to the start of the millisecond.",
            "toStartOfMillisecond(toDateTime64('2020-01-02 03:04:05.6789', 4)) -> 2020-01-02 03:04:05.6780",
        ),
        below_second("toStartOfMicrosecond", 6).doc(
            "toStartOfMicrosecond(t[, zone])",
            "Down to the start of the microsecond.",
            "toStartOfMicrosecond(toDateTime64('2020-01-02 03:04:05.6789', 4)) -> 2020-01-02 03:04:05.678900",
        ),
        below_second("toStartOfNanosecond", 9).doc(
            "toStartOfNanosecond(t[, zone])",
            "Down to the start of the nanosecond.",
            "toStartOfNanosecond(toDateTime64('2020-01-02 03:04:05.6', 1)) -> 2020-01-02 03:04:05.600000000",
        ),
        ScalarFunction::new("timeSlots", 2..=3, slots_type, time_slots).doc(
            "timeSlots(t, duration[, size])",
            "The starts of the half hours, or slots of a size, that a duration from t touches.",
            "timeSlots(toDateTime('2012-01-01 12:20:00'), toUInt32(600)) -> ['2012-01-01 12:00:00','2012-01-01 12:30:00']",
        ),
        ScalarFunction::new(
            "timeDiff",
            2..=2,
            |args| {
                check(args, 0, "timeDiff")?;
                check(args, 1, "timeDiff").map(|()| ColumnType::Int64)
            },
            time_diff,
        )
        .doc(
            "timeDiff(a, b)",
            "Seconds from one time to another.",
            "timeDiff(toDate('2020-01-01'), toDate('2020-01-02')) -> 86400",
        ),
    ]
}
