//! `x IN (SELECT ..)` where rows are computed, not filtered: the subquery is joined, and a mark says what was found.
//!
//! DataFusion does this itself for conditions. Invariant: every row of the input stays one row.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, JoinType, Result};
use datafusion::logical_expr::expr::InSubquery;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    Aggregate, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Projection, lit, not, when,
};

/// The plan without IN of subqueries in what a SELECT computes.
pub(crate) fn marked(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let has_subquery = |exprs: &[Expr]| exprs.iter().any(|expr| expr.exists(is_subquery).unwrap_or(false));
    let names = NamePreserver::new(&plan);
    match plan {
        LogicalPlan::Projection(projection) if has_subquery(&projection.expr) => {
            let mut input = Arc::unwrap_or_clone(projection.input);
            let exprs = computed(projection.expr, &mut input, &names)?;
            let projection = Projection::try_new(exprs, Arc::new(input))?;
            Ok(Transformed::yes(LogicalPlan::Projection(projection)))
        }
        LogicalPlan::Aggregate(aggregate)
            if has_subquery(&aggregate.aggr_expr) || has_subquery(&aggregate.group_expr) =>
        {
            let mut input = Arc::unwrap_or_clone(aggregate.input);
            let keys = computed(aggregate.group_expr, &mut input, &names)?;
            let values = computed(aggregate.aggr_expr, &mut input, &names)?;
            let aggregate = Aggregate::try_new(Arc::new(input), keys, values)?;
            Ok(Transformed::yes(LogicalPlan::Aggregate(aggregate)))
        }
        other => Ok(Transformed::no(other)),
    }
}

/// Those whose set does not depend on the row.
fn is_subquery(expr: &Expr) -> Result<bool> {
    Ok(matches!(expr, Expr::InSubquery(set) if set.subquery.outer_ref_columns.is_empty()))
}

fn computed(exprs: Vec<Expr>, input: &mut LogicalPlan, names: &NamePreserver) -> Result<Vec<Expr>> {
    let mut done = Vec::with_capacity(exprs.len());
    for expr in exprs {
        let name = names.save(&expr);
        let expr = expr.transform_up(|expr| match expr {
            Expr::InSubquery(set) if set.subquery.outer_ref_columns.is_empty() => {
                Ok(Transformed::yes(found(set, input)?))
            }
            other => Ok(Transformed::no(other)),
        })?;
        done.push(name.restore(expr.data));
    }
    Ok(done)
}

/// Joins the set to the input; whether the row's value is in it.
fn found(set: InSubquery, input: &mut LogicalPlan) -> Result<Expr> {
    let InSubquery { expr, subquery, negated } = set;
    // Every set adds one column, so that no two get one name.
    let name = format!("\u{1}set{}", input.schema().fields().len());
    let elements = Arc::unwrap_or_clone(subquery.subquery);
    let elements = LogicalPlanBuilder::from(elements).alias(name.as_str())?.build()?;
    let Some(element) = elements.schema().columns().into_iter().next() else {
        return Ok(lit(false));
    };
    let condition = expr.as_ref().clone().eq(Expr::Column(element));
    let may_be_null = expr.nullable(input.schema())?;
    let left = std::mem::take(input);
    *input = LogicalPlanBuilder::from(left).join_on(elements, JoinType::LeftMark, [condition])?.build()?;
    let mark = Expr::Column(Column::new(Some(name), "mark"));
    let answer = if negated { not(mark) } else { mark };
    match may_be_null {
        true => when(expr.is_not_null(), answer).end(),
        false => Ok(answer),
    }
}
