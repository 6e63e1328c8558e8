//! The columns of USING: where one of the two may be NULL, so may the other, as in ClickHouse. A row without a partner then has
//! NULL in it and no default, and no value is lost where one column is shown for both.
//!
//! Invariant: no mark of USING is left; values stay. A side that keeps all its rows keeps its columns as they are, for what is
//! asked of them prunes. Must not know: what is shown of the columns.

use std::sync::Arc;

use aggregates::typing::{external, type_of};
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{Column, JoinConstraint, JoinType, Result};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{BinaryExpr, Expr, Join, LogicalPlan, Operator, Projection};
use functions::FunctionError;
use model::{ColumnType, ErrorCode};

use super::marks::USING;
use crate::coercion::comparison::is_apart;
use crate::scalar::attached::said;

/// A column of the left side and the one of the right side that it is joined with.
type Pair = (Expr, Expr);

/// The join with columns that may both be NULL.
pub(crate) fn alike(plan: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::Join(join) = plan else { return Ok(plan) };
    let (join, pairs) = unmarked(join);
    if pairs.is_empty() {
        return Ok(LogicalPlan::Join(join));
    }
    for (one, other) in &pairs {
        let (one, other) = (type_of(one, join.left.schema())?, type_of(other, join.right.schema())?);
        if is_apart(&one, &other) {
            let message = format!("there is no supertype for types {one}, {other} of a column of USING");
            return Err(external(FunctionError::new(ErrorCode::NO_COMMON_TYPE, message)));
        }
    }
    let (of_left, of_right) = match join.join_type {
        JoinType::Left => (false, true),
        JoinType::Right => (true, false),
        JoinType::Full => (true, true),
        _ => (false, false),
    };
    let (mut left, mut right) = (Arc::clone(&join.left), Arc::clone(&join.right));
    if of_left {
        left = nullable(&join.left, pairs.iter().map(|(own, other)| (own, other)), &join.right)?;
    }
    if of_right {
        right = nullable(&join.right, pairs.iter().map(|(other, own)| (own, other)), &join.left)?;
    }
    LogicalPlan::Join(Join { left, right, ..join }).recompute_schema()
}

/// The join without marks, and the columns of USING.
fn unmarked(mut join: Join) -> (Join, Vec<Pair>) {
    let is_marked =
        join.on.iter().any(|(one, _)| mark_of(one).is_some()) || join.filter.as_ref().is_some_and(has_mark);
    if !is_marked {
        let pairs = if join.join_constraint == JoinConstraint::Using { join.on.clone() } else { vec![] };
        return (join, pairs);
    }
    let mut pairs: Vec<Pair> = vec![];
    let mut bare = |one: &Expr, other: &Expr| {
        let pair = (mark_of(one)?.clone(), mark_of(other)?.clone());
        pairs.push(pair.clone());
        Some(pair)
    };
    join.on = join.on.into_iter().map(|(one, other)| bare(&one, &other).unwrap_or((one, other))).collect();
    if let Some(filter) = join.filter.take() {
        let part = |part: Expr| match &part {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
                bare(left, right).map_or_else(|| part.clone(), |(one, other)| one.eq(other))
            }
            _ => part,
        };
        join.filter = conjunction(split_conjunction_owned(filter).into_iter().map(part));
    }
    (join, pairs)
}

fn has_mark(filter: &Expr) -> bool {
    filter.exists(|expr| Ok(mark_of(expr).is_some())).unwrap_or(false)
}

/// What stands inside of the mark.
pub(crate) fn mark_of(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::ScalarFunction(function) if function.func.name() == USING => function.args.first(),
        Expr::Alias(alias) => mark_of(&alias.expr),
        _ => None,
    }
}

/// A side whose own columns may be NULL where the other side's may.
fn nullable<'a>(
    side: &Arc<LogicalPlan>,
    pairs: impl Iterator<Item = (&'a Expr, &'a Expr)>,
    beside: &LogicalPlan,
) -> Result<Arc<LogicalPlan>> {
    let mut widened: Vec<(&Expr, ColumnType)> = vec![];
    for (own, other) in pairs {
        let (own_type, other_type) = (type_of(own, side.schema())?, type_of(other, beside.schema())?);
        let is_plain = !own_type.is_nullable() && own_type != ColumnType::Nothing;
        if is_plain && other_type.is_nullable() {
            widened.push((own, own_type.nullable()));
        }
    }
    if widened.is_empty() {
        return Ok(Arc::clone(side));
    }
    let columns = side.schema().iter().map(|(qualifier, field)| {
        let column = Expr::Column(Column::from((qualifier, field)));
        match widened.iter().find(|(own, _)| **own == column) {
            Some((_, column_type)) => {
                said(column, column_type).alias_qualified(qualifier.cloned(), field.name())
            }
            None => column,
        }
    });
    let projection = Projection::try_new(columns.collect(), Arc::clone(side))?;
    Ok(Arc::new(LogicalPlan::Projection(projection)))
}
