//! `CAST` and the `toX` functions, over `cast`.
//!
//! Invariant: the conversion itself is `cast`'s; here are only names, target types and modes.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::interleave;
use chrono_tz::Tz;
use model::{ColumnType, ErrorCode};

use crate::cast::CastMode;
use crate::conversion::accurate::{self, named_type, named_type_in_zone};
use crate::conversion::plain_time;
use crate::error::FunctionError;
use crate::kernel::call::{Arg, ArgType, Call, SessionValues, named_zone, parse_zone};
use crate::kernel::registry::{ScalarFunction, keeps_dictionary};
use crate::kernel::rows::{constant_int, constant_text, expanded};

/// The type that the constant arguments after the first ask for.
type Target = fn(&[ArgType]) -> Result<ColumnType, FunctionError>;

/// Nullable if the source is, a dictionary if the only column is one.
fn like_source(args: &[ArgType], target: ColumnType) -> ColumnType {
    let Some(source) = args.first() else { return target };
    if source.column_type == ColumnType::Nothing {
        return ColumnType::Nothing;
    }
    let nests = matches!(target, ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Tuple(_));
    let target = if source.column_type.is_nullable() && !nests { target.nullable() } else { target };
    if keeps_dictionary(args, &target) { ColumnType::LowCardinality(Box::new(target)) } else { target }
}

fn convert(call: &Call<'_>, mode: CastMode, to: &ColumnType) -> Result<ArrayRef, FunctionError> {
    let arg = call.arg(0)?;
    let array = call.caster(mode).column(&arg.array, &arg.column_type, to)?;
    let made = Arg { array, is_constant: arg.is_constant, column_type: to.clone() };
    expanded(&made, call.rows)
}

fn needs_text(args: &[ArgType], name: &str) -> Result<(), FunctionError> {
    match args.first() {
        Some(arg) if arg.column_type.is_string() || arg.column_type == ColumnType::Nothing => Ok(()),
        Some(arg) => {
            let message = format!(
                "illegal type {} of first argument of function {name}: conversion functions with postfix 'OrZero' or \
                 'OrNull' should take String argument",
                arg.column_type
            );
            Err(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message))
        }
        None => Ok(()),
    }
}

/// Refuses what converts to no single value, and decimals as days.
fn takes_source(args: &[ArgType], target: &ColumnType, name: &str) -> Result<(), FunctionError> {
    let Some(source) = args.first().map(|arg| arg.column_type.value_type()) else { return Ok(()) };
    let nests = matches!(source, ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Tuple(_));
    if nests && !source.is_interval() && !target.is_string() {
        return Err(FunctionError::illegal_type(source, name));
    }
    let is_day = matches!(target, ColumnType::Date | ColumnType::Date32 | ColumnType::DateTime { .. });
    if is_day && matches!(source, ColumnType::Decimal { .. }) {
        let message = format!("function {name} does not take {source}");
        return Err(FunctionError::new(ErrorCode::ILLEGAL_COLUMN, message));
    }
    Ok(())
}

fn plain(name: &'static str, arguments: std::ops::RangeInclusive<usize>, target: Target) -> ScalarFunction {
    let rule = move |args: &[ArgType]| {
        let target = target(args)?;
        takes_source(args, &target, name)?;
        Ok(like_source(args, target))
    };
    let is_day = matches!(name, "toDate" | "toDate32");
    ScalarFunction::new(name, arguments, rule, move |call| {
        if is_day && call.args.len() == 2 {
            day_in_zone(call)
        } else {
            convert(call, CastMode::Strict, call.result_type)
        }
    })
    .own_nulls()
}

/// The day that a moment falls on in the zone of the second argument.
fn day_in_zone(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let name: Arc<str> = call.texts(1)?.get(0).into();
    let session = SessionValues { time_zone: parse_zone(&name)?, ..call.session.clone() };
    let source = call.arg(0)?;
    let moment = in_zone(source.column_type.value_type(), name);
    let moved = match moment {
        Some(moment) => {
            let moment = if source.column_type.is_nullable() { moment.nullable() } else { moment };
            let array = call.caster(CastMode::Strict).column(&source.array, &source.column_type, &moment)?;
            Arg { array, is_constant: source.is_constant, column_type: moment }
        }
        None => source.clone(),
    };
    let moved = [moved];
    let zoned = Call { args: &moved, session: &session, ..call.again() };
    convert(&zoned, CastMode::Strict, call.result_type)
}

