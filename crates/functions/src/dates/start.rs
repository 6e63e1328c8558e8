//! Rounding times down: `toStartOfMonth`, `toMonday`, `date_trunc`, ...
//!
//! Invariant: the result is the same moment or before it; all of them are monotonic.

use arrow::array::{ArrayRef, Int64Array, PrimitiveArray};
use arrow::buffer::ScalarBuffer;
use arrow::datatypes::Date32Type;
use model::{ColumnType, ErrorCode};
use std::sync::Arc;

use super::local::{Locals, check, zone_name};
use crate::arithmetic::interval::Unit;
use crate::conversion::convert::zone_argument;
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::constant_text;
use crate::kernel::types::is_date;
use crate::time::calendar::{
    SECONDS_PER_DAY, date_of, days_in_month, days_of, iso_week, monday, month_index,
};
use crate::time::temporal::{digits_of, from_ticks, power_of_ten};

/// Last day of Date and last second of DateTime: starts stop there instead of wrapping.
const DATE_DAYS_MAX: i32 = 65_535;
const SECONDS_MAX: i64 = 4_294_967_295;

/// The first day of a period of `count` months or weeks or days.
fn start_day(day: i32, count: i64, unit: Unit) -> i32 {
    if let Some(months) = unit.months() {
        // Counted from January 1900 in ClickHouse; years from year 0.
        let span = months * count;
        let origin = if unit == Unit::Year { 0 } else { 1900 * 12 };
        let index = (month_index(day) - origin).div_euclid(span) * span + origin;
        let year = i32::try_from(index.div_euclid(12)).unwrap_or(1970);
        return days_of(year, i32::try_from(index.rem_euclid(12)).unwrap_or(0) + 1, 1);
    }
    let count = i32::try_from(count).unwrap_or(i32::MAX);
    match unit {
        // Weeks start on Monday; 1970-01-05 was the first.
        Unit::Week => {
            (day - 4).div_euclid(count.saturating_mul(7)).saturating_mul(count.saturating_mul(7)) + 4
        }
        _ => day.div_euclid(count) * count,
    }
}

/// Days computed from the row.
pub(super) fn dates(call: &Call<'_>, day: impl Fn(usize) -> i32) -> ArrayRef {
    let small = *call.result_type.value_type() == ColumnType::Date;
    let days: Vec<i32> = (0..call.rows)
        .map(|row| {
            if call.is_null(row) {
                return 0;
            }
            let day = day(row);
            if small { day.clamp(0, DATE_DAYS_MAX) } else { day }
        })
        .collect();
    Arc::new(PrimitiveArray::<Date32Type>::new(ScalarBuffer::from(days), None))
}

/// Moments computed from the row, in ticks of the result.
pub(super) fn moments(call: &Call<'_>, ticks: impl Fn(usize) -> i64) -> ArrayRef {
    let result = call.result_type.value_type();
    let small = matches!(result, ColumnType::DateTime { .. });
    let values: Vec<i64> = (0..call.rows)
        .map(|row| {
            if call.is_null(row) {
                return 0;
            }
            let tick = ticks(row);
            if small { tick.clamp(0, SECONDS_MAX) } else { tick }
        })
        .collect();
    from_ticks(Int64Array::from(values), result)
}

fn day_function(name: &'static str, start: fn(i32) -> i32) -> ScalarFunction {
    let rule = move |args: &[ArgType]| {
        check(args, 0, name)?;
        zone_argument(args, 1)?;
        Ok(ColumnType::Date)
    };
    ScalarFunction::new(name, 1..=2, rule, move |call| {
        let locals = Locals::new(call, 0, 1)?;
        Ok(dates(call, |row| start(locals.day(row))))
    })
    .increasing_by(0)
}

/// DateTime of the argument's zone.
fn moment_type(args: &[ArgType], zone: usize) -> Result<ColumnType, FunctionError> {
    let own = args.first().and_then(|arg| zone_name(&arg.column_type));
    Ok(ColumnType::DateTime { time_zone: zone_argument(args, zone)?.or(own) })
}

