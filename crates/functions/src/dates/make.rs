//! Dates and times from their parts, from counts of days, and with one part changed.
//!
//! Invariant: parts outside of their range give the first day there is, not an error, as in ClickHouse.

use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Int64Array};
use arrow::datatypes::{Date32Type, UInt8Type, UInt32Type};
use model::{ColumnType, ErrorCode};

use super::local::{Locals, check};
use crate::columns::number::wrap;
use crate::conversion::convert::zone_argument;
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::constant_int;
use crate::time::calendar::{SECONDS_PER_DAY, date_of, day_of_week, days_in_month, days_of};
use crate::time::temporal::{
    digits_of, from_ticks, power_of_ten, precision_of, wrap_days, wrap_seconds, zone_of,
};
use crate::time::zone::Zone;

/// Days from 0000-01-01 to 1970-01-01.
const DAYS_BEFORE_EPOCH: i32 = 719_528;
/// Last day of a year that ClickHouse takes by its number, also in a leap year.
const DAY_OF_YEAR_MAX: i64 = 365;
/// Largest part of a clock that a time is made of: 25 hours are one of the next day.
const TWO_DIGITS: i64 = 99;
/// Last moment of a DateTime.
const SECONDS_MAX: i64 = 0xFFFF_FFFF;

pub(super) fn integers(args: &[ArgType], count: usize, name: &str) -> Result<(), FunctionError> {
    match args.iter().take(count).find(|arg| !arg.column_type.is_number()) {
        Some(arg) => Err(FunctionError::illegal_type(&arg.column_type, name)),
        None => Ok(()),
    }
}

