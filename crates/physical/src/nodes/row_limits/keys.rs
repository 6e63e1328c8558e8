//! KeysExec: rows pass as long as their keys are few enough: of GROUP BY, of DISTINCT, of the set of IN.
//!
//! It stands below the step that keeps the keys, so that endless rows end, and keeps them a second time; memory is asked
//! for. Invariant: keys of all partitions count together; a batch passes whole before its keys are counted, but for those
//! that are left out. Must not know: what is made of the keys.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::row::{RowConverter, SortField};
use datafusion::common::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};
use futures::StreamExt;
use model::ErrorCode;
use model::saturating::u64_of;
use parking_lot::Mutex;
use parts::sorted::with_one_zero;

use super::size::{Overflow, SizeLimit, What};
use crate::error::{PhysicalError, into_datafusion};
use crate::unary::{Step, Unary};

/// Bytes of a key in the table beside its own.
const ENTRY_BYTES: usize = 32;

/// Which keys are counted, and how many there may be.
#[derive(Clone)]
pub(super) struct Rule {
    /// One list of keys for each grouping set.
    pub sets: Vec<Vec<Arc<dyn PhysicalExpr>>>,
    pub limit: SizeLimit,
    pub what: What,
    /// Rows of keys that are left out would have to be in the row of WITH TOTALS.
    pub has_totals: bool,
}

/// See the module.
#[derive(Clone)]
pub(super) struct KeysExec {
    rule: Rule,
    seen: Arc<Mutex<Seen>>,
}

/// The keys that came, of each grouping set.
#[derive(Default)]
struct Seen {
    keys: Vec<HashSet<Box<[u8]>>>,
    bytes: usize,
    /// No further keys, or with [`Overflow::Break`] no further rows.
    is_full: bool,
    memory: Option<MemoryReservation>,
}

impl KeysExec {
    pub(super) fn over(input: &Arc<dyn ExecutionPlan>, rule: Rule) -> Result<Arc<dyn ExecutionPlan>> {
        Unary::over(Arc::clone(input), KeysExec { rule, seen: Arc::default() })
    }

    /// The rows of a batch that pass, and whether more may. `None` when another partition has broken off.
    fn passed(&self, converters: &[RowConverter], batch: RecordBatch) -> Result<Option<(RecordBatch, bool)>> {
        let mut keys = Vec::with_capacity(converters.len());
        for (set, converter) in self.rule.sets.iter().zip(converters) {
            let columns = set.iter().map(|key| key.evaluate(&batch)?.into_array(batch.num_rows()));
            let columns = columns.map(|column| column.map(|column| with_one_zero(&column)));
            keys.push(converter.convert_columns(&columns.collect::<Result<Vec<_>>>()?)?);
        }
        let breaks = self.rule.limit.overflow != Overflow::Any;
        let mut passes = vec![true; batch.num_rows()];
        let mut seen = self.seen.lock();
        if seen.is_full && breaks {
            return Ok(None);
        }
        seen.keys.resize_with(self.rule.sets.len(), HashSet::new);
        let leaves_out = seen.is_full;
        for (set, rows) in keys.iter().enumerate() {
            for (row, passes) in rows.iter().zip(&mut passes) {
                let is_known = seen.keys[set].contains(row.as_ref());
                if !is_known && !leaves_out {
                    seen.add(set, row.as_ref())?;
                }
                *passes &= is_known || !leaves_out;
            }
        }
        if leaves_out {
            let passes = BooleanArray::from(passes);
            return Ok(Some((filter_record_batch(&batch, &passes)?, true)));
        }
        let count = seen.keys.iter().map(HashSet::len).max().unwrap_or(0);
        let (limit, what) = (self.rule.limit, self.rule.what);
        let goes_on = limit.goes_on(what, u64_of(count), u64_of(seen.bytes)).map_err(into_datafusion)?;
        seen.is_full = !goes_on;
        if !goes_on && !breaks && self.rule.has_totals {
            return Err(into_datafusion(without_totals()));
        }
        Ok(Some((batch, goes_on || !breaks)))
    }
}

/// The totals are computed of all rows, and ClickHouse counts those that are left out in some modes only.
fn without_totals() -> PhysicalError {
    PhysicalError::Limit {
        code: ErrorCode::NOT_IMPLEMENTED,
        message: "WITH TOTALS where group_by_overflow_mode leaves out keys is not supported".to_owned(),
        hint: "raise max_rows_to_group_by, or set totals_mode to before_having",
    }
}

impl Seen {
    fn add(&mut self, set: usize, key: &[u8]) -> Result<()> {
        if let Some(memory) = &mut self.memory {
            memory.try_grow(key.len() + ENTRY_BYTES)?;
        }
        self.bytes += key.len();
        self.keys[set].insert(key.into());
        Ok(())
    }
}

impl Step for KeysExec {
    const NAME: &'static str = "KeysExec";

    fn keeps_order(&self) -> bool {
        true
    }

    fn expressions(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.rule.sets.iter().flatten().collect()
    }

    fn execute(
        node: &Unary<Self>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = node.input.execute(partition, Arc::clone(&context))?;
        let (schema, step) = (input.schema(), node.step.clone());
        let converter = |set: &Vec<Arc<dyn PhysicalExpr>>| {
            let types = set.iter().map(|key| key.data_type(&schema).map(SortField::new));
            Ok(RowConverter::new(types.collect::<Result<Vec<_>>>()?)?)
        };
        let converters = step.rule.sets.iter().map(converter).collect::<Result<Vec<_>>>()?;
        let consumer = || MemoryConsumer::new("KeysExec").register(context.memory_pool());
        step.seen.lock().memory.get_or_insert_with(consumer);
        let rows = futures::stream::unfold(Some((input, step, converters)), |running| async move {
            let (mut input, step, converters) = running?;
            match input.next().await?.and_then(|batch| step.passed(&converters, batch)) {
                Ok(Some((batch, true))) => Some((Ok(batch), Some((input, step, converters)))),
                Ok(Some((batch, false))) => Some((Ok(batch), None)),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        });
        let rows =
            rows.filter(|batch| std::future::ready(!matches!(batch, Ok(batch) if batch.num_rows() == 0)));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}
