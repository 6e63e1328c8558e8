//! Numbers taken from dates and times: year, month, hour, week, ...
//!
//! Invariant: each result has the smallest unsigned type ClickHouse gives it.

use arrow::array::ArrayRef;
use model::ColumnType;

use super::local::{Locals, check};
use crate::columns::number::{Number, with_number};
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::is_date;
use crate::time::calendar::{date_of, day_of_week, day_of_year, days_of, iso_week};

/// Weeks and their days are told of texts, too.
fn check_or_text(args: &[ArgType], name: &str) -> Result<(), FunctionError> {
    match args.first() {
        Some(arg) if arg.column_type.is_string() => Ok(()),
        _ => check(args, 0, name),
    }
}

/// Computes a part of one row.
type Part = fn(&Locals, usize) -> i64;

fn evaluate(call: &Call<'_>, part: Part) -> Result<ArrayRef, FunctionError> {
    let locals = Locals::new(call, 0, 1)?;
    let result = call.result_type.value_type();
    with_number!(result, T => {
        call.each::<T>(|row| Ok(Number::wrap_int(i128::from(part(&locals, row)))))
    }, else Err(FunctionError::illegal_type(result, "of a date part")))
}

fn part(name: &'static str, result: ColumnType, part: Part) -> ScalarFunction {
    let rule = move |args: &[ArgType]| check(args, 0, name).map(|()| result.clone());
    ScalarFunction::new(name, 1..=2, rule, move |call| evaluate(call, part))
}

/// A part of the time of day, which a date has none of.
fn clock_part(name: &'static str, result: ColumnType, part: Part) -> ScalarFunction {
    let rule = move |args: &[ArgType]| {
        check(args, 0, name)?;
        match args.first().map(|arg| &arg.column_type) {
            Some(date) if is_date(date) => Err(FunctionError::illegal_type(date, name)),
            _ => Ok(result.clone()),
        }
    };
    ScalarFunction::new(name, 1..=2, rule, move |call| evaluate(call, part))
}

fn year(locals: &Locals, row: usize) -> i64 {
    i64::from(date_of(locals.day(row)).year)
}

fn year_month(locals: &Locals, row: usize) -> i64 {
    let date = date_of(locals.day(row));
    i64::from(date.year) * 100 + i64::from(date.month)
}

fn year_month_day(locals: &Locals, row: usize) -> i64 {
    year_month(locals, row) * 100 + i64::from(date_of(locals.day(row)).day)
}

fn digits_of_time(locals: &Locals, row: usize) -> i64 {
    let time = locals.time(row);
    time / 3600 * 10_000 + time / 60 % 60 * 100 + time % 60
}

/// Week of the year by MySQL's modes: bit 0 Monday first, bit 1 weeks of the year only, bit 2 the first week needs
/// its first day rather than four days.
fn week(day: i32, mode: i64) -> (i32, i32) {
    let monday_first = mode & 1 != 0;
    // Bit 3: the first week has January 1st.
    let any_first = mode & 8 != 0;
    let week_year = mode & 2 != 0 || any_first;
    let first_weekday = (mode & 4 != 0) ^ !monday_first;
    let year = date_of(day).year;
    let week_in = |year: i32| {
        let start = days_of(year, 1, 1);
        // Days from the week's first weekday to January 1st.
        let offset = if monday_first { day_of_week(start) - 1 } else { day_of_week(start) % 7 };
        let first = start - offset;
        let counts = any_first || if first_weekday { offset == 0 } else { offset < 4 };
        if counts { first } else { first + 7 }
    };
    let first = week_in(year);
    if day < first {
        return if week_year { (year - 1, (day - week_in(year - 1)) / 7 + 1) } else { (year, 0) };
    }
    if week_year && day >= week_in(year + 1) {
        return (year + 1, 1);
    }
    (year, (day - first) / 7 + 1)
}

