//! Bit operations on integers.
//!
//! Invariant: `and`, `or`, `xor` work in the wider of two types, shifts in the type of what is shifted.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{UInt8Type, UInt64Type, i256};
use model::ColumnType;

use crate::arithmetic::{result_arg, zip_with};
use crate::call::{ArgType, Call};
use crate::error::{FunctionError, codes};
use crate::number::{Number, with_number};
use crate::registry::ScalarFunction;
use crate::rows::expanded;
use crate::types::{any_integer_shape, integer_of, integer_shape};
use crate::wide::{column, numbers};

fn shape(arg: &ArgType, name: &str) -> Result<(u8, bool), FunctionError> {
    if arg.column_type == ColumnType::Ipv4 {
        return Ok((4, false));
    }
    any_integer_shape(&arg.column_type).ok_or_else(|| FunctionError::illegal_type(&arg.column_type, name))
}

fn wider(name: &'static str) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| {
        let ((a, a_signed), (b, b_signed)) = (shape(&args[0], name)?, shape(&args[1], name)?);
        Ok(integer_of(a.max(b), a_signed || b_signed))
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

fn shift(name: &'static str, left: bool) -> ScalarFunction {
    ScalarFunction::new(name, 2..=2, own(name), move |call: &Call<'_>| {
        let result = call.result_type.value_type();
        let (values, places) = (call.converted(0, result)?, call.ints(1)?);
        let value_arg = call.arg(0)?;
        let bits = i64::from(integer_shape(result).map_or(8, |(bytes, _)| bytes)) * 8;
        with_number!(result, T => {
            let values = values.as_primitive::<T>();
            call.each::<T>(|row| {
                let (value, by) = (values.value(value_arg.row(row)).int(), places.get(row));
                if by < 0 {
                    let message = "the number of shift positions needs to be a non-negative value";
                    return Err(FunctionError::new(codes::ARGUMENT_OUT_OF_BOUND, message));
                }
                let by = u32::try_from(by.min(bits)).unwrap_or(0);
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
fn bits_of(call: &Call<'_>, index: usize) -> Result<crate::rows::Numbers<UInt64Type>, FunctionError> {
    let arg = call.arg(index)?;
    let (bytes, _) = integer_shape(&arg.column_type)
        .ok_or_else(|| FunctionError::illegal_type(&arg.column_type, "bitCount"))?;
    let unsigned = call.converted(index, &integer_of(bytes, false))?;
    let unsigned = arrow::compute::cast(&unsigned, &arrow::datatypes::DataType::UInt64)?;
    Ok(crate::rows::Numbers {
        array: unsigned.as_primitive::<UInt64Type>().clone(),
        is_constant: arg.is_constant,
    })
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
        ScalarFunction::new("bitNot", 1..=1, own("bitNot"), bit_not).doc(
            "bitNot(a)",
            "All bits flipped.",
            "bitNot(1) -> 254",
        ),
        ScalarFunction::new("bitTest", 2..=2, flag("bitTest"), |call| {
            let (values, places) = (bits_of(call, 0)?, call.ints(1)?);
            call.each_flag(|row| {
                u32::try_from(places.get(row)).is_ok_and(|by| by < 64 && values.get(row) >> by & 1 == 1)
            })
        })
        .doc("bitTest(a, n)", "Bit n, from 0.", "bitTest(5, 2) -> 1"),
        ScalarFunction::new("bitCount", 1..=1, flag("bitCount"), |call| {
            let values = bits_of(call, 0)?;
            call.each::<UInt8Type>(|row| Ok(small(values.get(row).count_ones())))
        })
        .doc("bitCount(a)", "The number of bits set.", "bitCount(255) -> 8"),
        ScalarFunction::new("bitHammingDistance", 2..=2, flag("bitHammingDistance"), |call| {
            // Both as 64 bits: a negative number is all ones in front.
            let (a, b) = (call.ints(0)?, call.ints(1)?);
            call.each::<UInt8Type>(|row| Ok(small((a.get(row) ^ b.get(row)).count_ones())))
        })
        .doc(
            "bitHammingDistance(a, b)",
            "The number of bits that differ.",
            "bitHammingDistance(5, 3) -> 2",
        ),
    ]
}
