//! Windows of one step have one order: DataFusion puts those into a step whose orders were written alike, and types change them.
//!
//! Invariant: the same columns come out, by their names. Must not know: what types make of an order.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::logical_expr::expr::Sort;
use datafusion::logical_expr::{Expr, LogicalPlan, Window};

/// The step as one for each order that its windows have.
pub(crate) fn apart(node: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::Window(window) = node else { return Ok(node) };
    let mut steps: Vec<(Vec<Sort>, Vec<Expr>)> = vec![];
    for expr in &window.window_expr {
        let order = order_of(expr);
        match steps.iter_mut().find(|(known, _)| *known == order) {
            Some((_, exprs)) => exprs.push(expr.clone()),
            None => steps.push((order, vec![expr.clone()])),
        }
    }
    if steps.len() < 2 {
        return Ok(LogicalPlan::Window(window));
    }
    steps.into_iter().try_fold(Arc::unwrap_or_clone(window.input), |input, (_, exprs)| {
        Window::try_new(exprs, Arc::new(input)).map(LogicalPlan::Window)
    })
}

fn order_of(expr: &Expr) -> Vec<Sort> {
    match expr {
        Expr::Alias(alias) => order_of(&alias.expr),
        Expr::WindowFunction(function) => function.params.order_by.clone(),
        _ => vec![],
    }
}