/// The type of the same moments in a zone; `None` for what is no moment.
fn in_zone(column_type: &ColumnType, zone: Arc<str>) -> Option<ColumnType> {
    match column_type {
        ColumnType::DateTime { .. } => Some(ColumnType::DateTime { time_zone: Some(zone) }),
        ColumnType::DateTime64 { precision, .. } => {
            Some(ColumnType::DateTime64 { precision: *precision, time_zone: Some(zone) })
        }
        _ => None,
    }
}

/// Whether an argument is a number of a machine.
fn is_number(arg: Option<&ArgType>) -> bool {
    arg.is_some_and(|arg| {
        arg.column_type.is_number() && !matches!(arg.column_type.value_type(), ColumnType::Decimal { .. })
    })
}

fn or_null(name: &'static str, arguments: std::ops::RangeInclusive<usize>, target: Target) -> ScalarFunction {
    let rule = move |args: &[ArgType]| {
        let target = target(args)?;
        if !(is_number(args.first()) && matches!(target, ColumnType::Date | ColumnType::DateTime { .. })) {
            needs_text(args, name)?;
        }
        Ok(like_source(args, target.nullable()))
    };
    ScalarFunction::new(name, arguments, rule, |call| {
        let arg = call.arg(0)?;
        if arg.column_type.is_number() {
            let array = accurate::tried(call, call.result_type.value_type())?;
            return expanded(&Arg { array, ..arg.clone() }, call.rows);
        }
        if plain_time::is_read_plainly(call.result_type) {
            return plain_time::read(call, false);
        }
        convert(call, CastMode::OrNull, call.result_type)
    })
    .own_nulls()
}

fn or_zero(name: &'static str, arguments: std::ops::RangeInclusive<usize>, target: Target) -> ScalarFunction {
    let rule = move |args: &[ArgType]| {
        needs_text(args, name)?;
        Ok(like_source(args, target(args)?))
    };
    let kernel = |call: &Call<'_>| {
        let arg = call.arg(0)?;
        if plain_time::is_read_plainly(call.result_type) {
            return plain_time::read(call, true);
        }
        if !arg.array.is_nullable() {
            return convert(call, CastMode::OrDefault, call.result_type);
        }
        // A NULL stays NULL; only text that does not read becomes zero.
        let value = call.result_type.value_type();
        let converted = convert(call, CastMode::OrDefault, value)?;
        let source = expanded(arg, call.rows)?;
        match source.logical_nulls() {
            Some(nulls) => crate::kernel::registry::with_nulls(&converted, &nulls),
            None => Ok(converted),
        }
    };
    ScalarFunction::new(name, arguments, rule, kernel).own_nulls()
}

fn or_default(name: &'static str, extra: usize, zoned: bool, target: Target) -> ScalarFunction {
    // NULL becomes the default, too, also one without a type.
    let rule = move |args: &[ArgType]| {
        let target = target(args)?;
        accurate::check_fallback(args.get(fallback_of(extra, zoned)), &target)?;
        Ok(if keeps_dictionary(args, &target) {
            ColumnType::LowCardinality(Box::new(target))
        } else {
            target
        })
    };
    let kernel = move |call: &Call<'_>| accurate::or_default(call, fallback_of(extra, zoned));
    let most = 2 + extra + usize::from(zoned);
    ScalarFunction::new(name, 1 + extra..=most, rule, kernel).own_nulls()
}

/// Where the default is: behind the zone of conversions that have one.
fn fallback_of(extra: usize, zoned: bool) -> usize {
    1 + extra + usize::from(zoned)
}

