//! `groupArray(x) FROM (SELECT .. ORDER BY y)`: the array has the order of the subquery, as in ClickHouse.
//!
//! DataFusion drops a sort that nothing above asks for; here the aggregate asks. Invariant: an aggregate that was given
//! an order keeps it.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, Result};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan, SortExpr};

use crate::nodes::Cut;

/// Aggregates whose result shows the order of rows.
const SHOWING_ORDER: &[&str] = &["groupArray", "groupConcat"];

/// Gives the order of the input to aggregates that show it.
pub(crate) fn ordered(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new(&plan);
    let LogicalPlan::Aggregate(aggregate) = plan else { return Ok(Transformed::no(plan)) };
    let keys = order_of(&aggregate.input).unwrap_or_default();
    if keys.is_empty() || !aggregate.aggr_expr.iter().any(|expr| shows_order(expr).is_some()) {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let schema = Arc::clone(aggregate.input.schema());
    let own = |key: &SortExpr| {
        let found = schema.qualified_field_with_unqualified_name(name_of(&key.expr)?).ok()?;
        Some(SortExpr { expr: Expr::Column(Column::from(found)), ..key.clone() })
    };
    let Some(keys) = keys.iter().map(own).collect::<Option<Vec<SortExpr>>>() else {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    };
    let with_order = |expr: Expr| {
        let name = names.save(&expr);
        name.restore(match shows_order(&expr).cloned() {
            Some(mut function) => {
                function.params.order_by.clone_from(&keys);
                Expr::AggregateFunction(function)
            }
            None => expr,
        })
    };
    let values = aggregate.aggr_expr.into_iter().map(with_order).collect();
    let aggregate = Aggregate::try_new(aggregate.input, aggregate.group_expr, values)?;
    Ok(Transformed::yes(LogicalPlan::Aggregate(aggregate)))
}

fn shows_order(expr: &Expr) -> Option<&AggregateFunction> {
    match expr {
        Expr::AggregateFunction(function) => {
            let plain = function.params.order_by.is_empty() && !function.params.distinct;
            (plain && SHOWING_ORDER.contains(&function.func.name())).then_some(function)
        }
        _ => None,
    }
}

fn name_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Column(column) => Some(&column.name),
        Expr::Alias(alias) => name_of(&alias.expr).filter(|name| *name == alias.name),
        _ => None,
    }
}

/// The columns by which the rows of a plan are sorted.
fn order_of(plan: &LogicalPlan) -> Option<Vec<SortExpr>> {
    match plan {
        LogicalPlan::Sort(sort) => Some(sort.expr.clone()),
        LogicalPlan::Limit(_) | LogicalPlan::SubqueryAlias(_) | LogicalPlan::Filter(_) => {
            order_of(plan.inputs().first()?)
        }
        LogicalPlan::Extension(extension) if extension.node.as_any().is::<Cut>() => {
            order_of(plan.inputs().first()?)
        }
        LogicalPlan::Projection(projection) => {
            let keys = order_of(&projection.input)?;
            // A column that only has the name of a key is not that key.
            let passes = |key: &SortExpr| {
                name_of(&key.expr)
                    .is_some_and(|name| projection.expr.iter().any(|expr| name_of(expr) == Some(name)))
            };
            keys.iter().all(passes).then_some(keys)
        }
        _ => None,
    }
}
