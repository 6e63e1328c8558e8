//! UnitScanExec: leases a unit, streams its rows, repeats.
//!
//! Invariant: every unit is streamed to its end exactly once, by whichever partition asked first; so one big file
//! keeps all partitions busy and none waits for a fixed share. Must not know: what the rows are for.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PhysicalExpr, PlanProperties,
};
use futures::{Stream, StreamExt, TryStreamExt};
use load::{UnitLease, UnitQueue, UnitSource};
use model::saturating::u64_of;
use sources::ObjectTable;

use super::unit_ends::{UnitEnd, UnitEnds};
use super::unit_list::UnitList;
use crate::error::{PhysicalError, into_datafusion};

/// Units one partition holds: the one it reads and the one that is being fetched.
const UNITS_OPEN: usize = 2;
/// Small units it holds: a request takes some 30 ms whatever it brings, and a core is through with a small file sooner.
const SMALL_UNITS_OPEN: u64 = 16;
/// Bytes up to which small units are held: what one partition has taken, no other can help with.
const SMALL_BYTES_OPEN: u64 = 8 << 20;

/// Who hands out the units of a scan.
#[derive(Clone, Debug)]
pub(crate) enum Queue {
    /// This scan reads them all.
    Here(UnitQueue),
    /// Others may read of them, too.
    Leased(Arc<dyn UnitSource>),
}

impl Queue {
    /// Whether one of `streams` streams may take a unit while it has another one, and leaves enough to the others.
    pub(crate) fn has_ahead(&self, units: &UnitList, streams: usize) -> bool {
        match self {
            Queue::Here(queue) => queue.counts().0 >= streams,
            Queue::Leased(_) => units.outlook().0 / streams.max(1) >= UNITS_OPEN,
        }
    }

    pub(crate) fn source(&self) -> Arc<dyn UnitSource> {
        match self {
            Queue::Here(queue) => Arc::new(queue.clone()),
            Queue::Leased(source) => Arc::clone(source),
        }
    }
}

pub(crate) struct UnitScanExec {
    pub(crate) table: Arc<ObjectTable>,
    pub(crate) units: Arc<UnitList>,
    pub(crate) queue: Queue,
    projection: Option<Vec<usize>>,
    /// Of all who take units.
    pub(crate) streams: usize,
    ends: Option<Arc<UnitEnds>>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl UnitScanExec {
    /// `units` are numbered as `queue` hands them out.
    pub(crate) fn new(
        table: Arc<ObjectTable>,
        units: Arc<UnitList>,
        queue: Queue,
        projection: Option<Vec<usize>>,
        (partitions, streams): (usize, usize),
        ends: Option<Arc<UnitEnds>>,
    ) -> Result<UnitScanExec> {
        let full = table.schema();
        let schema: SchemaRef = match &projection {
            Some(columns) => Arc::new(full.project(columns)?),
            None => full,
        };
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let metrics = ExecutionPlanMetricsSet::new();
        let properties = Arc::new(properties);
        Ok(UnitScanExec { table, units, queue, projection, streams, ends, properties, metrics })
    }
}

impl fmt::Debug for UnitScanExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UnitScanExec({} units)", self.units.len())
    }
}

impl DisplayAs for UnitScanExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UnitScanExec: files={}, units={}", self.table.files().len(), self.units.len())
    }
}

impl ExecutionPlan for UnitScanExec {
    fn name(&self) -> &str {
        "UnitScanExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let reader = UnitReader {
            table: Arc::clone(&self.table),
            units: Arc::clone(&self.units),
            source: self.queue.source(),
            projection: self.projection.clone(),
            batch_rows: context.session_config().batch_size(),
            ends: self.ends.clone(),
            partition,
            streams: self.streams,
        };
        let schema = Arc::clone(self.properties.eq_properties.schema());
        let counters = BaselineMetrics::new(&self.metrics, partition);
        let mut batches = reader.batches().boxed();
        let counted = futures::stream::poll_fn(move |task| {
            let timer = counters.elapsed_compute().timer();
            let polled = batches.poll_next_unpin(task);
            timer.done();
            counters.record_poll(polled)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, counted)))
    }
}