/// `toX`, `toXOrNull`, `toXOrZero`, `toXOrDefault`.
macro_rules! family {
    ($out:ident, $name:literal, $extra:expr, $more:expr, $target:expr, $rest:literal, $what:literal) => {
        let arguments = 1 + $extra..=1 + $extra + $more;
        let signature = concat!($name, "(x", $rest, ")");
        $out.push(plain($name, arguments.clone(), $target).doc(
            signature,
            concat!("Converts to ", $what, "; text that does not read is an error."),
            concat!($name, "('1'", $rest, ")"),
        ));
        $out.push(or_null(concat!($name, "OrNull"), arguments.clone(), $target).doc(
            concat!($name, "OrNull(text", $rest, ")"),
            concat!("Reads text as ", $what, "; NULL where that fails."),
            concat!($name, "OrNull('?'", $rest, ") -> NULL"),
        ));
        $out.push(or_zero(concat!($name, "OrZero"), arguments, $target).doc(
            concat!($name, "OrZero(text", $rest, ")"),
            concat!("Reads text as ", $what, "; the type's default where that fails."),
            concat!($name, "OrZero('?'", $rest, ")"),
        ));
        $out.push(
            or_default(
                concat!($name, "OrDefault"),
                $extra,
                $more > 0 && $name != "toDate" && $name != "toDate32",
                $target,
            )
            .doc(
                concat!($name, "OrDefault(x", $rest, "[, default])"),
                concat!("Converts to ", $what, "; the default given, else the type's, where that fails."),
                concat!($name, "OrDefault('?'", $rest, ")"),
            ),
        );
    };
}

/// What is wrong with a number of digits that does not serve: it is no whole number, no constant, or too large.
fn bad_digits(args: &[ArgType]) -> ErrorCode {
    match args.get(1) {
        Some(arg) if !arg.column_type.value_type().is_integer() => ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
        Some(arg) if arg.constant.is_none() => ErrorCode::ILLEGAL_COLUMN,
        _ => ErrorCode::ARGUMENT_OUT_OF_BOUND,
    }
}

fn decimal(args: &[ArgType], precision: u8) -> Result<ColumnType, FunctionError> {
    let scale =
        constant_int(args, 1).and_then(|scale| u8::try_from(scale).ok()).filter(|scale| *scale <= precision);
    match scale {
        Some(scale) => Ok(ColumnType::Decimal { precision, scale }),
        None => Err(FunctionError::new(bad_digits(args), "a decimal needs a constant scale in its range")),
    }
}

/// The zone named by a constant argument.
pub(crate) fn zone_argument(args: &[ArgType], index: usize) -> Result<Option<Arc<str>>, FunctionError> {
    if args.len() <= index {
        return Ok(None);
    }
    let name = constant_text(args, index).ok_or_else(|| {
        FunctionError::new(ErrorCode::ILLEGAL_COLUMN, "the time zone must be a constant string")
    })?;
    // An empty name is no zone.
    if name.is_empty() {
        return Ok(None);
    }
    let _known: Tz = parse_zone(&name)?;
    Ok(Some(name.into()))
}

/// The zone given, else the one the source names.
fn zone_or_own(args: &[ArgType]) -> Result<Option<Arc<str>>, FunctionError> {
    if let Some(zone) = zone_argument(args, 1)? {
        return Ok(Some(zone));
    }
    Ok(match args.first().map(|arg| arg.column_type.value_type()) {
        Some(ColumnType::DateTime { time_zone } | ColumnType::DateTime64 { time_zone, .. }) => {
            time_zone.clone()
        }
        _ => None,
    })
}

fn date_time64(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let given = if args.len() < 2 { Some(3) } else { constant_int(args, 1) };
    let precision = given.and_then(|p| u8::try_from(p).ok()).filter(|p| *p <= 9);
    let precision = precision.ok_or_else(|| {
        FunctionError::new(bad_digits(args), "DateTime64 needs a constant precision of 0 to 9")
    })?;
    let time_zone = match args.len() {
        ..=2 => zone_or_own(&args[..args.len().min(1)])?,
        _ => zone_argument(args, 2)?,
    };
    Ok(ColumnType::DateTime64 { precision, time_zone })
}

/// DateTime, and DateTime64 where a number of digits is given.
fn date_time(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let digits = args.get(1).is_some_and(|arg| arg.column_type.value_type().is_integer());
    match constant_int(args, 1) {
        Some(0) if digits => {
            let time_zone = match args.len() {
                ..=2 => zone_or_own(&args[..1])?,
                _ => zone_argument(args, 2)?,
            };
            Ok(ColumnType::DateTime { time_zone })
        }
        Some(_) if digits => date_time64(args),
        _ if args.len() > 2 => {
            let message = "toDateTime takes a constant number of digits in front of a time zone";
            Err(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message))
        }
        _ => Ok(ColumnType::DateTime { time_zone: zone_or_own(args)? }),
    }
}

