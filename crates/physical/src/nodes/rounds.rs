//! RoundsExec: a WITH RECURSIVE that does not end is ended after so many rounds.
//!
//! It stands on top of what is run again in each round. Invariant: passes its input's rows on; the round behind the last that
//! is allowed is an error 306. Must not know: what a round computes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::recursive_query::RecursiveQueryExec;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PhysicalExpr, PlanProperties, replace_children_if_necessary,
};
use model::ErrorCode;

use crate::error::{PhysicalError, into_datafusion};

/// The plan with every recursion of it limited to `rounds_max` rounds (`max_recursive_cte_evaluation_depth`).
///
/// # Errors
/// A node does not take its inputs back.
pub fn limited(plan: Arc<dyn ExecutionPlan>, rounds_max: u64) -> Result<Arc<dyn ExecutionPlan>> {
    let done = plan.transform_up(|node| {
        let Some(recursion) = node.downcast_ref::<RecursiveQueryExec>() else {
            return Ok(Transformed::no(node));
        };
        let round: Arc<dyn ExecutionPlan> = Arc::new(RoundsExec {
            input: Arc::clone(recursion.recursive_term()),
            name: recursion.name().into(),
            rounds: Arc::default(),
            rounds_max,
        });
        let inputs = vec![Arc::clone(recursion.static_term()), round];
        Ok(Transformed::yes(replace_children_if_necessary(Arc::clone(&node), inputs)?))
    })?;
    Ok(done.data)
}

#[derive(Debug)]
struct RoundsExec {
    input: Arc<dyn ExecutionPlan>,
    /// Of the WITH item.
    name: Arc<str>,
    /// Begun so far; each round runs a copy of this node.
    rounds: Arc<AtomicU64>,
    rounds_max: u64,
}

impl DisplayAs for RoundsExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RoundsExec: at most {}", self.rounds_max)
    }
}

impl ExecutionPlan for RoundsExec {
    fn name(&self) -> &str {
        "RoundsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (name, rounds, rounds_max) = (Arc::clone(&self.name), Arc::clone(&self.rounds), self.rounds_max);
        Ok(Arc::new(RoundsExec { input: children.swap_remove(0), name, rounds, rounds_max }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if self.rounds.fetch_add(1, Ordering::Relaxed) >= self.rounds_max {
            let (most, name) = (self.rounds_max, &self.name);
            let message = format!(
                "Maximum recursive CTE evaluation depth ({most}) exceeded, during evaluation of {name}"
            );
            return Err(into_datafusion(PhysicalError::limit(
                ErrorCode::TOO_DEEP_RECURSION,
                message,
                "consider raising the setting max_recursive_cte_evaluation_depth",
            )));
        }
        self.input.execute(partition, context)
    }
}
