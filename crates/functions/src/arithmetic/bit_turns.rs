//! Bits turned round, compared and asked for: rotations, bytes in the other order, differing bits, masks.
//!
//! Invariant: the type stays what it is where bits only move; numbers of fewer than 64 bits are compared as numbers of 64.

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{UInt8Type, UInt16Type, UInt64Type, i256};
use model::{ColumnType, ErrorCode, WideInteger};

use crate::columns::number::{Number, with_number, wrap};
use crate::columns::wide::{column, numbers};
use crate::error::FunctionError;
use crate::kernel::call::{Arg, ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::{any_integer_shape, integer_of, integer_shape, is_float};

/// Whether a type is compared as a number of 128 or 256 bits.
fn is_wide(column_type: &ColumnType) -> bool {
    column_type.is_wide_integer() || *column_type == ColumnType::Ipv6
}

fn distance_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let (a, b) = (&args[0].column_type, &args[1].column_type);
    let narrow = |t: &ColumnType| integer_shape(t).is_some() || is_float(t) || *t == ColumnType::Ipv4;
    match (a, b) {
        (ColumnType::String, ColumnType::String) => Ok(ColumnType::UInt64),
        (ColumnType::FixedString(x), ColumnType::FixedString(y)) if x == y => Ok(ColumnType::UInt16),
        _ if narrow(a) && narrow(b) => Ok(ColumnType::UInt8),
        _ if is_wide(a) && is_wide(b) => {
            let long = [a, b].iter().any(|t| matches!(t, ColumnType::Int256 | ColumnType::UInt256));
            Ok(if long { ColumnType::UInt16 } else { ColumnType::UInt8 })
        }
        _ if (narrow(a) || is_wide(a)) && (narrow(b) || is_wide(b)) => {
            let message = format!("bitHammingDistance does not take {a} with {b}");
            Err(FunctionError::new(ErrorCode::ILLEGAL_COLUMN, message))
        }
        _ => {
            let message = format!("illegal types {a} and {b} of arguments of function bitHammingDistance");
            Err(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message))
        }
    }
}

/// Both as 64 bits: a negative number is all ones in front, and of a float the whole part counts.
fn words(call: &Call<'_>, index: usize) -> Result<impl Fn(usize) -> u64, FunctionError> {
    let arg = call.arg(index)?;
    let bits: Vec<u64> = match &arg.column_type {
        ColumnType::Ipv4 => arg
            .array
            .as_primitive::<arrow::datatypes::UInt32Type>()
            .values()
            .iter()
            .map(|v| u64::from(*v))
            .collect(),
        ColumnType::Bool => {
            let flags = arg.array.as_boolean();
            (0..flags.len()).map(|row| u64::from(flags.value(row))).collect()
        }
        number => with_number!(number, T => {
            arg.array.as_primitive::<T>().values().iter().map(|value| wrap(*value)).collect()
        }, else return Err(FunctionError::illegal_type(number, "bitHammingDistance"))),
    };
    let is_constant = arg.is_constant;
    Ok(move |row: usize| bits[if is_constant { 0 } else { row }])
}

/// The number that 16 bytes of an address are, or that of a wide integer.
fn wide_numbers(arg: &Arg) -> Result<Vec<i256>, FunctionError> {
    let plain = if arg.column_type == ColumnType::Ipv6 { &ColumnType::UInt128 } else { &arg.column_type };
    numbers(&arg.array, plain)
}