fn fixed_string(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let bytes = constant_int(args, 1)
        .and_then(|bytes| u32::try_from(bytes).ok())
        .filter(|bytes| (1..=model::type_name::FIXED_STRING_BYTES_MAX).contains(bytes));
    let code = if constant_int(args, 1).is_some() {
        ErrorCode::ARGUMENT_OUT_OF_BOUND
    } else {
        ErrorCode::ILLEGAL_COLUMN
    };
    bytes
        .map(ColumnType::FixedString)
        .ok_or_else(|| FunctionError::new(code, "toFixedString needs a constant length from 1 to 16777215"))
}

/// `toDateTime64OrNull` and `toDateTime64OrZero` have milliseconds unless they are told.
fn optional_scale(function: ScalarFunction) -> ScalarFunction {
    match function.name {
        "toDateTime64OrNull" | "toDateTime64OrZero" => function.with_arguments_from(1),
        _ => function,
    }
}

fn number_families(out: &mut Vec<ScalarFunction>) {
    family!(out, "toUInt8", 0, 0, |_| Ok(ColumnType::UInt8), "", "UInt8");
    family!(out, "toUInt16", 0, 0, |_| Ok(ColumnType::UInt16), "", "UInt16");
    family!(out, "toUInt32", 0, 0, |_| Ok(ColumnType::UInt32), "", "UInt32");
    family!(out, "toUInt64", 0, 0, |_| Ok(ColumnType::UInt64), "", "UInt64");
    family!(out, "toInt8", 0, 0, |_| Ok(ColumnType::Int8), "", "Int8");
    family!(out, "toInt16", 0, 0, |_| Ok(ColumnType::Int16), "", "Int16");
    family!(out, "toInt32", 0, 0, |_| Ok(ColumnType::Int32), "", "Int32");
    family!(out, "toInt64", 0, 0, |_| Ok(ColumnType::Int64), "", "Int64");
    family!(out, "toInt128", 0, 0, |_| Ok(ColumnType::Int128), "", "Int128");
    family!(out, "toUInt128", 0, 0, |_| Ok(ColumnType::UInt128), "", "UInt128");
    family!(out, "toInt256", 0, 0, |_| Ok(ColumnType::Int256), "", "Int256");
    family!(out, "toUInt256", 0, 0, |_| Ok(ColumnType::UInt256), "", "UInt256");
    family!(out, "toFloat32", 0, 0, |_| Ok(ColumnType::Float32), "", "Float32");
    family!(out, "toFloat64", 0, 0, |_| Ok(ColumnType::Float64), "", "Float64");
    family!(out, "toUUID", 0, 0, |_| Ok(ColumnType::Uuid), "", "UUID");
    family!(out, "toIPv4", 0, 0, |_| Ok(ColumnType::Ipv4), "", "IPv4");
    family!(out, "toIPv6", 0, 0, |_| Ok(ColumnType::Ipv6), "", "IPv6");
    family!(out, "toDecimal32", 1, 0, |args| decimal(args, 9), ", 2", "Decimal(9, S)");
    family!(out, "toDecimal64", 1, 0, |args| decimal(args, 18), ", 2", "Decimal(18, S)");
    family!(out, "toDecimal128", 1, 0, |args| decimal(args, 38), ", 2", "Decimal(38, S)");
    family!(out, "toDecimal256", 1, 0, |args| decimal(args, 76), ", 2", "Decimal(76, S)");
}

fn time_families(out: &mut Vec<ScalarFunction>) {
    family!(out, "toDate", 0, 1, |_| Ok(ColumnType::Date), "", "Date");
    family!(out, "toDate32", 0, 1, |_| Ok(ColumnType::Date32), "", "Date32");
    family!(
        out,
        "toDateTime",
        0,
        1,
        |args| Ok(ColumnType::DateTime { time_zone: zone_or_own(args)? }),
        "",
        "DateTime"
    );
    family!(out, "toDateTime64", 1, 1, date_time64, ", 2", "DateTime64");
}

fn casts() -> Vec<ScalarFunction> {
    let strict = |call: &Call<'_>| convert(call, CastMode::Strict, call.result_type);
    let meeting = |call: &Call<'_>| convert(call, CastMode::Meeting, call.result_type);
    vec![
        ScalarFunction::new("CAST", 2..=2, named_type_in_zone, strict).own_nulls().any_case().doc(
            "CAST(x, 'T')",
            "Converts to the named type; moments keep their zone where it names none. Integers wrap; text that does not \
             read is an error, or NULL for Nullable types.",
            "CAST('5', 'UInt8') -> 5",
        ),
        ScalarFunction::new("_CAST", 2..=2, named_type, meeting).own_nulls().doc(
            "_CAST(x, 'T')",
            "CAST to exactly the type named: a moment without a zone in it is in the server's.",
            "_CAST('5', 'UInt8') -> 5",
        ),
    ]
}

