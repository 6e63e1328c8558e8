//! `if`, `multiIf`, `coalesce` and the other functions about which value to take.
//!
//! Invariant: a NULL condition counts as false; branches take the smallest common type.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, Scalar, new_null_array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::kernels::zip::zip;
use arrow::compute::{is_not_null, is_null};
use model::type_arrow::to_data_type;
use model::{ColumnType, ErrorCode};

use crate::cast::{CastMode, default_array};
use crate::error::FunctionError;
use crate::kernel::call::{Arg, ArgType, Call};
use crate::kernel::list::nan_flags;
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::{expanded, flags, truths};
use crate::kernel::types::{branch_type, supertype};
use crate::truth::compare::{Comparison, Sides, compare, equal_flags};
use crate::truth::nested_order;

/// Conditions are arguments 0, 2, 4, ... but for the last.
fn branches_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    if args.len().is_multiple_of(2) {
        return Err(FunctionError::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "multiIf takes pairs of a condition and a value, and a value for all other rows",
        ));
    }
    let last = args.len() - 1;
    for (index, arg) in args.iter().enumerate() {
        let plain = arg.column_type.value_type();
        let is_condition = index % 2 == 0 && index != last;
        if is_condition && !plain.is_number() && !matches!(plain, ColumnType::Bool | ColumnType::Nothing) {
            return Err(FunctionError::illegal_type(&arg.column_type, "of a condition"));
        }
    }
    let values = args.iter().enumerate().filter(|(index, _)| index % 2 == 1 || *index == last);
    branch_type(values.map(|(_, arg)| &arg.column_type))
}

/// True where the condition is neither false nor NULL.
fn condition(call: &Call<'_>, arg: &Arg) -> Result<BooleanArray, FunctionError> {
    let truth = truths(&arg.array, &arg.column_type, &call.caster(CastMode::Strict))?;
    let certain = match truth.nulls() {
        Some(nulls) => truth.values() & nulls.inner(),
        None => truth.values().clone(),
    };
    if arg.is_constant {
        let set = !certain.is_empty() && certain.value(0);
        let all = if set { BooleanBuffer::new_set(call.rows) } else { BooleanBuffer::new_unset(call.rows) };
        return Ok(BooleanArray::new(all, None));
    }
    Ok(BooleanArray::new(certain, None))
}

/// The argument in the result's type; one row if constant.
fn branch(call: &Call<'_>, arg: &Arg) -> Result<ArrayRef, FunctionError> {
    Ok(call.caster(CastMode::Insert).column(&arg.array, &arg.column_type, call.result_type)?)
}

/// `mask ? a : b` where `a` may be a constant.
fn choose(
    mask: &BooleanArray,
    a: &ArrayRef,
    a_constant: bool,
    b: &ArrayRef,
) -> Result<ArrayRef, FunctionError> {
    if mask.true_count() == 0 {
        return Ok(Arc::clone(b));
    }
    if !a_constant && mask.true_count() == mask.len() {
        return Ok(Arc::clone(a));
    }
    if a_constant { Ok(zip(mask, &Scalar::new(a), b)?) } else { Ok(zip(mask, a, b)?) }
}

fn multi_if(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let [pairs @ .., last] = call.args else {
        return Err(FunctionError::bad_argument("arguments are needed"));
    };
    let array = branch(call, last)?;
    let mut result = expanded(&Arg { array, ..last.clone() }, call.rows)?;
    for pair in pairs.chunks_exact(2).rev() {
        let mask = condition(call, &pair[0])?;
        result = choose(&mask, &branch(call, &pair[1])?, pair[1].is_constant, &result)?;
    }
    Ok(result)
}

