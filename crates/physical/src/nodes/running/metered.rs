//! MeteredExec: where a plan's rows are made, and where they become more, the statement's memory is looked at.
//!
//! What the operators of the plan allocate in one go is the more the larger a batch is: rows that take more bytes than
//! [`BATCH_BYTES_MAX`] are handed on in several batches.
//! Invariant: the rows are the input's, in its order; a statement that holds more than it may gets an error 241 at its next
//! batch. It is put into a plan when the plan is run, and shown nowhere. Must not know: what the plan does.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, replace_children_if_necessary};
use functions::row_bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use host::meter;

use super::super::array_join::ArrayJoinExec;
use super::super::fill::FillExec;
use super::turns::Turns;
use crate::error::{PhysicalError, into_datafusion};
use crate::unary::{Step, Unary};

/// Rows of more bytes go on in several batches. Operators hold a few batches each; of 8192 rows hardly any are so large.
const BATCH_BYTES_MAX: usize = 16 << 20;

/// Constants of fewer bytes may be repeated for every row of a batch.
const CONSTANT_BYTES_MAX: usize = 4096;

/// Nodes that hand over rows which other tasks made.
const EXCHANGES: [&str; 3] = ["CoalescePartitionsExec", "RepartitionExec", "SortPreservingMergeExec"];

/// The plan with its statement's memory looked at: above what reads, above what makes many rows of few, and below what may
/// write a large constant into every row.
///
/// # Errors
/// A node does not take its input back.
pub fn metered(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let done = plan.transform_up(|node| {
        let constant = largest_constant(&node)?;
        let node = match constant > CONSTANT_BYTES_MAX {
            true => {
                let rows_max = (BATCH_BYTES_MAX / constant).max(1);
                let inputs = node.children().into_iter().map(|input| MeteredExec::over(input, rows_max));
                let inputs = inputs.collect::<Result<Vec<_>>>()?;
                Transformed::yes(replace_children_if_necessary(Arc::clone(&node), inputs)?)
            }
            false => Transformed::no(node),
        };
        let makes_rows = node.data.children().is_empty()
            || node.data.is::<Unary<ArrayJoinExec>>()
            || node.data.is::<Unary<FillExec>>();
        let makes_more = node.data.children().len() > 1 && node.data.name().contains("Join");
        // Whoever takes these rows goes on in a task of its own.
        let receives = EXCHANGES.contains(&node.data.name());
        match makes_rows || makes_more || receives {
            true => Ok(Transformed::yes(MeteredExec::over(&node.data, usize::MAX)?)),
            false => Ok(node),
        }
    })?;
    Ok(done.data)
}

/// Bytes of the largest constant in the expressions of a node.
fn largest_constant(node: &Arc<dyn ExecutionPlan>) -> Result<usize> {
    let mut largest = 0;
    node.apply_expressions(&mut |expr| {
        expr.apply(|part| {
            if let Some(literal) = part.downcast_ref::<Literal>() {
                largest = largest.max(literal.value().size());
            }
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(largest)
}

#[derive(Clone)]
struct MeteredExec {
    /// Most rows of a batch.
    rows_max: usize,
}

impl MeteredExec {
    fn over(input: &Arc<dyn ExecutionPlan>, rows_max: usize) -> Result<Arc<dyn ExecutionPlan>> {
        Unary::over(Arc::clone(input), MeteredExec { rows_max })
    }
}

impl Step for MeteredExec {
    const NAME: &'static str = "MeteredExec";

    fn keeps_order(&self) -> bool {
        true
    }

    fn execute(
        node: &Unary<Self>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let rows = Turns::of(node.input.execute(partition, context)?);
        let (schema, rows_max): (SchemaRef, _) = (node.input.schema(), node.step.rows_max);
        let checked = rows.map(move |batch| {
            let batch = batch?;
            meter::check("the statement").map_err(|refused| into_datafusion(PhysicalError::from(refused)))?;
            Ok::<_, DataFusionError>(cut(batch, rows_max))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, checked.try_flatten())))
    }
}

/// The batch in pieces of at most the bytes of one batch, or of one row.
fn cut(batch: RecordBatch, rows_max: usize) -> BoxStream<'static, Result<RecordBatch>> {
    let rows = batch.num_rows();
    let bytes = batch.columns().iter().map(row_bytes).fold(0, usize::saturating_add);
    let pieces = bytes.div_ceil(BATCH_BYTES_MAX).max(rows.div_ceil(rows_max)).clamp(1, rows.max(1));
    if pieces == 1 {
        return futures::stream::once(std::future::ready(Ok(batch))).boxed();
    }
    let each = rows.div_ceil(pieces);
    let starts = (0..rows).step_by(each);
    let pieces = starts.map(move |from| Ok(batch.slice(from, each.min(rows - from))));
    futures::stream::iter(pieces).boxed()
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array, ListArray, StringViewArray};
    use arrow::buffer::OffsetBuffer;
    use arrow::datatypes::{DataType, Field, Schema};

    use super::*;

    fn batch_of(column: ArrayRef) -> RecordBatch {
        let field = Field::new("a", column.data_type().clone(), true);
        RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![column]).unwrap()
    }

    fn rows_of_pieces(batch: RecordBatch) -> Vec<usize> {
        let pieces = futures::executor::block_on(cut(batch, usize::MAX).try_collect::<Vec<_>>()).unwrap();
        pieces.iter().map(RecordBatch::num_rows).collect()
    }

    #[test]
    fn a_batch_that_is_small_stays_whole() {
        let texts: StringViewArray = (0..8192).map(|n| Some(format!("text number {n} of many"))).collect();
        assert_eq!(rows_of_pieces(batch_of(Arc::new(texts))), [8192]);
        assert_eq!(rows_of_pieces(batch_of(Arc::new(Int64Array::from(Vec::<i64>::new())))), [0]);
    }

    #[test]
    fn texts_that_share_their_bytes_are_as_large_as_their_copies() {
        let one = StringViewArray::from(vec!["x".repeat(1 << 20)]);
        let shared = arrow::compute::take(&one, &arrow::array::UInt32Array::from(vec![0; 40]), None).unwrap();
        assert!(shared.get_array_memory_size() < 4 << 20);
        assert_eq!(rows_of_pieces(batch_of(shared)), [14, 14, 12]);
    }

    #[test]
    fn a_slice_is_as_large_as_its_own_rows() {
        let values: ArrayRef = Arc::new(Int64Array::from(vec![7; 8 << 20]));
        let field = Arc::new(Field::new("item", DataType::Int64, true));
        let lists = ListArray::new(field, OffsetBuffer::from_lengths([1 << 20; 8]), values, None);
        let lists: ArrayRef = Arc::new(lists);
        assert_eq!(rows_of_pieces(batch_of(Arc::clone(&lists))), [2, 2, 2, 2]);
        assert_eq!(rows_of_pieces(batch_of(lists.slice(3, 1))), [1]);
    }
}
