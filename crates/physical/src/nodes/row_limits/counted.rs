//! LimitExec: rows pass as long as the statement, or the step above, may have more of them.
//!
//! Invariant: rows of all partitions count together, and nothing is asked of the input once the limit is reached. Must not
//! know: which step is above.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use functions::row_bytes;
use futures::StreamExt;
use model::saturating::u64_of;

use super::size::{SizeLimit, What};
use crate::error::into_datafusion;
use crate::unary::{Step, Unary};

/// Rows and bytes that the statement has read until now.
pub type Read = Arc<dyn Fn() -> (u64, u64) + Send + Sync>;

/// What is counted.
#[derive(Clone)]
pub(super) enum Counted {
    /// All that the statement reads.
    Reads(Read),
    /// The rows that pass here, or so many of each batch as the step above keeps.
    Passing { seen: Arc<(AtomicU64, AtomicU64)>, kept: Option<usize> },
}

/// See the module.
#[derive(Clone)]
pub(super) struct LimitExec {
    limit: SizeLimit,
    what: What,
    counted: Counted,
}

impl LimitExec {
    pub(super) fn over(
        input: &Arc<dyn ExecutionPlan>,
        limit: SizeLimit,
        what: What,
        counted: Counted,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Unary::over(Arc::clone(input), LimitExec { limit, what, counted })
    }

    /// Whether more may come after these rows.
    fn goes_on(&self, batch: &RecordBatch) -> Result<bool> {
        let (rows, bytes) = match &self.counted {
            Counted::Reads(read) => read(),
            Counted::Passing { seen, kept } => {
                let all = batch.num_rows();
                let rows = kept.map_or(all, |kept| kept.min(all));
                let bytes = match self.limit.bytes > 0 {
                    true => {
                        let bytes: usize = batch.columns().iter().map(row_bytes).sum();
                        u64_of(bytes) * u64_of(rows) / u64_of(all.max(1))
                    }
                    false => 0,
                };
                let add = |to: &AtomicU64, more: u64| to.fetch_add(more, Ordering::Relaxed) + more;
                (add(&seen.0, u64_of(rows)), add(&seen.1, bytes))
            }
        };
        self.limit.goes_on(self.what, rows, bytes).map_err(into_datafusion)
    }

    /// Whether another partition has reached the limit.
    fn is_reached(&self) -> bool {
        let (rows, bytes) = match &self.counted {
            Counted::Reads(read) => read(),
            Counted::Passing { seen, .. } => (seen.0.load(Ordering::Relaxed), seen.1.load(Ordering::Relaxed)),
        };
        matches!(self.limit.goes_on(self.what, rows, bytes), Ok(false))
    }
}

impl Step for LimitExec {
    const NAME: &'static str = "LimitExec";

    fn keeps_order(&self) -> bool {
        true
    }

    fn execute(
        node: &Unary<Self>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let rows = node.input.execute(partition, context)?;
        let (schema, step, has_begun) = (rows.schema(), node.step.clone(), false);
        let within = futures::stream::unfold(Some((rows, step, has_begun)), |running| async move {
            let (mut rows, step, has_begun) = running?;
            // What is in memory counts as read before its first batch, which is handed on.
            if has_begun && step.is_reached() {
                return None;
            }
            match rows.next().await? {
                Ok(batch) => match step.goes_on(&batch) {
                    Ok(true) => Some((Ok(batch), Some((rows, step, true)))),
                    Ok(false) => Some((Ok(batch), None)),
                    Err(error) => Some((Err(error), None)),
                },
                Err(error) => Some((Err(error), None)),
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, within)))
    }
}
