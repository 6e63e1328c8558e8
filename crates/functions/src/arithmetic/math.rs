//! Mathematical functions and rounding.
//!
//! Invariant: functions of analysis give Float64; rounding keeps the argument's type.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray};
use arrow::datatypes::{Decimal128Type, Decimal256Type, Float64Type, Int8Type, i256};
use model::{ColumnType, ErrorCode, WideInteger};

use crate::arithmetic::numbers::result_arg;
use crate::cast::typed;
use crate::columns::number::{Number, with_number, wrap};
use crate::columns::wide;
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::{Numbers, constant_int, expanded};
use crate::kernel::types::{integer_shape, is_float};

fn float_type(name: &'static str) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| {
        for arg in args {
            if !arg.column_type.is_number() && arg.column_type != ColumnType::Bool {
                return Err(FunctionError::illegal_type(&arg.column_type, name));
            }
        }
        Ok(ColumnType::Float64)
    }
}

fn unary(name: &'static str, compute: fn(f64) -> f64) -> ScalarFunction {
    ScalarFunction::new(name, 1..=1, float_type(name), move |call| {
        let values = call.floats(0)?;
        let made = values.array.unary::<_, Float64Type>(compute);
        expanded(&result_arg(Arc::new(made), call)?, call.rows)
    })
    .any_case()
}

fn binary(name: &'static str, compute: fn(f64, f64) -> f64) -> ScalarFunction {
    ScalarFunction::new(name, 2..=2, float_type(name), move |call| {
        let (a, b) = (call.floats(0)?, call.floats(1)?);
        call.each::<Float64Type>(|row| Ok(compute(a.get(row), b.get(row))))
    })
    .any_case()
}

fn constant(name: &'static str, value: f64) -> ScalarFunction {
    ScalarFunction::new(
        name,
        0..=0,
        |_| Ok(ColumnType::Float64),
        move |call| call.each::<Float64Type>(|_| Ok(value)),
    )
}

/// What the numbers of a Decimal256 are.
const DECIMAL_256: WideInteger = WideInteger { bytes: 32, signed: true };

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rounding {
    /// Half away from zero for decimals and integers, half to even for floats, as ClickHouse does.
    Round,
    Bankers,
    Floor,
    Ceiling,
    Truncate,
}

impl Rounding {
    fn float(self, value: f64) -> f64 {
        match self {
            Rounding::Round | Rounding::Bankers => value.round_ties_even(),
            Rounding::Floor => value.floor(),
            Rounding::Ceiling => value.ceil(),
            Rounding::Truncate => value.trunc(),
        }
    }

    /// The multiple of `unit` that `value` rounds to.
    fn integer(self, value: i128, unit: i128) -> i128 {
        let low = value.div_euclid(unit) * unit;
        let rest = value - low;
        let up = match self {
            Rounding::Floor => false,
            Rounding::Ceiling => rest > 0,
            Rounding::Truncate => rest > 0 && value < 0,
            // Twice the rest may be beyond 128 bits.
            Rounding::Round => rest > unit - rest || rest == unit - rest && value > 0,
            Rounding::Bankers => rest > unit - rest || rest == unit - rest && (low / unit) % 2 != 0,
        };
        if up { low + unit } else { low }
    }

    /// As `integer` for numbers of a type that may not hold the result: half a unit is added in the type's own
    /// bits, in 32 of them where it has fewer and the number is positive.
    fn machine<N: Number>(self, value: N, unit: i128, short: bool) -> N {
        let number = value.int();
        let wrapped = |number: i128| N::wrap_int(number).int();
        let up = |by: i128| if short { number + by } else { wrapped(number + by) };
        let moved = match self {
            Rounding::Round | Rounding::Bankers if number < 0 => wrapped(number - unit / 2),
            Rounding::Round | Rounding::Bankers => up(unit / 2),
            Rounding::Floor if number < 0 => wrapped(number - (unit - 1)),
            Rounding::Ceiling if number >= 0 => wrapped(number + (unit - 1)),
            _ => number,
        };
        let mut units = moved / unit;
        if self == Rounding::Bankers && (number % unit).abs() * 2 == unit && units % 2 != 0 {
            units -= number.signum();
        }
        N::wrap_int(units * unit)
    }

