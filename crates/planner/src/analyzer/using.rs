//! The columns of USING: both sides have them in their common type, and where one of the two may be NULL, so may the other, as in
//! ClickHouse. A row without a partner then has NULL in it and no default, and no value is lost where one column is shown
//! for both.
//!
//! Invariant: no mark of USING is left; values stay. Columns of the common type stay as they are, for what is asked of them
//! prunes. Must not know: what is shown of the columns.

use std::sync::Arc;

use aggregates::typing::{external, type_of};
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{Column, DataFusionError, JoinConstraint, JoinType, Result};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{BinaryExpr, Expr, Join, LogicalPlan, Operator, Projection};
use functions::FunctionError;
use model::{ColumnType, ErrorCode};

use super::marks::USING;
use crate::coercion::branches::common_type;
use crate::coercion::comparison::{cast_to, is_float};
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
    let (mut lefts, mut rights) = (vec![], vec![]);
    for (one, other) in &pairs {
        let types = (type_of(one, join.left.schema())?, type_of(other, join.right.schema())?);
        let common = common(&types.0, &types.1, join.join_type)?;
        let (left, right) = (with_nulls(&common, &types.0), with_nulls(&common, &types.1));
        let left = nullable(&left, types.1.is_nullable());
        let right = nullable(&right, types.0.is_nullable());
        lefts.push((one, left, types.0));
        rights.push((other, right, types.1));
    }
    let (left, right) = (in_types(&join.left, &lefts)?, in_types(&join.right, &rights)?);
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

/// The type of a column of USING on both sides, which is the sides' own where they are of one kind.
fn common(one: &ColumnType, other: &ColumnType, join: JoinType) -> Result<Option<ColumnType>> {
    let (left, right) = (one.value_type(), other.value_type());
    let both = |is_one: fn(&ColumnType) -> bool| is_one(left) && is_one(right);
    // Enums are compared by their numbers, moments in whichever zones; a NULL without a type is of any.
    let is_of_one_kind = left == right
        || both(|t| t.enum_values().is_some())
        || both(|t| matches!(t, ColumnType::DateTime { .. }))
        || left == &ColumnType::Nothing
        || right == &ColumnType::Nothing;
    // A dictionary on one side only is none on either.
    let is_packed = |t: &ColumnType| matches!(t, ColumnType::LowCardinality(_));
    if left == right && is_packed(one) != is_packed(other) {
        return Ok(Some(left.clone()));
    }
    if is_of_one_kind {
        return Ok(None);
    }
    let is_whole = |t: &ColumnType| t.is_integer() || t.is_wide_integer();
    // Of these multiIf has a type that rounds.
    let is_long = |t: &ColumnType| matches!(t, ColumnType::Int64 | ColumnType::UInt64) || t.is_wide_integer();
    let rounds = is_long(left) && is_float(right) || is_float(left) && is_long(right);
    let common =
        if rounds { Err(no_common(one, other)) } else { common_type(&[left.clone(), right.clone()]) };
    match common {
        Ok(common) => Ok(Some(common.value_type().clone())),
        // A signed and an unsigned number have none, but rows that are in both are shown.
        Err(_) if join == JoinType::Inner && is_whole(left) && is_whole(right) => Ok(None),
        Err(_) => Err(no_common(one, other)),
    }
}

fn no_common(one: &ColumnType, other: &ColumnType) -> DataFusionError {
    let message = format!("there is no supertype for types {one}, {other} of a column of USING");
    external(FunctionError::new(ErrorCode::NO_COMMON_TYPE, message))
}

/// The type that a side's column gets: the common one, where that is another than its own, as nullable as its own.
fn with_nulls(common: &Option<ColumnType>, own: &ColumnType) -> ColumnType {
    match common {
        Some(common) if own.is_nullable() => common.clone().nullable(),
        Some(common) => common.clone(),
        None => own.clone(),
    }
}

fn nullable(column_type: &ColumnType, may_be_null: bool) -> ColumnType {
    match may_be_null && !column_type.is_nullable() && *column_type != ColumnType::Nothing {
        true => column_type.clone().nullable(),
        false => column_type.clone(),
    }
}

/// A side with these of its columns in other types; each with its own type behind.
fn in_types(
    side: &Arc<LogicalPlan>,
    columns: &[(&Expr, ColumnType, ColumnType)],
) -> Result<Arc<LogicalPlan>> {
    if columns.iter().all(|(_, wanted, own)| wanted == own) {
        return Ok(Arc::clone(side));
    }
    let shown = side.schema().iter().map(|(qualifier, field)| {
        let column = Expr::Column(Column::from((qualifier, field)));
        let asked = columns.iter().find(|(one, wanted, own)| **one == column && wanted != own);
        let Some((_, wanted, own)) = asked else { return Ok(column) };
        let column = match *wanted == own.clone().nullable() {
            true => said(column, wanted),
            false => cast_to(column, wanted)?,
        };
        Ok(column.alias_qualified(qualifier.cloned(), field.name()))
    });
    let projection = Projection::try_new(shown.collect::<Result<Vec<_>>>()?, Arc::clone(side))?;
    Ok(Arc::new(LogicalPlan::Projection(projection)))
}
