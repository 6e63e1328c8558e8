//! `and`, `or`, `xor`, `not`.
//!
//! Invariant: three-valued logic as in SQL; the result is Bool if any argument is, else UInt8.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::compute::kernels::boolean::{and_kleene, not, or_kleene};
use model::ColumnType;

use crate::cast::CastMode;
use crate::error::FunctionError;
use crate::kernel::call::{Arg, ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::{expanded, flags, truths};

fn rule(
    name: &'static str,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync + 'static {
    move |args| {
        for arg in args {
            let plain = arg.column_type.value_type();
            if !plain.is_number() && !matches!(plain, ColumnType::Bool | ColumnType::Nothing) {
                return Err(FunctionError::illegal_type(&arg.column_type, name));
            }
        }
        let any_bool = args.iter().any(|arg| *arg.column_type.value_type() == ColumnType::Bool);
        let nullable = args.iter().any(|arg| arg.column_type.is_nullable());
        if args.iter().any(|arg| arg.column_type == ColumnType::Nothing) && (name == "not" || name == "xor") {
            return Ok(ColumnType::Nothing);
        }
        let plain = if any_bool { ColumnType::Bool } else { ColumnType::UInt8 };
        Ok(if nullable { plain.nullable() } else { plain })
    }
}

fn truth(call: &Call<'_>, arg: &Arg) -> Result<BooleanArray, FunctionError> {
    let column = expanded(arg, call.rows)?;
    truths(&column, &arg.column_type, &call.caster(CastMode::Strict))
}

fn shaped(values: BooleanArray, call: &Call<'_>) -> ArrayRef {
    if *call.result_type.value_type() == ColumnType::Bool {
        Arc::new(values)
    } else {
        Arc::new(flags(&values))
    }
}

fn fold(
    call: &Call<'_>,
    combine: fn(&BooleanArray, &BooleanArray) -> Result<BooleanArray, arrow::error::ArrowError>,
) -> Result<ArrayRef, FunctionError> {
    let mut result: Option<BooleanArray> = None;
    for arg in call.args {
        let next = truth(call, arg)?;
        result = Some(match result {
            None => next,
            Some(sofar) => combine(&sofar, &next)?,
        });
    }
    let result = result.ok_or_else(|| FunctionError::bad_argument("an argument is needed"))?;
    Ok(shaped(result, call))
}

fn exclusive_or(a: &BooleanArray, b: &BooleanArray) -> Result<BooleanArray, arrow::error::ArrowError> {
    let nulls = arrow::buffer::NullBuffer::union(a.nulls(), b.nulls());
    Ok(BooleanArray::new(a.values() ^ b.values(), nulls))
}

pub(crate) fn functions() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new("and", 1..=usize::MAX, rule("and"), |call| fold(call, and_kleene))
            .own_nulls()
            .any_case()
            .doc("and(a, b, ...)", "Whether all are true.", "and(1, 0) -> 0"),
        ScalarFunction::new("or", 1..=usize::MAX, rule("or"), |call| fold(call, or_kleene))
            .own_nulls()
            .any_case()
            .doc("or(a, b, ...)", "Whether any is true.", "or(1, 0) -> 1"),
        ScalarFunction::new("xor", 2..=usize::MAX, rule("xor"), |call| fold(call, exclusive_or))
            .own_nulls()
            .any_case()
            .doc("xor(a, b, ...)", "Whether an odd number of them is true.", "xor(1, 1) -> 0"),
        ScalarFunction::new("not", 1..=1, rule("not"), |call| {
            Ok(shaped(not(&truth(call, call.arg(0)?)?)?, call))
        })
        .own_nulls()
        .any_case()
        .doc("not(a)", "The opposite.", "not(1) -> 0"),
    ]
}
