//! Bit operations on integers.
//!
//! Invariant: `and`, `or`, `xor` work in the wider of two types, shifts in the wider type of both.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{Float32Type, Float64Type, Int64Type, UInt8Type, UInt16Type, UInt64Type, i256};
use model::{ColumnType, ErrorCode};

use crate::arithmetic::numbers::{result_arg, zip_with};
use crate::columns::number::{Number, with_number, wrap};
use crate::columns::wide::{column, kind_of, numbers};
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::expanded;
use crate::kernel::types::{any_integer_shape, integer_of, integer_shape, is_float};

fn shape(arg: &ArgType, name: &str) -> Result<(u8, bool), FunctionError> {
    if arg.column_type == ColumnType::Ipv4 {
        return Ok((4, false));
    }
    any_integer_shape(&arg.column_type).ok_or_else(|| FunctionError::illegal_type(&arg.column_type, name))
}

fn wider(name: &'static str) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| {
        if let (ColumnType::FixedString(a), ColumnType::FixedString(b)) =
            (&args[0].column_type, &args[1].column_type)
            && a == b
        {
            return Ok(args[0].column_type.clone());
        }
        let ((a, a_signed), (b, b_signed)) = (shape(&args[0], name)?, shape(&args[1], name)?);
        Ok(integer_of(a.max(b), a_signed || b_signed))
    }
}

/// Bits of bytes, of numbers, and of the whole parts of floats.
fn flipped_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    match &args[0].column_type {
        text if text.is_string() => Ok(text.clone()),
        float if is_float(float) => Ok(ColumnType::Int64),
        _ => own("bitNot")(args),
    }
}

fn own(name: &'static str) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| shape(&args[0], name).map(|(bytes, signed)| integer_of(bytes, signed))
}

fn combine(
    name: &'static str,
    combine: fn(i128, i128) -> i128,
    combine_wide: fn(i256, i256) -> i256,
) -> ScalarFunction {
    ScalarFunction::new(name, 2..=2, wider(name), move |call| {
        let result = call.result_type.value_type();
        if result.is_string() {
            let (a, b) = (call.texts(0)?, call.texts(1)?);
            return call.each_text(|row, out| {
                let (x, y) = (a.bytes(row), b.bytes(row));
                let pairs = x.iter().zip(y.iter());
                let joined: Vec<u8> = pairs
                    .map(|(x, y)| <u8 as Number>::wrap_int(combine(i128::from(*x), i128::from(*y))))
                    .collect();
                model::raw_text::push(&joined, out);
                Ok(())
            });
        }
        if result.is_wide_integer() {
            let (a, b) = (call.arg(0)?, call.arg(1)?);
            let (x, y) = (numbers(&a.array, &a.column_type)?, numbers(&b.array, &b.column_type)?);
            let values: Vec<i256> =
                (0..call.rows).map(|row| combine_wide(x[a.row(row)], y[b.row(row)])).collect();
            return column(&values, result, None);
        }
        let (a, b) = (call.converted(0, result)?, call.converted(1, result)?);
        with_number!(result, T => {
            let both = |x: <T as arrow::datatypes::ArrowPrimitiveType>::Native, y: <T as arrow::datatypes::ArrowPrimitiveType>::Native| {
                Number::wrap_int(combine(x.int(), y.int()))
            };
            Ok(Arc::new(zip_with::<T, T>(call, a.as_primitive(), b.as_primitive(), both)?))
        }, else Err(FunctionError::illegal_type(result, name)))
    })
}

fn shifted_type(
    name: &'static str,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| match &args[0].column_type {
        text if text.is_string() => Ok(text.clone()),
        _ => wider(name)(args),
    }
}

fn places_of(by: i64, name: &str) -> Result<i64, FunctionError> {
    if by >= 0 {
        return Ok(by);
    }
    let message = format!("the number of places that {name} shifts by, {by}, is negative");
    Err(FunctionError::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, message))
}

