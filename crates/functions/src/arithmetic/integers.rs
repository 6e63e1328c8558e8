//! Whole numbers: divisors, factorials, powers, and the bits that are set.
//!
//! Invariant: `gcd` and `lcm` of 0 are error 153, as in ClickHouse.

use std::sync::Arc;

use arrow::array::{ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray, UInt64Array};
use arrow::datatypes::UInt64Type;
use model::{ColumnType, ErrorCode};

use crate::arithmetic::wide_integers;
use crate::columns::container::{list_of, offsets_of};
use crate::columns::number::{Number, with_number, wrap};
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::{integer_of, integer_shape, next_size};

/// Largest number whose factorial fits into 64 bits.
const FACTORIAL_MAX: i64 = 20;

fn shape(arg: &ArgType, name: &str) -> Result<(u8, bool), FunctionError> {
    integer_shape(&arg.column_type).ok_or_else(|| FunctionError::illegal_type(&arg.column_type, name))
}

fn greatest_divisor(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.abs()
}

fn of_two(name: &'static str, is_multiple: bool) -> ScalarFunction {
    let compute = move |a: i128, b: i128| {
        let divisor = greatest_divisor(a, b);
        if is_multiple { (a / divisor * b).abs() } else { divisor }
    };
    let rule = move |args: &[ArgType]| {
        if wide_integers::applies(&args[0].column_type, &args[1].column_type) {
            return Ok(wide_integers::common_type(&args[0].column_type, &args[1].column_type));
        }
        let ((a, a_signed), (b, b_signed)) = (shape(&args[0], name)?, shape(&args[1], name)?);
        Ok(integer_of(next_size(a.max(b)), a_signed || b_signed))
    };
    ScalarFunction::new(name, 2..=2, rule, move |call: &Call<'_>| {
        let result = call.result_type.value_type();
        if result.is_wide_integer() {
            return wide_integers::common(call, is_multiple);
        }
        let (a, b) = (call.converted(0, result)?, call.converted(1, result)?);
        with_number!(result, T => {
            let (a, b) = (a.as_primitive::<T>(), b.as_primitive::<T>());
            call.each::<T>(|row| {
                let (x, y) = (a.value(call.args[0].row(row)).int(), b.value(call.args[1].row(row)).int());
                if x == 0 || y == 0 {
                    let message = format!("division by zero in {name}");
                    return Err(FunctionError::new(ErrorCode::ILLEGAL_DIVISION, message));
                }
                let computed = compute(x, y);
                <T as ArrowPrimitiveType>::Native::exact_int(computed).ok_or_else(|| {
                    let message = format!("{name}({x}, {y}) is {computed}, beyond type {result}");
                    FunctionError::new(ErrorCode::DECIMAL_OVERFLOW, message)
                })
            })
        }, else Err(FunctionError::illegal_type(result, name)))
    })
}

fn whole(
    name: &'static str,
    result: ColumnType,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| shape(&args[0], name).map(|_| result.clone())
}

fn power(name: &'static str, base: u64) -> ScalarFunction {
    let rule = move |args: &[ArgType]| match &args[0].column_type {
        number if number.is_number() => Ok(ColumnType::UInt64),
        other => Err(FunctionError::illegal_type(other, name)),
    };
    ScalarFunction::new(name, 1..=1, rule, move |call| {
        let powers = call.floats(0)?;
        if matches!(call.arg(0)?.column_type.value_type(), ColumnType::Float32 | ColumnType::Float64) {
            return call.each::<UInt64Type>(|row| match powers.get(row) {
                power if power.is_nan() => Err(FunctionError::bad_argument(format!("{name} of nan"))),
                power if power < 0.0 => Ok(0),
                // No base has a 64th power in 64 bits.
                power => {
                    let whole = (1..=64_u32).take_while(|exponent| f64::from(*exponent) <= power).last();
                    Ok(base.checked_pow(whole.unwrap_or(0)).unwrap_or(u64::MAX))
                }
            });
        }
        let exponents = call.ints(0)?;
        call.each::<UInt64Type>(|row| {
            // Exponents of 10 are an Int32 in ClickHouse, into which wider ones wrap.
            if base == 2 && powers.get(row) >= 64.0 {
                return Ok(u64::MAX);
            }
            let given = exponents.get(row);
            let exponent = if base == 10 { i64::from(wrap::<i64, i32>(given)) } else { given };
            if exponent < 0 {
                return Ok(0);
            }
            let power = u32::try_from(exponent).ok().and_then(|exponent| base.checked_pow(exponent));
            Ok(power.unwrap_or(u64::MAX))
        })
    })
}

/// The places of the bits that are set, from 0.
fn places(bits: u64) -> impl Iterator<Item = u64> {
    (0..64).filter(move |place| bits >> place & 1 == 1)
}