fn week_function(
    name: &'static str,
    result: ColumnType,
    number: fn((i32, i32)) -> i64,
    always_year: bool,
) -> ScalarFunction {
    let rule = move |args: &[ArgType]| check_or_text(args, name).map(|()| result.clone());
    ScalarFunction::new(name, 1..=3, rule, move |call: &Call<'_>| {
        let locals = Locals::new(call, 0, 2)?;
        let mode = if call.args.len() > 1 { call.ints(1)?.get(0) } else { 0 };
        let mode = if always_year { mode | 2 } else { mode };
        let result = call.result_type.value_type();
        with_number!(result, T => {
            call.each::<T>(|row| Ok(Number::wrap_int(i128::from(number(week(locals.day(row), mode))))))
        }, else Err(FunctionError::illegal_type(result, name)))
    })
}

/// `toDayOfWeek(t[, mode[, zone]])`: 0 Monday is 1, 1 Monday is 0, 2 Sunday is 0, 3 Sunday is 1.
fn weekday(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let locals = Locals::new(call, 0, 2)?;
    let mode = if call.args.len() > 1 { call.ints(1)?.get(0) } else { 0 };
    call.each::<arrow::datatypes::UInt8Type>(|row| {
        let monday = day_of_week(locals.day(row));
        let number = match mode & 3 {
            0 => monday,
            1 => monday - 1,
            2 => monday % 7,
            _ => monday % 7 + 1,
        };
        Ok(u8::try_from(number).unwrap_or(0))
    })
}

fn clock_parts() -> Vec<ScalarFunction> {
    let u8_type = ColumnType::UInt8;
    vec![
        clock_part("toHour", u8_type.clone(), |l, row| l.time(row) / 3600).any_case().aliases(&["HOUR"]).doc(
            "toHour(t[, zone])",
            "The hour, 0 to 23.",
            "toHour(toDateTime('2020-01-02 03:04:05')) -> 3",
        ),
        clock_part("toMinute", u8_type.clone(), |l, row| l.time(row) / 60 % 60)
            .any_case()
            .aliases(&["MINUTE"])
            .doc("toMinute(t[, zone])", "The minute.", "toMinute(toDateTime('2020-01-02 03:04:05')) -> 4"),
        clock_part("toSecond", u8_type, |l, row| l.time(row) % 60).any_case().aliases(&["SECOND"]).doc(
            "toSecond(t[, zone])",
            "The second.",
            "toSecond(toDateTime('2020-01-02 03:04:05')) -> 5",
        ),
        clock_part("toMillisecond", ColumnType::UInt16, |l, row| l.fraction(row) * 1000 / l.per_second)
            .any_case()
            .aliases(&["MILLISECOND"])
            .doc(
                "toMillisecond(t[, zone])",
                "The milliseconds after the second.",
                "toMillisecond(toDateTime64('2020-01-02 03:04:05.678', 3)) -> 678",
            ),
        part("toYYYYMMDDhhmmss", ColumnType::UInt64, |l, row| {
            year_month_day(l, row) * 1_000_000 + digits_of_time(l, row)
        })
        .doc(
            "toYYYYMMDDhhmmss(t[, zone])",
            "Date and time as one number.",
            "toYYYYMMDDhhmmss(toDateTime('2020-01-02 03:04:05')) -> 20200102030405",
        ),
        clock_part("toMicrosecond", ColumnType::UInt32, |l, row| {
            l.fraction(row) * (1_000_000_000 / l.per_second) / 1000
        })
        .any_case()
        .aliases(&["MICROSECOND"])
        .doc(
            "toMicrosecond(t[, zone])",
            "The microseconds after the second.",
            "toMicrosecond(toDateTime64('2020-01-02 03:04:05.678', 3)) -> 678000",
        ),
        clock_part("toNanosecond", ColumnType::UInt32, |l, row| {
            l.fraction(row) * (1_000_000_000 / l.per_second)
        })
        .any_case()
        .aliases(&["NANOSECOND"])
        .doc(
            "toNanosecond(t[, zone])",
            "The nanoseconds after the second.",
            "toNanosecond(toDateTime64('2020-01-02 03:04:05.678', 3)) -> 678000000",
        ),
        part("toRelativeYearNum", ColumnType::UInt16, year).increasing_by(0).doc(
            "toRelativeYearNum(t[, zone])",
            "The year.",
            "toRelativeYearNum(toDate('2020-01-02')) -> 2020",
        ),
        part("toYearNumSinceEpoch", ColumnType::UInt16, |l, row| (year(l, row) - 1970).max(0))
            .increasing_by(0)
            .doc(
                "toYearNumSinceEpoch(t[, zone])",
                "Years since 1970.",
                "toYearNumSinceEpoch(toDate('2020-01-02')) -> 50",
            ),
    ]
}

