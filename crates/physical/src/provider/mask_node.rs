//! Leaves out the rows of parts that their masks do not show.
//!
//! The scan below gives, behind the columns, which part a row is of and its number in the part. Invariant: a row is judged by
//! its own number, so that row groups and pages may be passed over below. Must not know: why a row is not shown.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, AsArray, BooleanArray, BooleanBufferBuilder, RecordBatch, RecordBatchOptions};
use arrow::buffer::BooleanBuffer;
use arrow::compute::filter_record_batch;
use arrow::datatypes::{DataType, Field, FieldRef, Int64Type, SchemaRef, UInt32Type};
use datafusion::common::stats::Precision;
use datafusion::common::{DataFusionError, Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, DynamicFilterPhysicalExpr, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal,
    NotExpr,
};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{Count, MetricBuilder};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, PhysicalExpr, PlanProperties};
use futures::{StreamExt, TryStreamExt, stream};
use mergetree::masks::RowMask;
use model::saturating::usize_of;
use parquet::arrow::RowNumber;

use super::masks::{Masks, Place};
use crate::unary::{Step, Unary};

/// Columns behind those of the table: which part a row is of, as a place in the list of parts, and its number there.
pub(super) fn provenance(columns: &SchemaRef) -> (FieldRef, FieldRef) {
    // No column of the table has their names.
    let unused = |name: &str| {
        let mut name = name.to_owned();
        while columns.index_of(&name).is_ok() {
            name.push('_');
        }
        name
    };
    let number =
        Field::new(unused("_gristmill_number"), DataType::Int64, false).with_extension_type(RowNumber);
    (Arc::new(Field::new(unused("_gristmill_part"), DataType::UInt32, false)), Arc::new(number))
}

/// Whether a condition gives an error for no row: it may be asked of rows that nobody is shown.
pub(super) fn cannot_fail(condition: &Arc<dyn PhysicalExpr>) -> bool {
    let compares = |operator: Operator| {
        use Operator::{And, Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq, Or};
        matches!(operator, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom | And | Or)
    };
    let is_plain = condition.downcast_ref::<BinaryExpr>().is_none_or(|binary| compares(*binary.op()));
    let is_known = condition.is::<BinaryExpr>()
        || condition.is::<Column>()
        || condition.is::<Literal>()
        || condition.is::<InListExpr>()
        || condition.is::<IsNullExpr>()
        || condition.is::<IsNotNullExpr>()
        || condition.is::<NotExpr>()
        || condition.is::<LikeExpr>();
    // What an operator has found meanwhile: bounds, and keys that are there.
    let is_dynamic = condition.is::<DynamicFilterPhysicalExpr>();
    is_dynamic || (is_known && is_plain && condition.children().into_iter().all(cannot_fail))
}

/// See the module.
#[derive(Clone)]
pub(super) struct Masking {
    pub(super) masks: Arc<Masks>,
    /// By part of the scan.
    pub(super) places: Arc<Vec<Place>>,
    /// The input's, with its last two columns or without them.
    pub(super) schema: SchemaRef,
    /// Whether all rows of the parts are read.
    pub(super) reads_all: bool,
}

impl Step for Masking {
    const NAME: &'static str = "MaskedExec";

    fn shown(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (parts, ranges, kept) = (self.places.len(), self.masks.ranges.len(), self.masks.kept());
        write!(f, "MaskedExec: parts={parts}, ranges={ranges}, kept={kept}")
    }

    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Result<Arc<PlanProperties>> {
        let known = EquivalenceProperties::new(Arc::clone(&self.schema));
        let partitioning = datafusion::physical_plan::Partitioning::UnknownPartitioning(
            input.output_partitioning().partition_count(),
        );
        let (emission, bounded) = (EmissionType::Incremental, Boundedness::Bounded);
        Ok(Arc::new(PlanProperties::new(known, partitioning, emission, bounded)))
    }

    // Rows that are dealt out come in blocks of several parts.
    fn may_be_divided(&self) -> bool {
        false
    }

    fn passes_conditions(&self, conditions: &[Arc<dyn PhysicalExpr>]) -> bool {
        conditions.iter().all(cannot_fail)
    }

