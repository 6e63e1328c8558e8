//! CommitExec: waits for every sink, then makes all their parts visible in one transaction, or none.
//!
//! Invariant: at most one commit, after the last row of the last partition; an explained INSERT has none. An error,
//! or a stream dropped before, commits nothing, and the uncommitted parts are deleted.

use std::fmt;
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt64Type};
use boundary::error::{Error, into_datafusion};
use datafusion::common::Result;
use datafusion::common::runtime::JoinSet;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, Partitioning, PlanProperties};
use futures::StreamExt;
use physical::unary::{Step, Unary};

use crate::commit::commit_parts;
use crate::target::SinkTarget;

#[derive(Clone)]
pub struct CommitExec {
    pub target: Arc<SinkTarget>,
}

fn count_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("rows", DataType::UInt64, false)]))
}

impl Step for CommitExec {
    const NAME: &'static str = "CommitExec";

    fn shown(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CommitExec: one transaction")
    }

    fn properties(&self, _input: &Arc<dyn ExecutionPlan>) -> Result<Arc<PlanProperties>> {
        Ok(Arc::new(PlanProperties::new(
            EquivalenceProperties::new(count_schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        )))
    }

    fn may_be_divided(&self) -> bool {
        false
    }

    fn execute(
        node: &Unary<Self>,
        _partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let partitions = node.input.properties().partitioning.partition_count();
        let streams: Result<Vec<_>> =
            (0..partitions).map(|partition| node.input.execute(partition, Arc::clone(&context))).collect();
        let (streams, target) = (streams?, Arc::clone(&node.step.target));
        let done = async move {
            // Sinks stop at their next batch when this future goes away before the commit.
            let stop = target.stop.clone().drop_guard();
            let rows = drain(streams).await?;
            let committed = Arc::clone(&target);
            let blocking = move || commit_parts(&committed);
            let joined = target.runtimes.spawn_blocking("commit", blocking).await;
            joined.map_err(|task| into_datafusion(Error::ended_early(task)))?.map_err(into_datafusion)?;
            stop.disarm();
            Ok(RecordBatch::try_new(count_schema(), vec![Arc::new(UInt64Array::from(vec![rows]))])?)
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(count_schema(), futures::stream::once(done))))
    }
}

/// Runs every sink to its end and sums their rows; the first error ends all.
async fn drain(streams: Vec<SendableRecordBatchStream>) -> Result<u64> {
    let mut running = JoinSet::new();
    for mut stream in streams {
        running.spawn(async move {
            let mut rows = 0;
            while let Some(batch) = stream.next().await {
                rows += batch?.column(1).as_primitive::<UInt64Type>().iter().flatten().sum::<u64>();
            }
            Ok::<u64, datafusion::error::DataFusionError>(rows)
        });
    }
    let mut rows = 0;
    while let Some(joined) = running.join_next().await {
        rows +=
            joined.map_err(|e| into_datafusion(Error::internal(format!("a sink ended early: {e}"))))??;
    }
    Ok(rows)
}