fn first_present(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let mut result = new_null_array(&to_data_type(&call.result_type.clone().nullable()), call.rows);
    // Behind a value that is always there nothing is looked at, whatever type it has.
    let certain = call.args.iter().position(|arg| !arg.column_type.is_nullable());
    let looked_at = certain.map_or(call.args.len(), |certain| certain + 1);
    for arg in call.args[..looked_at].iter().rev() {
        let nullable = call.result_type.clone().nullable();
        if arg.column_type == ColumnType::Nothing {
            continue;
        }
        let array = call.caster(CastMode::Insert).column(&arg.array, &arg.column_type, &nullable)?;
        let array = expanded(&Arg { array, ..arg.clone() }, call.rows)?;
        result = choose(&is_not_null(&array)?, &array, false, &result)?;
    }
    Ok(result)
}

fn coalesce_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let mut types: Vec<&ColumnType> = Vec::new();
    for arg in args {
        if arg.column_type != ColumnType::Nothing {
            types.push(&arg.column_type);
        }
        if !arg.column_type.is_nullable() {
            break;
        }
    }
    let certain = types.last().is_some_and(|last| !last.is_nullable());
    if let [only] = types.as_slice() {
        return Ok((*only).clone());
    }
    let common = branch_type(types)?;
    Ok(if certain { without_null(&common) } else { common })
}

/// The type without Nullable, LowCardinality kept.
fn without_null(column_type: &ColumnType) -> ColumnType {
    match column_type {
        ColumnType::LowCardinality(inner) => ColumnType::LowCardinality(Box::new(without_null(inner))),
        other => other.value_type().clone(),
    }
}

fn if_null_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    match args {
        [a, b] if a.column_type == ColumnType::Nothing => Ok(b.column_type.clone()),
        [a, _] if !a.column_type.is_nullable() => Ok(a.column_type.clone()),
        [a, b] => branch_type([&without_null(&a.column_type), &b.column_type]),
        _ => Err(FunctionError::bad_argument("two arguments are needed")),
    }
}

fn first_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    args.first()
        .map(|arg| arg.column_type.clone())
        .ok_or_else(|| FunctionError::bad_argument("an argument is needed"))
}

fn null_if_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let first = first_type(args)?;
    if let ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Tuple(_) = first.value_type() {
        return Err(FunctionError::illegal_type(&first, "nullIf: it cannot be NULL"));
    }
    // What reads as a number beside one need not be equal to it: '257' as an UInt8 would be 1.
    let is_text = |arg: &ArgType| arg.column_type.value_type().is_string();
    let is_other = |arg: &ArgType| {
        let plain = arg.column_type.value_type();
        !plain.is_string()
            && !matches!(plain, ColumnType::Enum8(_) | ColumnType::Enum16(_) | ColumnType::Nothing)
    };
    if args.iter().any(is_text) && args.iter().any(is_other) {
        supertype(args.iter().map(|arg| &arg.column_type))?;
    }
    Ok(first.nullable())
}

fn null_if(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let equal = equal_flags(call, 0, 1)?;
    let source = call.arg(0)?;
    if source.column_type == ColumnType::Nothing {
        return Ok(new_null_array(&to_data_type(call.result_type), call.rows));
    }
    let column = expanded(source, call.rows)?;
    let keep = arrow::buffer::NullBuffer::from(equal.iter().map(|equal| !equal).collect::<Vec<bool>>());
    crate::kernel::registry::with_nulls(&column, &keep)
}

fn assume_not_null(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let column = expanded(call.arg(0)?, call.rows)?;
    if column.logical_null_count() == 0 {
        return Ok(column);
    }
    Ok(zip(&is_not_null(&column)?, &column, &Scalar::new(default_array(call.result_type, 1)))?)
}

fn null_flags(call: &Call<'_>, wants_null: bool) -> Result<ArrayRef, FunctionError> {
    let column = expanded(call.arg(0)?, call.rows)?;
    let found = if wants_null { is_null(&column)? } else { is_not_null(&column)? };
    Ok(Arc::new(flags(&found)))
}

