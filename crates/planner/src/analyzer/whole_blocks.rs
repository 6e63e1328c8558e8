//! The analyzer rule that keeps conditions above what is computed of the rows around: `neighbor(x, 1)`,
//! `runningDifference(x)`, `rowNumberInBlock()` and their kin.
//!
//! DataFusion moves a condition on other columns below them, and then they see rows that the query asked of nobody. As in ClickHouse
//! they see the rows that ORDER BY has put in order, where it does not ask for them itself. Invariant: rows, columns and their
//! names stay as they are. Must not know: how such a function is computed.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, Filter, LogicalPlan, Projection, Sort, SortExpr};
use datafusion::optimizer::AnalyzerRule;

use crate::nodes::Apart;

/// The functions whose value depends on which rows stand around.
const OF_BLOCKS: [&str; 6] = [
    "neighbor",
    "runningDifference",
    "runningDifferenceStartingWithFirstValue",
    "runningAccumulate",
    "rowNumberInBlock",
    "blockSize",
];

/// See the module. Runs when every expression has its type.
#[derive(Debug)]
pub(crate) struct WholeBlocks;

impl AnalyzerRule for WholeBlocks {
    fn name(&self) -> &str {
        "whole_blocks"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let plan = plan.transform_up_with_subqueries(sorted_first)?.data;
        let node = |node: LogicalPlan| match &node {
            LogicalPlan::Projection(projection) if sees_blocks(&projection.expr)? => {
                Apart::stopping(node).map(Transformed::yes)
            }
            // A condition that sees them stays above the sort that says which they are.
            LogicalPlan::Filter(filter) if sees_blocks(std::slice::from_ref(&filter.predicate))? => {
                let input = Apart::stopping(filter.input.as_ref().clone())?;
                Filter::try_new(filter.predicate.clone(), Arc::new(input))
                    .map(|filter| Transformed::yes(LogicalPlan::Filter(filter)))
            }
            _ => Ok(Transformed::no(node)),
        };
        Ok(plan.transform_up_with_subqueries(node)?.data)
    }
}

/// A sort of what sees the rows around, done before they are looked at.
fn sorted_first(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Sort(sort) = &plan else { return Ok(Transformed::no(plan)) };
    let LogicalPlan::Projection(projection) = sort.input.as_ref() else { return Ok(Transformed::no(plan)) };
    if !sees_blocks(&projection.expr)? {
        return Ok(Transformed::no(plan));
    }
    let mut keys = Vec::with_capacity(sort.expr.len());
    for key in &sort.expr {
        let expr = before(key.expr.clone(), projection)?;
        if expr.is_volatile() {
            return Ok(Transformed::no(plan));
        }
        keys.push(SortExpr { expr, ..key.clone() });
    }
    let sorted = Sort { expr: keys, input: Arc::clone(&projection.input), fetch: sort.fetch };
    let (exprs, schema) = (projection.expr.clone(), Arc::clone(&projection.schema));
    let seeing = Projection::try_new_with_schema(exprs, Arc::new(LogicalPlan::Sort(sorted)), schema)?;
    Ok(Transformed::yes(LogicalPlan::Projection(seeing)))
}

/// An expression over a projection as one over its input.
fn before(expr: Expr, projection: &Projection) -> Result<Expr> {
    let column = |part: Expr| match &part {
        Expr::Column(column) => {
            let at = projection.schema.index_of_column(column)?;
            let computed = projection.expr.get(at).cloned().unwrap_or(part);
            Ok(Transformed::new(computed.unalias(), true, TreeNodeRecursion::Jump))
        }
        _ => Ok(Transformed::no(part)),
    };
    Ok(expr.transform_down(column)?.data)
}

/// Whether one of these depends on which rows stand around, and in which block.
///
/// # Errors
/// Those of the walk.
pub fn sees_blocks(exprs: &[Expr]) -> Result<bool> {
    for expr in exprs {
        let is_one = |part: &Expr| {
            Ok(matches!(part, Expr::ScalarFunction(call) if OF_BLOCKS.contains(&call.func.name())))
        };
        if expr.exists(is_one)? {
            return Ok(true);
        }
    }
    Ok(false)
}
