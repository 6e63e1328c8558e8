//! `ObjectScanExec`: the scan of an object table as a node of the query engine.
//!
//! The same path as loads: units of row groups or files in one queue, taken by whichever stream is free, each opened
//! ahead, of small files several, so that its bytes arrive while the unit before it is decoded. Footers are read when the first stream
//! runs, not when the plan is made.
//! Invariant: in one run of the plan every unit is read by one stream. Must not know: what is done with the rows.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result as EngineResult, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use futures::StreamExt;
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use crate::error::Result;
use crate::object_table::{ObjectTable, to_datafusion};
use crate::parquet_stream::BatchStream;
use crate::split::SourceUnit;

/// Units per stream aimed at: enough to even out differences, few enough to keep requests large.
const UNITS_PER_STREAM: u64 = 4;
/// Smallest unit worth its own turn.
const UNIT_BYTES_MIN: u64 = 4 << 20;
/// Small files a stream has opened ahead: a request takes some 30 ms whatever it brings, in which a core parses ten
/// megabytes, so one at a time would leave it idle.
const SMALL_UNITS_AHEAD: usize = 16;
/// Bytes of them: what one stream has taken, no other can help with.
const SMALL_BYTES_AHEAD: u64 = 4 << 20;
/// A LIMIT up to this opens no unit ahead.
const FEW_ROWS: usize = 8192;

pub(crate) struct ObjectScanExec {
    table: ObjectTable,
    /// Positions of the files that are read.
    files: Vec<usize>,
    projection: Option<Vec<usize>>,
    filters: Vec<Arc<dyn PhysicalExpr>>,
    limit: Option<usize>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    run: Mutex<Run>,
}

/// One run of the plan: the queue its streams share, and which of them have started.
#[derive(Default)]
struct Run {
    queue: Arc<Queue>,
    started: HashSet<usize>,
}

#[derive(Default)]
struct Queue {
    units: OnceCell<Mutex<VecDeque<SourceUnit>>>,
}

impl ObjectScanExec {
    pub(crate) fn try_new(
        table: ObjectTable,
        files: Vec<usize>,
        projection: Option<Vec<usize>>,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        limit: Option<usize>,
        partitions: usize,
    ) -> EngineResult<Self> {
        let schema = match &projection {
            Some(positions) => Arc::new(table.schema().project(positions)?),
            None => table.schema(),
        };
        let streams = table.streams(&files, partitions);
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(streams.max(1)),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(ObjectScanExec {
            table,
            files,
            projection,
            filters,
            limit,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
            run: Mutex::default(),
        })
    }

    fn streams(&self) -> usize {
        self.properties.partitioning.partition_count()
    }

    fn schema_ref(&self) -> SchemaRef {
        Arc::clone(self.properties.eq_properties.schema())
    }

    /// The queue of the run that this stream belongs to: a stream that starts a second time starts a new run.
    fn queue(&self, partition: usize) -> Arc<Queue> {
        let mut run = self.run.lock();
        if !run.started.insert(partition) {
            *run = Run { queue: Arc::default(), started: HashSet::from([partition]) };
        }
        Arc::clone(&run.queue)
    }
}

/// What the streams of one run share.
struct Scan {
    table: ObjectTable,
    files: Vec<usize>,
    projection: Option<Vec<usize>>,
    filters: Vec<Arc<dyn PhysicalExpr>>,
    streams: usize,
    batch_rows: usize,
    queue: Arc<Queue>,
}

/// State of one stream.
struct Reading {
    scan: Arc<Scan>,
    current: Option<BatchStream>,
    /// Opened units with their bytes, in order.
    ahead: VecDeque<(u64, BatchStream)>,
    left: Option<usize>,
    metrics: BaselineMetrics,
}

impl Scan {
    /// Takes the next unit and sends its first requests.
    async fn open(&self) -> Result<Option<(u64, BatchStream)>> {
        let units = self.queue.units.get_or_try_init(|| self.cut()).await?;
        let Some(unit) = units.lock().pop_front() else { return Ok(None) };
        let opened =
            self.table.scan_unit(&unit, self.projection.as_deref(), &self.filters, self.batch_rows).await?;
        Ok(Some((unit.bytes, opened)))
    }

    async fn cut(&self) -> Result<Mutex<VecDeque<SourceUnit>>> {
        let bytes: u64 = self.files.iter().map(|file| self.table.files()[*file].bytes).sum();
        let streams = u64::try_from(self.streams).unwrap_or(1).max(1);
        let target = (bytes / (streams * UNITS_PER_STREAM)).max(UNIT_BYTES_MIN);
        let units = self.table.shared(self.table.units_of(&self.files, target, &self.filters).await?);
        self.table.expect(&units, self.projection.as_deref()).await?;
        Ok(Mutex::new(units.into()))
    }
}

