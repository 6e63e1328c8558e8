//! The rows of a plan through sinks, and one commit of all their parts; or their pages as they are.
//!
//! Invariant: the parts become visible by one transaction, or are deleted. Must not know: what the rows are.

use std::sync::Arc;

use boundary::error::Error;
use boundary::request::Rows;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use futures::StreamExt;
use physical::adopt::AdoptExec;
use physical::nodes::running::early_rows::with_early_rows;
use physical::nodes::running::interruptible::interruptible;
use physical::nodes::running::metered::metered;
use physical::unary::Unary;
use sinks::exec::commit::CommitExec;
use sinks::exec::sink::SinkExec;
use sinks::target::SinkTarget;

use crate::context::execution::Execution;
use crate::context::limits::stopped_of;
use crate::context::services::Services;
use crate::load::adopting::adoption_of;

/// Runs a plan into the target.
pub(crate) async fn write_planned(
    services: &Services,
    execution: &Execution,
    physical: Arc<dyn ExecutionPlan>,
    task: Arc<TaskContext>,
    target: Arc<SinkTarget>,
) -> Result<Rows, Error> {
    let into = (&target.table, target.conform.as_ref());
    let adoption = adoption_of(services, execution, &physical, into, target.claim.as_deref());
    let written: Arc<dyn ExecutionPlan> = match adoption {
        Ok(adoption) if adoption.is_worth_a_try().await? => {
            Arc::new(AdoptExec::new(Arc::clone(&target) as _, Arc::new(adoption)))
        }
        _ => {
            let read = interruptible(metered(with_early_rows(physical)?)?, &stopped_of(execution))?;
            Unary::over(read, SinkExec { target: Arc::clone(&target) })?
        }
    };
    let plan = Unary::over(written, CommitExec { target })?;
    execution.progress.watch(&plan);
    let mut committed = execute_stream(plan, task)?;
    while let Some(batch) = committed.next().await {
        batch.map_err(Error::from)?;
    }
    services.wake.notify_waiters();
    Ok(Rows::none())
}
