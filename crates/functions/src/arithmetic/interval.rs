//! Units of time, interval values, and adding them to dates and times.
//!
//! Invariant: units up to the hour count seconds on the time line; days and longer move the wall clock's date and keep
//! its time of day. An interval is carried as a tuple of one number named after it (`IntervalDay`), as Arrow has no
//! matching type.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, PrimitiveArray};
use arrow::datatypes::{Date32Type, Int64Type};
use chrono_tz::Tz;
use model::{ColumnType, ErrorCode, TupleElement};

use crate::error::FunctionError;
use crate::kernel::call::Call;
use crate::kernel::rows::Numbers;
use crate::kernel::types::{is_date, is_time};
use crate::time::calendar::{SECONDS_PER_DAY, add_months};
use crate::time::temporal::{digits_of, from_ticks, power_of_ten, ticks, wrap_days, wrap_seconds, zone_of};
use crate::time::zone::Zone;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Unit {
    Nanosecond,
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

pub(crate) const UNITS: [Unit; 11] = [
    Unit::Nanosecond,
    Unit::Microsecond,
    Unit::Millisecond,
    Unit::Second,
    Unit::Minute,
    Unit::Hour,
    Unit::Day,
    Unit::Week,
    Unit::Month,
    Unit::Quarter,
    Unit::Year,
];

impl Unit {
    /// `Day` and its kind.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Unit::Nanosecond => "Nanosecond",
            Unit::Microsecond => "Microsecond",
            Unit::Millisecond => "Millisecond",
            Unit::Second => "Second",
            Unit::Minute => "Minute",
            Unit::Hour => "Hour",
            Unit::Day => "Day",
            Unit::Week => "Week",
            Unit::Month => "Month",
            Unit::Quarter => "Quarter",
            Unit::Year => "Year",
        }
    }

    /// Reads `day`, `days`, `dd`, `d` and their kind, in any case.
    pub(crate) fn parse(text: &str) -> Option<Unit> {
        let lower = text.to_ascii_lowercase();
        Some(match lower.as_str() {
            "nanosecond" | "nanoseconds" | "ns" => Unit::Nanosecond,
            "microsecond" | "microseconds" | "us" | "u" => Unit::Microsecond,
            "millisecond" | "milliseconds" | "ms" => Unit::Millisecond,
            "second" | "seconds" | "ss" | "s" => Unit::Second,
            "minute" | "minutes" | "mi" | "n" => Unit::Minute,
            "hour" | "hours" | "hh" | "h" => Unit::Hour,
            "day" | "days" | "dd" | "d" => Unit::Day,
            "week" | "weeks" | "wk" | "ww" => Unit::Week,
            "month" | "months" | "mm" | "m" => Unit::Month,
            "quarter" | "quarters" | "qq" | "q" => Unit::Quarter,
            "year" | "years" | "yyyy" | "yy" => Unit::Year,
            _ => return None,
        })
    }

    /// Digits after the second of a unit below it.
    pub(crate) fn digits(self) -> u32 {
        match self {
            Unit::Nanosecond => 9,
            Unit::Microsecond => 6,
            Unit::Millisecond => 3,
            _ => 0,
        }
    }

    /// Seconds of a unit that always has the same number of them.
    pub(crate) fn seconds(self) -> Option<i64> {
        match self {
            Unit::Second => Some(1),
            Unit::Minute => Some(60),
            Unit::Hour => Some(3600),
            _ => None,
        }
    }

    pub(crate) fn days(self) -> Option<i64> {
        match self {
            Unit::Day => Some(1),
            Unit::Week => Some(7),
            _ => None,
        }
    }

    pub(crate) fn months(self) -> Option<i64> {
        match self {
            Unit::Month => Some(1),
            Unit::Quarter => Some(3),
            Unit::Year => Some(12),
            _ => None,
        }
    }

    /// The type of intervals of this unit.
    pub(crate) fn interval_type(self, nullable: bool) -> ColumnType {
        let number = if nullable { ColumnType::Int64.nullable() } else { ColumnType::Int64 };
        let name = format!("Interval{}", self.name());
        ColumnType::Tuple(vec![TupleElement { name: Some(name.into()), column_type: number }])
    }

    /// The unit of an interval type.
    pub(crate) fn of_interval(column_type: &ColumnType) -> Option<Unit> {
        let ColumnType::Tuple(elements) = column_type else { return None };
        let [element] = elements.as_slice() else { return None };
        let unit = element.name.as_deref()?.strip_prefix("Interval")?;
        UNITS.into_iter().find(|known| known.name() == unit)
    }
}

