//! The analyzer rule that turns marks behind the keys of a sort into steps of the plan, and sets beside rows into joins.
//!
//! Invariant: runs first, so no other rule ever sees a mark.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, Sort, SortExpr};
use datafusion::optimizer::AnalyzerRule;
use functions::FunctionError;
use functions::error::codes;

use super::marked::marked;
use super::marks::{DISTINCT_BY, LIMIT_BY, WITH_TIES};
use super::ordered::ordered;
use super::typing::external;
use crate::nodes::{Cut, CutKind};

/// See the module.
#[derive(Debug)]
pub(super) struct Lift;

impl AnalyzerRule for Lift {
    fn name(&self) -> &str {
        "lift_marks"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(steps)?.data)
    }
}

fn steps(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    lifted(plan)?.transform_data(marked)?.transform_data(ordered)
}

fn lifted(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Sort(sort) = plan else { return Ok(Transformed::no(plan)) };
    let (marks, keys): (Vec<SortExpr>, Vec<SortExpr>) =
        sort.expr.into_iter().partition(|key| mark_of(&key.expr).is_some());
    if marks.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Sort(Sort { expr: keys, ..sort })));
    }
    let mut input = Arc::unwrap_or_clone(sort.input);
    let of = |name: &str| marks.iter().filter_map(|key| mark_of(&key.expr)).find(|mark| mark.name() == name);
    if let Some(mark) = of(DISTINCT_BY) {
        input = cut(CutKind::By, mark.args.clone(), (0, 1), input);
    }
    let order: Vec<Expr> = keys.iter().map(|key| key.expr.clone()).collect();
    if !keys.is_empty() {
        input = LogicalPlan::Sort(Sort { expr: keys, input: Arc::new(input), fetch: sort.fetch });
    }
    if let Some(mark) = of(LIMIT_BY) {
        let (bounds, keys) = bounds(mark)?;
        input = cut(CutKind::By, keys.to_vec(), bounds, input);
    }
    if let Some(mark) = of(WITH_TIES) {
        if order.is_empty() {
            let message = "LIMIT WITH TIES needs ORDER BY: without an order nothing is tied";
            return Err(external(FunctionError::new(codes::BAD_ARGUMENTS, message)));
        }
        input = cut(CutKind::Ties, order, bounds(mark)?.0, input);
    }
    Ok(Transformed::yes(input))
}

fn cut(kind: CutKind, keys: Vec<Expr>, bounds: (u64, u64), input: LogicalPlan) -> LogicalPlan {
    LogicalPlan::Extension(Extension { node: Arc::new(Cut::new(kind, keys, bounds, input)) })
}

fn mark_of(expr: &Expr) -> Option<&ScalarFunction> {
    match expr {
        Expr::ScalarFunction(function) if [LIMIT_BY, DISTINCT_BY, WITH_TIES].contains(&function.name()) => {
            Some(function)
        }
        Expr::Alias(alias) => mark_of(&alias.expr),
        _ => None,
    }
}

/// (rows to skip, rows to pass), and what follows them.
fn bounds(mark: &ScalarFunction) -> Result<((u64, u64), &[Expr])> {
    let [fetch, skip, keys @ ..] = mark.args.as_slice() else {
        return Err(not_a_count("nothing"));
    };
    Ok(((count(skip)?, count(fetch)?), keys))
}

fn count(expr: &Expr) -> Result<u64> {
    let number = match expr {
        Expr::Literal(ScalarValue::Int64(Some(number)), _) => u64::try_from(*number).ok(),
        Expr::Literal(ScalarValue::UInt64(Some(number)), _) => Some(*number),
        Expr::Literal(ScalarValue::UInt32(Some(number)), _) => Some(u64::from(*number)),
        Expr::Literal(ScalarValue::UInt16(Some(number)), _) => Some(u64::from(*number)),
        Expr::Literal(ScalarValue::UInt8(Some(number)), _) => Some(u64::from(*number)),
        _ => None,
    };
    number.ok_or_else(|| not_a_count(&expr.to_string()))
}

fn not_a_count(what: &str) -> datafusion::common::DataFusionError {
    let message = format!("the value of LIMIT must be a non-negative whole number, not {what}");
    external(FunctionError::new(codes::INVALID_LIMIT_EXPRESSION, message))
}
