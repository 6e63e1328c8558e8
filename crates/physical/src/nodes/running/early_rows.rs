//! EarlyRowsExec: rows that no join above looks for are left out where they are read.
//!
//! A join that has one side knows the keys it looks for before it reads the other, and says so in a filter that DataFusion hands
//! down to the scans. A scan uses it to pass over row groups and pages; the rows of those that are left would go through
//! exchanges, other joins and aggregates before somebody drops them. Here they are dropped at once, and where few are, nobody asks
//! any more. Rows that come to that join as they were read are not asked: looking for them there costs less than asking here.
//! Invariant: the rows that are dropped are such as the join itself would drop; the others keep their order. Put into a plan
//! when it is run, shown nowhere. Must not know: whose filter it is.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, AsArray, BooleanArray, RecordBatch};
use arrow::compute::{BatchCoalescer, and, prep_null_mask_filter};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::datasource::physical_plan::{FileScanConfig, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::expressions::{Column, DynamicFilterPhysicalExpr};
use datafusion::physical_expr::split_conjunction;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};
use futures::StreamExt;

use crate::unary::{Step, Unary};

/// After so many rows it is decided whether asking goes on.
const ROWS_TRIED: usize = 64 << 10;

/// A filter that keeps more than this many of 16 rows costs more than it saves.
const KEPT_SIXTEENTHS: usize = 12;

/// So many rows are passed on after it was found to cost more; what is looked for may become less meanwhile.
const ROWS_LEFT_ALONE: usize = 16 * ROWS_TRIED;

/// The plan with the filters of joins asked for each row that its scans read.
///
/// # Errors
/// A node does not take its input back.
pub fn with_early_rows(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let asked_at_once = asked_at_once(&plan)?;
    let done = plan.transform_up(|node| {
        let filters = filters_of(&node, &asked_at_once)?;
        if filters.is_empty() {
            return Ok(Transformed::no(node));
        }
        Ok(Transformed::yes(Unary::over(node, EarlyRowsExec { filters })?))
    })?;
    Ok(done.data)
}

