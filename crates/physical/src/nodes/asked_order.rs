//! What order the input of a step was asked for.
//!
//! Must not know: what the step does.

use std::sync::Arc;

use datafusion::physical_expr::LexOrdering;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

/// The order that a step's input was asked for. Of what a sort gives, columns are left out that are the same in all rows of a
/// stream; gathered with other streams, they are not.
pub(super) fn asked_order(input: &Arc<dyn ExecutionPlan>) -> Option<LexOrdering> {
    let mut below = input;
    while below.is::<GlobalLimitExec>() || below.is::<LocalLimitExec>() {
        below = below.children().into_iter().next()?;
    }
    let sort = below.downcast_ref::<SortExec>().map(|sort| sort.expr().clone());
    sort.or_else(|| input.output_ordering().cloned())
}