/// 2299-12-31, the last day of ClickHouse's calendar: months lead a Date or a DateTime no further.
const LAST_DAY: i32 = 120_529;
/// 0000-01-01 and 9999-12-31, beyond which ClickHouse has no day.
const DAYS: [i64; 2] = [-719_528, 2_932_896];

/// The type a time has after an interval of the unit is added to it.
pub(crate) fn added_type(source: &ColumnType, unit: Unit) -> Option<ColumnType> {
    let below_second = unit < Unit::Second;
    let precision = |own: u8| own.max(u8::try_from(unit.digits()).unwrap_or(9));
    Some(match source {
        ColumnType::Date if below_second => return None,
        ColumnType::Date32 if below_second => return None,
        ColumnType::Date if unit < Unit::Day => ColumnType::DateTime { time_zone: None },
        ColumnType::Date32 if unit < Unit::Day => ColumnType::DateTime64 { precision: 3, time_zone: None },
        ColumnType::Date | ColumnType::Date32 => source.clone(),
        ColumnType::DateTime { time_zone } if below_second => {
            ColumnType::DateTime64 { precision: precision(0), time_zone: time_zone.clone() }
        }
        ColumnType::DateTime { .. } => source.clone(),
        ColumnType::DateTime64 { precision: own, time_zone } => {
            ColumnType::DateTime64 { precision: precision(*own), time_zone: time_zone.clone() }
        }
        ColumnType::String => ColumnType::DateTime64 { precision: precision(3), time_zone: None },
        _ => return None,
    })
}

/// Adds `sign * amount` units to the argument `time`; the result type is [`added_type`]'s.
pub(crate) fn add(
    call: &Call<'_>,
    time: usize,
    amount: &Numbers<Int64Type>,
    sign: i64,
    unit: Unit,
) -> Result<ArrayRef, FunctionError> {
    let result = call.result_type.value_type();
    let time_constant = call.arg(time)?.is_constant;
    let row_of = |row: usize| if time_constant { 0 } else { row };
    if is_date(result) {
        let array = call.converted(time, result)?;
        let days = array.as_primitive::<Date32Type>();
        let wraps = *result == ColumnType::Date;
        return call.each::<Date32Type>(|row| {
            let by = amount.get(row).wrapping_mul(sign);
            let by = if wraps && unit.days().is_some() { by % (1 << 16) } else { by };
            let moved = add_to_day(days.value(row_of(row)), by, unit);
            // Months stop at the first and the last date, days wrap beyond them.
            Ok(match wraps {
                true if unit.months().is_some() => wrap_days(moved.clamp(0, LAST_DAY)),
                true => wrap_days(moved),
                false => moved,
            })
        });
    }
    let array = call.converted(time, result)?;
    let source = ticks(&array);
    let zone = Zone::new(zone_of(result, call.session.time_zone));
    let digits = digits_of(result);
    let wraps = digits == 0 && matches!(result, ColumnType::DateTime { .. });
    let mut moved = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        if call.is_null(row) {
            moved.push(0);
            continue;
        }
        let overflow = || FunctionError::new(ErrorCode::DECIMAL_OVERFLOW, "decimal math overflow");
        let by = amount.get(row).wrapping_mul(sign);
        let tick = add_to_tick(source.value(row_of(row)), by, unit, digits, &zone).ok_or_else(overflow)?;
        moved.push(match wraps {
            true if unit.months().is_some() && tick < 0 => 0,
            true if unit.months().is_some() => wrap_seconds(within_calendar(tick, &zone)),
            true => wrap_seconds(tick),
            false => tick,
        });
    }
    Ok(from_ticks(Int64Array::from(moved), result))
}

