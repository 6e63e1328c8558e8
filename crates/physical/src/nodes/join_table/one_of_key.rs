//! OneOfKeyExec: of rows of equal key the first or the last, of one stream in the order of insertion.
//!
//! Invariant: rows keep their order, and a row with a NULL in its key is none. Memory holds the keys, and for the last row of
//! each all rows; both are asked for. Must not know: which table it is.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::row::{RowConverter, SortField};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{Distribution, ExecutionPlan, Partitioning, PlanProperties};
use futures::{StreamExt, TryStreamExt};

use crate::unary::{Step, Unary};

/// Bytes of a key in the set of keys, beside its own.
const ENTRY_BYTES: usize = 48;

/// Which rows of a key there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OfKey {
    Each,
    First,
    Last,
}

#[derive(Clone)]
pub(crate) struct OneOfKeyExec {
    /// Places of the columns of the key.
    keys: Vec<usize>,
    of_key: OfKey,
}

impl OneOfKeyExec {
    pub(crate) fn over(
        input: Arc<dyn ExecutionPlan>,
        keys: Vec<usize>,
        of_key: OfKey,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Unary::over(input, OneOfKeyExec { keys, of_key })
    }
}

impl Step for OneOfKeyExec {
    const NAME: &'static str = "OneOfKeyExec";

    fn shown(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OneOfKeyExec: of_key={:?}, keys={:?}", self.of_key, self.keys)
    }

    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Result<Arc<PlanProperties>> {
        let known = input.properties().eq_properties.clone();
        let emission =
            if self.of_key == OfKey::Last { EmissionType::Final } else { EmissionType::Incremental };
        let partitioning = Partitioning::UnknownPartitioning(1);
        Ok(Arc::new(PlanProperties::new(known, partitioning, emission, Boundedness::Bounded)))
    }

    fn distribution(&self) -> Distribution {
        Distribution::SinglePartition
    }

    fn keeps_order(&self) -> bool {
        // A sort above stays there: below, it would choose which row of a key there is.
        self.of_key == OfKey::Each
    }

    fn execute(
        node: &Unary<Self>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = node.input.execute(partition, Arc::clone(&context))?;
        let schema = input.schema();
        let OneOfKeyExec { keys, of_key } = node.step.clone();
        let types = keys.iter().map(|key| SortField::new(schema.field(*key).data_type().clone()));
        let converter = RowConverter::new(types.collect())?;
        let memory = MemoryConsumer::new(Self::NAME).register(context.memory_pool());
        let mut keeper = Keeper { keys, of_key, converter, seen: HashSet::new(), memory };
        if of_key == OfKey::Last {
            let last = async move {
                let rows = keeper.last_rows(input).await?;
                // The keeper goes along: it holds the memory of these rows.
                let rows = rows.into_iter().rev().map(move |batch| {
                    let _held = &keeper.memory;
                    Ok(batch)
                });
                Ok::<_, DataFusionError>(futures::stream::iter(rows))
            };
            let rows = futures::stream::once(last).try_flatten();
            return Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)));
        }
        let rows = input.map(move |batch| keeper.kept(&batch?, false));
        let rows =
            rows.filter(|batch| std::future::ready(!matches!(batch, Ok(batch) if batch.num_rows() == 0)));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}

struct Keeper {
    keys: Vec<usize>,
    of_key: OfKey,
    converter: RowConverter,
    seen: HashSet<Box<[u8]>>,
    memory: MemoryReservation,
}

impl Keeper {
    /// The rows of a batch whose key was not seen before, from either end.
    fn kept(&mut self, batch: &RecordBatch, backwards: bool) -> Result<RecordBatch> {
        let columns: Vec<ArrayRef> = self.keys.iter().map(|key| Arc::clone(batch.column(*key))).collect();
        let nulls: Vec<_> = columns.iter().filter_map(|column| column.logical_nulls()).collect();
        let mut passes: Vec<bool> =
            (0..batch.num_rows()).map(|row| !nulls.iter().any(|nulls| nulls.is_null(row))).collect();
        if self.of_key != OfKey::Each {
            let encoded = self.converter.convert_columns(&columns)?;
            for step in 0..passes.len() {
                let row = if backwards { passes.len() - 1 - step } else { step };
                if !passes[row] {
                    continue;
                }
                let key = encoded.row(row);
                passes[row] = !self.seen.contains(key.data());
                if passes[row] {
                    self.memory.try_grow(key.data().len() + ENTRY_BYTES)?;
                    self.seen.insert(key.data().into());
                }
            }
        }
        Ok(filter_record_batch(batch, &BooleanArray::from(passes))?)
    }

    /// The batches of the last rows, the last one first.
    async fn last_rows(&mut self, mut input: SendableRecordBatchStream) -> Result<Vec<RecordBatch>> {
        let (mut all, mut kept) = (Vec::new(), Vec::new());
        while let Some(batch) = input.next().await {
            let batch = batch?;
            self.memory.try_grow(batch.get_array_memory_size())?;
            all.push(batch);
        }
        while let Some(batch) = all.pop() {
            kept.push(self.kept(&batch, true)?);
        }
        Ok(kept)
    }
}
