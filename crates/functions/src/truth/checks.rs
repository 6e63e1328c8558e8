//! Questions about a value that stop a query or replace it.
//!
//! Invariant: `throwIf` stops a query only for rows that reach it.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array};
use arrow::datatypes::UInt8Type;
use model::{ColumnType, ErrorCode, type_name};

use crate::cast::{CastMode, type_default_array};
use crate::columns::number::with_number;
use crate::error::FunctionError;
use crate::kernel::call::{Arg, ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::{constant_text, expanded, truths};

fn throw_if(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let arg = call.arg(0)?;
    let truths = truths(&arg.array, &arg.column_type, &call.caster(CastMode::Strict))?;
    let fails = (0..truths.len()).any(|row| truths.is_valid(row) && truths.value(row));
    if fails && call.rows > 0 {
        let message = match call.args.get(1) {
            Some(_) => call.texts(1)?.get(0).to_owned(),
            None => "Value passed to 'throwIf' function is non-zero".to_owned(),
        };
        return Err(FunctionError::new(thrown_code(call)?, message));
    }
    call.each::<UInt8Type>(|_| Ok(0))
}

fn is_code(of: &ColumnType) -> bool {
    matches!(of, ColumnType::Int8 | ColumnType::Int16 | ColumnType::Int32)
}

/// The third argument, where it can be a code.
fn thrown_code(call: &Call<'_>) -> Result<ErrorCode, FunctionError> {
    let given = if call.args.len() > 2 { u16::try_from(call.ints(2)?.get(0)).ok() } else { None };
    let own = ErrorCode::FUNCTION_THROW_IF_VALUE_IS_NON_ZERO;
    Ok(given.filter(|code| *code > 0).map_or(own, ErrorCode::of))
}

fn type_of_name(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let name = constant_text(args, 0).ok_or_else(|| {
        FunctionError::new(ErrorCode::ILLEGAL_COLUMN, "defaultValueOfTypeName needs a constant type name")
    })?;
    type_name::parse(&name).map_err(|error| FunctionError::new(ErrorCode::UNKNOWN_TYPE, error.to_string()))
}

/// Whether each value is 0 or NULL.
fn zero_or_null(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let arg = call.arg(0)?;
    if arg.column_type == ColumnType::Nothing {
        return call.each_flag(|_| true);
    }
    let truths = truths(&arg.array, &arg.column_type, &call.caster(CastMode::Strict))?;
    call.each_flag(|row| truths.is_null(arg.row(row)) || !truths.value(arg.row(row)))
}

fn clamp(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let result = call.result_type.value_type();
    let (values, low, high) =
        (call.converted(0, result)?, call.converted(1, result)?, call.converted(2, result)?);
    with_number!(result, T => {
        let (values, low, high) = (values.as_primitive::<T>(), low.as_primitive::<T>(), high.as_primitive::<T>());
        let args = call.args;
        call.each::<T>(|row| {
            let (low, high) = (low.value(args[1].row(row)), high.value(args[2].row(row)));
            if low > high {
                return Err(FunctionError::bad_argument("the lower bound of clamp is above the upper one"));
            }
            let value = values.value(args[0].row(row));
            Ok(if value < low { low } else if value > high { high } else { value })
        })
    }, else Err(FunctionError::illegal_type(result, "clamp")))
}

fn stops() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new(
            "throwIf",
            1..=3,
            |args| match (&args[0].column_type, args.get(2).map(|code| &code.column_type)) {
                (_, Some(code)) if !is_code(code) => Err(FunctionError::illegal_type(code, "throwIf")),
                (flag, _) if flag.is_number() || *flag == ColumnType::Bool => Ok(ColumnType::UInt8),
                (other, _) => Err(FunctionError::illegal_type(other, "throwIf")),
            },
            throw_if,
        )
        .volatile()
        .doc(
            "throwIf(x[, message[, code]])",
            "Stops the query where x is not 0, with a code of an error; without it, with 395.",
            "throwIf(0) -> 0",
        ),
        ScalarFunction::new(
            "isNullable",
            1..=1,
            |_| Ok(ColumnType::UInt8),
            |call| {
                let nullable = call.arg(0)?.column_type.is_nullable();
                call.each_flag(|_| nullable)
            },
        )
        .own_nulls()
        .doc("isNullable(x)", "Whether the type has NULL.", "isNullable(1) -> 0"),
        ScalarFunction::new("isZeroOrNull", 1..=1, |_| Ok(ColumnType::UInt8), zero_or_null).own_nulls().doc(
            "isZeroOrNull(x)",
            "Whether x is 0 or NULL.",
            "isZeroOrNull(NULL) -> 1",
        ),
        ScalarFunction::new(
            "ifNotFinite",
            2..=2,
            |args| match args.iter().find(|arg| !arg.column_type.is_number()) {
                Some(arg) => Err(FunctionError::illegal_type(&arg.column_type, "ifNotFinite")),
                None => crate::kernel::types::supertype(args.iter().map(|arg| &arg.column_type)),
            },
            |call| {
                let (value, other) = (call.arg(0)?, call.arg(1)?);
                let is_float = matches!(value.column_type, ColumnType::Float32 | ColumnType::Float64);
                if !is_float && !value.column_type.is_nullable() {
                    let all = call.converted(0, call.result_type.value_type())?;
                    return expanded(&Arg { array: all, ..value.clone() }, call.rows);
                }
                let (values, others) = (call.floats(0)?, call.floats(1)?);
                let pick = |row: usize| match value.is_null(row) || !values.get(row).is_finite() {
                    true => (!other.is_null(row)).then(|| others.get(row)),
                    false => Some(values.get(row)),
                };
                Ok(Arc::new((0..call.rows).map(pick).collect::<Float64Array>()))
            },
        )
        .own_nulls()
        .doc(
            "ifNotFinite(x, y)",
            "x, or y where x is NULL, infinite or NaN.",
            "ifNotFinite(inf, 5) -> 5",
        ),
    ]
}

fn replacements() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new("defaultValueOfTypeName", 1..=1, type_of_name, |call| {
            Ok(type_default_array(call.result_type, call.rows))
        })
        .own_nulls()
        .doc(
            "defaultValueOfTypeName('T')",
            "The default of a type.",
            "defaultValueOfTypeName('Int8') -> 0",
        ),
        ScalarFunction::new(
            "defaultValueOfArgumentType",
            1..=1,
            |args| Ok(args[0].column_type.clone()),
            |call| Ok(type_default_array(call.result_type, call.rows)),
        )
        .own_nulls()
        .doc(
            "defaultValueOfArgumentType(x)",
            "The default of the type of x.",
            "defaultValueOfArgumentType(5) -> 0",
        ),
        ScalarFunction::new(
            "clamp",
            3..=3,
            |args| match args.iter().find(|arg| !arg.column_type.is_number()) {
                Some(arg) => Err(FunctionError::illegal_type(&arg.column_type, "clamp")),
                None => crate::kernel::types::supertype(args.iter().map(|arg| &arg.column_type)),
            },
            clamp,
        )
        .doc("clamp(x, low, high)", "x, or the bound it is beyond.", "clamp(5, 1, 3) -> 3"),
    ]
}

pub(crate) fn functions() -> Vec<ScalarFunction> {
    let mut out = stops();
    out.extend(replacements());
    out
}