/// The filters of joins that look for the rows of a scan as they were read, by number.
fn asked_at_once(plan: &Arc<dyn ExecutionPlan>) -> Result<HashSet<u64>> {
    let mut found = HashSet::new();
    plan.apply(|node| {
        let Some(join) = node.downcast_ref::<HashJoinExec>() else { return Ok(TreeNodeRecursion::Continue) };
        if comes_as_read(join.right()) {
            found.extend(
                join.dynamic_expressions_produced().iter().filter_map(|filter| filter.expression_id()),
            );
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}

/// Whether nothing happens to the rows of a scan but what costs little.
fn comes_as_read(mut node: &Arc<dyn ExecutionPlan>) -> bool {
    while node.is::<RepartitionExec>()
        || node.is::<FilterExec>()
        || node.is::<ProjectionExec>()
        || node.is::<CoalescePartitionsExec>()
        || node.is::<CooperativeExec>()
    {
        let [input] = node.children()[..] else { return false };
        node = input;
    }
    node.is::<DataSourceExec>()
}

/// The filters that become known while the plan runs and that a scan does not ask of rows itself, over what it gives.
fn filters_of(
    node: &Arc<dyn ExecutionPlan>,
    asked_at_once: &HashSet<u64>,
) -> Result<Vec<Arc<dyn PhysicalExpr>>> {
    let Some(scan) = node.downcast_ref::<DataSourceExec>() else { return Ok(Vec::new()) };
    let Some((_, source)) = scan.downcast_to_file_source::<ParquetSource>() else { return Ok(Vec::new()) };
    let Some(scanned) = scan.data_source().downcast_ref::<FileScanConfig>() else { return Ok(Vec::new()) };
    let (Some(predicate), Some(given)) = (scanned.file_source().filter(), scanned.file_source().projection())
    else {
        return Ok(Vec::new());
    };
    if source.table_parquet_options().global.pushdown_filters {
        return Ok(Vec::new());
    }
    let place = |column: &Column| {
        let is_it =
            |expr: &Arc<dyn PhysicalExpr>| expr.downcast_ref::<Column>().is_some_and(|given| given == column);
        given.iter().position(|given| is_it(&given.expr))
    };
    let mut filters = Vec::new();
    for part in split_conjunction(&predicate) {
        let is_asked_at_once = || part.expression_id().is_some_and(|id| asked_at_once.contains(&id));
        if !part.is::<DynamicFilterPhysicalExpr>() || is_asked_at_once() {
            continue;
        }
        let mut is_given = true;
        let moved = Arc::clone(part).transform_down(|expr| {
            let Some(column) = expr.downcast_ref::<Column>() else { return Ok(Transformed::no(expr)) };
            let Some(at) = place(column) else {
                is_given = false;
                return Ok(Transformed::no(expr));
            };
            Ok(Transformed::yes(Arc::new(Column::new(node.schema().field(at).name(), at)) as _))
        })?;
        if is_given {
            filters.push(moved.data);
        }
    }
    Ok(filters)
}

#[derive(Clone)]
struct EarlyRowsExec {
    filters: Vec<Arc<dyn PhysicalExpr>>,
}

impl Step for EarlyRowsExec {
    const NAME: &'static str = "EarlyRowsExec";

    fn keeps_order(&self) -> bool {
        true
    }

    fn execute(
        node: &Unary<Self>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = node.input.execute(partition, Arc::clone(&context))?;
        let schema = input.schema();
        let asked = node.step.filters.iter().map(|filter| Asked::new(Arc::clone(filter)));
        let rows = EarlyRows {
            asked: asked.collect(),
            together: BatchCoalescer::new(Arc::clone(&schema), context.session_config().batch_size()),
            whole: None,
            input: Some(input),
        };
        let rows = futures::stream::try_unfold(rows, EarlyRows::next);
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}

/// A filter, and what it was good for lately.
struct Asked {
    filter: Arc<dyn PhysicalExpr>,
    seen: usize,
    kept: usize,
    /// Rows that are still passed on without asking.
    left_alone: usize,
}

impl Asked {
    fn new(filter: Arc<dyn PhysicalExpr>) -> Asked {
        Asked { filter, seen: 0, kept: 0, left_alone: 0 }
    }

    /// Which rows are kept; `None`: all are, or nobody asked.
    fn ask(&mut self, batch: &RecordBatch) -> Result<Option<BooleanArray>> {
        let rows = batch.num_rows();
        if self.left_alone > 0 {
            self.left_alone = self.left_alone.saturating_sub(rows);
            return Ok(None);
        }
        let ColumnarValue::Array(answer) = self.filter.evaluate(batch)? else {
            // Nothing is known yet, or none is looked for, which the join itself sees.
            return Ok(None);
        };
        let Some(answer) = answer.as_boolean_opt() else { return internal_err!("a filter says yes or no") };
        let kept = match answer.null_count() {
            0 => answer.clone(),
            _ => prep_null_mask_filter(answer),
        };
        let count = kept.true_count();
        (self.seen, self.kept) = (self.seen + rows, self.kept + count);
        if self.seen >= ROWS_TRIED {
            if self.kept > self.seen / 16 * KEPT_SIXTEENTHS {
                self.left_alone = ROWS_LEFT_ALONE;
            }
            (self.seen, self.kept) = (0, 0);
        }
        Ok((count < rows).then_some(kept))
    }
}

/// The rows of one partition.
struct EarlyRows {
    asked: Vec<Asked>,
    /// What is left of several batches.
    together: BatchCoalescer,
    /// A batch behind those, of which nothing was dropped.
    whole: Option<RecordBatch>,
    /// `None` at its end.
    input: Option<SendableRecordBatchStream>,
}

impl EarlyRows {
    async fn next(mut self) -> Result<Option<(RecordBatch, EarlyRows)>> {
        loop {
            if let Some(batch) = self.together.next_completed_batch() {
                return Ok(Some((batch, self)));
            }
            if let Some(batch) = self.whole.take() {
                return Ok(Some((batch, self)));
            }
            let Some(input) = &mut self.input else { return Ok(None) };
            match input.next().await.transpose()? {
                Some(batch) => self.take(batch)?,
                None => {
                    self.input = None;
                    self.together.finish_buffered_batch()?;
                }
            }
        }
    }

    fn take(&mut self, batch: RecordBatch) -> Result<()> {
        let mut kept: Option<BooleanArray> = None;
        for asked in &mut self.asked {
            let more = asked.ask(&batch)?;
            kept = match (kept, more) {
                (Some(kept), Some(more)) => Some(and(&kept, &more)?),
                (kept, more) => kept.or(more),
            };
        }
        match kept {
            Some(kept) => self.together.push_batch_with_filter(batch, &kept)?,
            None => {
                self.together.finish_buffered_batch()?;
                self.whole = Some(batch);
            }
        }
        Ok(())
    }
}
