//! `IS [NOT] DISTINCT FROM` between sides of different types.
//!
//! Must not know: how values of different types are compared.

use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, Operator};
use functions::SessionValues;
use model::ColumnType;

use super::comparison::{asks_around, binary, compare, elements_of, is_apart, is_float, joins};
use crate::scalar::surely::surely;
use aggregates::typing::type_of;

pub(crate) fn is_distinction(op: Operator) -> bool {
    matches!(op, Operator::IsDistinctFrom | Operator::IsNotDistinctFrom)
}

/// `left op right`, a comparison or IS [NOT] DISTINCT FROM.
pub(crate) fn compared(
    left: Expr,
    op: Operator,
    right: Expr,
    schema: &DFSchema,
    session: Option<&SessionValues>,
) -> Result<Expr> {
    match is_distinction(op) {
        true => distinct(left, op, right, schema, session),
        false => compare(left, op, right, schema, session),
    }
}

/// `left IS [NOT] DISTINCT FROM right`, of which NULL is never the answer.
fn distinct(
    left: Expr,
    op: Operator,
    right: Expr,
    schema: &DFSchema,
    session: Option<&SessionValues>,
) -> Result<Expr> {
    let (left_type, right_type) = (type_of(&left, schema)?, type_of(&right, schema)?);
    let (a, b) = (left_type.value_type(), right_type.value_type());
    // Arrow compares plain numbers as they are, and joins can go by the operator; where no type holds both it would round one.
    // NaN is distinct from NaN; where one may be NULL, and in joins, it is found.
    let is_number = |column_type: &ColumnType| is_float(column_type) && !column_type.is_nullable();
    let may_be_nan = is_number(&left_type)
        && is_number(&right_type)
        && !joins(&left, &right)
        && !asks_around(&left, &right);
    if !may_be_nan && (a == b || is_plain_number(a) && is_plain_number(b) && !is_apart(a, b)) {
        return Ok(binary(left, op, right));
    }
    if *a == ColumnType::Nothing || *b == ColumnType::Nothing {
        return Ok(binary(left, op, right));
    }
    if let Some(same) = of_elements((&left, &left_type), (&right, &right_type), schema, session)? {
        return Ok(if op == Operator::IsDistinctFrom { Expr::Not(Box::new(same)) } else { same });
    }
    let is_null = |expr: &Expr| Expr::IsNull(Box::new(expr.clone()));
    let is_there = |expr: &Expr| Expr::IsNotNull(Box::new(expr.clone()));
    let equal = compare(left.clone(), Operator::Eq, right.clone(), schema, session)?;
    let both_null = is_null(&left).and(is_null(&right));
    let same = both_null.or(is_there(&left).and(is_there(&right)).and(equal));
    Ok(match op {
        Operator::IsDistinctFrom => Expr::Not(Box::new(surely(same))),
        _ => surely(same),
    })
}

/// Whether tuples of different types are the same, element by element: NULL is found in them, too.
fn of_elements(
    left: (&Expr, &ColumnType),
    right: (&Expr, &ColumnType),
    schema: &DFSchema,
    session: Option<&SessionValues>,
) -> Result<Option<Expr>> {
    let is_tuple = |t: &ColumnType| matches!(t, ColumnType::Tuple(_)) && !t.is_interval();
    if !is_tuple(left.1) || !is_tuple(right.1) || left.0.is_volatile() || right.0.is_volatile() {
        return Ok(None);
    }
    let (Some(ones), Some(others)) = (elements_of(left)?, elements_of(right)?) else { return Ok(None) };
    if ones.len() != others.len() {
        return Ok(None);
    }
    let pairs = ones.into_iter().zip(others);
    let same = |(one, other)| distinct(one, Operator::IsNotDistinctFrom, other, schema, session);
    Ok(conjunction(pairs.map(same).collect::<Result<Vec<_>>>()?))
}

fn is_plain_number(column_type: &ColumnType) -> bool {
    let is_decimal = matches!(column_type, ColumnType::Decimal { .. } | ColumnType::Bool);
    column_type.is_number() && !column_type.is_wide_integer() && !is_decimal
}
