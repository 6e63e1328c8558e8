//! Times inside other things: snowflake ids, UUIDs, and modified Julian days.
//!
//! Invariant: an id of a time is the smallest one that time can have.

use std::sync::Arc;

use arrow::array::{Array, Int64Array, StringViewArray};
use arrow::datatypes::Int32Type;
use model::calendar::days_in_month;
use model::{ColumnType, ErrorCode};

use super::local::{Locals, check};
use super::make::{day_of, integers};
use crate::conversion::convert::zone_argument;
use crate::error::FunctionError;
use crate::kernel::registry::ScalarFunction;
use crate::time::calendar::date_of;
use crate::time::temporal::{from_ticks, wrap_seconds};

/// The day of the epoch in the count of modified Julian days.
const JULIAN_EPOCH: i32 = 40_587;
/// Julian days of text like `2020-11-01`.
fn julian(name: &'static str, or_null: bool) -> ScalarFunction {
    let result = if or_null { ColumnType::Int32.nullable() } else { ColumnType::Int32 };
    ScalarFunction::new(name, 1..=1, crate::kernel::types::takes_text(name, 1, result), move |call| {
        let texts = call.texts(0)?;
        let read = |row: usize| {
            let text = Some(texts.get(row)).filter(|text| is_written_day(text))?;
            let mut parts = text.splitn(3, '-').map(str::parse::<i64>);
            let mut next = || parts.next().and_then(Result::ok);
            let (year, month, day) = (next()?, next()?, next()?);
            let exists = (1..=12).contains(&month) && day <= days_in_month(year, month);
            day_of(year, month, day).filter(|_| exists).map(|day| day + JULIAN_EPOCH)
        };
        if or_null {
            return Ok(Arc::new((0..call.rows).map(read).collect::<arrow::array::Int32Array>()));
        }
        call.each::<Int32Type>(|row| {
            let problem = || {
                let text = texts.get(row);
                // It is written as a day, and there is none.
                let code = match is_written_day(text) {
                    true => ErrorCode::CANNOT_PARSE_DATE,
                    false => ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED,
                };
                FunctionError::new(code, format!("cannot parse '{text}' as a date"))
            };
            read(row).ok_or_else(problem)
        })
    })
}

/// Whether a text is four digits, two and two: `2020-11-01`.
fn is_written_day(text: &str) -> bool {
    let fits = |(at, byte): (usize, u8)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    text.len() == 10 && text.bytes().enumerate().all(fits)
}

fn from_julian(name: &'static str, or_null: bool) -> ScalarFunction {
    let result = if or_null { ColumnType::String.nullable() } else { ColumnType::String };
    ScalarFunction::new(
        name,
        1..=1,
        move |args| integers(args, 1, name).map(|()| result.clone()),
        move |call| {
            let numbers = call.ints(0)?;
            let text = |row: usize| {
                let day = i32::try_from(numbers.get(row)).ok()?.checked_sub(JULIAN_EPOCH)?;
                let mut out = String::new();
                crate::cast::write::date(day, &mut out);
                (0..=9999).contains(&date_of(day).year).then_some(out)
            };
            if or_null {
                return Ok(Arc::new((0..call.rows).map(text).collect::<StringViewArray>()));
            }
            call.each_text(|row, out| {
                let message = "a modified Julian day stands for the years 0 to 9999";
                out.push_str(&text(row).ok_or_else(|| FunctionError::bad_argument(message))?);
                Ok(())
            })
        },
    )
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let mut out = vec![
        julian("toModifiedJulianDay", false).doc(
            "toModifiedJulianDay(text)",
            "The modified Julian day of a date.",
            "toModifiedJulianDay('2020-11-01') -> 59154",
        ),
        julian("toModifiedJulianDayOrNull", true).doc(
            "toModifiedJulianDayOrNull(text)",
            "As toModifiedJulianDay; NULL where that fails.",
            "toModifiedJulianDayOrNull('?') -> NULL",
        ),
        from_julian("fromModifiedJulianDay", false).doc(
            "fromModifiedJulianDay(n)",
            "The date of a modified Julian day, as text.",
            "fromModifiedJulianDay(58849) -> '2020-01-01'",
        ),
        from_julian("fromModifiedJulianDayOrNull", true).doc(
            "fromModifiedJulianDayOrNull(n)",
            "As fromModifiedJulianDay; NULL where that fails.",
            "fromModifiedJulianDayOrNull(58849) -> '2020-01-01'",
        ),
        ScalarFunction::new(
            "UUIDv7ToDateTime",
            1..=2,
            |args| match &args[0].column_type {
                ColumnType::Uuid => {
                    Ok(ColumnType::DateTime64 { precision: 3, time_zone: zone_argument(args, 1)? })
                }
                other => Err(FunctionError::illegal_type(other, "UUIDv7ToDateTime")),
            },
            |call| {
                let arg = call.arg(0)?;
                let uuids = arrow::array::AsArray::as_fixed_size_binary(&arg.array);
                let millis = |row: usize| {
                    let uuid = uuids.value(arg.row(row));
                    // Other versions have no time at their start.
                    if uuid[6] >> 4 != 7 {
                        return 0;
                    }
                    uuid[..6].iter().fold(0_i64, |time, byte| time << 8 | i64::from(*byte))
                };
                let ticks: Vec<i64> = (0..call.rows)
                    .map(|row| if uuids.is_null(arg.row(row)) { 0 } else { millis(row) })
                    .collect();
                Ok(from_ticks(Int64Array::from(ticks), call.result_type.value_type()))
            },
        )
        .doc(
            "UUIDv7ToDateTime(uuid[, zone])",
            "The time in a UUID of version 7.",
            "UUIDv7ToDateTime(toUUID('018f05c9-4ab8-7b86-b64e-c9f03fbd45d1')) -> 2024-04-22 12:30:29.048",
        ),
    ];
    out.extend(snowflakes());
    out
}

