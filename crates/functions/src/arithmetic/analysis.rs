//! More functions of one or two numbers: hyperbolic ones, the larger and the smaller of two, middles, primes, digits.
//!
//! Invariant: functions of analysis give Float64; a middle keeps the type that both have in common.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{Decimal128Type, Decimal256Type, Float64Type, UInt8Type, i256};
use model::{ColumnType, WideInteger};

use crate::arithmetic::numbers::{operator, result_arg};
use crate::arithmetic::operator::Operator;
use crate::cast::CastMode;
use crate::columns::wide::{kind_of, numbers};
use crate::error::FunctionError;
use crate::kernel::call::{Arg, ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::expanded;
use crate::kernel::types::{any_integer_shape, integer_of};

fn floats(
    name: &'static str,
    takes_wide: bool,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| {
        let known = |t: &ColumnType| {
            (t.is_number() || *t == ColumnType::Bool) && (takes_wide || !t.is_wide_integer())
        };
        match args.iter().find(|arg| !known(&arg.column_type)) {
            Some(other) => Err(FunctionError::illegal_type(&other.column_type, name)),
            None => Ok(ColumnType::Float64),
        }
    }
}

fn unary(name: &'static str, compute: fn(f64) -> f64) -> ScalarFunction {
    ScalarFunction::new(name, 1..=1, floats(name, true), move |call| {
        let values = call.floats(0)?;
        let made = values.array.unary::<_, Float64Type>(compute);
        expanded(&result_arg(Arc::new(made), call)?, call.rows)
    })
}

fn of_two(name: &'static str, choose: fn(f64, f64) -> f64) -> ScalarFunction {
    ScalarFunction::new(name, 2..=2, floats(name, false), move |call| {
        let (a, b) = (call.floats(0)?, call.floats(1)?);
        call.each::<Float64Type>(|row| Ok(choose(a.get(row), b.get(row))))
    })
    .any_case()
}

fn legacy_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    match (any_integer_shape(&args[0].column_type), any_integer_shape(&args[1].column_type)) {
        (Some((_, signed)), Some((bytes, _))) => Ok(integer_of(bytes, signed)),
        _ => operator(Operator::Modulo).result_type(args),
    }
}

fn square_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let twice = [args[0].clone(), args[0].clone()];
    operator(Operator::Multiply).result_type(&twice)
}

fn square(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let twice = [call.arg(0)?.clone(), call.arg(0)?.clone()];
    operator(Operator::Multiply).evaluate(&Call { args: &twice, ..call.again() })
}

/// `base` to the `exponent`, modulo `modulus`.
fn power_modulo(mut base: u128, mut exponent: u128, modulus: u128) -> u128 {
    let mut result = 1;
    base %= modulus;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result * base % modulus;
        }
        base = base * base % modulus;
        exponent >>= 1;
    }
    result
}

/// Miller's and Rabin's test with the witnesses that leave no doubt about numbers of 64 bits.
fn is_prime(number: u64) -> bool {
    const WITNESSES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    if number < 2 {
        return false;
    }
    if let Some(divisor) = WITNESSES.into_iter().find(|divisor| number.is_multiple_of(*divisor)) {
        return number == divisor;
    }
    let (n, twos) = (u128::from(number), (number - 1).trailing_zeros());
    let odd = (n - 1) >> twos;
    WITNESSES.into_iter().all(|witness| {
        let mut x = power_modulo(u128::from(witness), odd, n);
        if x == 1 || x == n - 1 {
            return true;
        }
        (1..twos).any(|_| {
            x = x * x % n;
            x == n - 1
        })
    })
}

fn prime_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    match any_integer_shape(&args[0].column_type) {
        Some((1..=8, false)) => Ok(ColumnType::UInt8),
        _ => Err(FunctionError::illegal_type(&args[0].column_type, "isPrime")),
    }
}

/// The digits of a whole number, without its sign.
fn digits_of(number: i256, kind: WideInteger) -> usize {
    kind.shown(number).to_string().trim_start_matches('-').len()
}

/// The whole numbers that integers and decimals are without their point.
fn unscaled(call: &Call<'_>) -> Result<(Vec<i256>, WideInteger), FunctionError> {
    use arrow::array::AsArray;
    let arg = call.arg(0)?;
    if let ColumnType::Decimal { .. } = arg.column_type {
        let kind = WideInteger { bytes: 32, signed: true };
        if let Some(values) = arg.array.as_primitive_opt::<Decimal128Type>() {
            return Ok((values.values().iter().map(|value| i256::from_i128(*value)).collect(), kind));
        }
        return Ok((arg.array.as_primitive::<Decimal256Type>().values().to_vec(), kind));
    }
    Ok((numbers(&arg.array, &arg.column_type)?, kind_of(&arg.column_type)))
}

fn counted_type(
    name: &'static str,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| match &args[0].column_type {
        ColumnType::Decimal { .. } => Ok(ColumnType::UInt8),
        other if any_integer_shape(other).is_some() => Ok(ColumnType::UInt8),
        other => Err(FunctionError::illegal_type(other, name)),
    }
}

