//! The analyzer rule that draws a random value once for each row of a SELECT: in `SELECT rand() AS a .. WHERE a % 2 = 0` the
//! value that is shown is the one that was looked at, grouped by and counted, and `rand() = rand()` holds, as in ClickHouse.
//!
//! An alias stands for its expression here, so each use of it would draw again. Calls that are the same in a SELECT become one
//! column of its input; so do those of a key, which conditions of outer queries ask, too. `rand(1)` and `rand(2)` stay apart.
//! Invariant: names and types of the output do not change. Must not know: how values are drawn.

use std::sync::Arc;

use arrow::datatypes::Field;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result, TableReference, internal_err};
use datafusion::logical_expr::expr::Alias;
use datafusion::logical_expr::{
    Aggregate, Expr, Extension, Filter, LogicalPlan, Projection, Volatility, Window,
};
use datafusion::optimizer::AnalyzerRule;

/// What the names of functions begin with that draw. Other volatile calls are not computed ahead: they may end the statement.
const DRAWING: [&str; 3] = ["rand", "generate", "fuzz"];

/// The step that makes several rows of one.
const ARRAY_JOIN: &str = "ArrayJoin";

/// See the module. Runs when every expression has its type.
#[derive(Debug)]
pub(crate) struct DrawnOnce;

impl AnalyzerRule for DrawnOnce {
    fn name(&self) -> &str {
        "random_values_drawn_once"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let node = |node| match node {
            LogicalPlan::Projection(projection) => drawn_in_projection(projection),
            LogicalPlan::Aggregate(aggregate) => drawn_in_groups(aggregate),
            other => Ok(Transformed::no(other)),
        };
        Ok(plan.transform_up_with_subqueries(node)?.data)
    }
}

/// Columns over rows that conditions, windows and arrays may stand above.
fn drawn_in_projection(projection: Projection) -> Result<Transformed<LogicalPlan>> {
    let mut below = vec![];
    let multiplies = expressions_below(&projection.input, &mut below);
    // A row that becomes several keeps its value.
    let times = if multiplies { 1 } else { 2 };
    let calls = calls(projection.expr.iter().chain(&below), times)?;
    if calls.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Projection(projection)));
    }
    let input = with_drawn(&projection.input, &calls, false)?;
    let shown = projection.expr.iter().zip(projection.schema.iter()).map(|(expr, (qualifier, field))| {
        let replaced = with_columns(expr.clone(), &calls)?;
        let keeps_name = matches!(replaced, Expr::Alias(_)) || replaced == *expr;
        Ok(if keeps_name { replaced } else { named(replaced, qualifier, field.name()) })
    });
    let shown = Projection::try_new(shown.collect::<Result<Vec<_>>>()?, Arc::new(input))?;
    Ok(Transformed::yes(LogicalPlan::Projection(shown)))
}

/// Keys of groups: a condition on a key is asked of the rows, too.
fn drawn_in_groups(aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let is_plain = |expr: &Expr| !matches!(expr, Expr::GroupingSet(_));
    let mut below = vec![];
    expressions_below(&aggregate.input, &mut below);
    let mut drawn = calls(aggregate.group_expr.iter(), 1)?;
    let repeated = calls(aggregate.group_expr.iter().chain(&aggregate.aggr_expr).chain(&below), 2)?;
    drawn.extend(repeated.into_iter().filter(|call| !drawn.contains(call)).collect::<Vec<_>>());
    if drawn.is_empty() || !aggregate.group_expr.iter().all(is_plain) {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let input = with_drawn(&aggregate.input, &drawn, false)?;
    let mut fields = aggregate.schema.iter();
    let mut replaced = |exprs: &[Expr]| -> Result<Vec<Expr>> {
        let one = |(expr, field): (&Expr, Option<_>)| {
            let replaced = with_columns(expr.clone(), &drawn)?;
            let Some((qualifier, field)): Option<(Option<&TableReference>, &Arc<Field>)> = field else {
                return Ok(replaced);
            };
            Ok(if replaced == *expr { replaced } else { named(replaced, qualifier, field.name()) })
        };
        exprs.iter().map(|expr| one((expr, fields.next()))).collect()
    };
    let (keys, sums) = (replaced(&aggregate.group_expr)?, replaced(&aggregate.aggr_expr)?);
    Ok(Transformed::yes(LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(input), keys, sums)?)))
}

fn named(expr: Expr, qualifier: Option<&TableReference>, name: &str) -> Expr {
    Expr::Alias(Alias::new(expr.unalias(), qualifier.cloned(), name))
}

/// The expressions of the steps through which columns pass; whether one of them makes several rows of one.
fn expressions_below(plan: &LogicalPlan, below: &mut Vec<Expr>) -> bool {
    match plan {
        LogicalPlan::Filter(filter) => {
            below.push(filter.predicate.clone());
            expressions_below(&filter.input, below)
        }
        LogicalPlan::Window(window) => {
            below.extend(window.window_expr.iter().cloned());
            expressions_below(&window.input, below)
        }
        LogicalPlan::Extension(extension) => extension.node.name() == ARRAY_JOIN,
        _ => false,
    }
}

/// The plan with a column for each call, below the steps through which columns pass.
fn with_drawn(plan: &Arc<LogicalPlan>, calls: &[Expr], is_joined: bool) -> Result<LogicalPlan> {
    let drawn_calls = calls.iter().enumerate().map(|(at, call)| call.clone().alias(drawn(at)));
    match plan.as_ref() {
        LogicalPlan::Filter(filter) => {
            let input = with_drawn(&filter.input, calls, false)?;
            let predicate = with_columns(filter.predicate.clone(), calls)?;
            Ok(LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(input))?))
        }
        LogicalPlan::Window(window) => {
            let input = with_drawn(&window.input, calls, false)?;
            let names = window.schema.iter().skip(window.input.schema().fields().len());
            let windows = window.window_expr.iter().zip(names).map(|(expr, (qualifier, field))| {
                let replaced = with_columns(expr.clone(), calls)?;
                Ok(if replaced == *expr { replaced } else { named(replaced, qualifier, field.name()) })
            });
            let windows = windows.collect::<Result<Vec<_>>>()?;
            Ok(LogicalPlan::Window(Window::try_new(windows, Arc::new(input))?))
        }
        LogicalPlan::Extension(extension) if extension.node.name() == ARRAY_JOIN => {
            let inputs = extension.node.inputs();
            let [input] = inputs.as_slice() else { return internal_err!("ARRAY JOIN has one input") };
            let input = with_drawn(&Arc::new(LogicalPlan::clone(input)), calls, true)?;
            let node = extension.node.with_exprs_and_inputs(extension.node.expressions(), vec![input])?;
            Ok(LogicalPlan::Extension(Extension { node }))
        }
        // The arrays themselves.
        LogicalPlan::Projection(arrays) if is_joined => {
            let columns = arrays.expr.iter().cloned().chain(drawn_calls).collect();
            Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::clone(&arrays.input))?))
        }
        _ => {
            let mut columns: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
            columns.extend(drawn_calls);
            Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::clone(plan))?))
        }
    }
}

/// The name of the column that has the values of a call.
fn drawn(at: usize) -> String {
    format!("_drawn_{at}")
}

/// The calls that stand there so often, each once.
fn calls<'a>(exprs: impl Iterator<Item = &'a Expr>, times_min: usize) -> Result<Vec<Expr>> {
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
    Ok(calls.into_iter().filter(|(_, times)| *times >= times_min).map(|(call, _)| call).collect())
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
