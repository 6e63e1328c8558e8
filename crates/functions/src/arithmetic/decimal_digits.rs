//! Decimals with as many digits as are asked for: products, quotients, texts.
//!
//! Invariant: products and quotients are computed in 256 bits and cut, not rounded.

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{ArrowNativeTypeOp, Decimal256Type, i256};
use model::{ColumnType, ErrorCode};

use crate::arithmetic::operator::division_by_zero;
use crate::cast::typed;
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::constant_int;

const PRECISION: u8 = 76;
/// Most digits behind the point that texts of floats and of decimals have, as in ClickHouse.
const FLOAT_DIGITS_MAX: i64 = 60;
const DECIMAL_DIGITS_MAX: i64 = 77;

fn scale_of(column_type: &ColumnType) -> Option<u8> {
    match column_type {
        ColumnType::Decimal { scale, .. } => Some(*scale),
        _ => None,
    }
}

fn result_type(args: &[ArgType], name: &str) -> Result<ColumnType, FunctionError> {
    let (Some(s), Some(t)) = (scale_of(&args[0].column_type), scale_of(&args[1].column_type)) else {
        let message = format!("the arguments of {name} are decimals");
        return Err(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
    };
    let scale = if args.len() > 2 { constant_int(args, 2) } else { Some(i64::from(s.max(t))) };
    let scale = scale.and_then(|scale| u8::try_from(scale).ok()).filter(|scale| *scale <= PRECISION);
    let scale = scale.ok_or_else(|| {
        let message = format!("the scale of {name} is a constant from 0 to {PRECISION}");
        FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message)
    })?;
    Ok(ColumnType::Decimal { precision: PRECISION, scale })
}

fn power_of_ten(digits: i32) -> Option<i256> {
    (0..digits).try_fold(i256::ONE, |power, _| power.mul_checked(i256::from_i128(10)).ok())
}

/// The number with digits appended or cut off.
fn moved(number: i256, digits: i32) -> Option<i256> {
    if digits >= 0 {
        return number.mul_checked(power_of_ten(digits)?).ok();
    }
    // What has fewer digits than are cut off is nothing.
    Some(power_of_ten(-digits).map_or(i256::ZERO, |power| number.wrapping_div(power)))
}

fn compute(call: &Call<'_>, divides: bool) -> Result<ArrayRef, FunctionError> {
    let result = call.result_type.value_type();
    let wanted = i32::from(scale_of(result).unwrap_or(0));
    let unscaled = |index: usize| -> Result<(Vec<i256>, i32), FunctionError> {
        let scale = scale_of(&call.arg(index)?.column_type).unwrap_or(0);
        let array = call.converted(index, &ColumnType::Decimal { precision: PRECISION, scale })?;
        Ok((array.as_primitive::<Decimal256Type>().values().to_vec(), i32::from(scale)))
    };
    let ((a, s), (b, t)) = (unscaled(0)?, unscaled(1)?);
    let overflow =
        || FunctionError::new(ErrorCode::DECIMAL_OVERFLOW, "the result has more digits than Decimal256");
    let made = call.each::<Decimal256Type>(|row| {
        let (x, y) = (a[call.args[0].row(row)], b[call.args[1].row(row)]);
        let value = if divides {
            if y == i256::ZERO {
                return Err(division_by_zero());
            }
            moved(x, wanted + t - s).map(|x| x.wrapping_div(y))
        } else {
            x.mul_checked(y).ok().and_then(|product| moved(product, wanted - s - t))
        };
        value.ok_or_else(overflow)
    })?;
    Ok(typed(made.as_primitive::<Decimal256Type>().clone(), result))
}

fn text_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    match (&args[0].column_type, &args[1].column_type) {
        (number, digits) if number.is_number() && digits.is_integer() => Ok(ColumnType::String),
        (number, _) => Err(FunctionError::illegal_type(number, "toDecimalString")),
    }
}

fn too_many(most: i64) -> FunctionError {
    let message = format!("too many digits behind the point are asked for: at most {most}");
    FunctionError::new(ErrorCode::CANNOT_PRINT_FLOAT_OR_DOUBLE_NUMBER, message)
}

