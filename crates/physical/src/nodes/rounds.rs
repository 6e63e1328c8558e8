//! RoundsExec: a WITH RECURSIVE that does not end is ended after so many rounds.
//!
//! It stands on top of what is run again in each round. Invariant: passes its input's rows on; the round behind the last that
//! is allowed is an error 306. Must not know: what a round computes.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::recursive_query::RecursiveQueryExec;
use datafusion::physical_plan::{ExecutionPlan, replace_children_if_necessary};
use model::ErrorCode;

use crate::error::{PhysicalError, into_datafusion};
use crate::unary::{Step, Unary};

/// The plan with every recursion of it limited to `rounds_max` rounds (`max_recursive_cte_evaluation_depth`).
///
/// # Errors
/// A node does not take its inputs back.
pub fn limited(plan: Arc<dyn ExecutionPlan>, rounds_max: u64) -> Result<Arc<dyn ExecutionPlan>> {
    let done = plan.transform_up(|node| {
        let Some(recursion) = node.downcast_ref::<RecursiveQueryExec>() else {
            return Ok(Transformed::no(node));
        };
        let round = RoundsExec { name: recursion.name().into(), rounds: Arc::default(), rounds_max };
        let round = Unary::over(Arc::clone(recursion.recursive_term()), round)?;
        let inputs = vec![Arc::clone(recursion.static_term()), round];
        Ok(Transformed::yes(replace_children_if_necessary(Arc::clone(&node), inputs)?))
    })?;
    Ok(done.data)
}

#[derive(Clone)]
struct RoundsExec {
    /// Of the WITH item.
    name: Arc<str>,
    /// Begun so far; each round runs a copy of this node.
    rounds: Arc<AtomicU64>,
    rounds_max: u64,
}

impl Step for RoundsExec {
    const NAME: &'static str = "RoundsExec";

    fn shown(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RoundsExec: at most {}", self.rounds_max)
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn execute(
        node: &Unary<Self>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let RoundsExec { name, rounds, rounds_max } = &node.step;
        if rounds.fetch_add(1, Ordering::Relaxed) >= *rounds_max {
            let message = format!(
                "Maximum recursive CTE evaluation depth ({rounds_max}) exceeded, during evaluation of {name}"
            );
            return Err(into_datafusion(PhysicalError::limit(
                ErrorCode::TOO_DEEP_RECURSION,
                message,
                "consider raising the setting max_recursive_cte_evaluation_depth",
            )));
        }
        node.input.execute(partition, context)
    }
}