/// Start of a span of seconds on the wall clock.
fn start_seconds(locals: &Locals, row: usize, span: i64) -> i64 {
    let epoch = locals.epoch(row);
    if span < 3600 {
        return epoch.div_euclid(span) * span;
    }
    if span < SECONDS_PER_DAY {
        // Some zones are half an hour off: the wall clock's hours are shifted by that.
        let offset = locals.zone.offset_at(epoch);
        return (epoch + offset).div_euclid(span) * span - offset;
    }
    locals.zone.first_at(i64::from(locals.day(row)) * SECONDS_PER_DAY)
}

fn span_function(name: &'static str, span: i64) -> ScalarFunction {
    let rule = move |args: &[ArgType]| {
        check(args, 0, name)?;
        if span < SECONDS_PER_DAY && is_date(&args[0].column_type) {
            return Err(FunctionError::illegal_type(&args[0].column_type, name));
        }
        moment_type(args, 1)
    };
    ScalarFunction::new(name, 1..=2, rule, move |call| {
        let locals = Locals::new(call, 0, 1)?;
        Ok(moments(call, |row| start_seconds(&locals, row, span)))
    })
    .increasing_by(0)
}

/// The time of a day, on the second day there is.
fn time_on_fixed_day() -> ScalarFunction {
    let name = "toTimeWithFixedDate";
    let rule = move |args: &[ArgType]| match check(args, 0, name) {
        Ok(()) if is_date(&args[0].column_type) => {
            Err(FunctionError::illegal_type(&args[0].column_type, name))
        }
        checked => checked.and_then(|()| moment_type(args, 1)),
    };
    ScalarFunction::new(name, 1..=2, rule, |call| {
        let locals = Locals::new(call, 0, 1)?;
        Ok(moments(call, |row| {
            // Before the epoch a part of a second is cut towards it.
            let cut = i64::from(locals.fraction(row) != 0 && locals.epoch(row) < 0);
            locals.zone.first_at(SECONDS_PER_DAY + (locals.time(row) + cut).rem_euclid(SECONDS_PER_DAY))
        }))
    })
}

/// The result of rounding to a unit. `wide` keeps what Date and DateTime cannot hold, as `date_trunc` does.
pub(super) fn interval_type(
    args: &[ArgType],
    time: usize,
    unit: Unit,
    wide: bool,
) -> Result<ColumnType, FunctionError> {
    let source = &args[time].column_type;
    let time_zone = zone_argument(args, 2)?.or_else(|| zone_name(source));
    let below_type = match source {
        ColumnType::Date | ColumnType::Date32 => unit < Unit::Day,
        ColumnType::DateTime { .. } => unit < Unit::Second,
        _ => false,
    };
    if below_type {
        let message = format!("illegal interval kind {} for argument of type {source}", unit.name());
        return Err(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
    }
    let wide = wide && matches!(source, ColumnType::Date32 | ColumnType::DateTime64 { .. });
    Ok(match unit {
        Unit::Week | Unit::Month | Unit::Quarter | Unit::Year if wide => ColumnType::Date32,
        Unit::Week | Unit::Month | Unit::Quarter | Unit::Year => ColumnType::Date,
        _ if unit < Unit::Second => {
            ColumnType::DateTime64 { precision: u8::try_from(unit.digits()).unwrap_or(9), time_zone }
        }
        _ if wide => ColumnType::DateTime64 { precision: 0, time_zone },
        _ => ColumnType::DateTime { time_zone },
    })
}

pub(super) fn start_of(
    call: &Call<'_>,
    time: usize,
    zone: usize,
    count: i64,
    unit: Unit,
) -> Result<ArrayRef, FunctionError> {
    let locals = Locals::new(call, time, zone)?;
    if count <= 0 {
        return Err(FunctionError::new(
            ErrorCode::ARGUMENT_OUT_OF_BOUND,
            "value for interval must be positive",
        ));
    }
    let result = call.result_type.value_type();
    if is_date(result) {
        return Ok(dates(call, |row| start_day(locals.day(row), count, unit)));
    }
    if unit < Unit::Second {
        let digits = digits_of(result);
        let span = count * power_of_ten(digits - unit.digits());
        return Ok(moments(call, |row| locals.ticks_at(row, digits).div_euclid(span) * span));
    }
    match unit.seconds() {
        // Several hours are counted from midnight, shorter spans from the epoch.
        Some(seconds) if unit == Unit::Hour && count > 1 => Ok(moments(call, |row| {
            let (midnight, time) = (i64::from(locals.day(row)) * SECONDS_PER_DAY, locals.time(row));
            locals.zone.first_at(midnight + time.div_euclid(seconds * count) * seconds * count)
        })),
        Some(seconds) => Ok(moments(call, |row| start_seconds(&locals, row, seconds * count))),
        None => Ok(moments(call, |row| {
            locals.zone.first_at(i64::from(start_day(locals.day(row), count, unit)) * SECONDS_PER_DAY)
        })),
    }
}

fn truncated_unit(args: &[ArgType]) -> Result<Unit, FunctionError> {
    let name = constant_text(args, 0)
        .ok_or_else(|| FunctionError::new(ErrorCode::ILLEGAL_COLUMN, "date_trunc needs a constant unit"))?;
    Unit::parse(&name).ok_or_else(|| FunctionError::bad_argument(format!("'{name}' is not a unit of time")))
}

fn trunc_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    check(args, 1, "date_trunc")?;
    let unit = truncated_unit(args)?;
    interval_type(args, 1, unit, true)
}

