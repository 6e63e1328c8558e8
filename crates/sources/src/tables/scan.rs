//! `ObjectScanExec`: the scan of an object table as a node of the query engine.
//!
//! The same path as loads: units of row groups or files in one queue, taken by whichever stream is free, each opened
//! ahead, of small files several, so that its bytes arrive while the unit before it is decoded. Footers are read when the first stream
//! runs, not when the plan is made.
//! Invariant: in one run of the plan every unit is read by one stream. Must not know: what is done with the rows.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::config::ConfigOptions;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result as EngineResult, ScalarValue, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation,
};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, SortOrderPushdownResult,
};
use formats::FormatKind;
use futures::StreamExt;
use parking_lot::Mutex;
use stores::error::Result;
use tokio::sync::OnceCell;

use crate::parquet::decode::BatchStream;
use crate::parquet::live_filters::LiveFilters;
use crate::tables::object_table::{ObjectTable, Wanted, to_datafusion};
use crate::tables::read_order::ReadOrder;
use crate::tables::split::SourceUnit;
use crate::tables::unit_feed::UnitFeed;

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

mod fed;

/// See the module.
pub struct ObjectScanExec {
    table: ObjectTable,
    /// Positions of the files that are read.
    files: Vec<usize>,
    projection: Option<Vec<usize>>,
    filters: Vec<Arc<dyn PhysicalExpr>>,
    /// As the nodes above gave them, over this node's columns; empty or `live`.
    offered: Vec<Arc<dyn PhysicalExpr>>,
    live: Option<Arc<LiveFilters>>,
    order: Option<ReadOrder>,
    limit: Option<usize>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    run: Mutex<Run>,
    /// Who says which units are read here, if not this scan.
    feed: Option<Arc<dyn UnitFeed>>,
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
        let streams = match table.counts_rows(projection.as_deref()) {
            true => table.streams(&files, partitions).min(files.len()),
            false => table.streams(&files, partitions),
        };
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
            offered: Vec::new(),
            live: None,
            order: None,
            limit,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
            run: Mutex::default(),
            feed: None,
        })
    }

    /// The same scan, to be changed, as one that has never run.
    fn again(&self) -> ObjectScanExec {
        ObjectScanExec {
            table: self.table.clone(),
            files: self.files.clone(),
            projection: self.projection.clone(),
            filters: self.filters.clone(),
            offered: self.offered.clone(),
            live: self.live.clone(),
            order: self.order.clone(),
            limit: self.limit,
            properties: Arc::clone(&self.properties),
            metrics: ExecutionPlanMetricsSet::new(),
            run: Mutex::default(),
            feed: self.feed.clone(),
        }
    }

    /// Whether there are row groups with bounds.
    fn knows_bounds(&self) -> bool {
        self.table.format() == FormatKind::Parquet && self.table.env().settings.parquet_skip_row_groups
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
    live: Option<Arc<LiveFilters>>,
    order: Option<ReadOrder>,
    streams: usize,
    batch_rows: usize,
    queue: Arc<Queue>,
    feed: Option<Arc<dyn UnitFeed>>,
}

/// State of one stream.
struct Reading {
    scan: Arc<Scan>,
    current: Option<BatchStream>,
    /// Opened units with their bytes, in order.
    ahead: VecDeque<(u64, BatchStream)>,
    left: Option<usize>,
    /// Units are still to be opened ahead.
    ahead_due: bool,
    has_output: bool,
    metrics: BaselineMetrics,
}

impl Scan {
    /// Takes the next unit and sends its first requests.
    async fn open(&self) -> Result<Option<(u64, BatchStream)>> {
        let unit = match &self.feed {
            Some(feed) => feed.next().await?,
            None => self.queue.units.get_or_try_init(|| self.cut()).await?.lock().pop_front(),
        };
        let Some(unit) = unit else { return Ok(None) };
        let wanted = Wanted {
            projection: self.projection.as_deref(),
            filters: &self.filters,
            live: self.live.as_ref(),
            batch_rows: self.batch_rows,
        };
        let opened = self.table.read_unit(&unit, wanted).await?;
        Ok(Some((unit.bytes, opened)))
    }

