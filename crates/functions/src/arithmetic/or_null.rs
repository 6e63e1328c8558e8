//! Quotients and remainders that are NULL where there are none.
//!
//! Invariant: what has no result is replaced by 1 before it is divided by, so the operators are asked for nothing they refuse.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Scalar};
use arrow::buffer::NullBuffer;
use arrow::compute::kernels::zip::zip;
use arrow::datatypes::{Float64Type, i256};
use model::{ColumnType, WideInteger};

use crate::arithmetic::numbers::operator;
use crate::arithmetic::operator::Operator;
use crate::cast::CastMode;
use crate::columns::wide::numbers;
use crate::error::FunctionError;
use crate::kernel::call::{Arg, ArgType, Call};
use crate::kernel::registry::{ScalarFunction, with_nulls};
use crate::kernel::rows::expanded;
use crate::kernel::types::{any_integer_shape, is_float};

/// The function of the operator, and the name of what is NULL where it has no result.
fn or_null(name: &'static str, plain: Operator) -> ScalarFunction {
    let rule = move |args: &[ArgType]| {
        let known = |t: &ColumnType| any_integer_shape(t).is_some() || is_float(t);
        match args.iter().find(|arg| !known(&arg.column_type)) {
            Some(other) => Err(FunctionError::illegal_type(&other.column_type, name)),
            None => Ok(operator(plain).result_type(args)?.nullable()),
        }
    };
    ScalarFunction::new(name, 2..=2, rule, move |call| evaluate(call, plain))
}

/// Whether each number is `wanted`.
fn equal_to(arg: &Arg, wanted: i8) -> Result<Vec<bool>, FunctionError> {
    if is_float(&arg.column_type) {
        let floats = arrow::compute::cast(&arg.array, &arrow::datatypes::DataType::Float64)?;
        let floats = floats.as_primitive::<Float64Type>();
        return Ok(floats.values().iter().map(|value| *value == f64::from(wanted)).collect());
    }
    let wanted = i256::from_i128(i128::from(wanted));
    Ok(numbers(&arg.array, &arg.column_type)?.into_iter().map(|number| number == wanted).collect())
}

/// Whether each number is the least one of its type, which has no opposite.
fn least(arg: &Arg) -> Result<Vec<bool>, FunctionError> {
    let Some((bytes, true)) = any_integer_shape(&arg.column_type) else {
        return Ok(vec![false; arg.array.len()]);
    };
    let least = WideInteger { bytes: usize::from(bytes), signed: true }.limits().0;
    Ok(numbers(&arg.array, &arg.column_type)?.into_iter().map(|number| number == least).collect())
}

fn evaluate(call: &Call<'_>, plain: Operator) -> Result<ArrayRef, FunctionError> {
    let (a, b) = (call.arg(0)?, call.arg(1)?);
    let (zero, minus_one, smallest) = (equal_to(b, 0)?, equal_to(b, -1)?, least(a)?);
    let divides = plain == Operator::Divide;
    let fails = |row: usize| zero[b.row(row)] || !divides && minus_one[b.row(row)] && smallest[a.row(row)];
    let fails: BooleanArray = (0..call.rows).map(|row| Some(fails(row))).collect();
    let one: ArrayRef = Arc::new(arrow::array::UInt8Array::from(vec![1]));
    let one = call.caster(CastMode::Strict).column(&one, &ColumnType::UInt8, &b.column_type)?;
    let divisors = zip(&fails, &Scalar::new(one), &expanded(b, call.rows)?)?;
    let args = [a.clone(), Arg { array: divisors, is_constant: false, column_type: b.column_type.clone() }];
    let result = call.result_type.value_type();
    let made = operator(plain).evaluate(&Call { args: &args, result_type: result, ..call.again() })?;
    with_nulls(&made, &NullBuffer::from(!fails.values()))
}

pub(crate) fn functions() -> Vec<ScalarFunction> {
    vec![
        or_null("divideOrNull", Operator::Divide).doc(
            "divideOrNull(a, b)",
            "The quotient as Float64; NULL where b is 0.",
            "divideOrNull(1, 0) -> NULL",
        ),
        or_null("intDivOrNull", Operator::IntDiv).doc(
            "intDivOrNull(a, b)",
            "As intDiv; NULL where there is no quotient.",
            "intDivOrNull(1, 0) -> NULL",
        ),
        or_null("moduloOrNull", Operator::Modulo).any_case().aliases(&["modOrNull"]).doc(
            "moduloOrNull(a, b)",
            "As modulo; NULL where there is no remainder.",
            "moduloOrNull(1, 0) -> NULL",
        ),
        or_null("positiveModuloOrNull", Operator::PositiveModulo)
            .any_case()
            .aliases(&["positive_modulo_or_null", "pmodOrNull"])
            .doc(
                "positiveModuloOrNull(a, b)",
                "As positiveModulo; NULL where there is no remainder.",
                "positiveModuloOrNull(1, 0) -> NULL",
            ),
    ]
}
