//! Conditions and columns of the same name: DataFusion moves a condition down by the names of its columns.
//!
//! Of a node that has two columns of one name, as every join of a table with itself, it takes the first: the condition then
//! asks another column. Invariant: no condition moves into a node with two columns of one name. The rules over logical plans,
//! which know whose a column is, have moved what they could before.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;

use super::Rule;
use super::barrier::Barrier;
use crate::unary::Unary;

/// What the names of DataFusion's two rules that move conditions begin with.
const MOVES_CONDITIONS: &str = "FilterPushdown";

/// The rule, which meets a barrier over each node with two columns of one name if it moves conditions.
pub(super) fn guarded(rule: Rule) -> Rule {
    if rule.name().starts_with(MOVES_CONDITIONS) { Arc::new(Guarded(rule)) } else { rule }
}

#[derive(Debug)]
struct Guarded(Rule);

impl PhysicalOptimizerRule for Guarded {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let with_barriers = plan.transform_up(|node| match has_same_names(&node) {
            true => Unary::over(node, Barrier::Conditions).map(Transformed::yes),
            false => Ok(Transformed::no(node)),
        })?;
        let moved = self.0.optimize(with_barriers.data, config)?;
        if with_barriers.transformed { Barrier::Conditions.removed(moved) } else { Ok(moved) }
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

fn has_same_names(node: &Arc<dyn ExecutionPlan>) -> bool {
    let schema = node.schema();
    let mut names = HashSet::with_capacity(schema.fields().len());
    !schema.fields().iter().all(|field| names.insert(field.name().as_str()))
}
