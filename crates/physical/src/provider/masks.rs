//! The masks of one FINAL read: those that were kept, and those that are computed when the plan runs.
//!
//! Invariant: planning reads nothing; a mask is computed once, by whoever needs it first, and all streams of the plan wait for
//! it. Must not know: how a mask is computed, and which rows are asked for.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use catalog::TableState;
use datafusion::common::{DataFusionError, Result, internal_datafusion_err, internal_err};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use mergetree::Table;
use mergetree::masks::{MaskCache, MaskJob, MaskSource, RowMask, Signature, SourceId, extend};
use model::saturating::usize_of;
use model::{PartDescriptor, PartId, TableId};
use parking_lot::Mutex;
use tokio::sync::{OnceCell, Semaphore};

use super::checked_file::PartChecks;
use crate::error::into_datafusion;

/// Sources whose keys overlap, in the order of insertion.
pub(super) struct MaskRange {
    pub(super) signature: Signature,
    pub(super) sources: Vec<MaskSource>,
    /// By source, if it is known already.
    pub(super) kept: Option<Arc<Vec<RowMask>>>,
    /// Those of the same sources with fewer rows of the log.
    pub(super) before: Option<Arc<Vec<RowMask>>>,
}

/// Which source of which range.
pub(super) type Place = (usize, usize);

/// Masks that somebody computes, and others wait for.
type Computed = OnceCell<Arc<Vec<RowMask>>>;

/// The masks of all tables, of which each is computed by one statement, and few at a time: the others wait for it.
pub struct SharedMasks {
    kept: MaskCache,
    running: Mutex<HashMap<(TableId, Signature), Weak<Computed>>>,
    permits: Arc<Semaphore>,
}

impl SharedMasks {
    /// Computes as many as there are threads, at most.
    pub fn new(kept: MaskCache, threads: usize) -> SharedMasks {
        SharedMasks { kept, running: Mutex::default(), permits: Arc::new(Semaphore::new(threads.max(1))) }
    }

    pub fn kept(&self) -> &MaskCache {
        &self.kept
    }

    /// What others wait for, too, who ask for the same.
    fn shared(&self, table: TableId, signature: &Signature) -> Arc<Computed> {
        let mut running = self.running.lock();
        let key = (table, signature.clone());
        if let Some(known) = running.get(&key).and_then(Weak::upgrade) {
            return known;
        }
        running.retain(|_, known| known.strong_count() > 0);
        let cell = Arc::default();
        running.insert(key, Arc::downgrade(&cell));
        cell
    }
}

/// See the module.
pub(super) struct Masks {
    pub(super) table: Table,
    pub(super) state: Arc<TableState>,
    pub(super) shared: Arc<SharedMasks>,
    pub(super) ranges: Vec<MaskRange>,
    /// By range and source.
    pub(super) found: OnceCell<Vec<Arc<Vec<RowMask>>>>,
}

