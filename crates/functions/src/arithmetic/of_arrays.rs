//! Operators over arrays: sums and differences of two, element by element, and products and quotients with one number.
//!
//! Invariant: elements meet as the operator's function lets them, nests inside of arrays, too.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, ListArray, UInt64Array};
use arrow::compute::take;
use model::saturating::u64_of;
use model::{ColumnType, ErrorCode};

use crate::arithmetic::operator::Operator;
use crate::columns::container::{list_of, offsets_of, range};
use crate::error::FunctionError;
use crate::kernel::call::{Arg, ArgType, Call};
use crate::kernel::registry::ScalarFunction;

/// The types that meet inside of arrays; `None` where the operator is not one of arrays.
fn elements<'a>(
    operator: Operator,
    a: &'a ColumnType,
    b: &'a ColumnType,
) -> Option<(&'a ColumnType, &'a ColumnType)> {
    let joins = matches!(operator, Operator::Plus | Operator::Minus);
    match (a, b) {
        (ColumnType::Array(x), ColumnType::Array(y)) if joins => Some((x, y)),
        (ColumnType::Array(x), other) if !joins && !matches!(other, ColumnType::Array(_)) => Some((x, other)),
        (other, ColumnType::Array(y)) if !joins && !matches!(other, ColumnType::Array(_)) => Some((other, y)),
        _ => None,
    }
}

/// The type of the operator over arrays; `None` where these are none.
pub(crate) fn result_type(
    operator: Operator,
    function: &ScalarFunction,
    args: &[ArgType],
) -> Option<Result<ColumnType, FunctionError>> {
    let [a, b] = args else { return None };
    let (x, y) = elements(operator, &a.column_type, &b.column_type)?;
    let of = |column_type: &ColumnType| ArgType { column_type: column_type.clone(), constant: None };
    let inner = function.result_type(&[of(x), of(y)]);
    Some(inner.map(|element| ColumnType::Array(Box::new(element))))
}

/// What one side has for each element of each row.
fn spread(arg: &Arg, lengths: &[usize], rows: usize) -> Result<(ArrayRef, ColumnType), FunctionError> {
    let mut places = Vec::with_capacity(lengths.iter().sum());
    let (values, column_type) = match &arg.column_type {
        ColumnType::Array(element) => {
            let lists = arg.array.as_list::<i32>();
            (0..rows).for_each(|row| places.extend(range(lists.value_offsets(), arg.row(row)).map(u64_of)));
            (lists.values(), (**element).clone())
        }
        other => {
            for (row, length) in lengths.iter().enumerate() {
                places.extend(std::iter::repeat_n(u64_of(arg.row(row)), *length));
            }
            (&arg.array, other.clone())
        }
    };
    Ok((take(values, &UInt64Array::from(places), None)?, column_type))
}

fn lengths_of(lists: &ListArray, arg: &Arg, rows: usize) -> Vec<usize> {
    (0..rows).map(|row| range(lists.value_offsets(), arg.row(row)).len()).collect()
}

/// The operator over arrays; `None` where these are none.
pub(crate) fn evaluate(
    operator: Operator,
    function: &ScalarFunction,
    call: &Call<'_>,
) -> Option<Result<ArrayRef, FunctionError>> {
    let [a, b] = call.args else { return None };
    elements(operator, &a.column_type, &b.column_type)?;
    Some(of_elements(function, call, a, b))
}

fn of_elements(
    function: &ScalarFunction,
    call: &Call<'_>,
    a: &Arg,
    b: &Arg,
) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Array(element) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, function.name));
    };
    let sizes = |arg: &Arg| arg.array.as_list_opt::<i32>().map(|lists| lengths_of(lists, arg, call.rows));
    let (own, other) = (sizes(a), sizes(b));
    if own.is_some() && other.is_some() && own != other {
        let message = format!("two arguments for function {} must have equal sizes", function.name);
        return Err(FunctionError::new(ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH, message));
    }
    let lengths = own.or(other).unwrap_or_default();
    let made = |arg: &Arg| -> Result<Arg, FunctionError> {
        let (array, column_type) = spread(arg, &lengths, call.rows)?;
        Ok(Arg { array, is_constant: false, column_type })
    };
    let args = [made(a)?, made(b)?];
    let rows = lengths.iter().sum();
    let inner = Call { args: &args, rows, result_type: element, nulls: None, ..call.again() };
    let values = function.evaluate(&inner)?;
    Ok(list_of(element, offsets_of(lengths), Arc::clone(&values), None)?)
}
