//! `groupArray(x) FROM (SELECT .. ORDER BY y)`: the array has the order of the subquery, and `first_value(x)` is its first row's, as in
//! ClickHouse.
//!
//! DataFusion drops a sort that nothing above asks for; here the aggregate asks. Invariant: an aggregate that was given
//! an order keeps it.

use std::sync::Arc;

use aggregates::arranged;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, Result};
use datafusion::logical_expr::expr::{AggregateFunction, NullTreatment};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan, Projection, SortExpr, SubqueryAlias};

use crate::nodes::{Cut, Ends};

/// Aggregates whose result shows the order of rows, and which keep the keys themselves.
const SHOWING_ORDER: &[&str] = &[
    "groupArray",
    "groupConcat",
    ANY,
    "anyLast",
    "any_respect_nulls",
    "anyLast_respect_nulls",
    "first_value",
    "last_value",
];

/// What argMin and argMax are, too, with the one key that they have.
const ANY: &str = "any";

/// Gives the order of the input to aggregates that show it.
pub(crate) fn ordered(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new(&plan);
    let LogicalPlan::Aggregate(aggregate) = plan else { return Ok(Transformed::no(plan)) };
    if !aggregate.aggr_expr.iter().any(|expr| shows_order(expr).is_some()) {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let keys = order_of(&aggregate.input).unwrap_or_default();
    if keys.is_empty() {
        return match carried(&aggregate.input)? {
            Some((input, keys)) => Ok(Transformed::yes(showing(Arc::new(input), aggregate, &keys, &names)?)),
            None => Ok(Transformed::no(LogicalPlan::Aggregate(aggregate))),
        };
    }
    let schema = Arc::clone(aggregate.input.schema());
    let own = |key: &SortExpr| {
        let found = schema.qualified_field_with_unqualified_name(name_of(&key.expr)?).ok()?;
        Some(SortExpr { expr: Expr::Column(Column::from(found)), ..key.clone() })
    };
    match keys.iter().map(own).collect::<Option<Vec<SortExpr>>>() {
        Some(keys) => {
            let input = Arc::clone(&aggregate.input);
            Ok(Transformed::yes(showing(input, aggregate, &keys, &names)?))
        }
        None => match carried(&aggregate.input)? {
            Some((input, keys)) => Ok(Transformed::yes(showing(Arc::new(input), aggregate, &keys, &names)?)),
            None => Ok(Transformed::no(LogicalPlan::Aggregate(aggregate))),
        },
    }
}

/// The aggregate over this input, with these keys where it shows an order.
fn showing(
    input: Arc<LogicalPlan>,
    aggregate: Aggregate,
    keys: &[SortExpr],
    names: &NamePreserver,
) -> Result<LogicalPlan> {
    let with_order = |expr: Expr| {
        let name = names.save(&expr);
        name.restore(match shows_order(&expr).cloned() {
            Some(mut function) => {
                function.params.order_by = keys.to_vec();
                // What it does anyway, and what tells it from argMin, which leaves out rows whose key is NULL.
                if function.func.name() == ANY {
                    function.params.null_treatment = Some(NullTreatment::IgnoreNulls);
                }
                Expr::AggregateFunction(function)
            }
            None => expr,
        })
    };
    let values = aggregate.aggr_expr.into_iter().map(with_order).collect();
    Aggregate::try_new(input, aggregate.group_expr, values).map(LogicalPlan::Aggregate)
}

/// The plan with the keys it is sorted by as columns behind its own, where they are computed or not among these.
fn carried(plan: &LogicalPlan) -> Result<Option<(LogicalPlan, Vec<SortExpr>)>> {
    let columns = |plan: &LogicalPlan| plan.schema().columns().into_iter().map(Expr::Column);
    Ok(match plan {
        LogicalPlan::Sort(sort) if sort.expr.iter().all(|key| !key.expr.is_volatile()) => {
            let name = |at: usize| format!("__order_{at}");
            let hidden = sort.expr.iter().enumerate().map(|(at, key)| key.expr.clone().alias(name(at)));
            let all = columns(plan).chain(hidden).collect();
            let keys = sort
                .expr
                .iter()
                .enumerate()
                .map(|(at, key)| SortExpr { expr: Expr::Column(Column::from_name(name(at))), ..key.clone() });
            let keys = keys.collect();
            let carrying = Projection::try_new(all, Arc::new(plan.clone()))?;
            Some((LogicalPlan::Projection(carrying), keys))
        }
        LogicalPlan::Projection(projection) => match carried(&projection.input)? {
            Some((input, keys)) => {
                let hidden = keys.iter().map(|key| key.expr.clone());
                let all = projection.expr.iter().cloned().chain(hidden).collect();
                let carrying = Projection::try_new(all, Arc::new(input))?;
                Some((LogicalPlan::Projection(carrying), keys))
            }
            None => None,
        },
        LogicalPlan::SubqueryAlias(alias) => match carried(&alias.input)? {
            Some((input, keys)) => {
                let of_alias = |key: SortExpr| match key.expr {
                    Expr::Column(column) => {
                        let expr = Expr::Column(Column::new(Some(alias.alias.clone()), column.name));
                        SortExpr { expr, ..key }
                    }
                    _ => key,
                };
                let aliased = SubqueryAlias::try_new(Arc::new(input), alias.alias.clone())?;
                let keys = keys.into_iter().map(of_alias).collect();
                Some((LogicalPlan::SubqueryAlias(aliased), keys))
            }
            None => None,
        },
        LogicalPlan::Limit(_) | LogicalPlan::Filter(_) => match plan.inputs().first() {
            Some(input) => match carried(input)? {
                Some((input, keys)) => Some((plan.with_new_exprs(plan.expressions(), vec![input])?, keys)),
                None => None,
            },
            None => None,
        },
        _ => None,
    })
}

fn shows_order(expr: &Expr) -> Option<&AggregateFunction> {
    match expr {
        Expr::AggregateFunction(function) => {
            let shows = match function.params.distinct {
                true => arranged::is_blind_to_different(&function.func),
                false => {
                    SHOWING_ORDER.contains(&function.func.name()) || arranged::shows_order(&function.func)
                }
            };
            (function.params.order_by.is_empty() && shows).then_some(function)
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
        LogicalPlan::Extension(extension)
            if extension.node.as_any().is::<Cut>() || extension.node.as_any().is::<Ends>() =>
        {
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
