//! Dates and times from their parts and from counts of days.
//!
//! Invariant: parts outside of their range give the first day there is, not an error, as in ClickHouse.

use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Int64Array};
use arrow::datatypes::{Date32Type, Float64Type, UInt8Type, UInt32Type};
use model::{ColumnType, ErrorCode};

use super::local::{Locals, check};
use crate::columns::number::wrap;
use crate::conversion::convert::zone_argument;
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::{Numbers, constant_int};
use crate::time::calendar::{SECONDS_PER_DAY, date_of, day_of_week, days_in_month, days_of};
use crate::time::temporal::{digits_of, from_ticks, power_of_ten, precision_of, wrap_days, zone_of};
use crate::time::zone::Zone;

/// Days from 0000-01-01 to 1970-01-01.
const DAYS_BEFORE_EPOCH: i32 = 719_528;
/// Last day of a year that ClickHouse takes by its number, also in a leap year.
const DAY_OF_YEAR_MAX: i64 = 365;
/// Largest part of a clock that a time is made of: 25 hours are one of the next day.
const TWO_DIGITS: i64 = 99;
/// Last moment of a DateTime.
pub(super) const SECONDS_MAX: i64 = 0xFFFF_FFFF;

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

/// Numbers whose digits are parts of a time, rounded where they are whole ones.
pub(super) fn finite(call: &Call<'_>, name: &str) -> Result<Numbers<Float64Type>, FunctionError> {
    let numbers = call.floats(0)?;
    let is_bad = |row: usize| !call.is_null(row) && !numbers.get(row).is_finite();
    match (0..call.rows).any(is_bad) {
        true => Err(FunctionError::bad_argument(format!("the argument of {name} must be finite"))),
        false => Ok(numbers),
    }
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

/// Where six numbers are on a time line of whole years.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Before the first year, or nowhere.
    Before,
    /// Wall-clock seconds.
    At(i64),
    After,
}

impl Place {
    /// Wall-clock seconds; of what is beyond the years that times are made of, the first or last second.
    pub(super) fn seconds(self) -> i64 {
        match self {
            Place::Before => i64::from(days_of(1900, 1, 1)) * SECONDS_PER_DAY,
            Place::At(local) => local,
            Place::After => i64::from(days_of(2300, 1, 1)) * SECONDS_PER_DAY - 1,
        }
    }
}

/// The place of six numbers among the years there are; `most` is the largest of each of the clock's parts.
pub(super) fn place_of(parts: [i64; 6], years: std::ops::RangeInclusive<i64>, most: [i64; 3]) -> Place {
    let [year, month, day, hour, minute, second] = parts;
    let fits = [hour, minute, second].iter().zip(most).all(|(part, most)| (0..=most).contains(part));
    if !fits || !(1..=12).contains(&month) || !(1..=31).contains(&day) || year < *years.start() {
        return Place::Before;
    }
    match day_of(year, month, day) {
        Some(day) if year <= *years.end() => {
            Place::At(i64::from(day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second)
        }
        _ => Place::After,
    }
}

/// The place of six numbers among the years that a time is made of, as ClickHouse has them.
pub(super) fn place_made(parts: [i64; 6]) -> Place {
    place_of(parts, 1900..=2299, [TWO_DIGITS; 3])
}

fn make_time(call: &Call<'_>, digits_given: u32) -> Result<ArrayRef, FunctionError> {
    let parts: Vec<_> = (0..6).map(|index| call.ints(index)).collect::<Result<_, _>>()?;
    let fraction = if digits_given > 0 && call.args.len() > 6 { Some(call.ints(6)?) } else { None };
    let result = call.result_type.value_type();
    let zone = Zone::new(zone_of(result, call.session.time_zone));
    let per_second = power_of_ten(digits_of(result));
    let up = power_of_ten(digits_of(result) - precision_of(result));
    let most = power_of_ten(precision_of(result)) - 1;
    let moment = |row: usize| {
        let place = place_made(std::array::from_fn(|part| parts[part].get(row)));
        let own = fraction.as_ref().map_or(0, |fraction| fraction.get(row).clamp(0, most));
        let own = match place {
            Place::Before => 0,
            Place::At(_) => own,
            Place::After => most,
        };
        let epoch = zone.to_epoch(place.seconds());
        if digits_given == 0 {
            return Ok(epoch.clamp(0, SECONDS_MAX));
        }
        let ticks = epoch.checked_mul(per_second).and_then(|ticks| ticks.checked_add(own * up));
        ticks.ok_or_else(beyond_range)
    };
    let ticks: Result<Vec<i64>, FunctionError> =
        (0..call.rows).map(|row| if call.is_null(row) { Ok(0) } else { moment(row) }).collect();
    Ok(from_ticks(Int64Array::from(ticks?), result))
}

pub(super) fn beyond_range() -> FunctionError {
    FunctionError::new(ErrorCode::DECIMAL_OVERFLOW, "a time is beyond DateTime64")
}

/// A date of `YYYYMMDD`.
fn of_digits(name: &'static str, result: ColumnType) -> ScalarFunction {
    let narrow = result == ColumnType::Date;
    ScalarFunction::new(
        name,
        1..=1,
        move |args| integers(args, 1, name).map(|()| result.clone()),
        move |call| {
            let numbers = finite(call, name)?;
            call.each::<Date32Type>(|row| {
                let digits = wrap::<f64, i64>(numbers.get(row).round());
                let day = day_of(digits / 10_000, digits / 100 % 100, digits % 100);
                Ok(day.filter(|day| !narrow || (0..=65_535).contains(day)).unwrap_or(0))
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
    out.extend(days());
    out
}
