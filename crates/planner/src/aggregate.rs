//! Calls of aggregate functions that are others in disguise.
//!
//! Invariant: what is replaced gives what the function written would. Must not know: accumulators.

use std::sync::Arc;

use aggregates::{combined, named, own, states};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::{AggregateFunction, Sort, WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::planner::{PlannerResult, RawAggregateExpr, RawWindowExpr};
use datafusion::logical_expr::{Expr, WindowFunctionDefinition};

use crate::scalar::adapter::call;

/// Replaces calls that are other aggregates in disguise.
pub(crate) fn plan(mut expr: RawAggregateExpr) -> Result<PlannerResult<RawAggregateExpr>> {
    if let Some(func) = combined::bound(&expr.func, &mut expr.args)? {
        return Ok(PlannerResult::Original(RawAggregateExpr { func, ..expr }));
    }
    if let Some(func) = states::bound(&expr.func, &mut expr.args)? {
        states::refuse_distinct(&func, expr.distinct)?;
        return Ok(PlannerResult::Original(RawAggregateExpr { func, ..expr }));
    }
    if let Some(func) = own::bound(&expr.func, &mut expr.args) {
        return Ok(PlannerResult::Original(RawAggregateExpr { func, ..expr }));
    }
    match expr.func.name() {
        "uniqExact" => Ok(PlannerResult::Planned(count_distinct(expr)?)),
        "count" if expr.distinct && expr.args.len() > 1 => Ok(PlannerResult::Planned(count_distinct(expr)?)),
        "argMin" | "argMax" if expr.args.len() == 2 => Ok(PlannerResult::Planned(extreme(expr)?)),
        "avgWeighted" if expr.args.len() == 2 => Ok(PlannerResult::Planned(weighted(expr)?)),
        "groupConcat" if expr.args.len() == 1 => {
            let mut args = expr.args;
            args.push(Expr::Literal(ScalarValue::Utf8View(Some(String::new())), None));
            Ok(PlannerResult::Original(RawAggregateExpr { args, ..expr }))
        }
        _ => Ok(PlannerResult::Original(expr)),
    }
}

/// The same over a window, where rows have an order already.
pub(crate) fn plan_window(mut expr: RawWindowExpr) -> Result<PlannerResult<RawWindowExpr>> {
    if let WindowFunctionDefinition::AggregateUDF(func) = &expr.func_def {
        match func.name() {
            name @ ("argMin" | "argMax") if expr.args.len() == 2 => {
                let best = combined::by_best(name, named("any")?, name == "argMax");
                // Rows with a NULL in any argument are none.
                expr.filter = with_values(&expr.args[..1], expr.filter);
                expr.func_def = WindowFunctionDefinition::AggregateUDF(best);
                return Ok(PlannerResult::Original(expr));
            }
            "avgWeighted" if expr.args.len() == 2 => {
                return Ok(PlannerResult::Planned(weighted_over(expr)?));
            }
            "groupConcat" if expr.args.len() == 1 => {
                expr.args.push(Expr::Literal(ScalarValue::Utf8View(Some(String::new())), None));
                return Ok(PlannerResult::Original(expr));
            }
            _ => {}
        }
        let bound = match combined::bound(func, &mut expr.args)? {
            Some(func) => Some(func),
            None => match states::bound(func, &mut expr.args)? {
                Some(func) => {
                    states::refuse_distinct(&func, expr.distinct)?;
                    Some(func)
                }
                None => own::bound(func, &mut expr.args),
            },
        };
        if let Some(func) = bound {
            expr.func_def = WindowFunctionDefinition::AggregateUDF(func);
        }
    }
    Ok(PlannerResult::Original(expr))
}

/// DataFusion turns a distinct count into two steps of grouping, which is its fastest way.
fn count_distinct(expr: RawAggregateExpr) -> Result<Expr> {
    let (args, filter) = match expr.args.len() {
        0 | 1 => (expr.args, expr.filter),
        _ => {
            // A tuple is never NULL, and rows with a NULL are none.
            let filter = with_values(&expr.args, expr.filter);
            (vec![call("tuple", expr.args)?], filter)
        }
    };
    let count = named("count")?;
    Ok(Expr::AggregateFunction(AggregateFunction::new_udf(count, args, true, filter, vec![], None)))
}

/// The filter that also leaves out rows in which one of these is NULL.
fn with_values(args: &[Expr], filter: Option<Box<Expr>>) -> Option<Box<Expr>> {
    let tests = args.iter().map(|arg| Expr::IsNotNull(Box::new(arg.clone())));
    let all = filter.map(|filter| *filter).into_iter().chain(tests);
    all.reduce(Expr::and).map(Box::new)
}

/// `argMin(x, by)` is the first x ordered by `by`.
fn extreme(expr: RawAggregateExpr) -> Result<Expr> {
    let is_max = expr.func.name() == "argMax";
    let mut args = expr.args;
    let by = args.pop().unwrap_or(Expr::Literal(ScalarValue::Null, None));
    let order = vec![Sort::new(by, !is_max, false)];
    let any = named("any")?;
    Ok(Expr::AggregateFunction(AggregateFunction::new_udf(any, args, false, expr.filter, order, None)))
}

fn weighted(expr: RawAggregateExpr) -> Result<Expr> {
    let sum = named("sum")?;
    let weight = expr.args.get(1).cloned().unwrap_or(Expr::Literal(ScalarValue::Null, None));
    // Rows with a NULL in any argument are none.
    let filter = with_values(&expr.args, expr.filter);
    let of = |arg: Expr| {
        let sum = Arc::clone(&sum);
        Expr::AggregateFunction(AggregateFunction::new_udf(
            sum,
            vec![arg],
            false,
            filter.clone(),
            vec![],
            None,
        ))
    };
    call("divide", vec![of(call("multiply", expr.args)?), of(weight)])
}

/// `avgWeighted` over a window.
fn weighted_over(expr: RawWindowExpr) -> Result<Expr> {
    let sum = named("sum")?;
    let weight = expr.args.get(1).cloned().unwrap_or(Expr::Literal(ScalarValue::Null, None));
    let filter = with_values(&expr.args, expr.filter);
    let product = call("multiply", expr.args)?;
    let of = |arg: Expr| {
        let fun = WindowFunctionDefinition::AggregateUDF(Arc::clone(&sum));
        let params = WindowFunctionParams {
            args: vec![arg],
            partition_by: expr.partition_by.clone(),
            order_by: expr.order_by.clone(),
            window_frame: expr.window_frame.clone(),
            filter: filter.clone(),
            null_treatment: expr.null_treatment,
            distinct: false,
        };
        Expr::WindowFunction(Box::new(WindowFunction { fun, params }))
    };
    call("divide", vec![of(product), of(weight)])
}