fn second_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    check(args, 0, "toStartOfSecond")?;
    match &args[0].column_type {
        ColumnType::DateTime64 { precision, time_zone } => Ok(ColumnType::DateTime64 {
            precision: *precision,
            time_zone: zone_argument(args, 1)?.or_else(|| time_zone.clone()),
        }),
        ColumnType::DateTime { time_zone } => {
            Ok(ColumnType::DateTime64 { precision: 0, time_zone: time_zone.clone() })
        }
        other => Err(FunctionError::illegal_type(other, "toStartOfSecond")),
    }
}

fn calendar_starts() -> Vec<ScalarFunction> {
    vec![
        day_function("toStartOfYear", |day| start_day(day, 1, Unit::Year)).doc(
            "toStartOfYear(t[, zone])",
            "The first day of the year.",
            "toStartOfYear(toDate('2020-05-06')) -> 2020-01-01",
        ),
        day_function("toStartOfISOYear", |day| monday(days_of(iso_week(day).0, 1, 4))).doc(
            "toStartOfISOYear(t[, zone])",
            "The first day of ISO's year.",
            "toStartOfISOYear(toDate('2021-01-03')) -> 2019-12-30",
        ),
        day_function("toStartOfQuarter", |day| start_day(day, 1, Unit::Quarter)).doc(
            "toStartOfQuarter(t[, zone])",
            "The first day of the quarter.",
            "toStartOfQuarter(toDate('2020-05-06')) -> 2020-04-01",
        ),
        day_function("toStartOfMonth", |day| start_day(day, 1, Unit::Month)).doc(
            "toStartOfMonth(t[, zone])",
            "The first day of the month.",
            "toStartOfMonth(toDate('2020-05-06')) -> 2020-05-01",
        ),
        day_function("toLastDayOfMonth", |day| {
            let date = date_of(day);
            days_of(date.year, date.month, days_in_month(date.year, date.month))
        })
        .any_case()
        .aliases(&["LAST_DAY"])
        .doc(
            "toLastDayOfMonth(t[, zone])",
            "The last day of the month.",
            "toLastDayOfMonth(toDate('2020-02-06')) -> 2020-02-29",
        ),
        day_function("toMonday", monday).doc(
            "toMonday(t[, zone])",
            "The Monday of the week.",
            "toMonday(toDate('2020-05-06')) -> 2020-05-04",
        ),
        ScalarFunction::new(
            "toStartOfWeek",
            1..=3,
            |args| check(args, 0, "toStartOfWeek").map(|()| ColumnType::Date),
            |call| {
                let locals = Locals::new(call, 0, 2)?;
                let mode = if call.args.len() > 1 { call.ints(1)?.get(0) } else { 0 };
                // Odd modes start weeks on Monday, even ones on Sunday.
                let sunday = |day: i32| day - crate::time::calendar::day_of_week(day) % 7;
                let start = |day: i32| if mode & 1 == 1 { monday(day) } else { sunday(day) };
                Ok(dates(call, |row| start(locals.day(row))))
            },
        )
        .increasing_by(0)
        .doc(
            "toStartOfWeek(t[, mode[, zone]])",
            "The Sunday, or for odd modes the Monday, of the week.",
            "toStartOfWeek(toDate('2020-05-06')) -> 2020-05-03",
        ),
    ]
}