fn distance(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (a, b) = (call.arg(0)?, call.arg(1)?);
    let counts: Box<dyn Fn(usize) -> u64> = if a.column_type.is_string() {
        let (x, y) = (call.texts(0)?, call.texts(1)?);
        Box::new(move |row| {
            let (x, y) = (x.bytes(row), y.bytes(row));
            let at = |bytes: &[u8], place: usize| bytes.get(place).copied().unwrap_or(0);
            (0..x.len().max(y.len()))
                .map(|place| u64::from((at(&x, place) ^ at(&y, place)).count_ones()))
                .sum()
        })
    } else if is_wide(&a.column_type) {
        let (x, y) = (wide_numbers(a)?, wide_numbers(b)?);
        let bytes = if *call.result_type.value_type() == ColumnType::UInt16 { 32 } else { 16 };
        Box::new(move |row| {
            let differing = (x[a.row(row)] ^ y[b.row(row)]).to_le_bytes();
            differing.iter().take(bytes).map(|byte| u64::from(byte.count_ones())).sum()
        })
    } else {
        let (x, y) = (words(call, 0)?, words(call, 1)?);
        Box::new(move |row| u64::from((x(row) ^ y(row)).count_ones()))
    };
    match call.result_type.value_type() {
        ColumnType::UInt64 => call.each::<UInt64Type>(|row| Ok(counts(row))),
        ColumnType::UInt16 => call.each::<UInt16Type>(|row| Ok(wrap(counts(row)))),
        _ => call.each::<UInt8Type>(|row| Ok(wrap(counts(row)))),
    }
}

fn swapped_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    match &args[0].column_type {
        float if is_float(float) => {
            let message = format!("byteSwap is not implemented for {float}");
            Err(FunctionError::new(ErrorCode::NOT_IMPLEMENTED, message))
        }
        other => any_integer_shape(other)
            .map(|(bytes, signed)| integer_of(bytes, signed))
            .ok_or_else(|| FunctionError::illegal_type(other, "byteSwap")),
    }
}

/// The number whose bytes are those of another one from behind.
fn swapped(value: i128, bytes: usize) -> i128 {
    let mut turned = value.to_le_bytes();
    turned[..bytes].reverse();
    turned[bytes..].fill(0);
    i128::from_le_bytes(turned)
}

fn byte_swap(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (arg, result) = (call.arg(0)?, call.result_type.value_type());
    if let Some(kind) = WideInteger::of(result) {
        let values = numbers(&arg.array, result)?;
        let turn = |row: usize| {
            let mut bytes = values[arg.row(row)].to_le_bytes();
            bytes[..kind.bytes].reverse();
            i256::from_le_bytes(bytes)
        };
        return column(&(0..call.rows).map(turn).collect::<Vec<_>>(), result, None);
    }
    let bytes = integer_shape(result).map_or(8, |(bytes, _)| usize::from(bytes));
    let values = call.converted(0, result)?;
    with_number!(result, T => {
        let values = values.as_primitive::<T>();
        call.each::<T>(|row| Ok(Number::wrap_int(swapped(values.value(arg.row(row)).int(), bytes))))
    }, else Err(FunctionError::illegal_type(result, "byteSwap")))
}

fn rotated_type(
    name: &'static str,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| {
        let (a, b) = (&args[0].column_type, &args[1].column_type);
        match (any_integer_shape(a), any_integer_shape(b)) {
            (Some((x, _)), Some((y, _))) if x > 8 || y > 8 => {
                let message = format!("{name} is not implemented for big integers");
                Err(FunctionError::new(ErrorCode::NOT_IMPLEMENTED, message))
            }
            (Some((x, x_signed)), Some((y, y_signed))) => Ok(integer_of(x.max(y), x_signed || y_signed)),
            _ => {
                let message = format!("illegal types {a} and {b} of arguments of function {name}");
                Err(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message))
            }
        }
    }
}