fn relative_parts() -> Vec<ScalarFunction> {
    vec![
        part("toMonthNumSinceEpoch", ColumnType::UInt32, |l, row| {
            (crate::time::calendar::month_index(l.day(row)) - 1970 * 12).max(0)
        })
        .increasing_by(0)
        .doc(
            "toMonthNumSinceEpoch(t[, zone])",
            "Months since 1970.",
            "toMonthNumSinceEpoch(toDate('2020-01-02')) -> 600",
        ),
        part("toRelativeQuarterNum", ColumnType::UInt32, |l, row| {
            crate::time::calendar::month_index(l.day(row)).div_euclid(3)
        })
        .increasing_by(0)
        .doc(
            "toRelativeQuarterNum(t[, zone])",
            "Quarters since year 0.",
            "toRelativeQuarterNum(toDate('2020-01-02')) -> 8080",
        ),
        // Weeks start on Monday; the epoch was a Thursday.
        part("toRelativeWeekNum", ColumnType::UInt32, |l, row| {
            (i64::from(l.day(row)) + 3).div_euclid(7).max(0)
        })
        .doc(
            "toRelativeWeekNum(t[, zone])",
            "Weeks since 1970.",
            "toRelativeWeekNum(toDate('2020-01-02')) -> 2609",
        ),
        part("toRelativeMinuteNum", ColumnType::UInt32, |l, row| l.epoch(row).div_euclid(60).max(0)).doc(
            "toRelativeMinuteNum(t[, zone])",
            "Minutes since 1970.",
            "toRelativeMinuteNum(toDateTime('1970-01-01 05:00:00')) -> 300",
        ),
        part("toRelativeSecondNum", ColumnType::UInt32, |l, row| l.epoch(row).clamp(0, i64::from(u32::MAX)))
            .doc(
                "toRelativeSecondNum(t[, zone])",
                "Seconds since 1970.",
                "toRelativeSecondNum(toDateTime('1970-01-01 05:00:00')) -> 18000",
            ),
        part("toRelativeDayNum", ColumnType::UInt32, |l, row| {
            // The last day of Date.
            i64::from(l.day(row)).clamp(0, 65_535)
        })
        .increasing_by(0)
        .doc(
            "toRelativeDayNum(t[, zone])",
            "Days since 1970.",
            "toRelativeDayNum(toDate('1970-01-03')) -> 2",
        ),
        part("toRelativeHourNum", ColumnType::UInt32, |l, row| l.hour_number(row).max(0)).doc(
            "toRelativeHourNum(t[, zone])",
            "Hours since 1970.",
            "toRelativeHourNum(toDateTime('1970-01-01 05:00:00')) -> 5",
        ),
        part("toRelativeMonthNum", ColumnType::UInt32, |l, row| {
            crate::time::calendar::month_index(l.day(row)) + 1
        })
        .increasing_by(0)
        .doc(
            "toRelativeMonthNum(t[, zone])",
            "Months since year 0.",
            "toRelativeMonthNum(toDate('1970-01-03')) -> 23641",
        ),
    ]
}

fn time_parts() -> Vec<ScalarFunction> {
    let mut out = clock_parts();
    out.extend(relative_parts());
    out
}