fn of_digits() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new("isPrime", 1..=1, prime_type, |call| {
            let arg = call.arg(0)?;
            let values = numbers(&arg.array, &arg.column_type)?;
            call.each_flag(|row| u64::try_from(values[arg.row(row)].as_i128()).is_ok_and(is_prime))
        })
        .doc("isPrime(n)", "Whether a number without sign is a prime.", "isPrime(7) -> 1"),
        ScalarFunction::new("countDigits", 1..=1, counted_type("countDigits"), |call| {
            let (values, kind) = unscaled(call)?;
            let arg = call.arg(0)?;
            call.each::<UInt8Type>(|row| {
                Ok(u8::try_from(digits_of(values[arg.row(row)], kind)).unwrap_or(u8::MAX))
            })
        })
        .doc(
            "countDigits(n)",
            "The digits of an integer, or of a decimal without its point.",
            "countDigits(12345) -> 5",
        ),
        ScalarFunction::new("isDecimalOverflow", 1..=2, counted_type("isDecimalOverflow"), |call| {
            let (values, kind) = unscaled(call)?;
            let arg = call.arg(0)?;
            let own = match &arg.column_type {
                ColumnType::Decimal { precision, .. } => i64::from(*precision),
                _ => 76,
            };
            let given = if call.args.len() > 1 { Some(call.ints(1)?) } else { None };
            call.each_flag(|row| {
                let most = given.as_ref().map_or(own, |given| given.get(row));
                i64::try_from(digits_of(values[arg.row(row)], kind)).unwrap_or(i64::MAX) > most
            })
        })
        .doc(
            "isDecimalOverflow(d[, precision])",
            "Whether a decimal has more digits than a precision allows.",
            "isDecimalOverflow(toDecimal32(1000, 0), 2) -> 1",
        ),
    ]
}

/// Where the gamma function has poles the logarithm is inf at 0 and NaN below it, as in ClickHouse.
fn log_gamma(x: f64) -> f64 {
    let is_pole = x < 0.0 && x == x.trunc();
    if is_pole { f64::NAN } else { libm::lgamma(x) }
}

pub(crate) fn functions() -> Vec<ScalarFunction> {
    let mut out = of_digits();
    out.extend([
        unary("acosh", libm::acosh).doc("acosh(x)", "The inverse hyperbolic cosine.", "acosh(1) -> 0"),
        unary("asinh", libm::asinh).doc("asinh(x)", "The inverse hyperbolic sine.", "asinh(0) -> 0"),
        unary("atanh", libm::atanh).doc("atanh(x)", "The inverse hyperbolic tangent.", "atanh(0) -> 0"),
        unary("erf", libm::erf).any_case().doc("erf(x)", "The error function.", "erf(0) -> 0"),
        unary("erfc", libm::erfc).any_case().doc("erfc(x)", "1 less the error function.", "erfc(0) -> 1"),
        unary("lgamma", log_gamma).any_case().doc(
            "lgamma(x)",
            "The logarithm of the gamma function.",
            "lgamma(1) -> 0",
        ),
        unary("tgamma", libm::tgamma).any_case().doc("tgamma(x)", "The gamma function.", "tgamma(5) -> 24"),
        unary("sigmoid", |x| 1.0 / (1.0 + (-x).exp())).doc(
            "sigmoid(x)",
            "1 / (1 + exp(-x)).",
            "sigmoid(0) -> 0.5",
        ),
        ScalarFunction::new("sqr", 1..=1, square_type, square).doc("sqr(x)", "x times x.", "sqr(3) -> 9"),
        ScalarFunction::new("moduloLegacy", 2..=2, legacy_type, |call| {
            let modulo = operator(Operator::Modulo);
            let typed = |arg: &Arg| ArgType { column_type: arg.column_type.clone(), constant: None };
            let own = modulo.result_type(&call.args.iter().map(typed).collect::<Vec<_>>())?;
            let made = modulo.evaluate(&Call { result_type: &own, ..call.again() })?;
            Ok(call.caster(CastMode::Strict).column(&made, &own, call.result_type)?)
        })
        .doc("moduloLegacy(a, b)", "As modulo, in the size of b.", "moduloLegacy(-5, 3) -> -2"),
        // Where one of them is no number the second is chosen.
        of_two("max2", |a, b| if a > b { a } else { b }).doc(
            "max2(a, b)",
            "The larger of two numbers as Float64.",
            "max2(1, 2) -> 2",
        ),
        of_two("min2", |a, b| if a < b { a } else { b }).doc(
            "min2(a, b)",
            "The smaller of two numbers as Float64.",
            "min2(1, 2) -> 1",
        ),
    ]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes() {
        let found: Vec<u64> = (0..40).filter(|n| is_prime(*n)).collect();
        assert_eq!(found, [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37]);
        assert!(is_prime(18_446_744_073_709_551_557));
        assert!(!is_prime(3_215_031_751));
    }
}
