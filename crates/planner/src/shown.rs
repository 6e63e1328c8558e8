//! A plan as people read it.
//!
//! Invariant: nothing of how the plan is carried out is left out; the types that travel with constants are not shown. Must
//! not know: who asked for it.

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::{Expr, LogicalPlan};

/// The lines of a plan, each node below and to the right of the one that reads it.
pub fn lines_of_plan(plan: &LogicalPlan) -> Vec<String> {
    let plain = plan.clone().transform_down_with_subqueries(|node| node.map_expressions(without_types));
    let plain = plain.map_or_else(|_| plan.clone(), |plain| plain.data);
    plain.display_indent().to_string().lines().map(str::to_owned).collect()
}

fn without_types(expr: Expr) -> Result<Transformed<Expr>> {
    expr.transform_down(|expr| {
        Ok(match expr {
            Expr::Literal(value, Some(_)) => Transformed::yes(Expr::Literal(value, None)),
            other => Transformed::no(other),
        })
    })
}