/// Milliseconds are above these bits of a snowflake id.
const SNOWFLAKE_SHIFT: u32 = 22;

fn snowflakes() -> Vec<ScalarFunction> {
    let id_of = |name: &'static str| {
        ScalarFunction::new(
            name,
            1..=2,
            move |args| check(args, 0, name).map(|()| ColumnType::UInt64),
            |call| {
                let locals = Locals::new(call, 0, usize::MAX)?;
                let epoch = if call.args.len() > 1 { Some(call.ints(1)?) } else { None };
                call.each::<arrow::datatypes::UInt64Type>(|row| {
                    let millis = locals.ticks_at(row, 3) - epoch.as_ref().map_or(0, |epoch| epoch.get(row));
                    Ok(millis.cast_unsigned() << SNOWFLAKE_SHIFT)
                })
            },
        )
    };
    let time_of = |name: &'static str, fractions: bool| {
        ScalarFunction::new(
            name,
            1..=3,
            move |args| {
                integers(args, 2, name)?;
                let time_zone = zone_argument(args, 2)?;
                Ok(if fractions {
                    ColumnType::DateTime64 { precision: 3, time_zone }
                } else {
                    ColumnType::DateTime { time_zone }
                })
            },
            move |call| {
                let ids = call.converted(0, &ColumnType::UInt64)?;
                let ids = arrow::array::AsArray::as_primitive::<arrow::datatypes::UInt64Type>(&ids);
                let arg = call.arg(0)?;
                let epoch = if call.args.len() > 1 { Some(call.ints(1)?) } else { None };
                let moment = |row: usize| {
                    let millis = (ids.value(arg.row(row)) >> SNOWFLAKE_SHIFT).cast_signed()
                        + epoch.as_ref().map_or(0, |epoch| epoch.get(row));
                    if fractions { millis } else { wrap_seconds(millis.div_euclid(1000)) }
                };
                let ticks: Vec<i64> =
                    (0..call.rows).map(|row| if call.is_null(row) { 0 } else { moment(row) }).collect();
                Ok(from_ticks(Int64Array::from(ticks), call.result_type.value_type()))
            },
        )
    };
    vec![
        id_of("dateTimeToSnowflakeID").doc(
            "dateTimeToSnowflakeID(t[, epoch])",
            "The first snowflake id of a time.",
            "dateTimeToSnowflakeID(toDateTime('2021-08-15 18:57:56')) -> 6832747188322304000",
        ),
        id_of("dateTime64ToSnowflakeID").doc(
            "dateTime64ToSnowflakeID(t[, epoch])",
            "The first snowflake id of a time.",
            "dateTime64ToSnowflakeID(toDateTime64('2021-08-15 18:57:56.493', 3)) -> 6832747190390095872",
        ),
        time_of("snowflakeIDToDateTime", false).doc(
            "snowflakeIDToDateTime(id[, epoch[, zone]])",
            "The time in a snowflake id.",
            "snowflakeIDToDateTime(7204436857747984384) -> 2024-06-06 10:59:58",
        ),
        time_of("snowflakeIDToDateTime64", true).doc(
            "snowflakeIDToDateTime64(id[, epoch[, zone]])",
            "The time in a snowflake id with milliseconds.",
            "snowflakeIDToDateTime64(7204436857747984384) -> 2024-06-06 10:59:58.851",
        ),
    ]
}
