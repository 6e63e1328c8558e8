//! Dates and times from and to text, numbers and each other.
//!
//! Invariant: Date wraps at 16 bits and DateTime at 32 between times, and both stop at their ends for text and
//! numbers, and for everything that an INSERT brings, as in ClickHouse.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, PrimitiveArray};
use arrow::datatypes::{Date32Type, Decimal128Type, Int64Type};
use model::ColumnType;

use super::caster::{CastMode, Caster, Column};
use super::problem::{CastError, Problem};
use super::read_time;
use crate::columns::number::{Number, with_number, wrap};
use crate::time::calendar::SECONDS_PER_DAY;
use crate::time::temporal::{
    digits_of, from_ticks, power_of_ten, precision_of, ticks, wrap_days, wrap_seconds, zone_of,
};
use crate::time::zone::Zone;

/// Last day of Date: 2149-06-06.
const DATE_DAYS_MAX: i64 = 65_535;
/// 0000-01-01 and 9999-12-31.
const DATE32_DAYS: std::ops::RangeInclusive<i64> = -719_528..=2_932_896;
/// Last second of DateTime: 2106-02-07 06:28:15 UTC.
const SECONDS_MAX: i64 = 4_294_967_295;
/// 2106-02-06, the last day all of which DateTime holds.
const WHOLE_DAYS_MAX: i64 = 49_709;

fn day_number(seconds: i64) -> i32 {
    i32::try_from(seconds.div_euclid(SECONDS_PER_DAY)).unwrap_or(0)
}

fn clamped_day(day: i64, range: &std::ops::RangeInclusive<i64>) -> i32 {
    i32::try_from(day.clamp(*range.start(), *range.end())).unwrap_or(0)
}

/// The seconds that a DateTime64 of a number has, and whether the number was beyond its ends: 0000-01-01 00:00:00,
/// 9999-12-31 23:59:59, and with many digits what fits into 64 bits.
const MOMENTS: std::ops::RangeInclusive<i64> = -62_167_219_200..=253_402_300_799;

/// Ticks of a whole number of seconds, at an end of the type where they are beyond it.
fn clamped_ticks(seconds: i64, to: &ColumnType) -> i64 {
    let (digits, precision) = (digits_of(to), precision_of(to));
    let (up, cut) = (power_of_ten(digits), power_of_ten(digits - precision));
    if seconds > *MOMENTS.end() {
        let last = MOMENTS.end().saturating_mul(up).saturating_add(up - 1);
        return last / cut * cut;
    }
    seconds.max(*MOMENTS.start()).saturating_mul(up)
}

/// Ticks of a type's unit for seconds and nanoseconds, cut to its precision.
fn ticks_of(seconds: i64, nanos: i64, to: &ColumnType) -> Option<i64> {
    let (digits, precision) = (digits_of(to), precision_of(to));
    let cut = nanos / power_of_ten(9 - precision) * power_of_ten(digits - precision);
    seconds.checked_mul(power_of_ten(digits))?.checked_add(cut)
}

/// The place of the point behind a number of seconds since the epoch: DateTime has no place for its fraction, and
/// ClickHouse reads no further.
pub(crate) fn point_behind_timestamp(text: &str) -> Option<usize> {
    let at = text.bytes().position(|byte| !byte.is_ascii_digit())?;
    (matches!(at, 9 | 10) && text.as_bytes().get(at) == Some(&b'.')).then_some(at)
}

