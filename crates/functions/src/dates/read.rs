//! Times from text and numbers, the clock, and time zones.
//!
//! Invariant: the clock is the session's: every call of a query sees the same moment.

use arrow::array::{ArrayRef, Int64Array};
use arrow::datatypes::{Date32Type, Int64Type, UInt32Type};
use model::{ColumnType, ErrorCode};

use super::local::Locals;
use crate::cast::{CastMode, Moment, point_behind_timestamp};
use crate::columns::number::wrap;
use crate::conversion::convert::zone_argument;
use crate::error::FunctionError;
use crate::kernel::call::{Arg, ArgType, Call};
use crate::kernel::registry::{ScalarFunction, keeps_dictionary, with_nulls};
use crate::kernel::rows::{constant_int, expanded};
use crate::kernel::types::is_time;
use crate::time::calendar::SECONDS_PER_DAY;
use crate::time::temporal::{digits_of, from_ticks, power_of_ten, precision_of, zone_of};
use crate::time::zone::Zone;

/// Seconds since the epoch of a time, or of text read as one.
pub(super) fn unix_timestamp(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let arg = call.arg(0)?;
    if arg.column_type.is_string() {
        let time_zone = if call.args.len() > 1 { Some(call.texts(1)?.get(0).into()) } else { None };
        let times = call.converted(0, &ColumnType::DateTime { time_zone })?;
        let ticks = crate::time::temporal::ticks(&times);
        return call.each::<UInt32Type>(|row| Ok(wrap(ticks.value(arg.row(row)))));
    }
    if arg.column_type.is_integer() {
        let numbers = call.ints(0)?;
        return call.each::<UInt32Type>(|row| Ok(wrap(numbers.get(row))));
    }
    // The zone of a second argument is one of texts.
    let locals = Locals::new(call, 0, usize::MAX)?;
    let is_wide = matches!(arg.column_type, ColumnType::DateTime64 { .. });
    call.each::<UInt32Type>(|row| {
        let epoch = locals.epoch(row);
        if is_wide && u32::try_from(epoch).is_err() {
            return Err(FunctionError::new(ErrorCode::DECIMAL_OVERFLOW, "convert overflow"));
        }
        Ok(wrap(epoch))
    })
}

/// Text -> DateTime or DateTime64 in a mode.
fn parse(name: &'static str, mode: CastMode, fractions: bool) -> ScalarFunction {
    let rule = move |args: &[ArgType]| {
        let Some(first) = args.first() else { return Err(FunctionError::bad_argument("text is needed")) };
        if !first.column_type.is_string() && first.column_type != ColumnType::Nothing {
            return Err(FunctionError::illegal_type(&first.column_type, name));
        }
        let result = if fractions {
            let precision =
                constant_int(args, 1).and_then(|p| u8::try_from(p).ok()).filter(|p| *p <= 9).unwrap_or(3);
            ColumnType::DateTime64 { precision, time_zone: zone_argument(args, 2)? }
        } else {
            ColumnType::DateTime { time_zone: zone_argument(args, 1)? }
        };
        if first.column_type == ColumnType::Nothing {
            return Ok(ColumnType::Nothing);
        }
        let nullable = mode == CastMode::OrNull || first.column_type.is_nullable();
        let result = if nullable { result.nullable() } else { result };
        Ok(if keeps_dictionary(args, &result) {
            ColumnType::LowCardinality(Box::new(result))
        } else {
            result
        })
    };
    ScalarFunction::new(name, 1..=3, rule, move |call: &Call<'_>| {
        let arg = call.arg(0)?;
        let array = call.caster(mode).column(&arg.array, &arg.column_type, call.result_type)?;
        expanded(&Arg { array, ..arg.clone() }, call.rows)
    })
    .own_nulls()
}

