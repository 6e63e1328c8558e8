//! Plans that read and do nothing else.
//!
//! Must not know: who lets only queries through.

use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::LogicalPlan;

/// Whether a plan is that of a query. The guard lets only these through; this holds even if it had a hole.
///
/// # Errors
/// The plan cannot be walked.
pub fn is_query(plan: &LogicalPlan) -> Result<bool> {
    let mut refused = false;
    plan.apply(|node| {
        refused |= matches!(
            node,
            LogicalPlan::Dml(_) | LogicalPlan::Ddl(_) | LogicalPlan::Copy(_) | LogicalPlan::Statement(_)
        );
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(!refused)
}
