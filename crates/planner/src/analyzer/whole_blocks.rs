//! The analyzer rule that keeps conditions above what is computed of the rows around: `neighbor(x, 1)`,
//! `runningDifference(x)`, `rowNumberInBlock()` and their kin.
//!
//! DataFusion moves a condition on other columns below them, and then they see rows that the query asked of nobody. Invariant: rows,
//! columns and their names stay as they are. Must not know: how such a function is computed.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::{Expr, Filter, LogicalPlan};
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