/// Tells a thread that nobody waits for it any more.
struct Waiting(Arc<AtomicBool>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Masks {
    /// How many ranges are known already.
    pub(super) fn kept(&self) -> usize {
        self.ranges.iter().filter(|range| range.kept.is_some()).count()
    }

    /// Rows of these sources that are shown, if it is known.
    pub(super) fn live_rows(&self, places: &[Place]) -> Option<u64> {
        let of =
            |(range, source): &Place| self.ranges[*range].kept.as_ref()?.get(*source).map(RowMask::live_rows);
        places.iter().map(of).sum()
    }

    /// All masks.
    pub(super) async fn found(&self, context: &TaskContext) -> Result<&Vec<Arc<Vec<RowMask>>>> {
        let all = || {
            let one = |range| self.find(range, context).boxed();
            let waits: Vec<BoxFuture<'_, _>> = self.ranges.iter().map(one).collect();
            stream::iter(waits).buffered(context.session_config().target_partitions().max(1)).try_collect()
        };
        self.found.get_or_try_init(all).await
    }

    async fn find(&self, range: &MaskRange, context: &TaskContext) -> Result<Arc<Vec<RowMask>>> {
        let (id, kept) = (self.table.def.id, self.shared.kept());
        if let Some(known) = &range.kept {
            return Ok(Arc::clone(known));
        }
        let cell = self.shared.shared(id, &range.signature);
        let find = || async {
            // Another statement may have found it meanwhile.
            if let Some(known) = kept.find(id, &range.signature) {
                return Ok(known);
            }
            let masks = Arc::new(self.compute(range, context).await?);
            kept.keep(id, &range.signature, &masks, |source| is_there(&self.state, source));
            Ok::<_, DataFusionError>(masks)
        };
        cell.get_or_try_init(find).await.cloned()
    }

    async fn compute(&self, range: &MaskRange, context: &TaskContext) -> Result<Vec<RowMask>> {
        let checks = context.session_config().get_extension::<PartChecks>();
        let checks = checks.ok_or_else(|| internal_datafusion_err!("no threads to read parts with"))?;
        let permit = Arc::clone(&self.shared.permits).acquire_owned().await;
        let permit = permit.map_err(|e| internal_datafusion_err!("masks are no longer computed: {e}"))?;
        let cancelled = Arc::<AtomicBool>::default();
        let _waiting = Waiting(Arc::clone(&cancelled));
        let (table, sources, before) = (self.table.clone(), range.sources.clone(), range.before.clone());
        let memory = MemoryConsumer::new("masks of FINAL").register(context.memory_pool());
        let work = move || {
            // Given back when the work is done, whoever looks at its result.
            let _permit = permit;
            let job = MaskJob::open(&table, &sources).map_err(into_datafusion)?;
            memory.try_grow(usize_of(job.memory_bytes()))?;
            let masks = match before {
                Some(before) => extend(&table, &job, &before, &cancelled),
                None => job.run(&cancelled),
            };
            masks.map_err(into_datafusion)
        };
        let masks = checks.runtimes.spawn_blocking("mask", work).await;
        masks.map_err(|e| internal_datafusion_err!("a mask was not computed: {e}"))?
    }
}

/// Whether rows that something is known of are still in the table.
pub(super) fn is_there(state: &TableState, source: &SourceId) -> bool {
    match source {
        SourceId::Part(part) => state.part(*part).is_some(),
        SourceId::Rows { first_block, .. } => {
            state.inline().next().is_some_and(|rows| rows.block <= *first_block)
        }
    }
}

/// The parts of a scan that are read by masks.
pub(crate) struct MaskedParts {
    pub(super) masks: Arc<Masks>,
    pub(super) places: HashMap<PartId, Place>,
}

impl MaskedParts {
    /// Of these parts, in their order.
    pub(super) fn places_of(&self, parts: &[Arc<PartDescriptor>]) -> Result<Vec<Place>> {
        let place = |part: &Arc<PartDescriptor>| match self.places.get(&part.id) {
            Some(place) => Ok(*place),
            None => internal_err!("part {} has no mask", part.name()),
        };
        parts.iter().map(place).collect()
    }
}

/// Rows of the log by their mask.
pub(super) struct MaskedRows {
    pub(super) masks: Arc<Masks>,
    /// All rows of a source, in the order of insertion.
    pub(super) sources: Vec<(Place, Vec<RecordBatch>)>,
    pub(super) schema: SchemaRef,
}

impl fmt::Debug for MaskedRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MaskedRows({} sources of {})", self.sources.len(), self.masks.table.def.name)
    }
}

impl PartitionStream for MaskedRows {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let (masks, sources) = (Arc::clone(&self.masks), self.sources.clone());
        let shown = async move {
            let found = masks.found(&context).await?;
            let mut shown = Vec::new();
            for ((range, source), batches) in sources {
                let Some(mask) = found.get(range).and_then(|masks| masks.get(source)) else {
                    return internal_err!("no mask of source {source} of range {range}");
                };
                let mut first = 0;
                for batch in batches {
                    let rows = batch.num_rows();
                    shown.extend(live(&batch, mask, first)?);
                    first += rows;
                }
            }
            Ok(stream::iter(shown.into_iter().map(Ok)))
        };
        let rows = stream::once(shown).try_flatten();
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), rows))
    }
}

/// The rows that are shown of neighbouring ones, of which the first has this number.
fn live(batch: &RecordBatch, mask: &RowMask, first: usize) -> Result<Option<RecordBatch>> {
    let rows = batch.num_rows();
    if usize_of(mask.rows()) < first + rows {
        return internal_err!("a mask of {} rows for row {}", mask.rows(), first + rows);
    }
    let shown = match mask.of_rows(first, rows) {
        None => batch.clone(),
        Some(bits) => filter_record_batch(batch, &BooleanArray::new(bits, None))?,
    };
    Ok(Some(shown).filter(|shown| shown.num_rows() > 0))
}
