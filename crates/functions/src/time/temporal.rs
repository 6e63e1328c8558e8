//! Times inside Arrow arrays: ticks of a unit, whatever the declared precision.
//!
//! Invariant: a DateTime64(p) array holds ticks of its Arrow unit (10^0, 3, 6 or 9 per second) that are multiples of
//! 10^-p seconds. Must not know: how times are shown.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, PrimitiveArray};
use arrow::datatypes::{
    ArrowTimestampType, DataType, Int64Type, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use chrono_tz::Tz;
use model::ColumnType;
use model::type_arrow::unit_of_precision;

/// Decimal digits after the second that a unit holds.
pub(crate) fn unit_digits(unit: TimeUnit) -> u32 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

/// 10^digits, for 0..=18 digits.
pub(crate) fn power_of_ten(digits: u32) -> i64 {
    10_i64.pow(digits.min(18))
}

/// Precision of a time type: 0 for DateTime.
pub(crate) fn precision_of(column_type: &ColumnType) -> u32 {
    match column_type.value_type() {
        ColumnType::DateTime64 { precision, .. } => u32::from(*precision),
        _ => 0,
    }
}

/// Digits after the second in the array of a time type.
pub(crate) fn digits_of(column_type: &ColumnType) -> u32 {
    match column_type.value_type() {
        ColumnType::DateTime64 { precision, .. } => unit_digits(unit_of_precision(*precision)),
        _ => 0,
    }
}

/// The zone a time type names, else the session's.
pub(crate) fn zone_of(column_type: &ColumnType, session: Tz) -> Tz {
    match column_type.value_type() {
        ColumnType::DateTime { time_zone: Some(zone) }
        | ColumnType::DateTime64 { time_zone: Some(zone), .. } => zone.parse().unwrap_or(session),
        _ => session,
    }
}

/// The raw ticks of a DateTime or DateTime64 array.
pub(crate) fn ticks(array: &ArrayRef) -> Int64Array {
    match array.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => raw::<TimestampSecondType>(array),
        DataType::Timestamp(TimeUnit::Millisecond, _) => raw::<TimestampMillisecondType>(array),
        DataType::Timestamp(TimeUnit::Microsecond, _) => raw::<TimestampMicrosecondType>(array),
        _ => raw::<TimestampNanosecondType>(array),
    }
}

fn raw<T: ArrowTimestampType>(array: &ArrayRef) -> Int64Array {
    array.as_primitive::<T>().reinterpret_cast::<Int64Type>()
}

/// An array of a time type from raw ticks of its unit.
pub(crate) fn from_ticks(ticks: Int64Array, column_type: &ColumnType) -> ArrayRef {
    let (unit, zone) = match column_type.value_type() {
        ColumnType::DateTime64 { precision, time_zone } => (unit_of_precision(*precision), time_zone),
        ColumnType::DateTime { time_zone } => (TimeUnit::Second, time_zone),
        _ => (TimeUnit::Second, &None),
    };
    match unit {
        TimeUnit::Second => typed::<TimestampSecondType>(&ticks, zone),
        TimeUnit::Millisecond => typed::<TimestampMillisecondType>(&ticks, zone),
        TimeUnit::Microsecond => typed::<TimestampMicrosecondType>(&ticks, zone),
        TimeUnit::Nanosecond => typed::<TimestampNanosecondType>(&ticks, zone),
    }
}

fn typed<T: ArrowTimestampType>(ticks: &Int64Array, zone: &Option<Arc<str>>) -> ArrayRef {
    let array: PrimitiveArray<T> = ticks.reinterpret_cast();
    Arc::new(array.with_timezone_opt(zone.clone()))
}

/// Ticks as DateTime keeps them: 32 bits without a sign, wrapping.
pub(crate) fn wrap_seconds(seconds: i64) -> i64 {
    seconds & 0xFFFF_FFFF
}

/// Days as Date keeps them: 16 bits without a sign, wrapping.
pub(crate) fn wrap_days(days: i32) -> i32 {
    days & 0xFFFF
}