struct UnitReader {
    table: Arc<ObjectTable>,
    units: Arc<UnitList>,
    source: Arc<dyn UnitSource>,
    projection: Option<Vec<usize>>,
    batch_rows: usize,
    ends: Option<Arc<UnitEnds>>,
    partition: usize,
    streams: usize,
}

type Batch = arrow::array::RecordBatch;

/// How many units one of `partitions` streams has open: by their mean size, and never more than its fair share. Else the
/// first stream takes both halves of a file, and the others have nothing to do.
fn units_open(units: usize, bytes: u64, partitions: usize) -> usize {
    let mean = bytes / u64_of(units.max(1));
    let small = (SMALL_BYTES_OPEN / mean.max(1)).min(SMALL_UNITS_OPEN);
    let by_size = usize::try_from(small).unwrap_or(UNITS_OPEN).max(UNITS_OPEN);
    by_size.min(units / partitions.max(1)).max(1)
}

impl UnitReader {
    /// The next unit is opened while one is read: its requests are under way before its rows are wanted.
    fn batches(self) -> impl Stream<Item = Result<Batch>> + Send {
        let open = self.units_open();
        let reader = Arc::new(self);
        let leases = futures::stream::unfold(reader, |reader| async move {
            let lease = UnitLease::next(&reader.source).await?;
            Some(((Arc::clone(&reader), lease), reader))
        });
        let opened = leases.map(|(reader, lease)| async move { reader.open(lease).await }).buffered(open);
        opened
            .map(|unit| match unit {
                Ok(stream) => stream,
                Err(error) => futures::stream::once(async move { Err(error) }).boxed(),
            })
            .flatten()
    }

    fn units_open(&self) -> usize {
        let (units, bytes) = self.units.outlook();
        units_open(units, bytes, self.streams)
    }

    async fn open(&self, lease: UnitLease) -> Result<futures::stream::BoxStream<'static, Result<Batch>>> {
        let index = lease.unit().map(|unit| unit.id.0 as usize);
        let unit = index.and_then(|index| self.units.get(index));
        let unit = unit
            .ok_or_else(|| into_datafusion(PhysicalError::internal("a lease of a unit that is not there")))?;
        let rows = self.table.scan_unit(&unit, self.projection.as_deref(), &[], self.batch_rows).await;
        let rows = rows.map_err(into_datafusion)?;
        let rows_read = Arc::new(AtomicU64::new(0));
        let (counter, ends, partition) = (Arc::clone(&rows_read), self.ends.clone(), self.partition);
        // The lease is finished by the item after the last batch; dropped before, the unit is free again.
        let end = futures::stream::once(async move {
            if let (Some(ends), Some(unit)) = (ends, lease.unit()) {
                let rows = rows_read.load(Ordering::Relaxed);
                ends.note(partition, UnitEnd { unit: unit.id.0, rows, bytes: unit.bytes });
            }
            lease.finish();
            Ok::<Option<Batch>, datafusion::error::DataFusionError>(None)
        });
        let batches = rows
            .map_err(into_datafusion)
            .inspect_ok(move |batch| {
                counter.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
            })
            .map_ok(Some)
            .chain(end)
            .try_filter_map(|batch| std::future::ready(Ok(batch)));
        Ok(batches.boxed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_opens_ahead_no_more_than_its_share() {
        const MIB: u64 = 1 << 20;
        for (units, bytes, partitions, open) in [
            (2, 1000 * MIB, 2, 1),
            (3, 1000 * MIB, 2, 1),
            (4, 1000 * MIB, 2, 2),
            (12, 400 * MIB, 2, 2),
            (1, MIB, 4, 1),
            (0, 0, 2, 1),
            (1000, 1000 * MIB, 2, 8),
            (1000, 10 * MIB, 2, 16),
            (20, MIB, 4, 5),
        ] {
            assert_eq!(
                units_open(units, bytes, partitions),
                open,
                "{units} units, {bytes} bytes, {partitions} streams"
            );
        }
    }
}
