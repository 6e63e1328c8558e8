//! Equalities by which tables are joined, and what tells them from those that are computed: a hash join finds NaN for NaN, in
//! ClickHouse as here, where a value `a.x = b.x` is false for it.
//!
//! Invariant: a key stays `left = right`, so that DataFusion finds it. Must not know: how sides get one type.

use aggregates::typing::type_of;
use datafusion::common::{DFSchema, JoinType, Result, ScalarValue};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator};
use functions::SessionValues;
use model::ColumnType;

use super::comparison::{as_predicate, asks_around, binary, call_arguments, compare_key, elements_of, joins};
use super::in_list::as_condition;
use super::in_subquery::{is_of_whole, sides};
use crate::scalar::adapter::call;

/// What one level of a condition may need.
const LEVEL_BYTES: usize = 128 << 10;
/// What a new stack has when that is not left.
const STACK_BYTES: usize = 2 << 20;

/// Where the condition of a step is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// ON: every equality of both tables, for ClickHouse looks each side of an OR up in a hash table of its own.
    On,
    /// The condition of a join that keeps rows of one side.
    Set,
    /// The condition by which values are found in the set of IN.
    In,
    /// WHERE over tables that it joins: only what every row must meet.
    Where,
    /// WHERE that joins nothing but a subquery with the statement around it.
    Filter,
}

/// The place of the step's condition; `None` for steps that compute values.
pub(crate) fn place_of(node: &LogicalPlan) -> Option<Place> {
    match node {
        LogicalPlan::Join(join) => Some(match join.join_type {
            JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full => Place::On,
            JoinType::LeftMark => Place::In,
            _ => Place::Set,
        }),
        LogicalPlan::Filter(filter) => match filter.input.as_ref() {
            LogicalPlan::Join(join) if join.join_type == JoinType::Inner => Some(Place::Where),
            _ => Some(Place::Filter),
        },
        _ => None,
    }
}

/// The condition with its keys made by [`compare_key`] and everything else by `typed`.
pub(crate) fn condition(
    expr: Expr,
    place: Place,
    schema: &DFSchema,
    session: &SessionValues,
    typed: &dyn Fn(Expr) -> Result<Expr>,
) -> Result<Expr> {
    let is_followed = |op: Operator| {
        op == Operator::And || op == Operator::Or && matches!(place, Place::On | Place::Set | Place::In)
    };
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_followed(op) => {
            let side = |side: Expr| {
                let made = stacker::maybe_grow(LEVEL_BYTES, STACK_BYTES, || {
                    condition(side, place, schema, session, typed)
                })?;
                as_predicate(made, schema)
            };
            Ok(binary(side(*left)?, op, side(*right)?))
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right })
            if place == Place::In || is_key(&left, &right, place) =>
        {
            let (left, right) = (typed(*left)?, typed(*right)?);
            match place {
                Place::On => compare_keys(left, right, schema, session),
                Place::In => {
                    let (value, element) = sides(left, right, schema)?;
                    let is_part = call_arguments(&element, "tupleElement").is_some();
                    match is_of_whole(&element) {
                        true if is_part => compare_part(value, element, schema, session),
                        true => compare_keys(value, element, schema, session),
                        false => compare_key(value, element, schema, session),
                    }
                }
                _ => compare_key(left, right, schema, session),
            }
        }
        other => Ok(as_condition(typed(other)?)),
    }
}

/// `left = right` as the key of a join. ClickHouse looks up tuples whole, where NULL is a value as any other: of elements that
/// may be NULL it is a key whether they are, and what they are instead.
fn compare_keys(left: Expr, right: Expr, schema: &DFSchema, session: &SessionValues) -> Result<Expr> {
    let (left_type, right_type) = (type_of(&left, schema)?, type_of(&right, schema)?);
    let parts = (elements_of((&left, &left_type))?, elements_of((&right, &right_type))?);
    let (Some(ones), Some(others)) = parts else { return compare_key(left, right, schema, session) };
    if ones.len() != others.len() || ones.is_empty() {
        return compare_key(left, right, schema, session);
    }
    let pairs = ones.into_iter().zip(others);
    let tests = pairs.map(|(one, other)| compare_part(one, other, schema, session));
    let all = conjunction(tests.collect::<Result<Vec<_>>>()?);
    Ok(all.unwrap_or_else(|| Expr::Literal(ScalarValue::Boolean(Some(true)), None)))
}

/// Elements of tuples that are looked up whole.
fn compare_part(one: Expr, other: Expr, schema: &DFSchema, session: &SessionValues) -> Result<Expr> {
    let (one_type, other_type) = (type_of(&one, schema)?, type_of(&other, schema)?);
    if !one_type.is_nullable() && !other_type.is_nullable() {
        return compare_keys(one, other, schema, session);
    }
    let is_null = |side: &Expr| call("isNull", vec![side.clone()]);
    let as_null = binary(is_null(&one)?, Operator::Eq, is_null(&other)?);
    if one_type == ColumnType::Nothing || other_type == ColumnType::Nothing {
        return Ok(as_null);
    }
    let (one, other) = (present(one, &one_type)?, present(other, &other_type)?);
    Ok(as_null.and(compare_key(one, other, schema, session)?))
}

/// A value with the default of its type in the place of NULL.
fn present(value: Expr, column_type: &ColumnType) -> Result<Expr> {
    if !column_type.is_nullable() {
        return Ok(value);
    }
    let name = Expr::Literal(ScalarValue::Utf8View(Some(column_type.value_type().to_string())), None);
    call("ifNull", vec![value, call("defaultValueOfTypeName", vec![name])?])
}

fn is_key(left: &Expr, right: &Expr, place: Place) -> bool {
    asks_around(left, right) || place != Place::Filter && joins(left, right)
}