impl Caster {
    /// Anything -> Date, Date32, DateTime, DateTime64.
    pub(super) fn to_time(&self, column: &Column<'_>) -> Result<ArrayRef, CastError> {
        match (column.from, column.to) {
            (ColumnType::String | ColumnType::FixedString(_), _) => self.time_from_text(column),
            (ColumnType::Date | ColumnType::Date32, ColumnType::Date | ColumnType::Date32) => {
                let days = column.array.as_primitive::<Date32Type>();
                let small = *column.to == ColumnType::Date;
                Ok(Arc::new(days.unary::<_, Date32Type>(|day| if small { self.small_day(day) } else { day })))
            }
            (ColumnType::Date | ColumnType::Date32, _) => self.time_from_days(column),
            (
                ColumnType::DateTime { .. } | ColumnType::DateTime64 { .. },
                ColumnType::Date | ColumnType::Date32,
            ) => {
                let zone = Zone::new(zone_of(column.from, self.time_zone));
                let per_second = power_of_ten(digits_of(column.from));
                let small = *column.to == ColumnType::Date;
                let days = ticks(column.array).unary::<_, Date32Type>(|tick| {
                    // For a Date the fraction is cut off, also before 1970.
                    let second = if small { tick / per_second } else { tick.div_euclid(per_second) };
                    let day = day_number(zone.to_local(second));
                    if small { self.small_day(day) } else { day }
                });
                Ok(Arc::new(days))
            }
            (ColumnType::DateTime { .. } | ColumnType::DateTime64 { .. }, _) => self.time_from_time(column),
            (ColumnType::Decimal { .. }, ColumnType::DateTime64 { .. }) => self.time_from_decimal(column),
            (from, _) if from.is_number() => self.time_from_number(column),
            _ => Err(column.unsupported()),
        }
    }

    fn stops_at_ends(&self) -> bool {
        self.mode == CastMode::Insert
    }

    /// A day as one of Date.
    fn small_day(&self, day: i32) -> i32 {
        if self.stops_at_ends() { clamped_day(i64::from(day), &(0..=DATE_DAYS_MAX)) } else { wrap_days(day) }
    }

    fn time_from_text(&self, column: &Column<'_>) -> Result<ArrayRef, CastError> {
        let text = column.array.as_string_view();
        let to = column.to;
        if matches!(to, ColumnType::Date | ColumnType::Date32) {
            let small = *to == ColumnType::Date;
            let failed = if small { 0 } else { ColumnType::Date32.default_number() };
            let days: PrimitiveArray<Date32Type> = self.try_map_or(column, text, failed, |text| {
                Ok(match (read_time::date(text)?, small) {
                    (None, true) => 0,
                    (None, false) => ColumnType::Date32.default_number(),
                    (Some(day), true) => clamped_day(i64::from(day), &(0..=DATE_DAYS_MAX)),
                    (Some(day), false) => clamped_day(i64::from(day), &DATE32_DAYS),
                })
            })?;
            return Ok(Arc::new(days));
        }
        let zone = Zone::new(zone_of(to, self.time_zone));
        let is_seconds = matches!(to, ColumnType::DateTime { .. });
        let read: Int64Array = self.try_map(column, text, |text| {
            let moment = read_time::moment(text, &zone, self.today)?;
            if is_seconds {
                return match point_behind_timestamp(text) {
                    Some(at) => Err(Problem::Syntax(at)),
                    None => Ok(moment.seconds.clamp(0, SECONDS_MAX)),
                };
            }
            ticks_of(moment.seconds, moment.nanos, to).ok_or(Problem::DecimalOverflow)
        })?;
        Ok(from_ticks(read, to))
    }

    /// Midnight in the target's zone, or where the day starts without one.
    fn time_from_days(&self, column: &Column<'_>) -> Result<ArrayRef, CastError> {
        let zone = Zone::new(zone_of(column.to, self.time_zone));
        let is_seconds = matches!(column.to, ColumnType::DateTime { .. });
        let (stops, is_date) = (self.stops_at_ends(), *column.from == ColumnType::Date);
        let made: Int64Array = self.try_map(column, column.array.as_primitive::<Date32Type>(), |day| {
            // Later days end after the last second.
            let bounded = is_seconds && (stops || is_date && self.mode == CastMode::Meeting);
            let day = if bounded { i64::from(day).clamp(0, WHOLE_DAYS_MAX) } else { i64::from(day) };
            let seconds = zone.first_at(day * SECONDS_PER_DAY);
            if is_seconds {
                // East of Greenwich 1970-01-01 begins before the first second: the first day that is whole stands for it.
                if is_date && seconds < 0 {
                    return Ok(zone.first_at(SECONDS_PER_DAY));
                }
                return Ok(if stops { seconds.clamp(0, SECONDS_MAX) } else { wrap_seconds(seconds) });
            }
            let end = if day < 0 { i64::MIN } else { i64::MAX };
            let ticks = ticks_of(seconds, 0, column.to);
            ticks.or(stops.then_some(end)).ok_or(Problem::DecimalOverflow)
        })?;
        Ok(from_ticks(made, column.to))
    }