    /// As `machine` for numbers of more than 64 bits.
    fn wide(self, value: i256, digits: i64, to: WideInteger) -> i256 {
        if digits >= 0 {
            return value;
        }
        let places = u8::try_from(digits.unsigned_abs()).unwrap_or(u8::MAX);
        // 10^77 is beyond 256 bits, 10^39 beyond 128.
        if places > if to.bytes == 32 { 76 } else { 38 } {
            return i256::ZERO;
        }
        let unit = (0..places).fold(i256::ONE, |unit, _| unit.wrapping_mul(i256::from_i128(10)));
        let half = unit.wrapping_div(i256::from_i128(2));
        let is_negative = to.signed && value.is_negative();
        let less_one = unit.wrapping_sub(i256::ONE);
        let moved = to.wrap(match self {
            Rounding::Round | Rounding::Bankers if is_negative => value.wrapping_sub(half),
            Rounding::Round | Rounding::Bankers => value.wrapping_add(half),
            Rounding::Floor if is_negative => value.wrapping_sub(less_one),
            Rounding::Ceiling if !is_negative => value.wrapping_add(less_one),
            _ => value,
        });
        let mut units = moved.wrapping_div(unit);
        let is_half = value.wrapping_rem(unit).wrapping_abs() == half;
        if self == Rounding::Bankers && is_half && units.wrapping_rem(i256::from_i128(2)) != i256::ZERO {
            units = if is_negative { units.wrapping_add(i256::ONE) } else { units.wrapping_sub(i256::ONE) };
        }
        to.wrap(units.wrapping_mul(unit))
    }

    fn digits_of(call: &Call<'_>) -> Result<Option<Numbers<arrow::datatypes::Int64Type>>, FunctionError> {
        if call.args.len() < 2 { Ok(None) } else { call.ints(1).map(Some) }
    }

    fn evaluate(self, call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
        let result = call.result_type.value_type();
        let digits = Self::digits_of(call)?;
        let digits_at = |row: usize| digits.as_ref().map_or(0, |digits| digits.get(row));
        let arg = call.arg(0)?;
        if let ColumnType::Decimal { precision, scale } = result {
            let source = call.converted(0, result)?;
            let Some(values) = source.as_primitive_opt::<Decimal128Type>() else {
                let values = source.as_primitive::<Decimal256Type>();
                let made = call.each::<Decimal256Type>(|row| {
                    let digits = digits_at(row).saturating_sub(i64::from(*scale));
                    Ok(self.wide(values.value(arg.row(row)), digits, DECIMAL_256))
                })?;
                return Ok(typed(made.as_primitive::<Decimal256Type>().clone(), result));
            };
            let made = call.each::<Decimal128Type>(|row| {
                let value = values.value(arg.row(row));
                let dropped = i64::from(*scale).saturating_sub(digits_at(row));
                Ok(match dropped {
                    ..=0 => value,
                    // Of more digits than the type's own integer has, nothing is left.
                    _ if dropped > digits_max(*precision) => 0,
                    _ => self.integer(value, power(dropped)),
                })
            })?;
            return Ok(typed(made.as_primitive::<Decimal128Type>().clone(), result));
        }
        if *result == ColumnType::Bool {
            let flags = arg.array.as_boolean();
            let rounded = |row: usize| {
                let value = u8::from(flags.value(arg.row(row)));
                let digits = digits_at(row);
                if digits >= 0 {
                    value > 0
                } else {
                    self.machine(value, power(digits.saturating_neg()), true) > 0
                }
            };
            return Ok(Arc::new(BooleanArray::from_iter((0..call.rows).map(|row| Some(rounded(row))))));
        }
        let source = call.converted(0, result)?;
        if result.is_wide_integer() {
            let values = wide::numbers(&source, result)?;
            let to = wide::kind_of(result);
            let rounded: Vec<i256> =
                (0..call.rows).map(|row| self.wide(values[arg.row(row)], digits_at(row), to)).collect();
            return wide::column(&rounded, result, None);
        }
        with_number!(result, T => {
            let values = source.as_primitive::<T>();
            let floats = is_float(result);
            let short = integer_shape(result).is_some_and(|(bytes, _)| bytes < 4);
            let single = *result == ColumnType::Float32;
            call.each::<T>(|row| {
                let (value, digits) = (values.value(arg.row(row)), digits_at(row));
                Ok(if single && digits > 0 {
                    Number::wrap_float(self.single_at(value.float(), digits))
                } else if floats {
                    Number::wrap_float(self.float_at(value.float(), digits))
                } else if digits >= 0 {
                    value
                } else {
                    self.machine(value, power(digits.saturating_neg()), short)
                })
            })
        }, else Err(FunctionError::illegal_type(result, "round")))
    }