fn shift_wide(call: &Call<'_>, name: &str, left: bool) -> Result<ArrayRef, FunctionError> {
    let result = call.result_type.value_type();
    let (arg, places) = (call.arg(0)?, call.ints(1)?);
    // The number of places may be the wide one.
    let (values, kind) = (numbers(&call.converted(0, result)?, result)?, kind_of(result));
    let bits = i64::try_from(kind.bytes).unwrap_or(0) * 8;
    let mut shifted = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let places = if call.is_null(row) { 0 } else { places_of(places.get(row), name)? };
        let by = u8::try_from(places).unwrap_or(u8::MAX);
        let value = values[arg.row(row)];
        shifted.push(match left {
            _ if places >= bits => i256::ZERO,
            true => value << by,
            // Of the numbers without a sign the largest ones read as negative.
            false if !kind.signed && value < i256::ZERO && by > 0 => {
                (value >> by) & !(i256::MINUS_ONE << (u8::MAX - by + 1))
            }
            false => value >> by,
        });
    }
    column(&shifted, result, None)
}

/// Text as one long number, of which whole bytes may be added in front or fall away behind.
fn shift_text(call: &Call<'_>, name: &str, left: bool) -> Result<ArrayRef, FunctionError> {
    let (texts, places) = (call.texts(0)?, call.ints(1)?);
    let keeps_length = matches!(call.result_type.value_type(), ColumnType::FixedString(_));
    call.each_text(|row, out| {
        let by = usize::try_from(places_of(places.get(row), name)?).unwrap_or(usize::MAX);
        let bytes = texts.bytes(row);
        let length = bytes.len();
        // As in ClickHouse nothing is left where every place is shifted away.
        if length == 0 || by >= length.saturating_mul(8) {
            if keeps_length {
                out.extend(std::iter::repeat_n('\0', length));
            }
            return Ok(());
        }
        let (whole, part) = (by / 8, u32::try_from(by % 8).unwrap_or(0));
        let at = |index: isize| {
            usize::try_from(index).ok().and_then(|index| bytes.get(index)).copied().unwrap_or(0)
        };
        let pair = |index: isize| u16::from(at(index - 1)) << 8 | u16::from(at(index));
        let (length, whole) = (isize::try_from(length).unwrap_or(0), isize::try_from(whole).unwrap_or(0));
        let low = |word: u16| u8::try_from(word & 0xFF).unwrap_or(0);
        let shifted: Vec<u8> = match (left, keeps_length) {
            (false, true) => (0..length).map(|index| low(pair(index - whole) >> part)).collect(),
            (false, false) => (0..length - whole).map(|index| low(pair(index) >> part)).collect(),
            (true, fixed) => {
                let first = if fixed { whole } else { -isize::from(part > 0) };
                let end = length + whole;
                (first..end).map(|index| low(pair(index + 1) >> (8 - part))).collect()
            }
        };
        model::raw_text::push(&shifted, out);
        Ok(())
    })
}

fn shift(name: &'static str, left: bool) -> ScalarFunction {
    ScalarFunction::new(name, 2..=2, shifted_type(name), move |call: &Call<'_>| {
        let result = call.result_type.value_type();
        if result.is_string() {
            return shift_text(call, name, left);
        }
        if result.is_wide_integer() {
            return shift_wide(call, name, left);
        }
        let (values, places) = (call.converted(0, result)?, call.ints(1)?);
        let value_arg = call.arg(0)?;
        let bits = i64::from(integer_shape(result).map_or(8, |(bytes, _)| bytes)) * 8;
        with_number!(result, T => {
            let values = values.as_primitive::<T>();
            call.each::<T>(|row| {
                let (value, by) = (values.value(value_arg.row(row)).int(), places.get(row));
                let by = u32::try_from(places_of(by, name)?.min(bits)).unwrap_or(0);
                Ok(Number::wrap_int(match left {
                    _ if i64::from(by) == bits => 0,
                    true => value << by,
                    false => value >> by,
                }))
            })
        }, else Err(FunctionError::illegal_type(result, name)))
    })
}