    fn time_from_time(&self, column: &Column<'_>) -> Result<ArrayRef, CastError> {
        let ticks = ticks(column.array);
        let (from_digits, to_digits) = (digits_of(column.from), digits_of(column.to));
        if matches!(column.to, ColumnType::DateTime { .. }) {
            let per_second = power_of_ten(from_digits);
            let (is_same, stops) = (matches!(column.from, ColumnType::DateTime { .. }), self.stops_at_ends());
            let seconds = ticks.unary::<_, Int64Type>(|tick| match tick.div_euclid(per_second) {
                _ if is_same => tick,
                seconds if stops => seconds.clamp(0, SECONDS_MAX),
                seconds => wrap_seconds(seconds),
            });
            return Ok(from_ticks(seconds, column.to));
        }
        let cut = power_of_ten(to_digits - precision_of(column.to));
        let up = power_of_ten(to_digits.saturating_sub(from_digits));
        let down = power_of_ten(from_digits.saturating_sub(to_digits));
        if up == 1 && down == 1 && precision_of(column.from) <= precision_of(column.to) {
            return Ok(from_ticks(ticks, column.to));
        }
        let made: Int64Array = self.try_map(column, &ticks, |tick| {
            // The digits that go are those of the target's ticks.
            (tick / down).checked_mul(up).map(|tick| tick / cut * cut).ok_or(Problem::DecimalOverflow)
        })?;
        Ok(from_ticks(made, column.to))
    }

    fn time_from_decimal(&self, column: &Column<'_>) -> Result<ArrayRef, CastError> {
        let digits = digits_of(column.to);
        let scaled = ColumnType::Decimal { precision: 38, scale: u8::try_from(digits).unwrap_or(9) };
        let decimals = self.step(column.array, column.from, &scaled)?;
        let cut = power_of_ten(digits - precision_of(column.to));
        let made: Int64Array = self.try_map(column, decimals.as_primitive::<Decimal128Type>(), |value| {
            i64::try_from(value).map(|tick| tick / cut * cut).map_err(|_| Problem::DecimalOverflow)
        })?;
        Ok(from_ticks(made, column.to))
    }

    fn time_from_number(&self, column: &Column<'_>) -> Result<ArrayRef, CastError> {
        if let (ColumnType::Float32 | ColumnType::Float64, ColumnType::DateTime64 { .. }) =
            (column.from, column.to)
        {
            return self.time_from_float(column);
        }
        let is_float = matches!(column.from, ColumnType::Float32 | ColumnType::Float64);
        if is_float && !matches!(column.to, ColumnType::Date32) {
            let floats = self.step(column.array, column.from, &ColumnType::Float64)?;
            let floats = floats.as_primitive::<arrow::datatypes::Float64Type>();
            let _: Int64Array = self.try_map(column, floats, |value| match value.is_finite() {
                true => Ok(0),
                false => Err(Problem::NotFinite),
            })?;
        }
        let wide = match column.from {
            ColumnType::Decimal { .. } => self.step(column.array, column.from, &ColumnType::Int64)?,
            wide if wide.is_wide_integer() => self.saturated_wide(column),
            from => saturated(column.array, from),
        };
        let wide = wide.as_primitive::<Int64Type>();
        let zone = Zone::new(zone_of(column.to, self.time_zone));
        let local_day = |seconds: i64| day_number(zone.to_local(seconds));
        Ok(match column.to {
            ColumnType::Date => Arc::new(wide.unary::<_, Date32Type>(|value| match value {
                ..=0 => 0,
                1..=DATE_DAYS_MAX => clamped_day(value, &(0..=DATE_DAYS_MAX)),
                _ => local_day(value.min(SECONDS_MAX)),
            })),
            ColumnType::Date32 => Arc::new(wide.unary::<_, Date32Type>(|value| {
                if value <= *DATE32_DAYS.end() {
                    clamped_day(value, &DATE32_DAYS)
                } else {
                    local_day(value.min(*MOMENTS.end()))
                }
            })),
            ColumnType::DateTime { .. } => {
                from_ticks(wide.unary::<_, Int64Type>(|value| value.clamp(0, SECONDS_MAX)), column.to)
            }
            _ => from_ticks(wide.unary::<_, Int64Type>(|value| clamped_ticks(value, column.to)), column.to),
        })
    }