/// A second of the last day where it is of a later one.
fn within_calendar(second: i64, zone: &Zone) -> i64 {
    let local = zone.to_local(second);
    let beyond = local.div_euclid(SECONDS_PER_DAY) - i64::from(LAST_DAY);
    if beyond > 0 { zone.to_epoch(local - beyond * SECONDS_PER_DAY) } else { second }
}

fn add_to_day(day: i32, amount: i64, unit: Unit) -> i32 {
    match (unit.days(), unit.months()) {
        (Some(days), _) => {
            let moved = i64::from(day).saturating_add(amount.saturating_mul(days));
            i32::try_from(moved.clamp(DAYS[0], DAYS[1])).unwrap_or(day)
        }
        (_, Some(months)) => add_months(day, amount.wrapping_mul(months)),
        _ => day,
    }
}

/// `None` when the result does not fit.
fn add_to_tick(tick: i64, amount: i64, unit: Unit, digits: u32, zone: &Zone) -> Option<i64> {
    let per_second = power_of_ten(digits);
    if let Some(seconds) = unit.seconds() {
        return tick.checked_add(amount.checked_mul(seconds)?.checked_mul(per_second)?);
    }
    if unit < Unit::Second {
        return tick.checked_add(amount.checked_mul(power_of_ten(digits - unit.digits()))?);
    }
    let local = zone.to_local(tick.div_euclid(per_second));
    let day = i32::try_from(local.div_euclid(SECONDS_PER_DAY)).ok()?;
    let moved =
        i64::from(add_to_day(day, amount, unit)) * SECONDS_PER_DAY + local.rem_euclid(SECONDS_PER_DAY);
    zone.to_epoch(moved).checked_mul(per_second)?.checked_add(tick.rem_euclid(per_second))
}

/// A constant interval as a step from one time to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stride {
    amount: i64,
    unit: Unit,
}

impl Stride {
    /// The interval of an array of one; `None` when it is none.
    pub fn of(constant: &ArrayRef, column_type: &ColumnType) -> Option<Stride> {
        let unit = Unit::of_interval(column_type)?;
        Some(Stride { amount: constant_amount(constant)?, unit })
    }

    /// How many units it is; below zero it leads back.
    pub fn amount(self) -> i64 {
        self.amount
    }

    /// So many steps as one.
    pub fn times(self, steps: i64) -> Option<Stride> {
        Some(Stride { amount: self.amount.checked_mul(steps)?, ..self })
    }

    /// Whether a time of this type has the same type a step later.
    pub fn fits(self, column_type: &ColumnType) -> bool {
        added_type(column_type, self.unit).as_ref() == Some(column_type)
    }

    /// The days, or the ticks of its array's unit, of a time a step later; `None` when they do not fit.
    pub fn after(self, value: i64, column_type: &ColumnType, session: Tz) -> Option<i64> {
        if is_date(column_type) {
            let day = i32::try_from(value).ok()?;
            return Some(i64::from(add_to_day(day, self.amount, self.unit)));
        }
        let zone = Zone::new(zone_of(column_type, session));
        add_to_tick(value, self.amount, self.unit, digits_of(column_type), &zone)
    }
}

/// The numbers of an interval argument.
pub(crate) fn amounts(call: &Call<'_>, index: usize) -> Result<Numbers<Int64Type>, FunctionError> {
    let arg = call.arg(index)?;
    let array: PrimitiveArray<Int64Type> = arg.array.as_struct().column(0).as_primitive().clone();
    Ok(Numbers { array, is_constant: arg.is_constant })
}

/// The number of an interval constant.
pub(crate) fn constant_amount(array: &ArrayRef) -> Option<i64> {
    let tuple = array.as_struct_opt()?;
    let number = tuple.columns().first()?.as_primitive_opt::<Int64Type>()?;
    (number.len() == 1 && number.is_valid(0)).then(|| number.value(0))
}

/// An interval column.
pub(crate) fn interval_array(numbers: ArrayRef, column_type: &ColumnType) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Tuple(elements) = column_type else { return Ok(numbers) };
    let rows = numbers.len();
    Ok(crate::columns::container::tuple_of(elements, vec![Arc::clone(&numbers)], None, rows)?)
}

/// Whether a type is a date or a time.
pub(crate) fn is_temporal(column_type: &ColumnType) -> bool {
    is_date(column_type) || is_time(column_type)
}
