//! Conversions that give up a value rather than change it: `accurateCast` and its kin.
//!
//! Invariant: what is given up is a NULL of the result; ClickHouse raises errors for names of enums and for decimals that are
//! too large, and wraps days and moments all the same. Must not know: what stands in the place of what is given up.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::compute::{is_not_null, kernels::zip::zip, nullif};
use model::{ColumnType, ErrorCode, type_name};

use crate::cast::{CastMode, default_array, type_default_array};
use crate::columns::number::{Number, with_number};
use crate::columns::wide::numbers;
use crate::error::FunctionError;
use crate::kernel::call::{Arg, ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::{constant_text, expanded, repeated};

/// The seconds of DateTime, by which a Date is told from a number, too.
const SECONDS: std::ops::RangeInclusive<i128> = 0..=4_294_967_295;
/// The days of Date32 from its first one, and behind them the seconds up to its last one.
const DAYS32: std::ops::RangeInclusive<i128> = -719_528..=253_402_300_799;

/// The type that the second argument names.
pub(crate) fn named_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let name = constant_text(args, 1).ok_or_else(|| {
        FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "CAST needs a constant type name")
    })?;
    type_name::parse(&name).map_err(|error| FunctionError::new(ErrorCode::UNKNOWN_TYPE, error.to_string()))
}

/// Whether numbers are outside of the range of a day or moment, or between two of them.
fn outside(arg: &Arg, range: &std::ops::RangeInclusive<i128>) -> Result<BooleanArray, FunctionError> {
    let plain = arg.column_type.value_type();
    if plain.is_wide_integer() {
        let values = numbers(&arg.array, plain)?;
        let fits =
            |number: &arrow::datatypes::i256| number.to_i128().is_some_and(|number| range.contains(&number));
        return Ok(values.iter().map(|number| Some(!fits(number))).collect());
    }
    with_number!(plain, T => {
        let values = arrow::array::AsArray::as_primitive::<T>(&arg.array);
        let fits = |number: <T as arrow::datatypes::ArrowPrimitiveType>::Native| {
            let whole = !<T as arrow::datatypes::ArrowPrimitiveType>::Native::FLOAT
                || number.float().trunc() == number.float();
            whole && range.contains(&number.int())
        };
        Ok(values.values().iter().map(|number| Some(!fits(*number))).collect())
    }, else Ok(BooleanArray::from(vec![false; arg.array.len()])))
}

/// The type that the second argument names; a moment whose zone is not named stays in the zone of the first argument.
pub(crate) fn named_type_in_zone(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let named = named_type(args)?;
    let Some(
        ColumnType::DateTime { time_zone: Some(zone) } | ColumnType::DateTime64 { time_zone: Some(zone), .. },
    ) = args.first().map(|arg| arg.column_type.value_type())
    else {
        return Ok(named);
    };
    let time_zone = Some(Arc::clone(zone));
    let zoned = match named.value_type() {
        ColumnType::DateTime { time_zone: None } => ColumnType::DateTime { time_zone },
        ColumnType::DateTime64 { time_zone: None, precision } => {
            ColumnType::DateTime64 { time_zone, precision: *precision }
        }
        _ => return Ok(named),
    };
    Ok(if named.is_nullable() { zoned.nullable() } else { zoned })
}

/// How the values of a type become those of another one.
enum Way {
    /// What does not fit is given up.
    Exact,
    /// As CAST does it.
    Plain,
    /// Numbers in a range, as CAST does it.
    Within(std::ops::RangeInclusive<i128>),
    /// Wide integers that a float of so many bits holds as they are.
    Whole(u32),
    /// There is no such conversion.
    Never,
}

