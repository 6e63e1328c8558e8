//! What is constant on the optional side of an outer join is not constant behind it: rows without a partner have NULLs there.
//!
//! DataFusion believes that it is, and takes keys of ORDER BY away. Invariant: only what is known is less; a plan without outer
//! joins over constants stays as it is.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{JoinType, Result};
use datafusion::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::{ExecutionPlan, replace_children_if_necessary};

use super::barrier::Barrier;
use crate::nodes::unary::Unary;

/// See the module.
#[derive(Debug)]
pub(super) struct OptionalSides;

impl PhysicalOptimizerRule for OptionalSides {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let node = |node: Arc<dyn ExecutionPlan>| {
            let (left, right) = match join_type(&node) {
                Some(JoinType::Left) => (false, true),
                Some(JoinType::Right) => (true, false),
                Some(JoinType::Full) => (true, true),
                _ => return Ok(Transformed::no(node)),
            };
            let sides = node.children().into_iter().zip([left, right]);
            let sides =
                sides.map(|(side, is_optional)| (Arc::clone(side), is_optional && knows_values(side)));
            let sides: Vec<_> = sides.collect();
            if !sides.iter().any(|(_, is_told)| *is_told) {
                return Ok(Transformed::no(node));
            }
            let apart = |(side, is_told)| if is_told { Unary::over(side, Barrier::Values) } else { Ok(side) };
            let sides = sides.into_iter().map(apart).collect::<Result<_>>()?;
            Ok(Transformed::yes(replace_children_if_necessary(node, sides)?))
        };
        Ok(plan.transform_up(node)?.data)
    }

    fn name(&self) -> &str {
        "optional_sides"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Takes the barriers away when no rule is left that would believe anything.
#[derive(Debug)]
pub(super) struct WithoutBarriers;

impl PhysicalOptimizerRule for WithoutBarriers {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Barrier::Values.removed(plan)
    }

    fn name(&self) -> &str {
        "without_barriers"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn join_type(node: &Arc<dyn ExecutionPlan>) -> Option<JoinType> {
    let hash = node.downcast_ref::<HashJoinExec>().map(|join| *join.join_type());
    let loops = || node.downcast_ref::<NestedLoopJoinExec>().map(|join| *join.join_type());
    let merge = || node.downcast_ref::<SortMergeJoinExec>().map(SortMergeJoinExec::join_type);
    hash.or_else(loops).or_else(merge)
}

fn knows_values(side: &Arc<dyn ExecutionPlan>) -> bool {
    !side.properties().eq_properties.eq_group().is_empty()
}
