//! Dates and times with one part changed: `changeYear` and its kin.
//!
//! Invariant: what is beyond the type is its last value, and what is before it, or nowhere, its first one.

use arrow::array::{ArrayRef, Int64Array};
use arrow::datatypes::Date32Type;
use model::ColumnType;

use super::local::{Locals, check};
use super::make::{Place, SECONDS_MAX, place_of};
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::time::calendar::{SECONDS_PER_DAY, date_of, days_of};
use crate::time::temporal::{digits_of, from_ticks, power_of_ten, precision_of};

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

impl Changed {
    fn place(self) -> usize {
        match self {
            Changed::Year => 0,
            Changed::Month => 1,
            Changed::Day => 2,
            Changed::Hour => 3,
            Changed::Minute => 4,
            Changed::Second => 5,
        }
    }

    fn of_time(self) -> bool {
        matches!(self, Changed::Hour | Changed::Minute | Changed::Second)
    }
}

/// Years of the widest types.
const YEARS: std::ops::RangeInclusive<i64> = 0..=9999;
/// The largest hour, minute and second.
const CLOCK_MAX: [i64; 3] = [23, 59, 59];
/// The last day of Date.
const DATE_DAYS_MAX: i64 = 65_535;

fn change(name: &'static str, part: Changed) -> ScalarFunction {
    let rule = move |args: &[ArgType]| {
        check(args, 0, name)?;
        if !args[1].column_type.is_number() {
            return Err(FunctionError::illegal_type(&args[1].column_type, name));
        }
        Ok(match &args[0].column_type {
            ColumnType::Date if part.of_time() => ColumnType::DateTime { time_zone: None },
            ColumnType::Date32 if part.of_time() => ColumnType::DateTime64 { precision: 3, time_zone: None },
            other => other.clone(),
        })
    };
    ScalarFunction::new(name, 2..=2, rule, move |call| changed(call, part))
}

fn changed(call: &Call<'_>, part: Changed) -> Result<ArrayRef, FunctionError> {
    let (locals, values) = (Locals::new(call, 0, usize::MAX)?, call.ints(1)?);
    let result = call.result_type.value_type();
    let place = |row: usize| {
        let (date, time) = (date_of(locals.day(row)), locals.time(row));
        let (year, month, day) = (i64::from(date.year), i64::from(date.month), i64::from(date.day));
        let mut parts = [year, month, day, time / 3600, time / 60 % 60, time % 60];
        parts[part.place()] = values.get(row);
        place_of(parts, YEARS, CLOCK_MAX)
    };
    let last_day = i64::from(days_of(10_000, 1, 1)) - 1;
    let first_day = i64::from(days_of(0, 1, 1));
    if let ColumnType::Date | ColumnType::Date32 = result {
        let days = if *result == ColumnType::Date { 0..=DATE_DAYS_MAX } else { first_day..=last_day };
        return call.each::<Date32Type>(|row| {
            let day = match place(row) {
                Place::Before => *days.start(),
                Place::At(local) => local.div_euclid(SECONDS_PER_DAY).clamp(*days.start(), *days.end()),
                Place::After => *days.end(),
            };
            Ok(i32::try_from(day).unwrap_or(0))
        });
    }
    let digits = digits_of(result);
    let (per_second, wide) = (power_of_ten(digits), !matches!(result, ColumnType::DateTime { .. }));
    let cut = power_of_ten(digits - precision_of(result));
    // The ends are those of the wall clock, but of a DateTime those of the time line.
    let first = locals.zone.to_epoch(first_day * SECONDS_PER_DAY).saturating_mul(per_second);
    let last = locals.zone.to_epoch((last_day + 1) * SECONDS_PER_DAY).saturating_mul(per_second);
    let last = if last == i64::MAX { last } else { last - cut };
    let (first, last) = if wide { (first, last) } else { (0, SECONDS_MAX) };
    let own_digits = power_of_ten(digits - locals.digits.min(digits));
    let ticks = |row: usize| match place(row) {
        Place::Before => first,
        Place::After => last,
        Place::At(local) => {
            let whole = locals.zone.to_epoch(local).saturating_mul(per_second);
            match whole {
                i64::MIN => whole,
                _ => whole.saturating_add(locals.fraction(row) * own_digits).clamp(first, last),
            }
        }
    };
    let ticks: Vec<i64> = (0..call.rows).map(|row| if call.is_null(row) { 0 } else { ticks(row) }).collect();
    Ok(from_ticks(Int64Array::from(ticks), result))
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let parts = [
        ("changeYear", Changed::Year, "changeYear(t, n)", "The time with another year."),
        ("changeMonth", Changed::Month, "changeMonth(t, n)", "The time with another month."),
        ("changeDay", Changed::Day, "changeDay(t, n)", "The time with another day of the month."),
        ("changeHour", Changed::Hour, "changeHour(t, n)", "The time with another hour."),
        ("changeMinute", Changed::Minute, "changeMinute(t, n)", "The time with another minute."),
        ("changeSecond", Changed::Second, "changeSecond(t, n)", "The time with another second."),
    ];
    let make = |(name, part, signature, description)| {
        change(name, part).doc(signature, description, "changeYear(toDate('2020-01-02'), 2021) -> 2021-01-02")
    };
    parts.map(make).into_iter().collect()
}