/// The day of a year, month and day; `None` where a Date32 has none.
pub(super) fn day_of(year: i64, month: i64, day: i64) -> Option<i32> {
    let (year, month, day) =
        (i32::try_from(year).ok()?, i32::try_from(month).ok()?, i32::try_from(day).ok()?);
    let fits = (0..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    fits.then(|| days_of(year, month, day))
}

/// The day of a year, month and day that times can be made of.
fn day_of_time(year: i64, month: i64, day: i64) -> Option<i32> {
    day_of(year, month, day).filter(|_| (1900..=2299).contains(&year))
}

fn make_date(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let parts: Vec<_> = (0..call.args.len()).map(|index| call.ints(index)).collect::<Result<_, _>>()?;
    call.each::<Date32Type>(|row| {
        let part = |index: usize| parts[index].get(row);
        let day = match parts.len() {
            2 => day_of(part(0), 1, 1)
                .filter(|_| (1..=DAY_OF_YEAR_MAX).contains(&part(1)))
                .map(|first| first + wrap::<i64, i32>(part(1)) - 1),
            _ => day_of(part(0), part(1), part(2)),
        };
        let narrow = *call.result_type.value_type() == ColumnType::Date;
        Ok(day.filter(|day| !narrow || (0..=65_535).contains(day)).unwrap_or(0))
    })
}

/// Wall-clock seconds of six numbers; `None` where a part is out of range. Of the clock's parts `most` is the largest.
fn seconds_of(parts: [i64; 6], most: [i64; 3]) -> Option<i64> {
    let [year, month, day, hour, minute, second] = parts;
    let day = day_of_time(year, month, day)?;
    let fits = [hour, minute, second].iter().zip(most).all(|(part, most)| (0..=most).contains(part));
    fits.then(|| i64::from(day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second)
}

fn make_time(call: &Call<'_>, digits_given: u32) -> Result<ArrayRef, FunctionError> {
    let parts: Vec<_> = (0..6).map(|index| call.ints(index)).collect::<Result<_, _>>()?;
    let fraction = if digits_given > 0 && call.args.len() > 6 { Some(call.ints(6)?) } else { None };
    let result = call.result_type.value_type();
    let zone = Zone::new(zone_of(result, call.session.time_zone));
    let per_second = power_of_ten(digits_of(result));
    let up = power_of_ten(digits_of(result) - precision_of(result));
    let moment = |row: usize| {
        let local = seconds_of(std::array::from_fn(|part| parts[part].get(row)), [TWO_DIGITS; 3]);
        let fits = |epoch: &i64| digits_given > 0 || (0..=SECONDS_MAX).contains(epoch);
        let epoch = local.map(|local| zone.to_epoch(local)).filter(fits).unwrap_or(0);
        let most = power_of_ten(precision_of(result)) - 1;
        let ticks = fraction.as_ref().map_or(0, |fraction| fraction.get(row).clamp(0, most)) * up;
        epoch.wrapping_mul(per_second).wrapping_add(ticks)
    };
    let ticks: Vec<i64> = (0..call.rows).map(|row| if call.is_null(row) { 0 } else { moment(row) }).collect();
    Ok(from_ticks(Int64Array::from(ticks), result))
}

/// A date of `YYYYMMDD`.
fn of_digits(name: &'static str, result: ColumnType) -> ScalarFunction {
    let narrow = result == ColumnType::Date;
    ScalarFunction::new(
        name,
        1..=1,
        move |args| integers(args, 1, name).map(|()| result.clone()),
        move |call| {
            let numbers = call.ints(0)?;
            call.each::<Date32Type>(|row| {
                let digits = numbers.get(row);
                let day = day_of_time(digits / 10_000, digits / 100 % 100, digits % 100).unwrap_or(0);
                Ok(if narrow { day.clamp(0, 65_535) } else { day })
            })
        },
    )
}

/// A date of a count of days.
fn of_days(name: &'static str, result: ColumnType, first: i32) -> ScalarFunction {
    let narrow = result == ColumnType::Date;
    ScalarFunction::new(
        name,
        1..=1,
        move |args| integers(args, 1, name).map(|()| result.clone()),
        move |call| {
            let numbers = call.ints(0)?;
            call.each::<Date32Type>(|row| {
                let day = i32::try_from(numbers.get(row)).unwrap_or(0).wrapping_sub(first);
                Ok(if narrow { wrap_days(day) } else { day })
            })
        },
    )
}

/// One part of a date or time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Changed {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
}

fn change(name: &'static str, part: Changed) -> ScalarFunction {
    let of_time = matches!(part, Changed::Hour | Changed::Minute | Changed::Second);
    let rule = move |args: &[ArgType]| {
        check(args, 0, name)?;
        if !args[1].column_type.is_number() {
            return Err(FunctionError::illegal_type(&args[1].column_type, name));
        }
        Ok(match &args[0].column_type {
            ColumnType::Date if of_time => ColumnType::DateTime { time_zone: None },
            ColumnType::Date32 if of_time => ColumnType::DateTime64 { precision: 0, time_zone: None },
            other => other.clone(),
        })
    };
    ScalarFunction::new(name, 2..=2, rule, move |call| {
        let (locals, values) = (Locals::new(call, 0, usize::MAX)?, call.ints(1)?);
        let result = call.result_type.value_type();
        let changed = |row: usize| {
            let (date, time, value) = (date_of(locals.day(row)), locals.time(row), values.get(row));
            let mut parts = [
                i64::from(date.year),
                i64::from(date.month),
                i64::from(date.day),
                time / 3600,
                time / 60 % 60,
                time % 60,
            ];
            let place = match part {
                Changed::Year => 0,
                Changed::Month => 1,
                Changed::Day => 2,
                Changed::Hour => 3,
                Changed::Minute => 4,
                Changed::Second => 5,
            };
            parts[place] = value;
            seconds_of(parts, [23, 59, 59]).unwrap_or(0)
        };
        if matches!(result, ColumnType::Date | ColumnType::Date32) {
            let narrow = *result == ColumnType::Date;
            return call.each::<Date32Type>(|row| {
                let day = i32::try_from(changed(row).div_euclid(SECONDS_PER_DAY)).unwrap_or(0);
                Ok(if narrow { day.clamp(0, 65_535) } else { day })
            });
        }
        let per_second = power_of_ten(digits_of(result));
        let ticks = |row: usize| {
            let epoch = locals.zone.to_epoch(changed(row));
            let epoch = if digits_of(result) == 0 { wrap_seconds(epoch) } else { epoch };
            epoch.wrapping_mul(per_second).wrapping_add(locals.fraction(row))
        };
        let ticks: Vec<i64> =
            (0..call.rows).map(|row| if call.is_null(row) { 0 } else { ticks(row) }).collect();
        Ok(from_ticks(Int64Array::from(ticks), result))
    })
}

/// The same wall clock in another zone: from the zone named to UTC, or back.
fn to_utc(name: &'static str, back: bool) -> ScalarFunction {
    let rule = move |args: &[ArgType]| {
        zone_argument(args, 1)?;
        match &args[0].column_type {
            ColumnType::DateTime { time_zone: None } => Ok(ColumnType::DateTime { time_zone: None }),
            ColumnType::DateTime64 { precision, time_zone: None } => {
                Ok(ColumnType::DateTime64 { precision: *precision, time_zone: None })
            }
            other => Err(FunctionError::illegal_type(other, name)),
        }
    };
    ScalarFunction::new(name, 2..=2, rule, move |call| {
        let locals = Locals::new(call, 0, usize::MAX)?;
        let zone = Zone::new(crate::kernel::call::parse_zone(call.texts(1)?.get(0))?);
        let moment = |row: usize| {
            let epoch = locals.epoch(row);
            let moved = if back { zone.to_local(epoch) } else { zone.to_epoch(epoch) };
            moved * locals.per_second + locals.fraction(row)
        };
        let ticks: Vec<i64> =
            (0..call.rows).map(|row| if call.is_null(row) { 0 } else { moment(row) }).collect();
        Ok(from_ticks(Int64Array::from(ticks), call.result_type.value_type()))
    })
    .any_case()
}

fn of_parts() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new(
            "makeDate",
            2..=3,
            |args| integers(args, 3, "makeDate").map(|()| ColumnType::Date),
            make_date,
        )
        .any_case()
        .doc(
            "makeDate(year, month, day)",
            "A date of its parts, or of a year and a day of it.",
            "makeDate(2020, 1, 2) -> 2020-01-02",
        ),
        ScalarFunction::new(
            "makeDate32",
            2..=3,
            |args| integers(args, 3, "makeDate32").map(|()| ColumnType::Date32),
            make_date,
        )
        .doc(
            "makeDate32(year, month, day)",
            "A Date32 of its parts, or of a year and a day of it.",
            "makeDate32(2020, 2, 28) -> 2020-02-28",
        ),
        ScalarFunction::new(
            "makeDateTime",
            6..=7,
            |args| {
                integers(args, 6, "makeDateTime")?;
                Ok(ColumnType::DateTime { time_zone: zone_argument(args, 6)? })
            },
            |call| make_time(call, 0),
        )
        .doc(
            "makeDateTime(year, month, day, hour, minute, second[, zone])",
            "A DateTime of its parts.",
            "makeDateTime(2020, 1, 2, 3, 4, 5) -> 2020-01-02 03:04:05",
        ),
        ScalarFunction::new(
            "makeDateTime64",
            6..=9,
            |args| {
                integers(args, 7, "makeDateTime64")?;
                let precision = if args.len() > 7 { constant_int(args, 7) } else { Some(3) };
                let precision =
                    precision.and_then(|precision| u8::try_from(precision).ok()).filter(|p| *p <= 9);
                let message = "makeDateTime64 needs a constant precision of 0 to 9";
                let precision =
                    precision.ok_or_else(|| FunctionError::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, message))?;
                Ok(ColumnType::DateTime64 { precision, time_zone: zone_argument(args, 8)? })
            },
            |call| make_time(call, 3),
        )
        .doc(
            "makeDateTime64(year, month, day, hour, minute, second[, fraction[, precision[, zone]]])",
            "A DateTime64 of its parts; the fraction counts units of the precision.",
            "makeDateTime64(2020, 1, 2, 3, 4, 5, 678) -> 2020-01-02 03:04:05.678",
        ),
    ]
}

