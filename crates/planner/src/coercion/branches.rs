//! CASE, if and multiIf: branches in the type that holds them all.
//!
//! Invariant: a branch of the type of all stays as it is.

use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::Case;
use datafusion::logical_expr::{Expr, ExprSchemable, Operator};
use functions::{ArgType, FunctionError, SessionValues};
use model::type_arrow::to_data_type;
use model::{ColumnType, ErrorCode, TupleElement};

use super::comparison::{as_predicate, cast_to, compare, fit_to};
use super::nesting;
use crate::scalar::adapter::call;
use aggregates::typing::{external, type_of, type_of_field};

/// Branches in the type that holds them all, as multiIf has it.
pub(crate) fn case(case: Case, schema: &DFSchema, session: &SessionValues) -> Result<Expr> {
    let Case { expr: operand, when_then_expr, else_expr } = case;
    if let Some(operand) = &operand {
        nesting::check_copies(operand, when_then_expr.len())?;
    }
    let condition = |when: Expr| match &operand {
        Some(operand) => same(operand, when, schema, session),
        None => as_predicate(when, schema),
    };
    let otherwise = else_expr.map_or(Expr::Literal(ScalarValue::Null, None), |expr| *expr);
    let when_count = when_then_expr.len();
    let mut types = Vec::new();
    for branch in when_then_expr.iter().map(|(_, then)| then.as_ref()).chain([&otherwise]) {
        types.push(type_of(branch, schema)?);
    }
    let is_decided = |when: &Expr| when.column_refs().is_empty() && !when.is_volatile();
    if operand.is_none()
        && let ([one, other], [(when, _)]) = (types.as_slice(), when_then_expr.as_slice())
        && !is_decided(when)
    {
        refuse_other_scales(one, other)?;
    }
    // Of the condition's rows no dictionary is left.
    let result = without_dictionary(common_type(&types)?);
    let keeps_zeros = when_count == 1 && !types.iter().any(|branch| branch.enum_values().is_some());
    let branch = |expr: Expr, column_type: &ColumnType| {
        let same =
            *column_type == result || *column_type == ColumnType::Nothing && expr.get_type(schema)?.is_null();
        if same && expr.get_type(schema)? == to_data_type(&result) {
            Ok(expr)
        } else {
            // ClickHouse's multiIf casts its branches; its if does so only beside an enum.
            let expr = if keeps_zeros { with_zeros(expr, column_type, &result)? } else { expr };
            fit_to(expr, column_type, &result)
        }
    };
    let mut branches = Vec::with_capacity(when_then_expr.len());
    for ((when, then), column_type) in when_then_expr.into_iter().zip(&types) {
        let then = nesting::of_known_type(branch(*then, column_type)?, schema)?;
        branches.push((Box::new(condition(*when)?), Box::new(then)));
    }
    let last = types.last().unwrap_or(&ColumnType::Nothing);
    let otherwise = Some(Box::new(branch(otherwise, last)?));
    let made = Expr::Case(Case::new(None, branches, otherwise));
    nesting::check_conditions(&made)?;
    let field = made.to_field(schema)?.1;
    if type_of_field(&field) == result { Ok(made) } else { cast_to(made, &result) }
}

/// ClickHouse's if takes one branch's Decimals for the other's and refuses those of another scale; its multiIf converts them.
///
/// # Errors
/// NOT_IMPLEMENTED.
fn refuse_other_scales(one: &ColumnType, other: &ColumnType) -> Result<()> {
    match (one.value_type(), other.value_type()) {
        (ColumnType::Decimal { scale, .. }, ColumnType::Decimal { scale: wanted, .. }) if scale != wanted => {
            let message = format!("conditional functions with different Decimal scales: {one}, {other}");
            Err(external(FunctionError::new(ErrorCode::NOT_IMPLEMENTED, message)))
        }
        (ColumnType::Tuple(ones), ColumnType::Tuple(others)) => {
            let mut pairs = ones.iter().zip(others);
            pairs.try_for_each(|(one, other)| refuse_other_scales(&one.column_type, &other.column_type))
        }
        _ => Ok(()),
    }
}

/// A branch of fixed length beside texts keeps the zero bytes at its end, which a CAST takes off.
fn with_zeros(branch: Expr, own: &ColumnType, result: &ColumnType) -> Result<Expr> {
    match (own.value_type(), result.value_type()) {
        (ColumnType::FixedString(bytes), ColumnType::String) => {
            let bytes = Expr::Literal(ScalarValue::UInt64(Some(u64::from(*bytes))), None);
            let zero = Expr::Literal(ScalarValue::Utf8View(Some("\0".to_owned())), None);
            call("rightPad", vec![branch, bytes, zero])
        }
        _ => Ok(branch),
    }
}

/// Whether a branch of `CASE operand WHEN when` is taken: NULL is NULL there.
fn same(operand: &Expr, when: Expr, schema: &DFSchema, session: &SessionValues) -> Result<Expr> {
    let is_null = |expr: &Expr| Expr::IsNull(Box::new(expr.clone()));
    let (operand_type, when_type) = (type_of(operand, schema)?, type_of(&when, schema)?);
    if when_type == ColumnType::Nothing {
        return Ok(is_null(operand));
    }
    let both_null =
        (operand_type.is_nullable() && when_type.is_nullable()).then(|| is_null(operand).and(is_null(&when)));
    let equal = compare(operand.clone(), Operator::Eq, when, schema, Some(session))?;
    Ok(both_null.into_iter().fold(equal, Expr::or))
}

/// The type of plain values, also inside of arrays and tuples.
pub(crate) fn without_dictionary(column_type: ColumnType) -> ColumnType {
    match column_type {
        ColumnType::LowCardinality(inner) => *inner,
        ColumnType::Array(element) => ColumnType::Array(Box::new(without_dictionary(*element))),
        ColumnType::Tuple(parts) => ColumnType::Tuple(
            parts
                .into_iter()
                .map(|part| TupleElement { column_type: without_dictionary(part.column_type), ..part })
                .collect(),
        ),
        other => other,
    }
}

/// The type multiIf gives for branches of these types.
pub(crate) fn common_type(types: &[ColumnType]) -> Result<ColumnType> {
    if let [first, rest @ ..] = types
        && rest.iter().all(|other| other == first)
    {
        return Ok(first.clone());
    }
    let plain = |column_type: ColumnType| ArgType { column_type, constant: None };
    let mut args = Vec::with_capacity(types.len() * 2);
    for (i, column_type) in types.iter().enumerate() {
        if i + 1 < types.len() {
            args.push(plain(ColumnType::UInt8));
        }
        args.push(plain(column_type.clone()));
    }
    let multi_if = functions::lookup("multiIf");
    let multi_if = multi_if
        .ok_or_else(|| external(FunctionError::new(ErrorCode::UNKNOWN_FUNCTION, "no function multiIf")))?;
    multi_if.result_type(&args).map_err(external)
}
