//! A date or time argument as wall-clock time.
//!
//! Invariant: dates are midnights; fractions are kept apart from seconds.

use arrow::array::{AsArray, Int64Array};
use arrow::datatypes::{Date32Type, Int64Type};
use chrono_tz::Tz;
use model::{ColumnType, ErrorCode};

use crate::error::FunctionError;
use crate::kernel::call::{Arg, ArgType, Call, named_zone};
use crate::kernel::types::{is_date, is_time};
use crate::time::calendar::SECONDS_PER_DAY;
use crate::time::temporal::{digits_of, power_of_ten, precision_of, ticks, zone_of};
use crate::time::zone::Zone;

/// A time argument, row by row.
pub(super) struct Locals {
    /// Days of a date, ticks of a time.
    values: Int64Array,
    is_constant: bool,
    is_date: bool,
    pub(super) zone: Zone,
    pub(super) per_second: i64,
    pub(super) digits: u32,
    /// Digits of a fraction that the type shows.
    pub(super) shown: u32,
}

/// Whether an argument is a date or time at all.
pub(super) fn check(args: &[ArgType], index: usize, name: &str) -> Result<(), FunctionError> {
    match args.get(index).map(|arg| &arg.column_type) {
        Some(known) if is_date(known) || is_time(known) => Ok(()),
        Some(other) => Err(FunctionError::illegal_type(other, name)),
        None => Err(FunctionError::bad_argument(format!("function {name} needs a date or time"))),
    }
}

impl Locals {
    /// Argument `index`, in the zone named by argument `zone` if there is one, which is the same for all rows.
    pub(super) fn new(call: &Call<'_>, index: usize, zone: usize) -> Result<Locals, FunctionError> {
        let tz = match call.args.get(zone) {
            Some(named) if !named.is_constant && call.rows > 1 => {
                let names = call.texts(zone)?;
                if (1..call.rows).any(|row| names.get(row) != names.get(0)) {
                    let message = "the time zone must be the same in all rows";
                    return Err(FunctionError::new(ErrorCode::ILLEGAL_COLUMN, message));
                }
                named_zone(names.get(0))?
            }
            Some(_) => named_zone(call.texts(zone)?.get(0))?,
            None => zone_of(&call.arg(index)?.column_type, call.session.time_zone),
        };
        Locals::within(call, index, tz)
    }

    /// Argument `index` in a zone.
    pub(super) fn within(call: &Call<'_>, index: usize, tz: Tz) -> Result<Locals, FunctionError> {
        let arg = call.arg(index)?;
        if arg.column_type.is_string() {
            let read = ColumnType::DateTime64 { precision: 3, time_zone: None };
            let array = call.converted(index, &read)?;
            let times = [Arg { array, is_constant: arg.is_constant, column_type: read }];
            let inner = Call { args: &times, ..call.again() };
            let zoned = Locals::new(&inner, 0, usize::MAX)?;
            return Ok(Locals { zone: Zone::new(tz), ..zoned });
        }
        let is_date = is_date(&arg.column_type);
        let values = if is_date {
            arg.array.as_primitive::<Date32Type>().unary::<_, Int64Type>(i64::from)
        } else if is_time(&arg.column_type) {
            ticks(&arg.array)
        } else {
            return Err(FunctionError::illegal_type(&arg.column_type, "of dates and times"));
        };
        let digits = digits_of(&arg.column_type);
        Ok(Locals {
            values,
            is_constant: arg.is_constant,
            is_date,
            zone: Zone::new(tz),
            per_second: power_of_ten(digits),
            digits,
            shown: precision_of(&arg.column_type),
        })
    }

    fn value(&self, row: usize) -> i64 {
        self.values.value(if self.is_constant { 0 } else { row })
    }

    /// Seconds since the epoch; of a date its start in the zone.
    pub(super) fn epoch(&self, row: usize) -> i64 {
        let value = self.value(row);
        if self.is_date {
            self.zone.first_at(value * SECONDS_PER_DAY)
        } else {
            value.div_euclid(self.per_second)
        }
    }

    /// Wall-clock seconds.
    pub(super) fn seconds(&self, row: usize) -> i64 {
        let value = self.value(row);
        if self.is_date {
            return value * SECONDS_PER_DAY;
        }
        let epoch = if self.digits == 0 { value } else { value.div_euclid(self.per_second) };
        self.zone.to_local(epoch)
    }

    /// Hours since the epoch. Those of zones that are not whole hours off start as they did at the epoch, and count
    /// from a day before it, as in ClickHouse.
    pub(super) fn hour_number(&self, row: usize) -> i64 {
        match self.zone.has_whole_hours() {
            true => self.epoch(row).div_euclid(3600),
            false => self.stable_hour_number(row),
        }
    }

    /// As those of zones that are not whole hours off, of every zone: what dateDiff counts in ClickHouse.
    pub(super) fn stable_hour_number(&self, row: usize) -> i64 {
        (self.epoch(row) + SECONDS_PER_DAY - self.zone.offset_at(0)).div_euclid(3600)
    }

    /// Wall-clock day.
    pub(super) fn day(&self, row: usize) -> i32 {
        if self.is_date {
            return i32::try_from(self.value(row)).unwrap_or(0);
        }
        i32::try_from(self.seconds(row).div_euclid(SECONDS_PER_DAY)).unwrap_or(0)
    }

    /// Seconds since wall-clock midnight.
    pub(super) fn time(&self, row: usize) -> i64 {
        if self.is_date { 0 } else { self.seconds(row).rem_euclid(SECONDS_PER_DAY) }
    }

    /// Ticks after the second.
    pub(super) fn fraction(&self, row: usize) -> i64 {
        if self.is_date { 0 } else { self.value(row).rem_euclid(self.per_second) }
    }

    /// As [`Self::ticks_at`], cut towards the epoch.
    pub(super) fn ticks_towards_epoch(&self, row: usize, digits: u32) -> Option<i64> {
        let up = power_of_ten(digits.saturating_sub(self.digits));
        let down = power_of_ten(self.digits.saturating_sub(digits));
        Some((self.epoch(row) * self.per_second + self.fraction(row)).checked_mul(up)? / down)
    }

    /// Ticks of 10^-digits seconds since the epoch.
    pub(super) fn ticks_at(&self, row: usize, digits: u32) -> i64 {
        let up = power_of_ten(digits.saturating_sub(self.digits));
        let down = power_of_ten(self.digits.saturating_sub(digits));
        (self.epoch(row) * self.per_second + self.fraction(row)).wrapping_mul(up).div_euclid(down)
    }
}

/// The zone a type names, kept for results.
pub(super) fn zone_name(column_type: &ColumnType) -> Option<std::sync::Arc<str>> {
    match column_type {
        ColumnType::DateTime { time_zone } | ColumnType::DateTime64 { time_zone, .. } => time_zone.clone(),
        _ => None,
    }
}