fn rotate(name: &'static str, left: bool) -> ScalarFunction {
    ScalarFunction::new(name, 2..=2, rotated_type(name), move |call: &Call<'_>| {
        let (arg, result) = (call.arg(0)?, call.result_type.value_type());
        let bits = i64::from(integer_shape(result).map_or(8, |(bytes, _)| bytes)) * 8;
        let (values, places) = (call.converted(0, result)?, call.ints(1)?);
        with_number!(result, T => {
            let values = values.as_primitive::<T>();
            call.each::<T>(|row| {
                let by = if left { places.get(row) } else { places.get(row).wrapping_neg() }.rem_euclid(bits);
                let number = values.value(arg.row(row)).int() & ((1_i128 << bits) - 1);
                Ok(Number::wrap_int(number << by | number >> (bits - by)))
            })
        }, else Err(FunctionError::illegal_type(result, name)))
    })
}

fn tested_type(name: &'static str) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| {
        if let Some(arg) = args.iter().find(|arg| integer_shape(&arg.column_type).is_none()) {
            let wide = arg.column_type.is_wide_integer() && std::ptr::eq(arg, &args[0]);
            let code = if wide { ErrorCode::ILLEGAL_COLUMN } else { ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT };
            let message = format!("illegal type {} of argument of function {name}", arg.column_type);
            return Err(FunctionError::new(code, message));
        }
        Ok(ColumnType::UInt8)
    }
}

/// Whether all, or any, of the bits named are set.
fn test_many(name: &'static str, all: bool) -> ScalarFunction {
    ScalarFunction::new(name, 2..=usize::MAX, tested_type(name), move |call: &Call<'_>| {
        let arg = call.arg(0)?;
        let bits = i64::from(integer_shape(&arg.column_type).map_or(8, |(bytes, _)| bytes)) * 8;
        let values = numbers(&arg.array, &arg.column_type)?;
        let places: Vec<_> = (1..call.args.len()).map(|index| call.ints(index)).collect::<Result<_, _>>()?;
        call.each::<UInt8Type>(|row| {
            let number = values[arg.row(row)].as_i128();
            let mut mask = 0_i128;
            for place in &places {
                let place = place.get(row);
                if !(0..bits).contains(&place) {
                    let message =
                        format!("{name} has no bit {place} here: they are counted from 0 to {}", bits - 1);
                    return Err(FunctionError::new(ErrorCode::PARAMETER_OUT_OF_BOUND, message));
                }
                mask |= 1_i128 << place;
            }
            Ok(u8::from(if all { number & mask == mask } else { number & mask != 0 }))
        })
    })
}

pub(crate) fn functions() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new("bitHammingDistance", 2..=2, distance_type, distance).doc(
            "bitHammingDistance(a, b)",
            "The number of bits that differ, of numbers or texts.",
            "bitHammingDistance(5, 3) -> 2",
        ),
        ScalarFunction::new("byteSwap", 1..=1, swapped_type, byte_swap).any_case().doc(
            "byteSwap(n)",
            "The integer with its bytes in the other order.",
            "byteSwap(3351772109) -> 3455829959",
        ),
        rotate("bitRotateLeft", true).doc(
            "bitRotateLeft(n, places)",
            "Bits moved up; those that leave come in again below.",
            "bitRotateLeft(129, 1) -> 3",
        ),
        rotate("bitRotateRight", false).doc(
            "bitRotateRight(n, places)",
            "Bits moved down; those that leave come in again above.",
            "bitRotateRight(1, 1) -> 128",
        ),
        test_many("bitTestAll", true).doc(
            "bitTestAll(n, place, ...)",
            "Whether all these bits are set, counted from 0.",
            "bitTestAll(5, 0, 2) -> 1",
        ),
        test_many("bitTestAny", false).doc(
            "bitTestAny(n, place, ...)",
            "Whether any of these bits is set, counted from 0.",
            "bitTestAny(5, 0, 1) -> 1",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_when_swapped_twice() {
        for (value, bytes, expected) in
            [(1_i128, 2, 256_i128), (3_351_772_109, 4, 3_455_829_959), (-1, 1, 255)]
        {
            assert_eq!(swapped(value, bytes), expected);
            assert_eq!(swapped(expected, bytes), value & ((1 << (bytes * 8)) - 1));
        }
    }
}