    fn time_from_float(&self, column: &Column<'_>) -> Result<ArrayRef, CastError> {
        let floats = self.step(column.array, column.from, &ColumnType::Float64)?;
        let floats = floats.as_primitive::<arrow::datatypes::Float64Type>();
        let (digits, precision) = (digits_of(column.to), precision_of(column.to));
        let factor = 10_f64.powi(i32::try_from(precision).unwrap_or(0));
        let single = *column.from == ColumnType::Float32;
        let made: Int64Array = self.try_map(column, floats, |value| {
            if !value.is_finite() {
                return Err(Problem::DecimalOverflow);
            }
            let (first, last) = (clamped_ticks(i64::MIN, column.to), clamped_ticks(i64::MAX, column.to));
            let cut = power_of_ten(digits - precision);
            // A Float32 is multiplied as one.
            let scaled = if single { f64::from(wrap::<f64, f32>(value * factor)) } else { value * factor };
            let whole = i64::exact_float(scaled.trunc());
            let ticks = whole.and_then(|whole| whole.checked_mul(cut));
            let end = if value < 0.0 { first } else { last };
            Ok(ticks.map_or(end, |ticks| ticks.clamp(first, last)))
        })?;
        Ok(from_ticks(made, column.to))
    }

    /// Date, Date32, DateTime, DateTime64 -> numbers, Decimal.
    pub(super) fn time_to_number(&self, column: &Column<'_>) -> Result<ArrayRef, CastError> {
        if matches!(column.to, ColumnType::Uuid | ColumnType::FixedString(_)) {
            return Err(column.not_implemented());
        }
        if let ColumnType::DateTime64 { .. } = column.from {
            let scale = u8::try_from(digits_of(column.from)).unwrap_or(9);
            let unscaled = ticks(column.array).unary::<_, Decimal128Type>(i128::from);
            let decimals = ColumnType::Decimal { precision: 38, scale };
            let array = super::decimals::typed(unscaled, &decimals);
            let whole =
                matches!(column.to, ColumnType::Decimal { .. } | ColumnType::Float32 | ColumnType::Float64);
            // One of another size would wrap where the number itself is too large.
            if whole || column.to.is_integer() {
                return self.step(&array, &decimals, column.to);
            }
            let seconds = self.step(&array, &decimals, &ColumnType::Int64)?;
            return self.step(&seconds, &ColumnType::Int64, column.to);
        }
        let wide: Int64Array = match column.from {
            ColumnType::DateTime { .. } => ticks(column.array),
            _ => column.array.as_primitive::<Date32Type>().unary(i64::from),
        };
        let wide: ArrayRef = Arc::new(wide);
        self.step(&wide, &ColumnType::Int64, column.to)
    }
}

/// Any machine number as Int64, at the ends of its range where it does not fit.
fn saturated(array: &ArrayRef, from: &ColumnType) -> ArrayRef {
    with_number!(from, S => {
        let clamp = |value: i128| i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX });
        // NaN is below every day, as in ClickHouse.
        Arc::new(array.as_primitive::<S>().unary::<_, Int64Type>(|value| match value.float().is_nan() {
            true => i64::MIN,
            false => clamp(value.int()),
        }))
    }, else Arc::clone(array))
}