fn to_string(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let Ok(zones) = call.texts(1) else { return convert(call, CastMode::Strict, call.result_type) };
    let first = zones.get(0).to_owned();
    if call.arg(1)?.is_constant || (1..call.rows).all(|row| zones.get(row) == first) {
        return to_string_in(call, first.into());
    }
    // Each row in its zone: whole columns, of which each has the rows of one.
    let mut shown: Vec<(String, ArrayRef)> = vec![];
    let mut places = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let name = zones.get(row);
        let known = shown.iter().position(|(zone, _)| zone == name);
        let at = match known {
            Some(at) => at,
            None => {
                shown.push((name.to_owned(), to_string_in(call, name.into())?));
                shown.len() - 1
            }
        };
        places.push((at, row));
    }
    let columns: Vec<&dyn Array> = shown.iter().map(|(_, column)| column.as_ref()).collect();
    Ok(interleave(&columns, &places)?)
}

fn to_string_in(call: &Call<'_>, zone: Arc<str>) -> Result<ArrayRef, FunctionError> {
    let arg = call.arg(0)?;
    let _known: Tz = named_zone(&zone)?;
    let Some(zoned) = in_zone(arg.column_type.value_type(), zone) else {
        let source = arg.column_type.value_type();
        return Err(FunctionError::illegal_type(source, "toString with a time zone"));
    };
    let zoned = if arg.column_type.is_nullable() { zoned.nullable() } else { zoned };
    let caster = call.caster(CastMode::Strict);
    let moved = caster.column(&arg.array, &arg.column_type, &zoned)?;
    let array = caster.column(&moved, &zoned, call.result_type)?;
    expanded(&Arg { array, is_constant: arg.is_constant, column_type: ColumnType::String }, call.rows)
}

pub(crate) fn functions() -> Vec<ScalarFunction> {
    let mut out = Vec::new();
    number_families(&mut out);
    time_families(&mut out);
    let mut out: Vec<ScalarFunction> = out.into_iter().map(optional_scale).collect();
    out.extend(casts());
    out.extend(accurate::functions());
    for function in &mut out {
        // Of the conversions only this one is a key people sort and partition by. Text and numbers may fall in it:
        // `ScalarFunction::monotonicity` looks at the type.
        if function.name == "toDateTime" {
            *function = plain("toDateTime", 1..=3, date_time).aliases(&["toDateTime32"]).doc(
                "toDateTime(x[, digits][, zone])",
                "Converts to DateTime, with digits of a second to DateTime64; text that does not read is an error.",
                "toDateTime(1.5, 3, 'UTC') -> 1970-01-01 00:00:01.500",
            );
        }
        if function.name == "toDate" {
            function.monotonic_argument = Some((0, model::Monotonicity::Increasing));
        }
    }
    out.push(
        ScalarFunction::new("toString", 1..=2, |args| Ok(like_source(args, ColumnType::String)), to_string)
            .own_nulls()
            .doc(
                "toString(x[, zone])",
                "The text of a value; of a time in the zone given.",
                "toString(1.5) -> '1.5'",
            ),
    );
    out.push(plain("toBool", 1..=1, |_| Ok(ColumnType::Bool)).doc(
        "toBool(x)",
        "Converts to Bool.",
        "toBool(3) -> true",
    ));
    out.push(plain("toFixedString", 2..=2, fixed_string).doc(
        "toFixedString(text, n)",
        "Text of n bytes; longer text is an error.",
        "toFixedString('ab', 2) -> 'ab'",
    ));
    out.push(
        ScalarFunction::new(
            "toLowCardinality",
            1..=1,
            |args| {
                let source = args.first().map_or(ColumnType::Nothing, |arg| arg.column_type.clone());
                Ok(match source {
                    ColumnType::LowCardinality(_) | ColumnType::Nothing => source,
                    other => ColumnType::LowCardinality(Box::new(other)),
                })
            },
            |call| convert(call, CastMode::Strict, call.result_type),
        )
        .own_nulls()
        .doc(
            "toLowCardinality(x)",
            "The same values, typed as a dictionary.",
            "toLowCardinality('a') -> 'a'",
        ),
    );
    out
}