/// Text -> DateTime or DateTime64 with the month first; what fails is an error, NULL or the first moment.
fn parse_us(name: &'static str, mode: CastMode, fractions: bool) -> ScalarFunction {
    parse(name, mode, fractions).with_kernel(move |call: &Call<'_>| {
        let (texts, arg) = (call.texts(0)?, call.arg(0)?);
        let result = call.result_type.value_type();
        let zone = Zone::new(zone_of(result, call.session.time_zone));
        let today = call.caster(mode).today;
        let (digits, cut) = (digits_of(result), power_of_ten(9 - precision_of(result)));
        let up = power_of_ten(digits - precision_of(result));
        let (mut ticks, mut valid) = (Vec::with_capacity(call.rows), Vec::with_capacity(call.rows));
        for row in 0..call.rows {
            let read = match arg.is_null(row) {
                true => None,
                false => Some(crate::cast::moment_of_us(texts.get(row), &zone, today)),
            };
            let in_ticks = |moment: Moment| {
                let seconds = if fractions { moment.seconds } else { moment.seconds.clamp(0, SECONDS_MAX) };
                seconds.checked_mul(power_of_ten(digits))?.checked_add(moment.nanos / cut * up)
            };
            let is_whole = fractions || point_behind_timestamp(texts.get(row)).is_none();
            let made = read.and_then(Result::ok).filter(|_| is_whole).and_then(in_ticks);
            let failed = made.is_none();
            if failed && mode == CastMode::Strict && !arg.is_null(row) {
                let message = format!("cannot read a time from '{}'", texts.get(row));
                return Err(FunctionError::new(ErrorCode::CANNOT_PARSE_DATETIME, message));
            }
            ticks.push(made.unwrap_or(0));
            valid.push(!failed || mode == CastMode::OrDefault && !arg.is_null(row));
        }
        let made = from_ticks(Int64Array::from(ticks), result);
        if call.result_type.is_nullable() { with_nulls(&made, &valid.into()) } else { Ok(made) }
    })
}

/// Last second of DateTime.
const SECONDS_MAX: i64 = 4_294_967_295;

/// Numbers of ticks -> DateTime64 of that precision.
fn from_ticks_of(name: &'static str, precision: u8) -> ScalarFunction {
    let rule = move |args: &[ArgType]| match args.first().map(|arg| &arg.column_type) {
        Some(other) if !other.is_integer() => Err(FunctionError::illegal_type(other, name)),
        _ => Ok(ColumnType::DateTime64 { precision, time_zone: zone_argument(args, 1)? }),
    };
    ScalarFunction::new(name, 1..=2, rule, |call: &Call<'_>| {
        let numbers = call.ints(0)?;
        let values: Vec<i64> =
            (0..call.rows).map(|row| if call.is_null(row) { 0 } else { numbers.get(row) }).collect();
        Ok(from_ticks(Int64Array::from(values), call.result_type.value_type()))
    })
    .increasing_by(0)
}

fn to_ticks_of(name: &'static str, precision: u32) -> ScalarFunction {
    let rule = move |args: &[ArgType]| match args.first().map(|arg| &arg.column_type) {
        Some(other) if !matches!(other, ColumnType::DateTime64 { .. }) => {
            Err(FunctionError::illegal_type(other, name))
        }
        _ => Ok(ColumnType::Int64),
    };
    ScalarFunction::new(name, 1..=1, rule, move |call: &Call<'_>| {
        let locals = Locals::new(call, 0, 1)?;
        let overflow =
            || FunctionError::new(ErrorCode::DECIMAL_OVERFLOW, format!("decimal overflow in {name}"));
        call.each::<Int64Type>(|row| locals.ticks_towards_epoch(row, precision).ok_or_else(overflow))
    })
    .increasing_by(0)
}

fn from_unix_timestamp(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    // Numbers stop at the ends, as in a conversion.
    let plain = ColumnType::DateTime { time_zone: None };
    let source = call.arg(0)?;
    let made = if source.column_type.is_number() {
        let array = call.converted(0, &plain)?;
        expanded(&Arg { array, is_constant: source.is_constant, column_type: plain.clone() }, call.rows)?
    } else {
        let seconds = call.ints(0)?;
        let wrapped = |row: usize| crate::time::temporal::wrap_seconds(seconds.get(row));
        let values: Vec<i64> =
            (0..call.rows).map(|row| if call.is_null(row) { 0 } else { wrapped(row) }).collect();
        from_ticks(Int64Array::from(values), &plain)
    };
    if call.args.len() < 2 {
        return Ok(made);
    }
    let time = Arg { array: made, is_constant: false, column_type: ColumnType::DateTime { time_zone: None } };
    let mut args = vec![time];
    args.extend(call.args.iter().skip(2).cloned());
    let inner = Call { args: &args, ..call.again() };
    let locals = Locals::new(&inner, 0, 1)?;
    let templates = call.texts(1)?;
    call.each_text(|row, out| super::format::write_template(templates.get(row), &locals, row, out))
}

/// The current time of the session in ticks of a type.
fn current(call: &Call<'_>, shift_days: i64) -> Result<ArrayRef, FunctionError> {
    let result = call.result_type;
    let seconds = call.session.now_ns.div_euclid(1_000_000_000);
    let zone = Zone::new(zone_of(result, call.session.time_zone));
    if *result == ColumnType::Date {
        let day = zone.to_local(seconds).div_euclid(SECONDS_PER_DAY) + shift_days;
        return call.each::<Date32Type>(|_| Ok(i32::try_from(day).unwrap_or(0)));
    }
    let (digits, precision) = (digits_of(result), precision_of(result));
    let cut = power_of_ten(9 - precision);
    let tick = call.session.now_ns.div_euclid(cut) * power_of_ten(digits - precision);
    Ok(from_ticks(Int64Array::from(vec![tick; call.rows]), result))
}

