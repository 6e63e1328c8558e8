//! BarrierExec: rows as they come, and something that rules are not to know or do across it.
//!
//! Invariant: rows, their order and their partitions stay as they are.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr, PlanProperties};

use crate::unary::{Step, Unary};

/// What is stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Barrier {
    /// Conditions from above, which are moved by the names of columns.
    Conditions,
    /// What is known of values: which columns are constant, which are equal, and their order.
    Values,
}

impl Barrier {
    /// The plan without barriers of this kind.
    ///
    /// # Errors
    /// Those of the walk.
    pub(super) fn removed(self, plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        let without = |node: Arc<dyn ExecutionPlan>| {
            let barrier = node.downcast_ref::<Unary<Barrier>>().filter(|barrier| barrier.step == self);
            match barrier.map(|barrier| Arc::clone(&barrier.input)) {
                Some(input) => Ok(Transformed::yes(input)),
                None => Ok(Transformed::no(node)),
            }
        };
        Ok(plan.transform_up(without)?.data)
    }
}

impl Step for Barrier {
    const NAME: &'static str = "BarrierExec";

    fn shown(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BarrierExec: {self:?}")
    }

    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Result<Arc<PlanProperties>> {
        let known = input.properties();
        if *self == Barrier::Conditions {
            return Ok(Arc::clone(known));
        }
        // An order may come from constants alone, so none is told either.
        let told = EquivalenceProperties::new(input.schema());
        Ok(Arc::new(PlanProperties::clone(known).with_eq_properties(told)))
    }

    /// A sort that was moved below would not be seen above.
    fn keeps_order(&self) -> bool {
        *self == Barrier::Conditions
    }

    fn may_be_divided(&self) -> bool {
        false
    }

    fn keeps_rows(&self) -> bool {
        true
    }

    fn passes_conditions(&self, _conditions: &[Arc<dyn PhysicalExpr>]) -> bool {
        *self == Barrier::Values
    }

    fn execute(
        node: &Unary<Self>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        node.input.execute(partition, context)
    }
}