    fn statistics(&self, schema: &SchemaRef) -> Statistics {
        let mut statistics = Statistics::new_unknown(schema);
        if let Some(rows) = self.masks.live_rows(&self.places) {
            let rows = Precision::Exact(usize_of(rows));
            statistics.num_rows = if self.reads_all { rows } else { rows.to_inexact() };
        }
        statistics
    }

    fn execute(
        node: &Unary<Self>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let rows = node.input.execute(partition, Arc::clone(&context))?;
        let step = node.step.clone();
        let hidden = MetricBuilder::new(&node.metrics).counter("rows_hidden", partition);
        let masked = async move {
            let found = step.masks.found(&context).await?.clone();
            let shown = rows.try_filter_map(move |batch| {
                let shown = step.shown_of(&batch, &found, &hidden);
                std::future::ready(shown.map(|batch| Some(batch).filter(|batch| batch.num_rows() > 0)))
            });
            Ok::<_, DataFusionError>(shown)
        };
        let rows = stream::once(masked).try_flatten().boxed();
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&node.step.schema), rows)))
    }
}

impl Masking {
    fn shown_of(
        &self,
        batch: &RecordBatch,
        found: &[Arc<Vec<RowMask>>],
        hidden: &Count,
    ) -> Result<RecordBatch> {
        let (rows, columns) = (batch.num_rows(), batch.num_columns().saturating_sub(2));
        let given = batch.columns().get(..self.schema.fields().len()).unwrap_or_default().to_vec();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let given = RecordBatch::try_new_with_options(Arc::clone(&self.schema), given, &options)?;
        let (Some(parts), Some(numbers)) = (
            batch.columns().get(columns).and_then(|of| of.as_primitive_opt::<UInt32Type>()),
            batch.columns().get(columns + 1).and_then(|of| of.as_primitive_opt::<Int64Type>()),
        ) else {
            return internal_err!("rows come without their numbers");
        };
        if parts.null_count() + numbers.null_count() > 0 {
            return internal_err!("rows come without their numbers");
        }
        let Some(live) = self.live_of(parts.values(), numbers.values(), found)? else { return Ok(given) };
        let shown = filter_record_batch(&given, &BooleanArray::new(live, None))?;
        hidden.add(rows - shown.num_rows());
        Ok(shown)
    }

    /// Which rows are shown, by the masks of their parts; `None`: all. A block is of one part unless somebody below put blocks
    /// together.
    fn live_of(
        &self,
        parts: &[u32],
        numbers: &[i64],
        found: &[Arc<Vec<RowMask>>],
    ) -> Result<Option<BooleanBuffer>> {
        let mut live = BooleanBufferBuilder::new(numbers.len());
        // All rows are asked: with the mask of another part one would be hidden, or shown, without a word.
        for run in parts.chunk_by(|one, other| one == other) {
            let place = self.places.get(run[0] as usize);
            let mask = place.and_then(|(range, source)| found.get(*range)?.get(*source));
            let Some(mask) = mask else { return internal_err!("no mask of part {}", run[0]) };
            match bits_of(mask, &numbers[live.len()..live.len() + run.len()]) {
                None if run.len() == parts.len() => return Ok(None),
                None => live.append_n(run.len(), true),
                Some(bits) if run.len() == parts.len() => return bits.map(Some),
                Some(bits) => live.append_buffer(&bits?),
            }
        }
        Ok((!live.is_empty()).then(|| live.finish()))
    }
}

/// Which of the rows are shown; `None`: all.
fn bits_of(mask: &RowMask, numbers: &[i64]) -> Option<Result<BooleanBuffer>> {
    let row = |number: i64| u64::try_from(number).ok().filter(|row| *row < mask.rows());
    let (first, last) = (*numbers.first()?, *numbers.last()?);
    let (Some(first), Some(last)) = (row(first), row(last)) else {
        return Some(internal_err!("row {last} of a part of {} rows", mask.rows()));
    };
    if last.checked_sub(first) == Some(numbers.len() as u64 - 1) && numbers.is_sorted() {
        return mask.of_rows(usize_of(first), numbers.len()).map(Ok);
    }
    let is_live = |at: usize| row(numbers[at]).is_some_and(|row| mask.is_live(row));
    let live = BooleanBuffer::collect_bool(numbers.len(), is_live);
    (live.count_set_bits() < numbers.len()).then_some(Ok(live))
}