fn to_time_zone(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let zone = zone_argument(args, 1)?;
    match args.first().map(|arg| &arg.column_type) {
        Some(ColumnType::DateTime { .. }) => Ok(ColumnType::DateTime { time_zone: zone }),
        Some(ColumnType::DateTime64 { precision, .. }) => {
            Ok(ColumnType::DateTime64 { precision: *precision, time_zone: zone })
        }
        Some(other) => Err(FunctionError::illegal_type(other, "toTimeZone")),
        None => Err(FunctionError::bad_argument("a time is needed")),
    }
}

/// `makeDate(year, month, day)`: a date that does not exist is 1970-01-01.
fn zone_of_argument(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let zone = zone_of(&call.arg(0)?.column_type, call.session.time_zone);
    call.each_part(|_| zone.name())
}

fn clocks() -> Vec<ScalarFunction> {
    let now_type = |args: &[ArgType]| Ok(ColumnType::DateTime { time_zone: zone_argument(args, 0)? });
    let now64_type = |args: &[ArgType]| {
        let precision = match args.first() {
            None => 3,
            Some(_) => constant_int(args, 0)
                .and_then(|p| u8::try_from(p).ok())
                .filter(|p| *p <= 9)
                .ok_or_else(|| {
                    FunctionError::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, "now64 needs a precision of 0 to 9")
                })?,
        };
        Ok(ColumnType::DateTime64 { precision, time_zone: zone_argument(args, 1)? })
    };
    let date_type = |_: &[ArgType]| Ok(ColumnType::Date);
    let utc_type = |_: &[ArgType]| Ok(ColumnType::DateTime { time_zone: Some("UTC".into()) });
    let clocks = vec![
        ScalarFunction::new("now", 0..=1, now_type, |call| current(call, 0))
            .any_case()
            .aliases(&["current_timestamp", "localtimestamp"])
            .doc("now([zone])", "The time the query started.", "now()"),
        ScalarFunction::new("UTCTimestamp", 0..=0, utc_type, |call| current(call, 0))
            .any_case()
            .aliases(&["UTC_timestamp"])
            .doc("UTCTimestamp()", "The time the query started, in UTC.", "UTCTimestamp()"),
        ScalarFunction::new("now64", 0..=2, now64_type, |call| current(call, 0)).any_case().doc(
            "now64([precision[, zone]])",
            "The time the query started, with fractions.",
            "now64(3)",
        ),
        ScalarFunction::new("today", 0..=0, date_type, |call| current(call, 0))
            .any_case()
            .aliases(&["curdate", "current_date"])
            .doc("today()", "The date the query started.", "today()"),
        ScalarFunction::new("yesterday", 0..=0, date_type, |call| current(call, -1)).doc(
            "yesterday()",
            "The day before the query started.",
            "yesterday()",
        ),
    ];
    clocks.into_iter().map(ScalarFunction::of_statement).collect()
}

