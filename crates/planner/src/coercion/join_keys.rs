//! Equalities by which tables are joined, and what tells them from those that are computed: a hash join finds NaN for NaN, in
//! ClickHouse as here, where a value `a.x = b.x` is false for it.
//!
//! Invariant: a key stays `left = right`, so that DataFusion finds it. Must not know: how sides get one type.

use datafusion::common::{DFSchema, JoinType, Result};
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator};
use functions::SessionValues;

use super::comparison::{as_predicate, asks_around, binary, compare_key, joins};

/// What one level of a condition may need.
const LEVEL_BYTES: usize = 128 << 10;
/// What a new stack has when that is not left.
const STACK_BYTES: usize = 2 << 20;

/// Where the condition of a step is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// ON: every equality of both tables, for ClickHouse looks each side of an OR up in a hash table of its own.
    On,
    /// WHERE over tables that it joins: only what every row must meet.
    Where,
    /// WHERE that joins nothing but a subquery with the statement around it.
    Filter,
}

/// The place of the step's condition; `None` for steps that compute values.
pub(crate) fn place_of(node: &LogicalPlan) -> Option<Place> {
    match node {
        LogicalPlan::Join(_) => Some(Place::On),
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
    let is_followed = |op: Operator| op == Operator::And || op == Operator::Or && place == Place::On;
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
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) if is_key(&left, &right, place) => {
            compare_key(typed(*left)?, typed(*right)?, schema, session)
        }
        other => typed(other),
    }
}

fn is_key(left: &Expr, right: &Expr, place: Place) -> bool {
    asks_around(left, right) || place != Place::Filter && joins(left, right)
}
