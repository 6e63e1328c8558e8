//! Numbers and differences of rows by the order in which they come.
//!
//! Invariant: differences and neighbours are of rows of one block. None of these is folded.

use arrow::array::{ArrayRef, UInt64Array};
use arrow::compute::{cast, concat, take};
use arrow::datatypes::{Float64Type, UInt64Type};
use model::saturating::u64_of;
use model::type_arrow::to_data_type;
use model::{ColumnType, ErrorCode};
use std::sync::Arc;

use crate::cast::default_array;
use crate::columns::number::{Number, with_number};
use crate::error::FunctionError;
use crate::kernel::call::{Arg, ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::expanded;
use crate::kernel::types::{is_float, supertype};

/// In a statement the planner makes a window of it: here it knows the rows of one block.
fn numbered(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    call.each::<UInt64Type>(|row| Ok(u64_of(row)))
}

fn difference_type(
    name: &'static str,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| {
        use ColumnType as C;
        match args[0].column_type.value_type() {
            C::UInt8 | C::Int8 | C::Bool => Ok(C::Int16),
            C::UInt16 | C::Int16 | C::Date => Ok(C::Int32),
            C::UInt32 | C::Int32 | C::UInt64 | C::Int64 | C::Date32 | C::DateTime { .. } => Ok(C::Int64),
            float if is_float(float) => Ok(C::Float64),
            other => Err(FunctionError::illegal_type(other, name)),
        }
    }
}

/// What each row has more than the one before that is not NULL; a constant has nothing more.
fn differences(call: &Call<'_>, from_first: bool) -> Result<ArrayRef, FunctionError> {
    let is_constant = call.arg(0)?.is_constant;
    let result = call.result_type.value_type();
    if *result == ColumnType::Float64 {
        let (values, mut before) = (call.floats(0)?, None);
        return call.each::<Float64Type>(|row| {
            let value = values.get(row);
            Ok(match before.replace(value) {
                _ if is_constant => 0.0,
                Some(before) => value - before,
                None if from_first => value,
                None => 0.0,
            })
        });
    }
    let (values, mut before) = (call.ints(0)?, None);
    let mut difference = |row: usize| {
        let value: i64 = values.get(row);
        match before.replace(value) {
            _ if is_constant => 0,
            Some(before) => value.wrapping_sub(before),
            None if from_first => value,
            None => 0,
        }
    };
    with_number!(result, T => {
        call.each::<T>(|row| Ok(Number::wrap_int(i128::from(difference(row)))))
    }, else Err(FunctionError::illegal_type(result, "runningDifference")))
}

fn running(name: &'static str, from_first: bool) -> ScalarFunction {
    ScalarFunction::new(name, 1..=1, difference_type(name), move |call| differences(call, from_first))
        .unpacks_dictionaries()
        .volatile()
}

fn neighbor_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let offset = &args[1].column_type;
    if !offset.is_integer() || offset.is_nullable() {
        let message =
            format!("illegal type {offset} of the second argument of neighbor: an integer is needed");
        return Err(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
    }
    let value = &args[0].column_type;
    let Some(default) = args.get(2).map(|arg| &arg.column_type) else { return Ok(value.clone()) };
    let common = supertype([value.value_type(), default.value_type()])?;
    Ok(if value.is_nullable() || default.is_nullable() { common.nullable() } else { common })
}

/// An argument as a column of the result's type.
fn column(call: &Call<'_>, index: usize) -> Result<ArrayRef, FunctionError> {
    let (arg, wanted) = (call.arg(index)?, to_data_type(call.result_type));
    let array = match arg.column_type == *call.result_type {
        true => Arc::clone(&arg.array),
        false => call.converted(index, call.result_type)?,
    };
    let array = if *array.data_type() == wanted { array } else { cast(&array, &wanted)? };
    expanded(&Arg { array, ..arg.clone() }, call.rows)
}

/// Rows to a neighbour at most, as in ClickHouse.
const FARTHEST: u64 = 1 << 30;

/// The value so many rows further on; the default where there is no such row.
fn neighbor(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (values, offsets) = (column(call, 0)?, call.ints(1)?);
    if let Some(far) =
        (0..call.rows).map(|row| offsets.get(row)).find(|offset| offset.unsigned_abs() > FARTHEST)
    {
        let message = format!("too large offset {far} in function neighbor");
        return Err(FunctionError::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, message));
    }
    let has_default = call.args.len() > 2;
    let defaults = if has_default { column(call, 2)? } else { default_array(call.result_type, 1) };
    let place = |row: usize| {
        let there = isize::try_from(offsets.get(row)).ok().and_then(|offset| row.checked_add_signed(offset));
        let there = there.filter(|there| *there < call.rows);
        u64_of(there.unwrap_or(call.rows + if has_default { row } else { 0 }))
    };
    let places: UInt64Array = (0..call.rows).map(|row| Some(place(row))).collect();
    let both = concat(&[values.as_ref(), defaults.as_ref()])?;
    Ok(take(&both, &places, None)?)
}

pub(crate) fn functions() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new("rowNumberInAllBlocks", 0..=0, |_| Ok(ColumnType::UInt64), numbered).volatile().doc(
            "rowNumberInAllBlocks()",
            "The place of the row among all rows, from 0.",
            "rowNumberInAllBlocks() -> 0",
        ),
        running("runningDifference", false).doc(
            "runningDifference(x)",
            "What x is more than in the row before of its block; 0 in the first row. lagInFrame knows an order.",
            "runningDifference(1) -> 0",
        ),
        running("runningDifferenceStartingWithFirstValue", true).doc(
            "runningDifferenceStartingWithFirstValue(x)",
            "As runningDifference, with x in the first row.",
            "runningDifferenceStartingWithFirstValue(1) -> 0",
        ),
        ScalarFunction::new("neighbor", 2..=3, neighbor_type, neighbor).own_nulls().volatile().doc(
            "neighbor(x, offset[, default])",
            "The x of the row so many rows further on in its block.",
            "neighbor(1, 1) -> 0",
        ),
    ]
}
