//! DrawnExec: rows as they come, and a barrier over columns whose values are drawn anew each time they are computed.
//!
//! DataFusion moves a condition below a projection by putting the projection's expressions in place of its columns. Of
//! `rand()` the condition then sees another value than is shown. Invariant: no condition passes, and rows stay as they are.
//! Must not know: which expressions draw.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchemaRef, Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore};

use crate::unary::{Step, Unary};

/// The barrier over a projection.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Drawn {
    input: LogicalPlan,
}

/// The plan with a barrier over each projection that draws. Only for a plan that no rule sees any more: those over logical
/// plans know what is volatile, and may move the rest.
pub(super) fn with_barriers(plan: LogicalPlan) -> Result<LogicalPlan> {
    let node = |node: LogicalPlan| {
        let draws = matches!(&node, LogicalPlan::Projection(made) if made.expr.iter().any(Expr::is_volatile));
        Ok(match draws {
            true => {
                Transformed::yes(LogicalPlan::Extension(Extension { node: Arc::new(Drawn { input: node }) }))
            }
            false => Transformed::no(node),
        })
    };
    Ok(plan.transform_up_with_subqueries(node)?.data)
}

impl PartialOrd for Drawn {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for Drawn {
    fn name(&self) -> &str {
        "Drawn"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Drawn")
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        let Some(input) = inputs.pop() else { return internal_err!("a barrier has no input") };
        Ok(Drawn { input })
    }
}

#[derive(Clone)]
pub(crate) struct DrawnExec;

impl Step for DrawnExec {
    const NAME: &'static str = "DrawnExec";

    fn keeps_order(&self) -> bool {
        true
    }

    fn execute(
        node: &Unary<Self>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        node.input.execute(partition, context)
    }
}