fn way(from: &ColumnType, to: &ColumnType) -> Result<Way, FunctionError> {
    use ColumnType as C;
    let is_decimal = matches!(from, C::Decimal { .. });
    let is_machine_number = from.is_number() && !is_decimal;
    Ok(match (from, to) {
        _ if from == to => Way::Plain,
        (_, C::Enum8(_) | C::Enum16(_)) => Way::Plain,
        (C::Decimal { .. }, C::Date | C::Date32 | C::DateTime { .. })
        | (C::Date | C::Date32 | C::DateTime { .. }, C::Decimal { .. }) => {
            let message = format!("a {from} is no {to}");
            return Err(FunctionError::new(ErrorCode::ILLEGAL_COLUMN, message));
        }
        (C::Decimal { .. } | C::DateTime64 { .. }, C::Decimal { .. }) => Way::Exact,
        (C::Decimal { .. }, _) => Way::Plain,
        (C::Bool, C::Uuid | C::Ipv4 | C::Ipv6) => Way::Never,
        (C::Date | C::Date32 | C::DateTime { .. } | C::DateTime64 { .. } | C::Bool, _) => Way::Plain,
        (C::Enum8(_) | C::Enum16(_), _) => Way::Plain,
        (_, C::Uuid | C::Ipv4 | C::Ipv6) if is_machine_number => Way::Never,
        (_, C::Date | C::DateTime { .. }) if is_machine_number => Way::Within(SECONDS),
        (_, C::Date32) if is_machine_number => Way::Within(DAYS32),
        (wide, C::DateTime64 { .. } | C::Decimal { .. }) if wide.is_wide_integer() => Way::Never,
        (wide, C::Float32) if wide.is_wide_integer() => Way::Whole(f32::MANTISSA_DIGITS),
        (wide, C::Float64) if wide.is_wide_integer() => Way::Whole(f64::MANTISSA_DIGITS),
        (_, C::DateTime64 { .. }) if is_machine_number => Way::Plain,
        (_, C::Bool) if is_machine_number => Way::Plain,
        _ => Way::Exact,
    })
}

/// The first argument as a type, NULL where its value is not one of that type; one row if it is constant.
pub(crate) fn tried(call: &Call<'_>, to: &ColumnType) -> Result<ArrayRef, FunctionError> {
    let arg = call.arg(0)?;
    let (from, target) = (&arg.column_type, to.clone().nullable());
    let cast = |mode: CastMode| call.caster(mode).column(&arg.array, from, &target);
    Ok(match way(from.value_type(), to.value_type())? {
        Way::Exact => cast(CastMode::OrNull)?,
        Way::Plain => cast(CastMode::Strict)?,
        Way::Never => default_array(&target, arg.array.len()),
        Way::Within(range) => within(call, &outside(arg, &range)?, &target)?,
        Way::Whole(bits) => within(call, &rounded(arg, bits)?, &target)?,
    })
}

/// The first argument as a type, without the values that are given up.
fn within(call: &Call<'_>, given_up: &BooleanArray, target: &ColumnType) -> Result<ArrayRef, FunctionError> {
    let arg = call.arg(0)?;
    let kept = nullif(&arg.array, given_up)?;
    let from = arg.column_type.clone().nullable();
    Ok(call.caster(CastMode::Strict).column(&kept, &from, target)?)
}

/// Which wide integers have more digits than a float of so many bits: what it makes of them is another number.
fn rounded(arg: &Arg, bits: u32) -> Result<BooleanArray, FunctionError> {
    let plain = arg.column_type.value_type();
    let is_signed = matches!(plain, ColumnType::Int128 | ColumnType::Int256);
    let values = numbers(&arg.array, plain)?;
    let is_rounded = |number: &arrow::datatypes::i256| {
        let size = if is_signed && number.is_negative() { number.wrapping_neg() } else { *number };
        let length = 256 - size.leading_zeros();
        let is_over = bits == f32::MANTISSA_DIGITS && length > f32::MAX_EXP.unsigned_abs();
        length > 0 && (is_over || length - size.trailing_zeros() > bits)
    };
    Ok(values.iter().map(|number| Some(is_rounded(number))).collect())
}

fn or_null_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let target = named_type_in_zone(args)?;
    if let ColumnType::Array(_) | ColumnType::Map(..) = target {
        let message = format!("type {target} is not supported here because it cannot be inside Nullable");
        return Err(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
    }
    Ok(target.nullable())
}

fn or_null(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let arg = call.arg(0)?;
    if let ColumnType::Tuple(_) = call.result_type.value_type() {
        let array = call.caster(CastMode::OrNull).column(&arg.array, &arg.column_type, call.result_type)?;
        return expanded(&Arg { array, ..arg.clone() }, call.rows);
    }
    expanded(&Arg { array: tried(call, call.result_type.value_type())?, ..arg.clone() }, call.rows)
}

