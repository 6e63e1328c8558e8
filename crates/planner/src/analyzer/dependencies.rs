//! Which columns determine which below a GROUP BY is not known to it.
//!
//! Invariant: no GROUP BY and no DISTINCT over a join knows of a column of it that determines another, see [`Apart`]; also not
//! when the rules that come behind this one make a GROUP BY of a DISTINCT. Rows and columns stay as they are.

use std::cell::Cell;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Aggregate, Distinct, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;

use crate::nodes::Apart;

/// See the module.
#[derive(Debug)]
pub(crate) struct Dependencies;

impl AnalyzerRule for Dependencies {
    fn name(&self) -> &str {
        "dependencies"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let changed = Cell::new(false);
        let apart = |input: Arc<LogicalPlan>| match repeats_groups(&input)? {
            false => Ok(input),
            true => {
                changed.set(true);
                Apart::over(Arc::unwrap_or_clone(input)).map(Arc::new)
            }
        };
        let node = |node: LogicalPlan| {
            let node = match node {
                LogicalPlan::Aggregate(groups) if !groups.group_expr.is_empty() => LogicalPlan::Aggregate(
                    Aggregate::try_new(apart(groups.input)?, groups.group_expr, groups.aggr_expr)?,
                ),
                LogicalPlan::Distinct(Distinct::All(input)) => {
                    LogicalPlan::Distinct(Distinct::All(apart(input)?))
                }
                other => other,
            };
            // Whatever is above has been told, too.
            if changed.get() {
                node.recompute_schema().map(Transformed::yes)
            } else {
                Ok(Transformed::no(node))
            }
        };
        Ok(plan.transform_up_with_subqueries(node)?.data)
    }
}

/// Whether a join may repeat rows of a GROUP BY or a DISTINCT.
fn repeats_groups(plan: &LogicalPlan) -> Result<bool> {
    let (mut joins, mut groups) = (false, false);
    plan.apply(|node| {
        match node {
            LogicalPlan::Join(_) => joins = true,
            LogicalPlan::Aggregate(_) | LogicalPlan::Distinct(_) => groups = true,
            _ => {}
        }
        Ok(if joins && groups { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(joins && groups)
}