fn zones() -> Vec<ScalarFunction> {
    let is_moment = |name: &'static str, result: ColumnType| {
        move |args: &[ArgType]| match args.first().map(|arg| &arg.column_type) {
            Some(time) if is_time(time) => Ok(result.clone()),
            Some(other) => Err(FunctionError::illegal_type(other, name)),
            None => Err(FunctionError::bad_argument("a time is needed")),
        }
    };
    vec![
        ScalarFunction::new("toTimeZone", 2..=2, to_time_zone, |call| {
            let ticks = crate::time::temporal::ticks(&call.arg(0)?.array);
            let array = from_ticks(ticks, call.result_type.value_type());
            expanded(&Arg { array, ..call.arg(0)?.clone() }, call.rows)
        })
        .any_case()
        .aliases(&["toTimezone"])
        .increasing_by(0)
        .doc(
            "toTimeZone(t, zone)",
            "The same moment, shown in another zone.",
            "toTimeZone(toDateTime('2020-01-01 00:00:00', 'UTC'), 'Asia/Tokyo') -> 2020-01-01 09:00:00",
        ),
        ScalarFunction::new(
            "timeZone",
            0..=0,
            |_| Ok(ColumnType::String),
            |call| call.each_part(|_| call.session.time_zone.name()),
        )
        .any_case()
        .of_statement()
        .doc("timeZone()", "The session's time zone.", "timeZone() -> 'UTC'"),
        ScalarFunction::new(
            "timeZoneOf",
            1..=1,
            is_moment("timeZoneOf", ColumnType::String),
            zone_of_argument,
        )
        .any_case()
        .doc("timeZoneOf(t)", "The zone of a time.", "timeZoneOf(toDateTime(0, 'UTC')) -> 'UTC'"),
        ScalarFunction::new(
            "timeZoneOffset",
            1..=1,
            is_moment("timeZoneOffset", ColumnType::Int32),
            |call| {
                let locals = Locals::new(call, 0, 1)?;
                call.each::<arrow::datatypes::Int32Type>(|row| {
                    Ok(i32::try_from(locals.zone.offset_at(locals.epoch(row))).unwrap_or(0))
                })
            },
        )
        .any_case()
        .doc(
            "timeZoneOffset(t)",
            "Seconds the zone is ahead of UTC.",
            "timeZoneOffset(toDateTime(0, 'Asia/Tokyo')) -> 32400",
        ),
    ]
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let mut out = clocks();
    out.extend(zones());
    for (name, mode, fractions) in [
        ("parseDateTimeBestEffort", CastMode::Strict, false),
        ("parseDateTime32BestEffort", CastMode::Strict, false),
        ("parseDateTime32BestEffortOrNull", CastMode::OrNull, false),
        ("parseDateTime32BestEffortOrZero", CastMode::OrDefault, false),
        ("parseDateTimeBestEffortOrNull", CastMode::OrNull, false),
        ("parseDateTimeBestEffortOrZero", CastMode::OrDefault, false),
        ("parseDateTime64BestEffort", CastMode::Strict, true),
        ("parseDateTime64BestEffortOrNull", CastMode::OrNull, true),
        ("parseDateTime64BestEffortOrZero", CastMode::OrDefault, true),
    ] {
        out.push(parse(name, mode, fractions).doc(
            "parseDateTimeBestEffort(text[, zone])",
            "Reads a time in about any notation; OrNull and OrZero where that fails, 64 keeps fractions.",
            "parseDateTimeBestEffort('1 Jan 2020 10:00') -> 2020-01-01 10:00:00",
        ));
    }
    for (name, mode, fractions) in [
        ("parseDateTimeBestEffortUS", CastMode::Strict, false),
        ("parseDateTimeBestEffortUSOrNull", CastMode::OrNull, false),
        ("parseDateTimeBestEffortUSOrZero", CastMode::OrDefault, false),
        ("parseDateTime64BestEffortUS", CastMode::Strict, true),
        ("parseDateTime64BestEffortUSOrNull", CastMode::OrNull, true),
        ("parseDateTime64BestEffortUSOrZero", CastMode::OrDefault, true),
    ] {
        out.push(parse_us(name, mode, fractions).doc(
            "parseDateTimeBestEffortUS(text[, zone])",
            "As parseDateTimeBestEffort with the month before the day.",
            "parseDateTimeBestEffortUS('10/12/2020') -> 2020-10-12 00:00:00",
        ));
    }
    for (to, from, precision) in [
        ("toUnixTimestamp64Second", "fromUnixTimestamp64Second", 0_u8),
        ("toUnixTimestamp64Milli", "fromUnixTimestamp64Milli", 3),
        ("toUnixTimestamp64Micro", "fromUnixTimestamp64Micro", 6),
        ("toUnixTimestamp64Nano", "fromUnixTimestamp64Nano", 9),
    ] {
        out.push(to_ticks_of(to, u32::from(precision)).doc(
            "toUnixTimestamp64Milli(t)",
            "Milliseconds (Micro, Nano) since the epoch.",
            "toUnixTimestamp64Milli(toDateTime64('1970-01-01 00:00:01', 3)) -> 1000",
        ));
        out.push(from_ticks_of(from, precision).doc(
            "fromUnixTimestamp64Milli(n[, zone])",
            "The time of milliseconds (Micro, Nano) since the epoch.",
            "fromUnixTimestamp64Milli(1000) -> 1970-01-01 00:00:01.000",
        ));
    }
    let from_type = |args: &[ArgType]| {
        Ok(if args.len() > 1 { ColumnType::String } else { ColumnType::DateTime { time_zone: None } })
    };
    out.extend([ScalarFunction::new("fromUnixTimestamp", 1..=3, from_type, from_unix_timestamp)
        .any_case()
        .aliases(&["FROM_UNIXTIME"])
        .doc(
            "fromUnixTimestamp(seconds[, format[, zone]])",
            "The time of seconds since the epoch, or its text.",
            "fromUnixTimestamp(0) -> 1970-01-01 00:00:00",
        )]);
    out
}