fn span_starts() -> Vec<ScalarFunction> {
    let table = [
        (
            "toStartOfDay",
            86_400,
            "toStartOfDay(t[, zone])",
            "Midnight.",
            "toStartOfDay(toDateTime('2020-01-02 03:04:05')) -> 2020-01-02 00:00:00",
        ),
        (
            "toStartOfHour",
            3600,
            "toStartOfHour(t[, zone])",
            "The full hour.",
            "toStartOfHour(toDateTime('2020-01-02 03:04:05')) -> 2020-01-02 03:00:00",
        ),
        (
            "toStartOfMinute",
            60,
            "toStartOfMinute(t[, zone])",
            "The full minute.",
            "toStartOfMinute(toDateTime('2020-01-02 03:04:05')) -> 2020-01-02 03:04:00",
        ),
        (
            "toStartOfFiveMinutes",
            300,
            "toStartOfFiveMinutes(t[, zone])",
            "Down to five minutes.",
            "toStartOfFiveMinutes(toDateTime('2020-01-02 03:04:05')) -> 2020-01-02 03:00:00",
        ),
        (
            "toStartOfTenMinutes",
            600,
            "toStartOfTenMinutes(t[, zone])",
            "Down to ten minutes.",
            "toStartOfTenMinutes(toDateTime('2020-01-02 03:14:05')) -> 2020-01-02 03:10:00",
        ),
        (
            "toStartOfFifteenMinutes",
            900,
            "toStartOfFifteenMinutes(t[, zone])",
            "Down to fifteen minutes.",
            "toStartOfFifteenMinutes(toDateTime('2020-01-02 03:24:05')) -> 2020-01-02 03:15:00",
        ),
        (
            "timeSlot",
            1800,
            "timeSlot(t[, zone])",
            "Down to half an hour.",
            "timeSlot(toDateTime('2020-01-02 03:34:05')) -> 2020-01-02 03:30:00",
        ),
    ];
    let make = |(name, span, signature, description, example)| {
        let function = span_function(name, span).doc(signature, description, example);
        if name == "toStartOfFiveMinutes" { function.aliases(&["toStartOfFiveMinute"]) } else { function }
    };
    table.into_iter().map(make).collect()
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let mut out = calendar_starts();
    out.extend(span_starts());
    out.push(
        ScalarFunction::new("toStartOfSecond", 1..=2, second_type, |call| {
            let locals = Locals::new(call, 0, 1)?;
            let per_second = power_of_ten(digits_of(call.result_type));
            Ok(moments(call, |row| locals.epoch(row) * per_second))
        })
        .increasing_by(0)
        .doc(
            "toStartOfSecond(t[, zone])",
            "The full second.",
            "toStartOfSecond(toDateTime64('2020-01-02 03:04:05.6', 3)) -> 2020-01-02 03:04:05.000",
        ),
    );
    out.push(time_on_fixed_day().doc(
        "toTimeWithFixedDate(t[, zone])",
        "The time of a moment, on 1970-01-02.",
        "toTimeWithFixedDate(toDateTime('2020-05-06 12:34:56', 'UTC')) -> 1970-01-02 12:34:56",
    ));
    out.push(
        ScalarFunction::new("dateTrunc", 2..=3, trunc_type, |call| {
            let unit = Unit::parse(call.texts(0)?.get(0))
                .ok_or_else(|| FunctionError::bad_argument("not a unit of time"))?;
            start_of(call, 1, 2, 1, unit)
        })
        .any_case()
        .aliases(&["date_trunc"])
        .increasing_by(1)
        .doc(
            "date_trunc(unit, t[, zone])",
            "Down to a unit of time.",
            "date_trunc('month', toDate('2020-05-06')) -> 2020-05-01",
        ),
    );
    out
}