/// Least or greatest, passing over NULLs; of more than two over NaN, too, while there is a number.
fn extreme(call: &Call<'_>, comparison: Comparison) -> Result<ArrayRef, FunctionError> {
    let mut best: Option<ArrayRef> = None;
    for arg in call.args.iter().filter(|arg| arg.column_type != ColumnType::Nothing) {
        let next = expanded(&Arg { array: branch(call, arg)?, ..arg.clone() }, call.rows)?;
        best = Some(match best {
            None => next,
            Some(best) => better((&best, &next), call, comparison)?,
        });
    }
    Ok(best.unwrap_or_else(|| new_null_array(&to_data_type(call.result_type), call.rows)))
}

fn better(
    (best, next): (&ArrayRef, &ArrayRef),
    call: &Call<'_>,
    comparison: Comparison,
) -> Result<ArrayRef, FunctionError> {
    let stays = match call.result_type.value_type() {
        ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Tuple(_) => {
            nested_order::stays(best, next, comparison == Comparison::Greater)?
        }
        plain => {
            let sides = Sides { a: best, b: next, a_constant: false, b_constant: false, rows: call.rows };
            let stays = compare(&sides, plain, comparison)?;
            BooleanBuffer::collect_bool(call.rows, |row| stays.value(row) == 1)
        }
    };
    // As in ClickHouse the next of two arguments is taken unless the first is better: so NaN loses only to its right.
    let several = call.args.len() > 2;
    let nan_of = |values: &ArrayRef| if several { nan_flags(values) } else { None };
    let (best_nan, next_nan) = (nan_of(best), nan_of(next));
    let is_nan = |flags: &Option<Vec<bool>>, row: usize| flags.as_ref().is_some_and(|flags| flags[row]);
    let takes = |row: usize| {
        next.is_valid(row)
            && (best.is_null(row) || is_nan(&best_nan, row) || !stays.value(row) && !is_nan(&next_nan, row))
    };
    let mask = BooleanArray::new(BooleanBuffer::collect_bool(call.rows, takes), None);
    Ok(zip(&mask, next, best)?)
}

fn extreme_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    if let [one] = args {
        return Ok(one.column_type.clone());
    }
    let plain = args.iter().map(|arg| plain_number(&arg.column_type));
    let types: Vec<ColumnType> = plain.filter(|plain| *plain != ColumnType::Nothing).collect();
    let nullable = args.iter().any(|arg| arg.column_type.is_nullable());
    let is_float = |t: &ColumnType| matches!(t, ColumnType::Float32 | ColumnType::Float64);
    let is_decimal = |t: &ColumnType| matches!(t, ColumnType::Decimal { .. });
    let needs_room = |t: &ColumnType| is_float(t) || t.is_wide_integer();
    let common = match types.as_slice() {
        // As the sum and the difference of a float and a Decimal, which are floats too.
        [_, _] if types.iter().any(is_float) && types.iter().any(is_decimal) => ColumnType::Float64,
        // The larger one is none below zero.
        [ColumnType::UInt64, small] | [small, ColumnType::UInt64]
            if matches!(small, ColumnType::Int8 | ColumnType::Int16 | ColumnType::Int32) =>
        {
            ColumnType::Int128
        }
        [a, b] if a.is_number() && b.is_number() && types.iter().any(needs_room) => supertype([a, b])
            .map_err(|_| {
                let message = format!("illegal types {a} and {b} of arguments: no type holds both");
                FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message)
            })?,
        types => supertype(types)?,
    };
    Ok(if nullable && common != ColumnType::Nothing { common.nullable() } else { common })
}

/// The type that a number is compared in: a Bool is a UInt8.
fn plain_number(column_type: &ColumnType) -> ColumnType {
    match column_type.value_type() {
        ColumnType::Bool => ColumnType::UInt8,
        other => other.clone(),
    }
}