impl Reading {
    async fn next(mut self) -> Result<Option<(RecordBatch, Reading)>> {
        loop {
            if self.left == Some(0) {
                return Ok(None);
            }
            if self.current.is_none() {
                let next = match self.ahead.pop_front() {
                    Some(opened) => Some(opened),
                    None => self.scan.open().await?,
                };
                self.current = next.map(|(_, stream)| stream);
                // The next unit of a few rows is most likely never needed.
                let few = self.left.is_some_and(|left| left <= FEW_ROWS);
                if self.current.is_some() && !few {
                    self.open_ahead().await?;
                }
            }
            let Some(current) = &mut self.current else { return Ok(None) };
            match current.next().await {
                None => self.current = None,
                Some(batch) => {
                    let batch = self.limited(batch?);
                    self.metrics.record_output(batch.num_rows());
                    return Ok(Some((batch, self)));
                }
            }
        }
    }

    /// The next unit, and more while they are small. Who needs few rows asks for no more than one.
    async fn open_ahead(&mut self) -> Result<()> {
        if !self.scan.table.env().settings.reads_ahead() {
            return Ok(());
        }
        let units_max = if self.left.is_some() { 1 } else { SMALL_UNITS_AHEAD };
        let mut bytes: u64 = self.ahead.iter().map(|(bytes, _)| bytes).sum();
        while self.ahead.is_empty() || self.ahead.len() < units_max && bytes < SMALL_BYTES_AHEAD {
            let Some(opened) = self.scan.open().await? else { break };
            bytes = bytes.saturating_add(opened.0);
            self.ahead.push_back(opened);
        }
        Ok(())
    }

    fn limited(&mut self, batch: RecordBatch) -> RecordBatch {
        let Some(left) = &mut self.left else { return batch };
        let rows = batch.num_rows().min(*left);
        *left -= rows;
        if rows < batch.num_rows() { batch.slice(0, rows) } else { batch }
    }
}

impl fmt::Debug for ObjectScanExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectScanExec").field("table", &self.table).finish_non_exhaustive()
    }
}

impl DisplayAs for ObjectScanExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<String> =
            self.schema_ref().fields().iter().map(|field| field.name().clone()).collect();
        write!(
            f,
            "ObjectScanExec: format={}, files={} of {}, columns=[{}]",
            self.table.format().name(),
            self.files.len(),
            self.table.files().len(),
            columns.join(", ")
        )?;
        if let Some(division) = self.table.text_division(&self.files, self.streams()) {
            write!(f, ", {division}")?;
        }
        if !self.filters.is_empty() {
            let filters: Vec<String> = self.filters.iter().map(ToString::to_string).collect();
            write!(f, ", skip_by=[{}]", filters.join(", "))?;
        }
        if let Some(limit) = self.limit {
            write!(f, ", limit={limit}")?;
        }
        Ok(())
    }
}

impl ExecutionPlan for ObjectScanExec {
    fn name(&self) -> &str {
        "ObjectScanExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> EngineResult<TreeNodeRecursion>,
    ) -> EngineResult<TreeNodeRecursion> {
        for filter in &self.filters {
            if f(filter)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        if children.is_empty() { Ok(self) } else { internal_err!("an object scan has no inputs") }
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> EngineResult<SendableRecordBatchStream> {
        let scan = Scan {
            table: self.table.clone(),
            files: self.files.clone(),
            projection: self.projection.clone(),
            filters: self.filters.clone(),
            streams: self.streams(),
            batch_rows: context.session_config().batch_size(),
            queue: self.queue(partition),
        };
        let reading = Reading {
            scan: Arc::new(scan),
            current: None,
            ahead: VecDeque::new(),
            left: self.limit,
            metrics: BaselineMetrics::new(&self.metrics, partition),
        };
        let batches = futures::stream::try_unfold(reading, Reading::next);
        let batches = batches.map(|batch| batch.map_err(to_datafusion));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema_ref(), batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn partition_statistics(&self, partition: Option<usize>) -> EngineResult<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(&self.schema_ref());
        let all_files = self.files.len() == self.table.files().len();
        if let (None, Some(rows), true) = (partition, self.table.rows(), all_files) {
            let rows = usize::try_from(rows).map_err(|error| DataFusionError::External(Box::new(error)))?;
            statistics.num_rows = match (self.filters.is_empty(), self.limit) {
                (true, None) => Precision::Exact(rows),
                (_, limit) => Precision::Inexact(limit.map_or(rows, |limit| limit.min(rows))),
            };
        }
        Ok(Arc::new(statistics))
    }

    fn supports_limit_pushdown(&self) -> bool {
        false
    }

    fn fetch(&self) -> Option<usize> {
        self.limit
    }
}