    async fn cut(&self) -> Result<Mutex<VecDeque<SourceUnit>>> {
        let bytes: u64 = self.files.iter().map(|file| self.table.files()[*file].bytes).sum();
        let streams = u64::try_from(self.streams).unwrap_or(1).max(1);
        let target = (bytes / (streams * UNITS_PER_STREAM)).max(UNIT_BYTES_MIN);
        let units = match &self.order {
            Some(order) => {
                let row_groups = self.table.units_of(&self.files, 1, &self.filters).await?;
                self.in_order(order, row_groups).await?
            }
            None => {
                let units = self.table.units_of(&self.files, target, &self.filters).await?;
                self.table.shared(units, self.projection.as_deref())
            }
        };
        self.table.expect(&units, self.projection.as_deref()).await?;
        Ok(Mutex::new(units.into()))
    }
}

impl Scan {
    /// Units of one row group each, those first that may hold the first rows.
    async fn in_order(&self, order: &ReadOrder, units: Vec<SourceUnit>) -> Result<Vec<SourceUnit>> {
        let mut known: HashMap<usize, Vec<Option<ScalarValue>>> = HashMap::new();
        for file in units.iter().map(|unit| unit.file) {
            // Footers of files without an ETag are not kept: asking again costs more than the order brings.
            if known.contains_key(&file) || self.table.files()[file].etag.is_none() {
                continue;
            }
            let (reader, footer) = self.table.footer_of(file).await?;
            known.insert(file, order.bounds(&footer, &reader.file.path, &self.table.schema()));
        }
        let bound = |unit: &SourceUnit| {
            let row_group = unit.row_groups.as_ref()?.first()?;
            known.get(&unit.file)?.get(*row_group)?.clone()
        };
        Ok(order.sort(units.into_iter().map(|unit| (bound(&unit), unit)).collect()))
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
                self.ahead_due = self.current.is_some() && !few;
            }
            // The first rows may tell that the next unit is not needed.
            let says_nothing = |live: &Arc<LiveFilters>| live.says_nothing();
            let waits = !self.has_output && self.scan.live.as_ref().is_some_and(says_nothing);
            if self.ahead_due && !waits {
                self.ahead_due = false;
                self.open_ahead().await?;
            }
            let Some(current) = &mut self.current else { return Ok(None) };
            match current.next().await {
                None => self.current = None,
                Some(batch) => {
                    let batch = self.limited(batch?);
                    self.has_output = true;
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
        if let Some(order) = &self.order {
            write!(f, ", row_groups_by=[{order}]")?;
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
        for filter in self.filters.iter().chain(&self.offered) {
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

    /// Filters that grow with what the nodes above see: they skip row groups, and are applied again above.
    fn handle_child_pushdown_result(
        &self,
        phase: FilterPushdownPhase,
        result: ChildPushdownResult,
        _config: &ConfigOptions,
    ) -> EngineResult<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        let filters = result.parent_filters.iter().map(|filter| Arc::clone(&filter.filter));
        let offered: Vec<Arc<dyn PhysicalExpr>> = self.offered.iter().cloned().chain(filters).collect();
        let answer = FilterPushdownPropagation::all_unsupported(result);
        if phase != FilterPushdownPhase::Post || !self.knows_bounds() {
            return Ok(answer);
        }
        let about_files = self.table.about_stored_columns(&offered);
        let Some(live) = LiveFilters::new(&about_files, &self.table.schema()) else { return Ok(answer) };
        let exec = ObjectScanExec { live: Some(Arc::new(live)), offered, ..self.again() };
        Ok(answer.with_updated_node(Arc::new(exec)))
    }

    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
    ) -> EngineResult<SortOrderPushdownResult<Arc<dyn ExecutionPlan>>> {
        let order = ReadOrder::of(order).filter(|order| self.table.is_stored(order.column()));
        let (Some(order), true) = (order, self.knows_bounds()) else {
            return Ok(SortOrderPushdownResult::Unsupported);
        };
        let exec = ObjectScanExec { order: Some(order), ..self.again() };
        Ok(SortOrderPushdownResult::Inexact { inner: Arc::new(exec) })
    }

    /// For another run with other rows above: what the filters have learnt does not hold for it.
    fn reset_state(self: Arc<Self>) -> EngineResult<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(ObjectScanExec { live: None, offered: Vec::new(), ..self.again() }))
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
            live: self.live.clone(),
            order: self.order.clone(),
            streams: self.streams(),
            batch_rows: context.session_config().batch_size(),
            queue: self.queue(partition),
            feed: self.feed.clone(),
        };
        let reading = Reading {
            scan: Arc::new(scan),
            current: None,
            ahead: VecDeque::new(),
            left: self.limit,
            ahead_due: false,
            has_output: false,
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
