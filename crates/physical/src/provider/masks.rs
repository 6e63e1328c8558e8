//! The masks of one FINAL read: those that were kept, and those that are computed when the plan runs.
//!
//! Invariant: planning reads nothing; a mask is computed once, by whoever needs it first, and all streams of the plan wait for
//! it. Must not know: how a mask is computed, and which rows are asked for.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use catalog::TableState;
use datafusion::common::{Result, internal_datafusion_err, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use futures::{TryStreamExt, stream};
use mergetree::Table;
use mergetree::masks::{MaskCache, MaskSource, RowMask, Signature, compute, extend};
use model::saturating::usize_of;
use model::{PartDescriptor, PartId};
use tokio::sync::OnceCell;

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

/// See the module.
pub(super) struct Masks {
    pub(super) table: Table,
    pub(super) state: Arc<TableState>,
    pub(super) cache: Arc<MaskCache>,
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
        self.found.get_or_try_init(|| self.find(context)).await
    }

    async fn find(&self, context: &TaskContext) -> Result<Vec<Arc<Vec<RowMask>>>> {
        let mut found = Vec::with_capacity(self.ranges.len());
        let checks = context.session_config().get_extension::<PartChecks>();
        let checks = checks.ok_or_else(|| internal_datafusion_err!("no threads to read parts with"))?;
        for range in &self.ranges {
            if let Some(kept) = &range.kept {
                found.push(Arc::clone(kept));
                continue;
            }
            // Another statement may have found it meanwhile.
            let id = self.table.def.id;
            if let Some(kept) = self.cache.find(id, &range.signature) {
                found.push(kept);
                continue;
            }
            let cancelled = Arc::<AtomicBool>::default();
            let _waiting = Waiting(Arc::clone(&cancelled));
            let (table, sources, before) = (self.table.clone(), range.sources.clone(), range.before.clone());
            let work = move || match before {
                Some(before) => extend(&table, &sources, &before, &cancelled),
                None => compute(&table, &sources, &cancelled),
            };
            let masks = checks.runtimes.spawn_blocking("mask", work).await;
            let masks = masks.map_err(|e| internal_datafusion_err!("a mask was not computed: {e}"))?;
            let masks = Arc::new(masks.map_err(into_datafusion)?);
            self.cache.keep(id, &range.signature, &masks, |part| self.state.part(part).is_some());
            found.push(masks);
        }
        Ok(found)
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