/// A number with so many digits behind the point, halves rounded away from zero; the point stays where it was one.
fn half_away(text: &str, digits: usize) -> String {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() <= digits {
        let point = if text.contains('.') || digits > 0 { "." } else { "" };
        return format!("{whole}{point}{fraction:0<digits$}");
    }
    let (kept, rest) = fraction.split_at(digits);
    let mut number: Vec<char> = whole.chars().chain(['.']).chain(kept.chars()).collect();
    if rest.starts_with(|digit: char| digit >= '5') {
        let mut carries = true;
        for digit in number.iter_mut().rev().filter(|digit| digit.is_ascii_digit()) {
            *digit = match char::to_digit(*digit, 10).filter(|digit| *digit < 9) {
                Some(value) => char::from_digit(value + 1, 10).unwrap_or('9'),
                None => '0',
            };
            carries = *digit == '0';
            if !carries {
                break;
            }
        }
        if carries {
            number.insert(usize::from(whole.starts_with('-')), '1');
        }
    }
    number.into_iter().collect()
}

/// A float with so many digits behind the point. A half needs as many binary digits as decimal ones: others cannot tie.
fn fixed(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    let steps = value * i32::try_from(digits + 1).map_or(f64::INFINITY, |more| 2_f64.powi(more));
    if !steps.is_finite() || steps.fract() != 0.0 {
        return format!("{value:.digits$}");
    }
    let more = digits + 1;
    let rounded = half_away(&format!("{value:.more$}"), digits);
    rounded.strip_suffix('.').map_or_else(|| rounded.clone(), str::to_owned)
}

/// Numbers rounded to so many digits behind the point, with zeros where there are fewer.
fn text(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (arg, digits) = (call.arg(0)?, call.ints(1)?);
    let is_float = matches!(arg.column_type, ColumnType::Float32 | ColumnType::Float64);
    let most = if is_float { FLOAT_DIGITS_MAX } else { DECIMAL_DIGITS_MAX };
    let wanted = |row: usize| usize::try_from(digits.get(row)).ok().filter(|_| digits.get(row) <= most);
    if arg.column_type == ColumnType::Float32 {
        let floats = arg.array.as_primitive::<arrow::datatypes::Float32Type>();
        return call.each_text(|row, out| {
            let digits = wanted(row).ok_or_else(|| too_many(most))?;
            out.push_str(&fixed(f64::from(floats.value(arg.row(row))), digits));
            Ok(())
        });
    }
    if is_float {
        let floats = call.floats(0)?;
        return call.each_text(|row, out| {
            let digits = wanted(row).ok_or_else(|| too_many(most))?;
            out.push_str(&fixed(floats.get(row), digits));
            Ok(())
        });
    }
    let has_scale = matches!(arg.column_type.value_type(), ColumnType::Decimal { scale, .. } if *scale > 0);
    let texts = call.texts(0)?;
    call.each_text(|row, out| {
        let digits = wanted(row).ok_or_else(|| too_many(most))?;
        let text = texts.get(row);
        out.push_str(&half_away(text, digits));
        // Of a decimal with a scale the point stays, whatever its digits.
        if digits == 0 && has_scale && !text.contains('.') {
            out.push('.');
        }
        Ok(())
    })
}

pub(crate) fn functions() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new(
            "multiplyDecimal",
            2..=3,
            |args| result_type(args, "multiplyDecimal"),
            |call| compute(call, false),
        )
        .doc(
            "multiplyDecimal(a, b[, scale])",
            "The product of decimals with so many digits behind the point.",
            "multiplyDecimal(toDecimal32(1.5, 2), toDecimal32(2.25, 3), 1) -> 3.3",
        ),
        ScalarFunction::new(
            "divideDecimal",
            2..=3,
            |args| result_type(args, "divideDecimal"),
            |call| compute(call, true),
        )
        .doc(
            "divideDecimal(a, b[, scale])",
            "The quotient of decimals with so many digits behind the point.",
            "divideDecimal(toDecimal256(1, 0), toDecimal256(3, 0), 10) -> 0.3333333333",
        ),
        ScalarFunction::new("toDecimalString", 2..=2, text_type, text).any_case().doc(
            "toDecimalString(n, digits)",
            "The number with exactly so many digits behind the point.",
            "toDecimalString(1.5, 3) -> '1.500'",
        ),
    ]
}