    /// As `float_at` with the precision of a Float32, which decides what is exactly a digit.
    fn single_at(self, value: f64, digits: i64) -> f64 {
        let scale = f64::from(wrap::<f64, f32>(10_f64.powi(i32::try_from(digits.min(400)).unwrap_or(400))));
        let scaled = f64::from(wrap::<f64, f32>(value * scale));
        if scaled.is_finite() { self.float(scaled) / scale } else { value }
    }

    fn float_at(self, value: f64, digits: i64) -> f64 {
        if !value.is_finite() {
            return value;
        }
        // 10^308 is the largest power that is a float.
        let digits = i32::try_from(digits.clamp(-308, 400)).unwrap_or(0);
        match digits {
            0 => self.float(value),
            1.. => {
                let scale = 10_f64.powi(digits);
                let scaled = value * scale;
                if scaled.is_finite() { self.float(scaled) / scale } else { value }
            }
            _ => {
                let scale = 10_f64.powi(-digits);
                self.float(value / scale) * scale
            }
        }
    }
}

/// 10 to the x; of a whole number the float that is nearest.
fn power_of_ten(x: f64) -> f64 {
    if x.trunc() == x && (-330.0..=310.0).contains(&x) {
        return format!("1e{x}").parse().unwrap_or(f64::NAN);
    }
    libm::exp10(x)
}

/// Digits of the largest power of ten in the integer that holds a Decimal of 128 bits or fewer.
fn digits_max(precision: u8) -> i64 {
    match precision {
        ..=9 => 9,
        10..=18 => 18,
        _ => 38,
    }
}

fn power(digits: i64) -> i128 {
    10_i128.pow(u32::try_from(digits.clamp(0, 38)).unwrap_or(0))
}

fn rounding(name: &'static str, way: Rounding) -> ScalarFunction {
    let rule = move |args: &[ArgType]| {
        if let Some(digits) = args.get(1)
            && !digits.column_type.is_integer()
            && digits.column_type != ColumnType::Bool
        {
            return Err(FunctionError::illegal_type(&digits.column_type, name));
        }
        if constant_int(args, 1).is_some_and(|digits| digits.abs() > 32_767) {
            return Err(FunctionError::new(
                ErrorCode::ARGUMENT_OUT_OF_BOUND,
                "scale argument for rounding is too large",
            ));
        }
        match args.first().map(|arg| &arg.column_type) {
            Some(ColumnType::Bool) => Ok(ColumnType::Bool),
            Some(number) if number.is_number() => Ok(number.clone()),
            Some(other) => Err(FunctionError::illegal_type(other, name)),
            None => Err(FunctionError::bad_argument("an argument is needed")),
        }
    };
    ScalarFunction::new(name, 1..=2, rule, move |call| way.evaluate(call)).any_case().increasing_by(0)
}

fn roundings() -> Vec<ScalarFunction> {
    vec![
        rounding("round", Rounding::Round).doc(
            "round(x[, digits])",
            "The nearest number with that many digits; halves of floats to even, of decimals away from 0.",
            "round(1.26, 1) -> 1.3",
        ),
        rounding("roundBankers", Rounding::Bankers).doc(
            "roundBankers(x[, digits])",
            "The nearest number, halves to even.",
            "roundBankers(2.5) -> 2",
        ),
        rounding("floor", Rounding::Floor).doc(
            "floor(x[, digits])",
            "The next number below.",
            "floor(-1.5) -> -2",
        ),
        rounding("ceil", Rounding::Ceiling).aliases(&["ceiling"]).doc(
            "ceil(x[, digits])",
            "The next number above.",
            "ceil(1.2) -> 2",
        ),
        rounding("trunc", Rounding::Truncate).aliases(&["truncate"]).doc(
            "trunc(x[, digits])",
            "The number towards 0.",
            "trunc(-1.5) -> -1",
        ),
    ]
}

fn sign_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    float_type("sign")(args).map(|_| ColumnType::Int8)
}

fn test(name: &'static str, holds: fn(f64) -> bool) -> ScalarFunction {
    let rule = move |args: &[ArgType]| float_type(name)(args).map(|_| ColumnType::UInt8);
    ScalarFunction::new(name, 1..=1, rule, move |call| {
        let values = call.floats(0)?;
        call.each_flag(|row| holds(values.get(row)))
    })
}