fn year_parts() -> Vec<ScalarFunction> {
    vec![
        part("toYear", ColumnType::UInt16, year).any_case().aliases(&["YEAR"]).increasing_by(0).doc(
            "toYear(t[, zone])",
            "The year.",
            "toYear(toDate('2020-01-02')) -> 2020",
        ),
        part("toYYYYMM", ColumnType::UInt32, year_month).increasing_by(0).doc(
            "toYYYYMM(t[, zone])",
            "Year and month as one number.",
            "toYYYYMM(toDate('2020-01-02')) -> 202001",
        ),
        part("toYYYYMMDD", ColumnType::UInt32, year_month_day).increasing_by(0).doc(
            "toYYYYMMDD(t[, zone])",
            "Year, month and day as one number.",
            "toYYYYMMDD(toDate('2020-01-02')) -> 20200102",
        ),
        part("toISOYear", ColumnType::UInt16, |l, row| i64::from(iso_week(l.day(row)).0))
            .any_case()
            .increasing_by(0)
            .doc(
                "toISOYear(t[, zone])",
                "The year that ISO's week is in.",
                "toISOYear(toDate('2021-01-03')) -> 2020",
            ),
        week_function("toWeek", ColumnType::UInt8, |(_, week)| i64::from(week), false)
            .any_case()
            .aliases(&["week"])
            .doc(
                "toWeek(t[, mode[, zone]])",
                "The week of the year by MySQL's modes.",
                "toWeek(toDate('2020-01-12')) -> 2",
            ),
        week_function(
            "toYearWeek",
            ColumnType::UInt32,
            |(year, week)| i64::from(year) * 100 + i64::from(week),
            true,
        )
        .any_case()
        .aliases(&["yearweek"])
        .doc(
            "toYearWeek(t[, mode[, zone]])",
            "Year and week as one number.",
            "toYearWeek(toDate('2020-01-12')) -> 202002",
        ),
    ]
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let u8_type = ColumnType::UInt8;
    let mut out = year_parts();
    out.extend(time_parts());
    out.extend([
        part("toQuarter", u8_type.clone(), |l, row| i64::from((date_of(l.day(row)).month - 1) / 3 + 1))
            .any_case()
            .aliases(&["QUARTER"])
            .doc("toQuarter(t[, zone])", "The quarter, 1 to 4.", "toQuarter(toDate('2020-05-02')) -> 2"),
        part("toMonth", u8_type.clone(), |l, row| i64::from(date_of(l.day(row)).month))
            .any_case()
            .aliases(&["MONTH"])
            .doc("toMonth(t[, zone])", "The month, 1 to 12.", "toMonth(toDate('2020-05-02')) -> 5"),
        part("toDayOfMonth", u8_type.clone(), |l, row| i64::from(date_of(l.day(row)).day))
            .any_case()
            .aliases(&["DAY", "DAYOFMONTH"])
            .doc(
                "toDayOfMonth(t[, zone])",
                "The day of the month.",
                "toDayOfMonth(toDate('2020-05-02')) -> 2",
            ),
        part("toDayOfYear", ColumnType::UInt16, |l, row| i64::from(day_of_year(l.day(row))))
            .any_case()
            .aliases(&["DAYOFYEAR"])
            .doc(
                "toDayOfYear(t[, zone])",
                "The day of the year, from 1.",
                "toDayOfYear(toDate('2020-02-01')) -> 32",
            ),
        part("toISOWeek", u8_type.clone(), |l, row| i64::from(iso_week(l.day(row)).1)).any_case().doc(
            "toISOWeek(t[, zone])",
            "ISO's week of the year.",
            "toISOWeek(toDate('2021-01-03')) -> 53",
        ),
        ScalarFunction::new(
            "toDayOfWeek",
            1..=3,
            move |args| check_or_text(args, "toDayOfWeek").map(|()| u8_type.clone()),
            weekday,
        )
        .any_case()
        .aliases(&["DAYOFWEEK"])
        .doc(
            "toDayOfWeek(t[, mode[, zone]])",
            "The day of the week, Monday is 1.",
            "toDayOfWeek(toDate('2020-01-05')) -> 7",
        ),
        ScalarFunction::new(
            "toUnixTimestamp",
            1..=2,
            |args| match args.first().map(|arg| &arg.column_type) {
                Some(text) if text.is_string() || text.is_integer() => Ok(ColumnType::UInt32),
                _ => check(args, 0, "toUnixTimestamp").map(|()| ColumnType::UInt32),
            },
            super::read::unix_timestamp,
        )
        .increasing_by(0)
        .doc(
            "toUnixTimestamp(t[, zone])",
            "Seconds since the epoch.",
            "toUnixTimestamp(toDateTime('2020-01-01 00:00:00')) -> 1577836800",
        ),
    ]);
    out
}
