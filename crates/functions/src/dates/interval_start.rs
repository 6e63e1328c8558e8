//! `toStartOfInterval`: down to a multiple of an interval, counted as ClickHouse counts each unit or from an origin.
//!
//! Invariant: with an origin the result has the argument's type, days and longer units are those of the wall clock, and the
//! origin is not behind the argument. Must not know: how starts without an origin are counted.

use arrow::array::ArrayRef;
use model::{ColumnType, ErrorCode};

use super::local::{Locals, check, zone_name};
use super::start::{dates, interval_type, moments, start_of};
use crate::arithmetic::interval::{Unit, constant_amount};
use crate::conversion::convert::zone_argument;
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::is_date;
use crate::time::calendar::{SECONDS_PER_DAY, add_months, month_index};
use crate::time::temporal::{digits_of, power_of_ten};

const NAME: &str = "toStartOfInterval";

fn interval_unit(args: &[ArgType]) -> Result<Unit, FunctionError> {
    let interval = args.get(1).map(|arg| &arg.column_type);
    interval.and_then(Unit::of_interval).ok_or_else(|| {
        let shown = interval.map_or_else(String::new, ToString::to_string);
        FunctionError::illegal_type(&shown, "toStartOfInterval, which needs an interval")
    })
}

/// Whether the third argument is a time, not the name of a zone.
fn is_origin(column_type: &ColumnType) -> bool {
    !column_type.is_string()
}

fn result_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    check(args, 0, NAME)?;
    let unit = interval_unit(args)?;
    let Some(origin) = args.get(2).map(|arg| &arg.column_type).filter(|origin| is_origin(origin)) else {
        return match args.len() {
            4 => Err(FunctionError::illegal_type(&args[2].column_type, "toStartOfInterval, as its origin")),
            _ => interval_type(args, 0, unit, false),
        };
    };
    let source = &args[0].column_type;
    if std::mem::discriminant(source) != std::mem::discriminant(origin) {
        let message =
            format!("the origin of {NAME} must have the type of the time, {source}, and is {origin}");
        return Err(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
    }
    let is_below = match source {
        ColumnType::Date | ColumnType::Date32 => unit < Unit::Day,
        ColumnType::DateTime64 { precision, .. } => {
            unit.digits() > u32::from(*precision) && unit < Unit::Second
        }
        _ => unit < Unit::Second,
    };
    if is_below {
        let message = format!("illegal interval kind {} for argument of type {source}", unit.name());
        return Err(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
    }
    let time_zone = zone_argument(args, 3)?.or_else(|| zone_name(source));
    Ok(match source {
        ColumnType::DateTime { .. } => ColumnType::DateTime { time_zone },
        ColumnType::DateTime64 { precision, .. } => {
            ColumnType::DateTime64 { precision: *precision, time_zone }
        }
        date => date.clone(),
    })
}

fn to_start_of_interval(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let interval = call.arg(1)?;
    let unit = Unit::of_interval(&interval.column_type)
        .ok_or_else(|| FunctionError::illegal_type(&interval.column_type, NAME))?;
    let count = constant_amount(&interval.array.slice(0, 1))
        .ok_or_else(|| FunctionError::new(ErrorCode::ILLEGAL_COLUMN, "the interval must be constant"))?;
    match call.args.get(2).is_some_and(|arg| is_origin(&arg.column_type)) {
        true => from_origin(call, count, unit),
        false => start_of(call, 0, 2, count, unit),
    }
}

/// Ticks of the wall clock since 1970.
fn wall(locals: &Locals, row: usize, digits: u32) -> i64 {
    let per_second = power_of_ten(digits);
    locals.seconds(row) * per_second + locals.ticks_at(row, digits).rem_euclid(per_second)
}

fn from_origin(call: &Call<'_>, count: i64, unit: Unit) -> Result<ArrayRef, FunctionError> {
    if count <= 0 {
        let message = "value for interval must be positive";
        return Err(FunctionError::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, message));
    }
    let (times, origins) = (Locals::new(call, 0, 3)?, Locals::new(call, 2, 3)?);
    let is_date = is_date(call.result_type.value_type());
    let digits = if is_date { 0 } else { digits_of(call.result_type) };
    let per_second = power_of_ten(digits);
    let is_behind = |row: &usize| wall(&origins, *row, digits) > wall(&times, *row, digits);
    if (0..call.rows).filter(|row| !call.is_null(*row)).any(|row| is_behind(&row)) {
        let message = "the origin must be before the end date / date with time";
        return Err(FunctionError::new(ErrorCode::BAD_ARGUMENTS, message));
    }
    let on_the_wall = |row: usize| {
        let (time, origin) = (wall(&times, row, digits), wall(&origins, row, digits));
        match unit.months() {
            Some(months) => after_months(origin, time, months.saturating_mul(count), per_second),
            None => {
                let days = unit.days().unwrap_or(1);
                let span = count.saturating_mul(days * SECONDS_PER_DAY * per_second);
                origin + (time - origin).div_euclid(span) * span
            }
        }
    };
    if is_date {
        let day = |row: usize| i32::try_from(on_the_wall(row).div_euclid(SECONDS_PER_DAY)).unwrap_or(0);
        return Ok(dates(call, day));
    }
    if unit >= Unit::Day {
        return Ok(moments(call, |row| {
            let wall = on_the_wall(row);
            times.zone.to_epoch(wall.div_euclid(per_second)) * per_second + wall.rem_euclid(per_second)
        }));
    }
    let span = match unit.seconds() {
        Some(seconds) => seconds * per_second,
        None => power_of_ten(digits - unit.digits()),
    };
    let span = span.saturating_mul(count);
    Ok(moments(call, |row| {
        let (time, origin) = (times.ticks_at(row, digits), origins.ticks_at(row, digits));
        origin + (time - origin).div_euclid(span) * span
    }))
}

/// The last time on the wall clock that is a multiple of so many months after the origin and not after `time`.
fn after_months(origin: i64, time: i64, months: i64, per_second: i64) -> i64 {
    let day_ticks = SECONDS_PER_DAY * per_second;
    let day = |ticks: i64| i32::try_from(ticks.div_euclid(day_ticks)).unwrap_or(0);
    let at = |steps: i64| {
        let day = add_months(day(origin), steps.saturating_mul(months));
        i64::from(day) * day_ticks + origin.rem_euclid(day_ticks)
    };
    let steps = (month_index(day(time)) - month_index(day(origin))).div_euclid(months);
    if at(steps) > time { at(steps - 1) } else { at(steps) }
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let function = ScalarFunction::new(NAME, 2..=4, result_type, to_start_of_interval);
    vec![function.increasing_by(0).aliases(&["time_bucket", "date_bin"]).doc(
        "toStartOfInterval(t, interval[, origin][, zone])",
        "Down to a multiple of an interval, counted from the origin if there is one.",
        "toStartOfInterval(toDateTime('2020-01-02 03:24:05'), toIntervalMinute(20)) -> 2020-01-02 03:20:00",
    )]
}