fn of_counts() -> Vec<ScalarFunction> {
    vec![
        of_digits("YYYYMMDDToDate", ColumnType::Date).doc(
            "YYYYMMDDToDate(n)",
            "A date of its digits.",
            "YYYYMMDDToDate(20200102) -> 2020-01-02",
        ),
        of_digits("YYYYMMDDToDate32", ColumnType::Date32).doc(
            "YYYYMMDDToDate32(n)",
            "A Date32 of its digits.",
            "YYYYMMDDToDate32(20200102) -> 2020-01-02",
        ),
        of_days("fromDaysSinceYearZero", ColumnType::Date, DAYS_BEFORE_EPOCH)
            .any_case()
            .aliases(&["FROM_DAYS"])
            .doc(
                "fromDaysSinceYearZero(n)",
                "The date n days after 0000-01-01.",
                "fromDaysSinceYearZero(737790) -> 2020-01-01",
            ),
        of_days("fromDaysSinceYearZero32", ColumnType::Date32, DAYS_BEFORE_EPOCH).doc(
            "fromDaysSinceYearZero32(n)",
            "As fromDaysSinceYearZero, a Date32.",
            "fromDaysSinceYearZero32(737790) -> 2020-01-01",
        ),
    ]
}

fn makers() -> Vec<ScalarFunction> {
    let mut out = of_parts();
    out.extend(of_counts());
    out
}