fn bit_not(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let result = call.result_type.value_type();
    if result.is_string() {
        let texts = call.texts(0)?;
        return call.each_text(|row, out| {
            let flipped: Vec<u8> = texts.bytes(row).iter().map(|byte| !byte).collect();
            model::raw_text::push(&flipped, out);
            Ok(())
        });
    }
    if is_float(&call.arg(0)?.column_type) {
        let values = call.floats(0)?;
        return call.each::<Int64Type>(|row| Ok(!wrap::<f64, i64>(values.get(row))));
    }
    if result.is_wide_integer() {
        let arg = call.arg(0)?;
        let values = numbers(&arg.array, result)?;
        let flipped: Vec<i256> = (0..call.rows).map(|row| !values[arg.row(row)]).collect();
        return column(&flipped, result, None);
    }
    let values = call.converted(0, result)?;
    with_number!(result, T => {
        let flipped = values.as_primitive::<T>().unary::<_, T>(|value| Number::wrap_int(!value.int()));
        expanded(&result_arg(Arc::new(flipped), call)?, call.rows)
    }, else Err(FunctionError::illegal_type(result, "bitNot")))
}

/// The bits of an integer argument, as many as its type has.
fn bits_of(call: &Call<'_>, index: usize) -> Result<crate::kernel::rows::Numbers<UInt64Type>, FunctionError> {
    let arg = call.arg(index)?;
    let (bytes, _) = integer_shape(&arg.column_type)
        .ok_or_else(|| FunctionError::illegal_type(&arg.column_type, "bitCount"))?;
    let unsigned = call.converted(index, &integer_of(bytes, false))?;
    let unsigned = arrow::compute::cast(&unsigned, &arrow::datatypes::DataType::UInt64)?;
    Ok(crate::kernel::rows::Numbers {
        array: unsigned.as_primitive::<UInt64Type>().clone(),
        is_constant: arg.is_constant,
    })
}

/// Large enough for all the bits that there may be.
fn count_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    Ok(match &args[0].column_type {
        ColumnType::String => ColumnType::UInt64,
        ColumnType::FixedString(_) | ColumnType::Int256 | ColumnType::UInt256 => ColumnType::UInt16,
        ColumnType::Float32 | ColumnType::Float64 => ColumnType::UInt8,
        _ => shape(&args[0], "bitCount").map(|_| ColumnType::UInt8)?,
    })
}

fn bit_count(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let arg = call.arg(0)?;
    let counts: Box<dyn Fn(usize) -> u32> = match &arg.column_type {
        text if text.is_string() => {
            let texts = call.texts(0)?;
            Box::new(move |row| texts.bytes(row).iter().map(|byte| byte.count_ones()).sum())
        }
        wide if wide.is_wide_integer() => {
            let (values, kind) = (numbers(&arg.array, wide)?, kind_of(wide));
            Box::new(move |row| {
                let bytes = values[arg.row(row)].to_le_bytes();
                bytes.iter().take(kind.bytes).map(|byte| byte.count_ones()).sum()
            })
        }
        ColumnType::Float32 => {
            let floats = arg.array.as_primitive::<Float32Type>().clone();
            Box::new(move |row| floats.value(arg.row(row)).to_bits().count_ones())
        }
        ColumnType::Float64 => {
            let floats = arg.array.as_primitive::<Float64Type>().clone();
            Box::new(move |row| floats.value(arg.row(row)).to_bits().count_ones())
        }
        _ => {
            let values = bits_of(call, 0)?;
            Box::new(move |row| values.get(row).count_ones())
        }
    };
    match call.result_type.value_type() {
        ColumnType::UInt64 => call.each::<UInt64Type>(|row| Ok(u64::from(counts(row)))),
        ColumnType::UInt16 => {
            call.each::<UInt16Type>(|row| Ok(u16::try_from(counts(row)).unwrap_or(u16::MAX)))
        }
        _ => call.each::<UInt8Type>(|row| Ok(small(counts(row)))),
    }
}

fn small(count: u32) -> u8 {
    u8::try_from(count).unwrap_or(u8::MAX)
}

