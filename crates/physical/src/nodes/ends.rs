//! EndsExec: LIMIT and OFFSET that count from the end or take a share, over one stream of rows.
//!
//! Invariant: rows keep their order, and their order is that of the input when the plan was made. Memory holds the rows that
//! may still pass, and is asked for. Must not know: how a count was written.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{LexOrdering, OrderingRequirements};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{Distribution, ExecutionPlan, Partitioning, PlanProperties};
use futures::{StreamExt, TryStreamExt};
use model::saturating::{u64_of, usize_of};
use planner::nodes::Ends;

use super::asked_order::asked_order;
use crate::unary::{Step, Unary};

#[derive(Clone)]
pub(crate) struct EndsExec {
    ends: Ends,
    ordering: Option<LexOrdering>,
}

impl EndsExec {
    pub(crate) fn over(input: Arc<dyn ExecutionPlan>, ends: Ends) -> Result<Arc<dyn ExecutionPlan>> {
        let ordering = asked_order(&input);
        Unary::over(input, EndsExec { ends, ordering })
    }
}

impl Step for EndsExec {
    const NAME: &'static str = "EndsExec";

    fn shown(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EndsExec: skip={:?}, fetch={:?}", self.ends.skip, self.ends.fetch)
    }

    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Result<Arc<PlanProperties>> {
        // Rows that are said to have an order would let the limit of a sort above through.
        let mut known = input.properties().eq_properties.clone();
        known.clear_orderings();
        Ok(Arc::new(PlanProperties::new(
            known,
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        )))
    }

    fn distribution(&self) -> Distribution {
        Distribution::SinglePartition
    }

    fn ordering(&self) -> Option<OrderingRequirements> {
        self.ordering.clone().map(OrderingRequirements::from)
    }

    fn execute(
        node: &Unary<Self>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let mut input = node.input.execute(partition, Arc::clone(&context))?;
        let schema = input.schema();
        let memory = MemoryConsumer::new("EndsExec").register(context.memory_pool());
        let mut held =
            Held { ends: node.step.ends.clone(), batches: VecDeque::new(), first: 0, total: 0, memory };
        let rows = futures::stream::once(async move {
            while let Some(batch) = input.next().await {
                held.take(batch?)?;
            }
            let passing = held.passing().into_iter().map(Ok::<_, DataFusionError>);
            Ok::<_, DataFusionError>(futures::stream::iter(passing))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows.try_flatten())))
    }
}

/// The rows that may pass, of those that came.
struct Held {
    ends: Ends,
    batches: VecDeque<RecordBatch>,
    /// How many rows came before those that are held.
    first: u64,
    total: u64,
    memory: MemoryReservation,
}

impl Held {
    fn take(&mut self, batch: RecordBatch) -> Result<()> {
        self.total += u64_of(batch.num_rows());
        self.memory.try_grow(batch.get_array_memory_size())?;
        self.batches.push_back(batch);
        // More rows only move the start further.
        let start = self.ends.passing(self.total).start;
        while let Some(batch) = self.batches.front() {
            let end = self.first + u64_of(batch.num_rows());
            if end > start {
                break;
            }
            self.memory.shrink(batch.get_array_memory_size());
            self.first = end;
            self.batches.pop_front();
        }
        Ok(())
    }

    fn passing(self) -> Vec<RecordBatch> {
        let passing = self.ends.passing(self.total);
        let mut at = self.first;
        let mut out = vec![];
        for batch in self.batches {
            let end = at + u64_of(batch.num_rows());
            let (from, to) = (passing.start.max(at), passing.end.min(end));
            if from < to {
                out.push(batch.slice(usize_of(from - at), usize_of(to - from)));
            }
            at = end;
        }
        out
    }
}