/// The fallback of a conversion has the type that is converted to.
pub(crate) fn check_fallback(fallback: Option<&ArgType>, target: &ColumnType) -> Result<(), FunctionError> {
    match fallback.map(|arg| &arg.column_type) {
        Some(other) if other != target => {
            let message = format!("the default is a {other} where {target} is converted to");
            Err(FunctionError::new(ErrorCode::BAD_ARGUMENTS, message))
        }
        _ => Ok(()),
    }
}

/// The first argument as the type of the result; argument `fallback`, else the default of the type, where that fails.
pub(crate) fn or_default(call: &Call<'_>, fallback: usize) -> Result<ArrayRef, FunctionError> {
    let value = call.result_type.value_type();
    let tried = expanded(&Arg { array: tried(call, value)?, ..call.arg(0)?.clone() }, call.rows)?;
    let other = match call.args.get(fallback) {
        Some(arg) => {
            let array =
                call.caster(CastMode::Strict).column(&arg.array, &arg.column_type, call.result_type)?;
            expanded(&Arg { array, ..arg.clone() }, call.rows)?
        }
        None => repeated(&type_default_array(call.result_type, 1), call.rows)?,
    };
    Ok(zip(&is_not_null(&tried)?, &tried, &other)?)
}

fn strict(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (arg, to) = (call.arg(0)?, call.result_type);
    let nests =
        |t: &ColumnType| matches!(t, ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Tuple(_));
    let array = if arg.column_type.is_string() || arg.column_type.value_type() == &ColumnType::Nothing {
        let read = call.caster(CastMode::Strict).column(&arg.array, &arg.column_type, to)?;
        // Of a text CAST keeps the lower bits.
        let exact = match to.is_integer() {
            true => tried(call, to.value_type())?,
            false => Arc::clone(&read),
        };
        if exact.logical_null_count() > read.logical_null_count() {
            let message = format!("a text cannot be parsed as {to}: it is out of its range");
            return Err(FunctionError::new(ErrorCode::CANNOT_PARSE_TEXT, message));
        }
        read
    } else if nests(to) || nests(&arg.column_type) {
        call.caster(CastMode::OrNull).column(&arg.array, &arg.column_type, to)?
    } else {
        tried(call, to.value_type())?
    };
    let lost = array.logical_null_count() > arg.array.logical_null_count();
    if lost || array.logical_null_count() > 0 && !to.is_nullable() {
        let message = format!("a value of type {} cannot be safely converted into {to}", arg.column_type);
        return Err(FunctionError::new(ErrorCode::CANNOT_CONVERT_TYPE, message));
    }
    let array = if to.is_nullable() {
        array
    } else {
        call.caster(CastMode::Strict).column(&array, &to.clone().nullable(), to)?
    };
    expanded(&Arg { array: Arc::clone(&array), ..arg.clone() }, call.rows)
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let default_type = |args: &[ArgType]| {
        let target = or_null_type(args)?;
        let target = if named_type(args)?.is_nullable() { target } else { target.value_type().clone() };
        check_fallback(args.get(2), &target)?;
        Ok(target)
    };
    vec![
        ScalarFunction::new("accurateCast", 2..=2, named_type_in_zone, strict).own_nulls().doc(
            "accurateCast(x, 'T')",
            "Converts to the named type; an error where the value would change.",
            "accurateCast(5, 'UInt8') -> 5",
        ),
        ScalarFunction::new("accurateCastOrNull", 2..=2, or_null_type, or_null).own_nulls().doc(
            "accurateCastOrNull(x, 'T')",
            "Converts to the named type; NULL where the value would change.",
            "accurateCastOrNull(300, 'UInt8') -> NULL",
        ),
        ScalarFunction::new("accurateCastOrDefault", 2..=3, default_type, |call| or_default(call, 2))
            .own_nulls()
            .doc(
                "accurateCastOrDefault(x, 'T'[, default])",
                "Converts to the named type; the default given, else the type's, where the value would change.",
                "accurateCastOrDefault(300, 'UInt8', toUInt8(7)) -> 7",
            ),
    ]
}