fn bits_of(call: &Call<'_>) -> Result<impl Fn(usize) -> u64, FunctionError> {
    let arg = call.arg(0)?;
    let width = u32::from(integer_shape(&arg.column_type).map_or(8, |(bytes, _)| bytes)) * 8;
    let values: UInt64Array = call.converted(0, &ColumnType::UInt64)?.as_primitive::<UInt64Type>().clone();
    let constant = arg.is_constant;
    // A negative number of fewer bits has only these.
    Ok(move |row: usize| values.value(if constant { 0 } else { row }) & u64::MAX >> (64 - width))
}

fn positions(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let bits = bits_of(call)?;
    let (mut all, mut lengths) = (Vec::new(), Vec::with_capacity(call.rows));
    for row in 0..call.rows {
        let before = all.len();
        if !call.is_null(row) {
            all.extend(places(bits(row)));
        }
        lengths.push(all.len() - before);
    }
    Ok(list_of(&ColumnType::UInt64, offsets_of(lengths), Arc::new(UInt64Array::from(all)), None)?)
}

fn powers(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Array(element) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, "bitmaskToArray"));
    };
    let bits = bits_of(call)?;
    let (mut all, mut lengths) = (Vec::new(), Vec::with_capacity(call.rows));
    for row in 0..call.rows {
        let before = all.len();
        if !call.is_null(row) {
            all.extend(places(bits(row)).map(|place| 1_i128 << place));
        }
        lengths.push(all.len() - before);
    }
    let values: ArrayRef = with_number!(element.as_ref(), T => {
        Arc::new(PrimitiveArray::<T>::from_iter_values(all.into_iter().map(Number::wrap_int)))
    }, else return Err(FunctionError::illegal_type(element, "bitmaskToArray")));
    Ok(list_of(element, offsets_of(lengths), values, None)?)
}

fn bit_lists() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new(
            "bitPositionsToArray",
            1..=1,
            whole("bitPositionsToArray", ColumnType::Array(Box::new(ColumnType::UInt64))),
            positions,
        )
        .doc(
            "bitPositionsToArray(n)",
            "The places of the bits that are set.",
            "bitPositionsToArray(10) -> [1,3]",
        ),
        ScalarFunction::new(
            "bitmaskToArray",
            1..=1,
            |args| {
                let (bytes, signed) = shape(&args[0], "bitmaskToArray")?;
                Ok(ColumnType::Array(Box::new(integer_of(bytes, signed))))
            },
            powers,
        )
        .doc(
            "bitmaskToArray(n)",
            "The powers of two a number is the sum of.",
            "bitmaskToArray(50) -> [2,16,32]",
        ),
        ScalarFunction::new("bitmaskToList", 1..=1, whole("bitmaskToList", ColumnType::String), |call| {
            let bits = bits_of(call)?;
            let shape = integer_shape(&call.arg(0)?.column_type);
            let sign_place = shape.filter(|(_, signed)| *signed).map(|(bytes, _)| u64::from(bytes) * 8 - 1);
            call.each_text(|row, out| {
                let power = |place: u64| match sign_place == Some(place) {
                    true => format!("-{}", 1_u64 << place),
                    false => (1_u64 << place).to_string(),
                };
                let shown: Vec<String> = places(bits(row)).map(power).collect();
                out.push_str(&shown.join(","));
                Ok(())
            })
        })
        .doc("bitmaskToList(n)", "As bitmaskToArray, as text.", "bitmaskToList(50) -> '2,16,32'"),
    ]
}

pub(crate) fn functions() -> Vec<ScalarFunction> {
    let mut out = bit_lists();
    out.extend([
        of_two("gcd", false).doc("gcd(a, b)", "The greatest common divisor.", "gcd(12, 18) -> 6"),
        of_two("lcm", true).doc("lcm(a, b)", "The least common multiple.", "lcm(4, 6) -> 12"),
        ScalarFunction::new("factorial", 1..=1, whole("factorial", ColumnType::UInt64), |call| {
            let numbers = call.ints(0)?;
            call.each::<UInt64Type>(|row| {
                let number = numbers.get(row);
                if number > FACTORIAL_MAX {
                    let message = format!(
                        "the factorial of {number} is over 64 bits: the largest number is {FACTORIAL_MAX}"
                    );
                    return Err(FunctionError::bad_argument(message));
                }
                Ok((1..=u64::try_from(number).unwrap_or(0)).product())
            })
        })
        .any_case()
        .doc("factorial(n)", "The factorial.", "factorial(5) -> 120"),
        power("intExp2", 2).doc(
            "intExp2(n)",
            "2 to the n as UInt64; the largest one where that is beyond.",
            "intExp2(10) -> 1024",
        ),
        power("intExp10", 10).doc(
            "intExp10(n)",
            "10 to the n as UInt64; the largest one where that is beyond.",
            "intExp10(3) -> 1000",
        ),
    ]);
    out
}