fn analysis() -> Vec<ScalarFunction> {
    vec![
        unary("sqrt", f64::sqrt).doc("sqrt(x)", "The square root.", "sqrt(4) -> 2"),
        unary("cbrt", f64::cbrt).doc("cbrt(x)", "The cube root.", "cbrt(8) -> 2"),
        unary("exp", f64::exp).doc("exp(x)", "e to the x.", "exp(0) -> 1"),
        unary("exp2", f64::exp2).doc("exp2(x)", "2 to the x.", "exp2(3) -> 8"),
        unary("exp10", power_of_ten).doc("exp10(x)", "10 to the x.", "exp10(2) -> 100"),
        unary("log", f64::ln).aliases(&["ln"]).doc("log(x)", "The natural logarithm.", "log(1) -> 0"),
        unary("log2", f64::log2).doc("log2(x)", "The logarithm to base 2.", "log2(8) -> 3"),
        unary("log10", libm::log10).doc("log10(x)", "The logarithm to base 10.", "log10(100) -> 2"),
        unary("log1p", f64::ln_1p).doc("log1p(x)", "log(1 + x), precise near 0.", "log1p(0) -> 0"),
        unary("sin", f64::sin).doc("sin(x)", "The sine.", "sin(0) -> 0"),
        unary("cos", f64::cos).doc("cos(x)", "The cosine.", "cos(0) -> 1"),
        unary("tan", f64::tan).doc("tan(x)", "The tangent.", "tan(0) -> 0"),
        unary("asin", f64::asin).doc("asin(x)", "The arc sine.", "asin(0) -> 0"),
        unary("acos", f64::acos).doc("acos(x)", "The arc cosine.", "acos(1) -> 0"),
        unary("atan", f64::atan).doc("atan(x)", "The arc tangent.", "atan(0) -> 0"),
        unary("sinh", f64::sinh).doc("sinh(x)", "The hyperbolic sine.", "sinh(0) -> 0"),
        unary("cosh", f64::cosh).doc("cosh(x)", "The hyperbolic cosine.", "cosh(0) -> 1"),
        unary("tanh", f64::tanh).doc("tanh(x)", "The hyperbolic tangent.", "tanh(0) -> 0"),
        unary("degrees", f64::to_degrees).doc("degrees(x)", "Radians as degrees.", "degrees(0) -> 0"),
        unary("radians", f64::to_radians).doc("radians(x)", "Degrees as radians.", "radians(0) -> 0"),
        binary("pow", f64::powf).aliases(&["power"]).doc("pow(x, y)", "x to the y.", "pow(2, 10) -> 1024"),
        binary("atan2", f64::atan2).doc("atan2(y, x)", "The angle of a point.", "atan2(0, 1) -> 0"),
        binary("hypot", f64::hypot).doc("hypot(x, y)", "The length of a vector.", "hypot(3, 4) -> 5"),
        constant("pi", std::f64::consts::PI).any_case().doc(
            "pi()",
            "The number pi.",
            "round(pi(), 2) -> 3.14",
        ),
        constant("e", std::f64::consts::E).doc("e()", "Euler's number.", "round(e(), 2) -> 2.72"),
    ]
}

pub(crate) fn functions() -> Vec<ScalarFunction> {
    let mut out = roundings();
    out.extend(analysis());
    out.extend([
        ScalarFunction::new("sign", 1..=1, sign_type, |call| {
            let values = call.floats(0)?;
            call.each::<Int8Type>(|row| {
                let value = values.get(row);
                Ok(i8::from(value > 0.0 || value.is_nan()) - i8::from(value < 0.0))
            })
        })
        .any_case()
        .doc("sign(x)", "-1, 0 or 1.", "sign(-5) -> -1"),
        test("isNaN", f64::is_nan).doc("isNaN(x)", "Whether x is not a number.", "isNaN(nan) -> 1"),
        test("isFinite", f64::is_finite).doc(
            "isFinite(x)",
            "Whether x is neither infinite nor NaN.",
            "isFinite(1) -> 1",
        ),
        test("isInfinite", f64::is_infinite).doc(
            "isInfinite(x)",
            "Whether x is infinite.",
            "isInfinite(inf) -> 1",
        ),
    ]);
    out
}
