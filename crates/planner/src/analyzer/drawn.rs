//! The analyzer rule that draws a random value once for each row of a SELECT: in `SELECT rand() AS a .. WHERE a % 2 = 0` the
//! value that is shown is the one that was looked at, and `rand() = rand()` holds, as in ClickHouse.
//!
//! An alias stands for its expression here, so each use of it would draw again. Calls that are the same in the columns and the
//! condition of a SELECT become one column of its input. `rand(1)` and `rand(2)` stay apart.
//! Invariant: names and types of the output do not change. Must not know: how values are drawn.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::expr::Alias;
use datafusion::logical_expr::{Expr, Filter, LogicalPlan, Projection, Volatility};
use datafusion::optimizer::AnalyzerRule;

/// What the names of functions begin with that draw. Other volatile calls are not computed ahead: they may end the statement.
const DRAWING: [&str; 3] = ["rand", "generate", "fuzz"];

/// See the module. Runs when every expression has its type.
#[derive(Debug)]
pub(crate) struct DrawnOnce;

impl AnalyzerRule for DrawnOnce {
    fn name(&self) -> &str {
        "random_values_drawn_once"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let node = |node| match node {
            LogicalPlan::Projection(projection) => drawn_once(projection),
            other => Ok(Transformed::no(other)),
        };
        Ok(plan.transform_up_with_subqueries(node)?.data)
    }
}

fn drawn_once(projection: Projection) -> Result<Transformed<LogicalPlan>> {
    let filter = match projection.input.as_ref() {
        LogicalPlan::Filter(filter) => Some(filter),
        _ => None,
    };
    let calls = repeated(projection.expr.iter().chain(filter.map(|filter| &filter.predicate)))?;
    if calls.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Projection(projection)));
    }
    let input = filter.map_or(&projection.input, |filter| &filter.input);
    let mut columns: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
    columns.extend(calls.iter().enumerate().map(|(at, call)| call.clone().alias(drawn(at))));
    let mut drawn_in = LogicalPlan::Projection(Projection::try_new(columns, Arc::clone(input))?);
    if let Some(filter) = filter {
        let predicate = with_columns(filter.predicate.clone(), &calls)?;
        drawn_in = LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(drawn_in))?);
    }
    let shown = projection.expr.iter().zip(projection.schema.iter()).map(|(expr, (qualifier, field))| {
        let replaced = with_columns(expr.clone(), &calls)?;
        let keeps_name = matches!(replaced, Expr::Alias(_)) || replaced == *expr;
        let named = |expr| Expr::Alias(Alias::new(expr, qualifier.cloned(), field.name()));
        Ok(if keeps_name { replaced } else { named(replaced) })
    });
    let shown = Projection::try_new(shown.collect::<Result<Vec<_>>>()?, Arc::new(drawn_in))?;
    Ok(Transformed::yes(LogicalPlan::Projection(shown)))
}

/// The name of the column that has the values of a call.
fn drawn(at: usize) -> String {
    format!("_drawn_{at}")
}

/// The calls that stand there more than once, each once.
fn repeated<'a>(exprs: impl Iterator<Item = &'a Expr>) -> Result<Vec<Expr>> {
    let mut calls: Vec<(Expr, usize)> = vec![];
    for expr in exprs {
        expr.apply(|node| {
            if draws(node) {
                match calls.iter_mut().find(|(call, _)| call == node) {
                    Some((_, times)) => *times += 1,
                    None => calls.push((node.clone(), 1)),
                }
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    Ok(calls.into_iter().filter(|(_, times)| *times > 1).map(|(call, _)| call).collect())
}

fn draws(expr: &Expr) -> bool {
    let Expr::ScalarFunction(call) = expr else { return false };
    call.func.signature().volatility == Volatility::Volatile
        && DRAWING.iter().any(|begin| call.func.name().starts_with(begin))
}

/// The expression with columns in place of the calls.
fn with_columns(expr: Expr, calls: &[Expr]) -> Result<Expr> {
    let replaced = expr.transform_down(|node| {
        Ok(match calls.iter().position(|call| *call == node) {
            Some(at) => {
                let column = Expr::Column(Column::from_name(drawn(at)));
                Transformed::new(column, true, TreeNodeRecursion::Jump)
            }
            None => Transformed::no(node),
        })
    })?;
    Ok(replaced.data)
}