fn zones() -> Vec<ScalarFunction> {
    vec![
        to_utc("toUTCTimestamp", false).aliases(&["to_utc_timestamp"]).doc(
            "toUTCTimestamp(t, zone)",
            "The moment at which a clock in the zone shows t.",
            "toUTCTimestamp(toDateTime('2020-01-02 03:04:05'), 'Europe/Berlin') -> 2020-01-02 02:04:05",
        ),
        to_utc("fromUTCTimestamp", true).aliases(&["from_utc_timestamp"]).doc(
            "fromUTCTimestamp(t, zone)",
            "What a clock in the zone shows at t.",
            "fromUTCTimestamp(toDateTime('2020-01-02 03:04:05'), 'Europe/Berlin') -> 2020-01-02 04:04:05",
        ),
    ]
}

fn days() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new(
            "toDaysSinceYearZero",
            1..=2,
            |args| check(args, 0, "toDaysSinceYearZero").map(|()| ColumnType::UInt32),
            |call| {
                let locals = Locals::new(call, 0, 1)?;
                call.each::<UInt32Type>(|row| {
                    Ok(u32::try_from(locals.day(row) + DAYS_BEFORE_EPOCH).unwrap_or(0))
                })
            },
        )
        .any_case()
        .aliases(&["TO_DAYS"])
        .doc(
            "toDaysSinceYearZero(t[, zone])",
            "Days since 0000-01-01.",
            "toDaysSinceYearZero(toDate('2020-01-01')) -> 737790",
        ),
        ScalarFunction::new(
            "toDaysInMonth",
            1..=2,
            |args| check(args, 0, "toDaysInMonth").map(|()| ColumnType::UInt8),
            |call| {
                let locals = Locals::new(call, 0, 1)?;
                call.each::<UInt8Type>(|row| {
                    let date = date_of(locals.day(row));
                    Ok(u8::try_from(days_in_month(date.year, date.month)).unwrap_or(0))
                })
            },
        )
        .doc(
            "toDaysInMonth(t[, zone])",
            "The days of the month.",
            "toDaysInMonth(toDate('2020-02-02')) -> 29",
        ),
        ScalarFunction::new(
            "toLastDayOfWeek",
            1..=3,
            |args| check(args, 0, "toLastDayOfWeek").map(|()| ColumnType::Date),
            |call| {
                let locals = Locals::new(call, 0, 2)?;
                let mode = if call.args.len() > 1 { call.ints(1)?.get(0) } else { 0 };
                let days = |row: usize| {
                    let day = locals.day(row);
                    let ahead = if mode & 1 == 1 { 7 - day_of_week(day) } else { 6 - day_of_week(day) % 7 };
                    if call.is_null(row) { 0 } else { (day + ahead).clamp(0, i32::from(u16::MAX)) }
                };
                Ok(Arc::new(Date32Array::from_iter_values((0..call.rows).map(days))))
            },
        )
        .doc(
            "toLastDayOfWeek(t[, mode[, zone]])",
            "The Saturday, or for odd modes the Sunday, of the week.",
            "toLastDayOfWeek(toDate('2020-01-02')) -> 2020-01-04",
        ),
    ]
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let mut out = makers();
    out.extend(zones());
    let parts = [
        ("changeYear", Changed::Year, "changeYear(t, n)", "The time with another year."),
        ("changeMonth", Changed::Month, "changeMonth(t, n)", "The time with another month."),
        ("changeDay", Changed::Day, "changeDay(t, n)", "The time with another day of the month."),
        ("changeHour", Changed::Hour, "changeHour(t, n)", "The time with another hour."),
        ("changeMinute", Changed::Minute, "changeMinute(t, n)", "The time with another minute."),
        ("changeSecond", Changed::Second, "changeSecond(t, n)", "The time with another second."),
    ];
    out.extend(parts.map(|(name, part, signature, description)| {
        change(name, part).doc(signature, description, "changeYear(toDate('2020-01-02'), 2021) -> 2021-01-02")
    }));
    out.extend(days());

    out
}
