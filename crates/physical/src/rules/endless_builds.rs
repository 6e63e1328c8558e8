//! Joins of rows that never end: DataFusion reads the left side to its end before it looks at the right one.
//!
//! It decides by what it knows of their sizes, which is nothing here. Invariant: only a join whose left side may be endless and
//! whose right side is not gets its sides changed; rows and columns stay as they are.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec, PartitionMode};

use super::Rule;
use crate::provider::endless::{builds_from_left, is_endless};

/// DataFusion's rule that chooses sides.
const CHOOSES_SIDES: &str = "join_selection";

/// The rule, and behind the one that chooses sides ours.
pub(super) fn followed(rule: Rule) -> Vec<Rule> {
    let follows = rule.name() == CHOOSES_SIDES;
    std::iter::once(rule).chain(follows.then(|| Arc::new(EndlessBuilds) as Rule)).collect()
}

#[derive(Debug)]
struct EndlessBuilds;

impl PhysicalOptimizerRule for EndlessBuilds {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let node = |node: Arc<dyn ExecutionPlan>| match ends_on_the_right(&node) {
            true => Ok(swapped(&node)?.map_or(Transformed::no(node), Transformed::yes)),
            false => Ok(Transformed::no(node)),
        };
        Ok(plan.transform_up(node)?.data)
    }

    fn name(&self) -> &str {
        "endless_builds"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn ends_on_the_right(node: &Arc<dyn ExecutionPlan>) -> bool {
    match node.children().as_slice() {
        [left, right] => builds_from_left(node) && is_endless(left) && !is_endless(right),
        _ => false,
    }
}

/// The join with its sides changed, where it can be.
fn swapped(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(join) = node.downcast_ref::<HashJoinExec>() {
        let may_be = join.join_type().supports_swap() && !join.null_aware;
        return may_be.then(|| join.swap_inputs(PartitionMode::CollectLeft)).transpose();
    }
    if let Some(join) = node.downcast_ref::<NestedLoopJoinExec>() {
        return join.join_type().supports_swap().then(|| join.swap_inputs()).transpose();
    }
    node.downcast_ref::<CrossJoinExec>().map(CrossJoinExec::swap_inputs).transpose()
}