pub(crate) fn functions() -> Vec<ScalarFunction> {
    let flag = |name: &'static str| move |args: &[ArgType]| shape(&args[0], name).map(|_| ColumnType::UInt8);
    vec![
        combine("bitAnd", |x, y| x & y, |x, y| x & y).doc(
            "bitAnd(a, b)",
            "Bits set in both.",
            "bitAnd(12, 10) -> 8",
        ),
        combine("bitOr", |x, y| x | y, |x, y| x | y).doc(
            "bitOr(a, b)",
            "Bits set in either.",
            "bitOr(12, 10) -> 14",
        ),
        combine("bitXor", |x, y| x ^ y, |x, y| x ^ y).doc(
            "bitXor(a, b)",
            "Bits set in one only.",
            "bitXor(12, 10) -> 6",
        ),
        shift("bitShiftLeft", true).doc("bitShiftLeft(a, n)", "Bits moved up.", "bitShiftLeft(1, 3) -> 8"),
        shift("bitShiftRight", false).doc(
            "bitShiftRight(a, n)",
            "Bits moved down.",
            "bitShiftRight(8, 3) -> 1",
        ),
        ScalarFunction::new("bitNot", 1..=1, flipped_type, bit_not).doc(
            "bitNot(a)",
            "All bits flipped.",
            "bitNot(1) -> 254",
        ),
        ScalarFunction::new("bitTest", 2..=2, flag("bitTest"), |call| {
            let (values, places) = (bits_of(call, 0)?, call.ints(1)?);
            let bits = integer_shape(&call.arg(0)?.column_type).map_or(64, |(bytes, _)| u32::from(bytes) * 8);
            call.each::<UInt8Type>(|row| {
                let place = places.get(row);
                let by = u32::try_from(place).ok().filter(|by| *by < bits).ok_or_else(|| {
                    let message =
                        format!("bitTest has no bit {place} here: they are counted from 0 to {}", bits - 1);
                    FunctionError::new(ErrorCode::PARAMETER_OUT_OF_BOUND, message)
                })?;
                Ok(u8::from(values.get(row) >> by & 1 == 1))
            })
        })
        .doc("bitTest(a, n)", "Bit n, from 0.", "bitTest(5, 2) -> 1"),
        ScalarFunction::new("bitCount", 1..=1, count_type, bit_count).doc(
            "bitCount(a)",
            "The number of bits set.",
            "bitCount(255) -> 8",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::call::{Arg, SessionValues};
    use arrow::array::{Int64Array, StringViewArray};

    /// The expected bytes are ClickHouse's.
    #[test]
    fn texts_are_shifted_as_one_number() {
        for (name, column_type, places, expected) in [
            ("bitShiftRight", ColumnType::String, 12, "0616"),
            ("bitShiftLeft", ColumnType::String, 12, "0616263000"),
            ("bitShiftLeft", ColumnType::String, 8, "61626300"),
            ("bitShiftLeft", ColumnType::String, 24, ""),
            ("bitShiftLeft", ColumnType::FixedString(3), 8, "626300"),
            ("bitShiftLeft", ColumnType::FixedString(3), 4, "162630"),
            ("bitShiftRight", ColumnType::FixedString(3), 4, "061626"),
        ] {
            let text: ArrayRef = Arc::new(StringViewArray::from(vec!["abc"]));
            let by: ArrayRef = Arc::new(Int64Array::from(vec![places]));
            let args = [
                Arg { array: text, is_constant: false, column_type: column_type.clone() },
                Arg { array: by, is_constant: false, column_type: ColumnType::Int64 },
            ];
            let session = SessionValues::default();
            let call = Call::new(&args, 1, &ColumnType::String, &session);
            let call = Call { result_type: &column_type, ..call };
            let shifted = shift_text(&call, name, name == "bitShiftLeft").unwrap();
            let bytes = model::raw_text::bytes(shifted.as_string_view().value(0)).into_owned();
            let hex: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
            assert_eq!(hex, expected.to_ascii_uppercase(), "{name} {column_type} {places}");
        }
    }
}
