//! `+ - * / %` and their kin between numbers; dates and decimals are handed on to their modules.
//!
//! Invariant: the result type is ClickHouse's (one size up for sums, signed for differences) and integers wrap in it.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, PrimitiveArray};
use arrow::buffer::ScalarBuffer;
use arrow::datatypes::{ArrowNativeTypeOp, Float64Type, Int64Type, UInt64Type};
use model::{ColumnType, ErrorCode};

use crate::arithmetic::decimals;
use crate::arithmetic::interval;
use crate::arithmetic::of_arrays;
use crate::arithmetic::operator::{Operator, division_by_zero, division_of_smallest};
use crate::arithmetic::times;
use crate::arithmetic::wide_integers;
use crate::cast::CastMode;
use crate::columns::number::{Number, NumberType, with_number, wrap};
use crate::columns::wide;
use crate::error::FunctionError;
use crate::kernel::call::{Arg, ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::{any_integer_shape, integer_of, integer_shape, is_float, next_size};

/// One operator as a function.
#[derive(Clone, Copy)]
struct Arithmetic(Operator);

impl Arithmetic {
    fn result_type(self, args: &[ArgType]) -> Result<ColumnType, FunctionError> {
        let [a, b] = args else { return Err(FunctionError::bad_argument("two arguments are needed")) };
        let (a, b) = (&numeral(&a.column_type), &numeral(&b.column_type));
        if let Some(result) = times::result_type(self.0, a, b) {
            return Ok(result);
        }
        let is_decimal = |t: &ColumnType| matches!(t, ColumnType::Decimal { .. });
        if (is_decimal(a) || is_decimal(b)) && !is_float(a) && !is_float(b) {
            let number = |t: &ColumnType| if *t == ColumnType::Bool { ColumnType::UInt8 } else { t.clone() };
            let (a, b) = (number(a), number(b));
            if a.is_number() && b.is_number() {
                let result = decimals::result_type(self.0, &a, &b)?;
                return Ok(if self.is_whole_quotient() { whole_type(&a) } else { result });
            }
        }
        let known = |t: &ColumnType| t.is_number() || *t == ColumnType::Bool;
        // ClickHouse has no sums and products of these.
        let mixes = a.is_wide_integer() && is_float(b) || is_float(a) && b.is_wide_integer();
        let refuses = mixes && matches!(self.0, Operator::Plus | Operator::Minus | Operator::Multiply);
        if !known(a) || !known(b) || refuses {
            let message = format!("illegal types {a} and {b} of arguments of function {}", self.0.name());
            return Err(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
        }
        Ok(self.number_type(a, b))
    }

    fn is_whole_quotient(self) -> bool {
        matches!(self.0, Operator::IntDiv | Operator::IntDivOrZero)
    }

    /// Quotients of decimals, cut to integers.
    fn whole_quotients(
        self,
        call: &Call<'_>,
        a: &ColumnType,
        b: &ColumnType,
    ) -> Result<ArrayRef, FunctionError> {
        let quotient = decimals::result_type(self.0, a, b)?;
        let made = decimals::evaluate(self.0, &Call { result_type: &quotient, ..call.again() })?;
        Ok(call.caster(CastMode::Strict).column(&made, &quotient, call.result_type.value_type())?)
    }

    /// The quotient of an integer of more than 64 bits and a float: that of floats, cut.
    fn wide_by_float(self, call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
        let (a, b) = (call.floats(0)?, call.floats(1)?);
        let mut values = Vec::with_capacity(call.rows);
        for row in 0..call.rows {
            let is_read = !(call.is_null(row) || self.0.or_zero() && b.get(row) == 0.0);
            let quotient = if is_read { a.get(row) / b.get(row) } else { 0.0 };
            if !quotient.is_finite() {
                return Err(division_by_zero());
            }
            values.push(wide::of_float(quotient));
        }
        wide::column(&values, call.result_type.value_type(), None)
    }

    fn number_type(self, a: &ColumnType, b: &ColumnType) -> ColumnType {
        let floats = any_integer_shape(a).is_none() || any_integer_shape(b).is_none();
        let float_bytes = |t: &ColumnType| if *t == ColumnType::Float32 { 4 } else { 8 };
        let (a_bytes, a_signed) = any_integer_shape(a).unwrap_or((float_bytes(a), true));
        let (b_bytes, b_signed) = any_integer_shape(b).unwrap_or((8, true));
        let next = next_size(a_bytes.max(b_bytes));
        match self.0 {
            Operator::Divide => ColumnType::Float64,
            Operator::IntDiv | Operator::IntDivOrZero => integer_of(a_bytes, a_signed || b_signed),
            _ if floats => ColumnType::Float64,
            Operator::Plus | Operator::Multiply => integer_of(next, a_signed || b_signed),
            Operator::Minus => integer_of(next, true),
            Operator::Modulo | Operator::ModuloOrZero => {
                integer_of(if a_signed { next_size(b_bytes) } else { b_bytes }, a_signed)
            }
            Operator::PositiveModulo => integer_of(b_bytes, false),
        }
    }

    fn evaluate(self, call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
        let (a, b) = (&call.arg(0)?.column_type, &call.arg(1)?.column_type);
        if times::result_type(self.0, a, b).is_some() {
            return times::evaluate(self.0, call);
        }
        if let ColumnType::Decimal { .. } = call.result_type.value_type() {
            return decimals::evaluate(self.0, call);
        }
        let is_decimal = |t: &ColumnType| matches!(t, ColumnType::Decimal { .. });
        if self.is_whole_quotient() && (is_decimal(a) || is_decimal(b)) && !is_float(a) && !is_float(b) {
            return self.whole_quotients(call, a, b);
        }
        if self.is_whole_quotient() && a.is_wide_integer() && is_float(b) {
            return self.wide_by_float(call);
        }
        if self.0 != Operator::Divide && wide_integers::applies(a, b) {
            return wide_integers::binary(self.0, call);
        }
        match self.0 {
            Operator::Plus | Operator::Minus | Operator::Multiply => self.wrapping(call),
            Operator::Divide => {
                let (a, b) = (floats(call, 0)?, floats(call, 1)?);
                Ok(Arc::new(zip_with::<Float64Type, Float64Type>(call, &a, &b, |x, y| x / y)?))
            }
            _ => self.dividing(call, a, b),
        }
    }

    /// Both sides in the result type, which holds the result or wraps.
    fn wrapping(self, call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
        let result = call.result_type.value_type();
        let (a, b) = (call.converted(0, result)?, call.converted(1, result)?);
        with_number!(result, T => {
            let (a, b) = (a.as_primitive::<T>(), b.as_primitive::<T>());
            let made = match self.0 {
                Operator::Plus => zip_with::<T, T>(call, a, b, |x, y| x.add_wrapping(y))?,
                Operator::Minus => zip_with::<T, T>(call, a, b, |x, y| x.sub_wrapping(y))?,
                _ => zip_with::<T, T>(call, a, b, |x, y| x.mul_wrapping(y))?,
            };
            Ok(Arc::new(made))
        }, else Err(FunctionError::illegal_type(result, self.0.name())))
    }

    fn dividing(self, call: &Call<'_>, a: &ColumnType, b: &ColumnType) -> Result<ArrayRef, FunctionError> {
        let modulo = matches!(self.0, Operator::Modulo | Operator::ModuloOrZero | Operator::PositiveModulo);
        let floats_in = integer_shape(a).is_none() || integer_shape(b).is_none();
        if floats_in && modulo {
            let (a, b) = (floats(call, 0)?, floats(call, 1)?);
            let positive = self.0 == Operator::PositiveModulo;
            // A remainder of nothing has no sign.
            let remainder = |x: f64, y: f64| {
                let rest = x - (x / y).trunc() * y + 0.0;
                if positive && rest < 0.0 { rest + y.abs() } else { rest }
            };
            return Ok(Arc::new(zip_with::<Float64Type, Float64Type>(call, &a, &b, remainder)?));
        }
        if floats_in {
            return self.quotients(call);
        }
        let unsigned = |t: &ColumnType| integer_shape(t).is_some_and(|(_, signed)| !signed);
        let wide = |t: &ColumnType| *t == ColumnType::UInt64;
        if unsigned(a) && unsigned(b) {
            let (a, b) = (call.converted(0, &ColumnType::UInt64)?, call.converted(1, &ColumnType::UInt64)?);
            return self.integers::<UInt64Type>(call, a.as_primitive(), b.as_primitive());
        }
        if matches!(self.0, Operator::IntDiv | Operator::IntDivOrZero) && unsigned(a) != unsigned(b) {
            let bytes = |t: &ColumnType| integer_shape(t).map_or(8, |(bytes, _)| bytes);
            let (a, b) = (own_bits(call, 0, bytes(a))?, own_bits(call, 1, bytes(a).max(bytes(b)))?);
            return self.integers::<Int64Type>(call, &a, &b);
        }
        if wide(a) || wide(b) {
            return self.widest(call);
        }
        let (a, b) = (call.converted(0, &ColumnType::Int64)?, call.converted(1, &ColumnType::Int64)?);
        self.integers::<Int64Type>(call, a.as_primitive(), b.as_primitive())
    }

    /// Quotients of floats, cut to the result's integer.
    fn quotients(self, call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
        let (a, b) = (call.floats(0)?, call.floats(1)?);
        let result = call.result_type.value_type();
        let is = |index: usize, t: &ColumnType| call.args[index].column_type == *t;
        let double = is(0, &ColumnType::Float64) || is(1, &ColumnType::Float64);
        let single = !double && (is(0, &ColumnType::Float32) || is(1, &ColumnType::Float32));
        with_number!(result, R => call.each::<R>(|row| {
            let (x, y) = (a.get(row), b.get(row));
            if y == 0.0 {
                return if self.0.or_zero() { Ok(Default::default()) } else { Err(division_by_zero()) };
            }
            let quotient = if single { f64::from(wrap::<f64, f32>(x / y)) } else { x / y };
            if !quotient.is_finite() || quotient.abs() >= 9.3e18 {
                let message = "cannot perform integer division on infinite or too large floating point numbers";
                return Err(FunctionError::new(ErrorCode::ILLEGAL_DIVISION, message));
            }
            Ok(Number::wrap_float(quotient))
        }), else Err(FunctionError::illegal_type(result, self.0.name())))
    }

    fn integers<T: NumberType<Native: ArrowNativeTypeOp>>(
        self,
        call: &Call<'_>,
        a: &PrimitiveArray<T>,
        b: &PrimitiveArray<T>,
    ) -> Result<ArrayRef, FunctionError> {
        let (a_constant, b_constant) = (call.arg(0)?.is_constant, call.arg(1)?.is_constant);
        let result = call.result_type.value_type();
        with_number!(result, R => call.each::<R>(|row| {
            let x = a.value(if a_constant { 0 } else { row });
            let y = b.value(if b_constant { 0 } else { row });
            if y.is_zero() {
                return if self.0.or_zero() { Ok(Default::default()) } else { Err(division_by_zero()) };
            }
            let minus_one = T::Native::SIGNED && y.add_wrapping(T::Native::ONE).is_zero();
            let value = match self.0 {
                Operator::IntDiv | Operator::IntDivOrZero if minus_one => {
                    self.negated(x.int(), result)?
                }
                Operator::IntDiv | Operator::IntDivOrZero => x.div_wrapping(y).int(),
                _ if minus_one => self.no_rest(x.int(), call)?,
                Operator::PositiveModulo => x.int().rem_euclid(y.int()),
                _ => x.mod_wrapping(y).int(),
            };
            Ok(Number::wrap_int(value))
        }), else Err(FunctionError::illegal_type(result, self.0.name())))
    }

    /// `x / -1`; the smallest number of the type has no opposite.
    fn negated(self, x: i128, result: &ColumnType) -> Result<i128, FunctionError> {
        let smallest = match integer_shape(result) {
            Some((bytes, true)) => -(1_i128 << (u32::from(bytes) * 8 - 1)),
            _ => return Ok(-x),
        };
        match self.0 {
            _ if x != smallest => Ok(-x),
            Operator::IntDivOrZero => Ok(0),
            _ => Err(division_of_smallest()),
        }
    }

    /// `x % -1`, which the smallest number of its type has not.
    fn no_rest(self, x: i128, call: &Call<'_>) -> Result<i128, FunctionError> {
        let smallest = match (integer_shape(&call.arg(0)?.column_type), self.0) {
            (_, Operator::ModuloOrZero) | (None | Some((_, false)), _) => return Ok(0),
            (Some((bytes, true)), _) => -(1_i128 << (u32::from(bytes) * 8 - 1)),
        };
        if x == smallest { Err(division_of_smallest()) } else { Ok(0) }
    }

    /// UInt64 against a signed number: only 128 bits hold both.
    fn widest(self, call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
        let read = |index: usize| -> Result<(Vec<i128>, bool), FunctionError> {
            let arg = call.arg(index)?;
            let plain =
                if arg.column_type == ColumnType::Bool { ColumnType::UInt8 } else { arg.column_type.clone() };
            let array = call.converted(index, &plain)?;
            let values = with_number!(&plain, T => array.as_primitive::<T>().values().iter().map(|v| v.int()).collect(),
                else Vec::new());
            Ok((values, arg.is_constant))
        };
        let ((a, a_constant), (b, b_constant)) = (read(0)?, read(1)?);
        let result = call.result_type.value_type();
        with_number!(result, R => call.each::<R>(|row| {
            let (x, y) = (a[if a_constant { 0 } else { row }], b[if b_constant { 0 } else { row }]);
            if y == 0 {
                return if self.0.or_zero() { Ok(Default::default()) } else { Err(division_by_zero()) };
            }
            let value = match self.0 {
                Operator::IntDiv | Operator::IntDivOrZero => x / y,
                Operator::PositiveModulo => x.rem_euclid(y),
                _ => x % y,
            };
            Ok(Number::wrap_int(value))
        }), else Err(FunctionError::illegal_type(result, self.0.name())))
    }
}

/// The integer in which a whole quotient of decimals lies: it has the sign of decimals, and the size of the dividend.
fn whole_type(dividend: &ColumnType) -> ColumnType {
    match dividend {
        ColumnType::Decimal { precision, .. } => integer_of(
            match precision {
                ..=9 => 4,
                10..=18 => 8,
                19..=38 => 16,
                _ => 32,
            },
            true,
        ),
        other => integer_of(any_integer_shape(other).map_or(8, |(bytes, _)| bytes), true),
    }
}

/// An integer argument as a signed number of so many bytes: the dividend has its own size where signs differ, the divisor
/// the larger one of both.
fn own_bits(call: &Call<'_>, index: usize, bytes: u8) -> Result<PrimitiveArray<Int64Type>, FunctionError> {
    let signed = call.converted(index, &integer_of(bytes, true))?;
    Ok(arrow::compute::cast(&signed, &arrow::datatypes::DataType::Int64)?.as_primitive::<Int64Type>().clone())
}

fn floats(call: &Call<'_>, index: usize) -> Result<PrimitiveArray<Float64Type>, FunctionError> {
    Ok(call.converted(index, &ColumnType::Float64)?.as_primitive::<Float64Type>().clone())
}

/// Combines two columns or constants value by value; NULL rows get a value nobody reads.
pub(crate) fn zip_with<S: NumberType, R: NumberType>(
    call: &Call<'_>,
    a: &PrimitiveArray<S>,
    b: &PrimitiveArray<S>,
    combine: impl Fn(S::Native, S::Native) -> R::Native,
) -> Result<PrimitiveArray<R>, FunctionError> {
    let values: Vec<R::Native> = match (call.arg(0)?.is_constant, call.arg(1)?.is_constant) {
        (false, false) => a.values().iter().zip(b.values()).map(|(x, y)| combine(*x, *y)).collect(),
        (false, true) => {
            let y = b.value(0);
            a.values().iter().map(|x| combine(*x, y)).collect()
        }
        (true, false) => {
            let x = a.value(0);
            b.values().iter().map(|y| combine(x, *y)).collect()
        }
        (true, true) => vec![combine(a.value(0), b.value(0)); call.rows],
    };
    Ok(PrimitiveArray::new(ScalarBuffer::from(values), None))
}

pub(crate) fn operator(operator: Operator) -> ScalarFunction {
    let own = Arithmetic(operator);
    ScalarFunction::new(
        operator.name(),
        2..=2,
        move |args| {
            let of_arrays = of_arrays::result_type(own.0, &self::operator(own.0), args);
            of_arrays.unwrap_or_else(|| own.result_type(args))
        },
        move |call| {
            if let Some(lists) = of_arrays::evaluate(own.0, &self::operator(own.0), call) {
                return lists;
            }
            let number = |arg: &Arg| Arg { column_type: numeral(&arg.column_type), ..arg.clone() };
            let args: Vec<Arg> = call.args.iter().map(number).collect();
            own.evaluate(&Call { args: &args, ..call.again() })
        },
    )
}

/// An IPv4 address counts as its number, which is how it lies in memory.
fn numeral(column_type: &ColumnType) -> ColumnType {
    if *column_type == ColumnType::Ipv4 { ColumnType::UInt32 } else { column_type.clone() }
}

fn unary_type(negates: bool) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| {
        let Some(arg) = args.first() else {
            return Err(FunctionError::bad_argument("an argument is needed"));
        };
        let plain = &arg.column_type;
        match any_integer_shape(plain) {
            Some((bytes, true)) => Ok(integer_of(bytes, negates)),
            Some((bytes, false)) if negates => Ok(integer_of(next_size(bytes), true)),
            Some((bytes, false)) => Ok(integer_of(bytes, false)),
            None if plain.is_number() => Ok(plain.clone()),
            None if negates && plain.is_interval() => Ok(plain.clone()),
            None => Err(FunctionError::illegal_type(plain, if negates { "negate" } else { "abs" })),
        }
    }
}

fn negate(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let result = call.result_type.value_type();
    if let ColumnType::Decimal { .. } = result {
        return decimals::unary(call, true);
    }
    if result.is_wide_integer() {
        return wide_integers::unary(call, true);
    }
    if result.is_interval() {
        let amounts = interval::amounts(call, 0)?;
        let opposite = (0..call.rows).map(|row| amounts.get(row).wrapping_neg());
        return interval::interval_array(Arc::new(Int64Array::from_iter_values(opposite)), result);
    }
    let array = call.converted(0, result)?;
    with_number!(result, T => {
        let negated = array.as_primitive::<T>().unary::<_, T>(|value| value.neg_wrapping());
        crate::kernel::rows::expanded(&result_arg(Arc::new(negated), call)?, call.rows)
    }, else Err(FunctionError::illegal_type(result, "negate")))
}

fn abs(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let result = call.result_type.value_type();
    if let ColumnType::Decimal { .. } = result {
        return decimals::unary(call, false);
    }
    if result.is_wide_integer() {
        return wide_integers::unary(call, false);
    }
    let arg = call.arg(0)?;
    let source = if arg.column_type == ColumnType::Bool { &ColumnType::UInt8 } else { &arg.column_type };
    let array = call.converted(0, source)?;
    with_number!(source, S => with_number!(result, T => {
        let magnitude = array.as_primitive::<S>().unary::<_, T>(|value| {
            if <S as arrow::datatypes::ArrowPrimitiveType>::Native::FLOAT {
                Number::wrap_float(value.float().abs())
            } else {
                Number::wrap_int(value.int().abs())
            }
        });
        crate::kernel::rows::expanded(&result_arg(Arc::new(magnitude), call)?, call.rows)
    }, else Err(FunctionError::illegal_type(result, "abs"))), else Err(FunctionError::illegal_type(source, "abs")))
}

/// A computed column as if it were the first argument: one row if that was constant.
pub(crate) fn result_arg(array: ArrayRef, call: &Call<'_>) -> Result<Arg, FunctionError> {
    let is_constant = call.arg(0)?.is_constant;
    Ok(Arg { array, is_constant, column_type: call.result_type.clone() })
}

pub(crate) fn functions() -> Vec<ScalarFunction> {
    vec![
        operator(Operator::Plus).doc(
            "plus(a, b)",
            "The sum; also of a date or time and a number of days or seconds, or an interval.",
            "plus(1, 2) -> 3",
        ),
        operator(Operator::Minus).doc(
            "minus(a, b)",
            "The difference, always signed; of two dates the days, of two times the seconds between them.",
            "minus(1, 2) -> -1",
        ),
        operator(Operator::Multiply).doc("multiply(a, b)", "The product.", "multiply(3, 4) -> 12"),
        operator(Operator::Divide).doc("divide(a, b)", "The quotient as Float64.", "divide(1, 2) -> 0.5"),
        operator(Operator::IntDiv).doc(
            "intDiv(a, b)",
            "The quotient cut to an integer; division by zero is an error.",
            "intDiv(-7, 2) -> -3",
        ),
        operator(Operator::IntDivOrZero).doc(
            "intDivOrZero(a, b)",
            "As intDiv, but division by zero gives 0.",
            "intDivOrZero(1, 0) -> 0",
        ),
        operator(Operator::Modulo).aliases(&["mod"]).any_case().doc(
            "modulo(a, b)",
            "The remainder, with the sign of the dividend; division by zero is an error.",
            "modulo(-7, 3) -> -1",
        ),
        operator(Operator::ModuloOrZero).doc(
            "moduloOrZero(a, b)",
            "As modulo, but division by zero gives 0.",
            "moduloOrZero(1, 0) -> 0",
        ),
        operator(Operator::PositiveModulo).aliases(&["positive_modulo", "pmod"]).any_case().doc(
            "positiveModulo(a, b)",
            "The remainder that is never negative.",
            "positiveModulo(-7, 3) -> 2",
        ),
        ScalarFunction::new("negate", 1..=1, unary_type(true), negate).decreasing_by(0).doc(
            "negate(x)",
            "The opposite number.",
            "negate(5) -> -5",
        ),
        ScalarFunction::new("abs", 1..=1, unary_type(false), abs).any_case().doc(
            "abs(x)",
            "The magnitude.",
            "abs(-5) -> 5",
        ),
    ]
}