fn choices() -> Vec<ScalarFunction> {
    let if_type = |args: &[ArgType]| branches_type(args);
    vec![
        ScalarFunction::new("if", 3..=3, if_type, multi_if).own_nulls().any_case().doc(
            "if(condition, then, else)",
            "The second argument where the condition is true, else the third; NULL counts as false.",
            "if(0, 'a', 'b') -> 'b'",
        ),
        ScalarFunction::new("multiIf", 3..=usize::MAX, branches_type, multi_if)
            .own_nulls()
            .any_case()
            .aliases(&["caseWithoutExpression", "caseWithoutExpr"])
            .doc(
                "multiIf(condition, then, ..., else)",
                "The value after the first true condition, else the last.",
                "multiIf(0, 1, 1, 2, 3) -> 2",
            ),
        ScalarFunction::new("coalesce", 0..=usize::MAX, coalesce_type, first_present)
            .own_nulls()
            .any_case()
            .doc("coalesce(a, b, ...)", "The first value that is not NULL.", "coalesce(NULL, 2) -> 2"),
        ScalarFunction::new("ifNull", 2..=2, if_null_type, first_present).own_nulls().any_case().doc(
            "ifNull(x, default)",
            "The second argument where the first is NULL.",
            "ifNull(NULL, 1) -> 1",
        ),
        ScalarFunction::new("nullIf", 2..=2, null_if_type, null_if).own_nulls().any_case().doc(
            "nullIf(a, b)",
            "NULL where the arguments are equal, else the first.",
            "nullIf(1, 1) -> NULL",
        ),
    ]
}

pub(crate) fn functions() -> Vec<ScalarFunction> {
    let mut out = choices();
    out.extend([
        ScalarFunction::new(
            "assumeNotNull",
            1..=1,
            |args| match first_type(args)? {
                ColumnType::Nothing => {
                    let message =
                        "assumeNotNull of a NULL without a type: there is no value that it could be";
                    Err(FunctionError::new(ErrorCode::ILLEGAL_COLUMN, message))
                }
                given => Ok(without_null(&given)),
            },
            assume_not_null,
        )
        .own_nulls()
        .doc(
            "assumeNotNull(x)",
            "The value typed as never NULL; a default where it is NULL.",
            "assumeNotNull(1) -> 1",
        ),
        ScalarFunction::new(
            "toNullable",
            1..=1,
            |args| match first_type(args)? {
                nested @ (ColumnType::Array(_) | ColumnType::Map(..)) => {
                    Err(FunctionError::illegal_type(&nested, "toNullable"))
                }
                given => Ok(given.nullable()),
            },
            |call| expanded(call.arg(0)?, call.rows),
        )
        .own_nulls()
        .doc("toNullable(x)", "The value typed as Nullable.", "toNullable(1) -> 1"),
        ScalarFunction::new("isNull", 1..=1, |_| Ok(ColumnType::UInt8), |call| null_flags(call, true))
            .own_nulls()
            .any_case()
            .doc("isNull(x)", "Whether the value is NULL.", "isNull(NULL) -> 1"),
        ScalarFunction::new("isNotNull", 1..=1, |_| Ok(ColumnType::UInt8), |call| null_flags(call, false))
            .own_nulls()
            .any_case()
            .doc("isNotNull(x)", "Whether the value is not NULL.", "isNotNull(NULL) -> 0"),
        ScalarFunction::new("least", 1..=usize::MAX, extreme_type, |call| extreme(call, Comparison::Less))
            .own_nulls()
            .any_case()
            .doc("least(a, b, ...)", "The smallest argument, NULLs left out.", "least(3, 1, 2) -> 1"),
        ScalarFunction::new("greatest", 1..=usize::MAX, extreme_type, |call| {
            extreme(call, Comparison::Greater)
        })
        .own_nulls()
        .any_case()
        .doc(
            "greatest(a, b, ...)",
            "The largest argument, NULLs left out.",
            "greatest(3, 1, 2) -> 3",
        ),
    ]);
    out
}
