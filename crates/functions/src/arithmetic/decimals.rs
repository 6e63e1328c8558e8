//! Arithmetic of decimals, also with integers.
//!
//! Invariant: sums have the larger scale, products the sum of scales, quotients the dividend's; what does not fit the
//! storage of the result's precision is error 407.

use arrow::array::{ArrayRef, AsArray, PrimitiveArray};
use arrow::datatypes::{ArrowNativeTypeOp, ArrowPrimitiveType, Decimal128Type, Decimal256Type, DecimalType};
use model::{ColumnType, ErrorCode};

use crate::arithmetic::operator::{Operator, division_by_zero};
use crate::cast::{Unscaled, fits, is_wide, rescale, typed};
use crate::error::FunctionError;
use crate::kernel::call::Call;
use crate::kernel::rows::Numbers;
use crate::kernel::types::decimal_class;

/// Precision and scale; integers count as decimals without a fraction that widen nothing.
fn parts(column_type: &ColumnType) -> (u8, u8) {
    match column_type {
        ColumnType::Decimal { precision, scale } => (*precision, *scale),
        _ => (9, 0),
    }
}

pub(crate) fn result_type(
    operator: Operator,
    a: &ColumnType,
    b: &ColumnType,
) -> Result<ColumnType, FunctionError> {
    let ((p, s), (q, t)) = (parts(a), parts(b));
    let scale = match operator {
        Operator::Multiply => s + t,
        Operator::Divide | Operator::IntDiv | Operator::IntDivOrZero => {
            // ClickHouse gives an integer divided by a decimal the decimal's scale.
            if matches!(a, ColumnType::Decimal { .. }) { s } else { t }
        }
        _ => s.max(t),
    };
    let precision = decimal_class(p).max(decimal_class(q));
    let cuts = ["divide", "modulo", "moduloOrZero", "positiveModulo"].contains(&operator.name());
    if cuts && matches!(a, ColumnType::Decimal { .. }) && t > s {
        let message = "decimal result's scale is less than argument's one";
        return Err(FunctionError::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, message));
    }
    if scale > precision {
        let message = format!("scale {scale} of the result of {} is out of bound", operator.name());
        return Err(FunctionError::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, message));
    }
    Ok(ColumnType::Decimal { precision, scale })
}

fn overflow() -> FunctionError {
    FunctionError::new(ErrorCode::DECIMAL_OVERFLOW, "decimal math overflow")
}

pub(crate) fn evaluate(operator: Operator, call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    if is_wide(call.result_type.value_type()) {
        evaluate_as::<Decimal256Type>(operator, call)
    } else {
        evaluate_as::<Decimal128Type>(operator, call)
    }
}

/// The unscaled numbers of an argument at a scale, in the result's storage.
fn unscaled<T: DecimalType + ArrowPrimitiveType>(
    call: &Call<'_>,
    index: usize,
    scale: u8,
) -> Result<Numbers<T>, FunctionError> {
    let precision = if T::MAX_PRECISION > 38 { 76 } else { 38 };
    let array = call.converted(index, &ColumnType::Decimal { precision, scale })?;
    Ok(Numbers { array: array.as_primitive::<T>().clone(), is_constant: call.arg(index)?.is_constant })
}

fn evaluate_as<T>(operator: Operator, call: &Call<'_>) -> Result<ArrayRef, FunctionError>
where
    T: DecimalType + ArrowPrimitiveType<Native: Unscaled>,
{
    let result = call.result_type.value_type();
    let (precision, scale) = parts(result);
    let (a_scale, b_scale) = (parts(&call.arg(0)?.column_type).1, parts(&call.arg(1)?.column_type).1);
    // Remainders are those of the numbers without their points, as in ClickHouse.
    let is_rest = matches!(operator, Operator::Modulo | Operator::ModuloOrZero | Operator::PositiveModulo);
    let own_scales = matches!(operator, Operator::Multiply | Operator::Divide) || is_rest;
    let dividing = !matches!(operator, Operator::Plus | Operator::Minus | Operator::Multiply);
    let common = a_scale.max(b_scale);
    let (a_scale, b_scale) = if own_scales { (a_scale, b_scale) } else { (common, common) };
    let (a, b) = (unscaled::<T>(call, 0, a_scale)?, unscaled::<T>(call, 1, b_scale)?);
    // Digits of the dividend beyond those of the result, which are those that the divisor has.
    let digits = i32::from(scale) + i32::from(b_scale) - i32::from(a_scale);
    let made = call.each::<T>(|row| {
        let (x, y) = (a.get(row), b.get(row));
        if dividing && y.is_zero() {
            return if operator.or_zero() { Ok(T::Native::ZERO) } else { Err(division_by_zero()) };
        }
        let value = match operator {
            Operator::Plus => x.add_checked(y).ok(),
            Operator::Minus => x.sub_checked(y).ok(),
            Operator::Multiply => x.mul_checked(y).ok(),
            Operator::Divide => rescale(x, 0, digits).and_then(|x| x.div_checked(y).ok()),
            Operator::IntDiv | Operator::IntDivOrZero => {
                x.div_checked(y).ok().and_then(|whole| rescale(whole, 0, i32::from(scale)))
            }
            Operator::PositiveModulo => x.mod_checked(y).ok().map(|rest| match rest.is_lt(T::Native::ZERO) {
                true if y.is_lt(T::Native::ZERO) => rest.sub_wrapping(y),
                true => rest.add_wrapping(y),
                false => rest,
            }),
            _ => x.mod_checked(y).ok(),
        };
        value.filter(|value| fits(*value, precision)).ok_or_else(overflow)
    })?;
    let made: PrimitiveArray<T> = made.as_primitive::<T>().clone();
    Ok(typed(made, result))
}

/// `-x` or the magnitude of `x`.
pub(crate) fn unary(call: &Call<'_>, negates: bool) -> Result<ArrayRef, FunctionError> {
    if is_wide(call.result_type.value_type()) {
        unary_as::<Decimal256Type>(call, negates)
    } else {
        unary_as::<Decimal128Type>(call, negates)
    }
}

fn unary_as<T>(call: &Call<'_>, negates: bool) -> Result<ArrayRef, FunctionError>
where
    T: DecimalType + ArrowPrimitiveType<Native: Unscaled>,
{
    let result = call.result_type.value_type();
    let values = unscaled::<T>(call, 0, parts(result).1)?;
    let made = call.each::<T>(|row| {
        let value = values.get(row);
        let flips = negates || value.is_lt(T::Native::ZERO);
        Ok(if flips { value.neg_wrapping() } else { value })
    })?;
    Ok(typed(made.as_primitive::<T>().clone(), result))
}
