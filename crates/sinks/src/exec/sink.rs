//! SinkExec: rows of a partition in, one row per sealed part out.
//!
//! Invariant: parts are durable and uncommitted when their row comes out. Each partition works on a thread
//! of its own, because sorting and encoding are CPU work; the input is polled there too, so a row is decoded, sorted
//! and encoded by one thread. Must not know: how parts are committed.

use std::fmt;
use std::sync::Arc;

use boundary::error::{Error, into_datafusion};
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, Partitioning, PlanProperties};
use futures::StreamExt;
use mergetree::write::PartSink;
use model::SealedPart;
use model::saturating::usize_of;
use physical::nodes::sealed_rows::{SinkCounters, part_rows, part_schema};
use physical::unary::{Step, Unary};

use crate::target::SinkTarget;

#[derive(Clone)]
pub struct SinkExec {
    pub target: Arc<SinkTarget>,
}

impl Step for SinkExec {
    const NAME: &'static str = "SinkExec";

    fn shown(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SinkExec: table={}", self.target.table.def.name)
    }

    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Result<Arc<PlanProperties>> {
        Ok(Arc::new(PlanProperties::new(
            EquivalenceProperties::new(part_schema()),
            Partitioning::UnknownPartitioning(input.properties().partitioning.partition_count()),
            EmissionType::Final,
            Boundedness::Bounded,
        )))
    }

    fn may_be_divided(&self) -> bool {
        // Resuming a load needs to know which unit went into which part: no shuffle below a sink.
        false
    }

    fn execute(
        node: &Unary<Self>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = node.input.execute(partition, context)?;
        let target = Arc::clone(&node.step.target);
        let counters = SinkCounters::new(&node.metrics, partition);
        let done =
            async move { part_rows(&write_counted(input, target, counters).await.map_err(into_datafusion)?) };
        Ok(Box::pin(RecordBatchStreamAdapter::new(part_schema(), futures::stream::once(done))))
    }
}

/// Sorts and writes a stream on a thread of its own; the parts are durable, and among the target's uncommitted ones even
/// if nobody waits for the answer any more.
pub async fn write_stream(
    input: SendableRecordBatchStream,
    target: Arc<SinkTarget>,
) -> Result<Vec<SealedPart>, Error> {
    write_counted(input, target, SinkCounters::default()).await
}

async fn write_counted(
    input: SendableRecordBatchStream,
    target: Arc<SinkTarget>,
    counters: SinkCounters,
) -> Result<Vec<SealedPart>, Error> {
    let handle = tokio::runtime::Handle::current();
    let runtimes = target.runtimes.clone();
    let work = move || {
        let parts = handle.block_on(run(input, &target, &counters))?;
        counters.sealed(&parts);
        target.uncommitted.add(parts.clone());
        Ok(parts)
    };
    let written = runtimes.spawn_thread("sink", work)?;
    written.await.map_err(|_| Error::internal("a sink ended early"))?
}

async fn run(
    mut input: SendableRecordBatchStream,
    target: &SinkTarget,
    counters: &SinkCounters,
) -> Result<Vec<SealedPart>, Error> {
    let mut sink = PartSink::new(target.table.clone(), target.settings.clone())?;
    let clock = &target.table.host.clock;
    let mut rows_taken = 0;
    loop {
        let batch = tokio::select! {
            biased;
            () = target.stop.cancelled() => return Err(Error::cancelled()),
            batch = input.next() => batch,
        };
        let Some(batch) = batch else { break };
        let before = clock.monotonic();
        let batch = target.conform.apply_behind(rows_taken, &batch.map_err(Error::from)?)?;
        rows_taken += batch.num_rows() as u64;
        let (rows, bytes) = (batch.num_rows() as u64, batch.get_array_memory_size() as u64);
        if let Some(claim) = &target.claim {
            claim.add_rows(&batch)?;
        }
        sink.write(batch)?;
        target.progress.add_written(rows, bytes);
        counters.wrote(usize_of(rows), clock.monotonic().saturating_sub(before));
    }
    let before = clock.monotonic();
    let parts = sink.finish()?;
    counters.wrote(0, clock.monotonic().saturating_sub(before));
    Ok(parts)
}
