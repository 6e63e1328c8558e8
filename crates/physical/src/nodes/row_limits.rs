//! What a plan may read, sort, group, keep apart and join, in rows: `max_rows_to_read` and its kin.
//!
//! Invariant: a plan within its limits gives the same rows; one that goes beyond fails, or reads no further where it may
//! break off. Rows of all partitions count together. It is put into a plan when the plan is run. Must not know: settings.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, PlanProperties, replace_children_if_necessary};
use futures::StreamExt;
use model::ErrorCode;
use model::saturating::u64_of;

use crate::error::{PhysicalError, into_datafusion};
use crate::unary::{Step, Unary};

/// The limits of one statement; 0 is any number.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RowLimits {
    pub read_rows: u64,
    pub read_bytes: u64,
    /// Whether reading ends at its limit instead of failing.
    pub read_breaks: bool,
    pub sorted_rows: u64,
    pub grouped_rows: u64,
    pub distinct_rows: u64,
    pub joined_rows: u64,
}

/// Rows and bytes that the statement has read until now.
pub type Read = Arc<dyn Fn() -> (u64, u64) + Send + Sync>;

/// The plan within its limits.
///
/// # Errors
/// A node does not take its input back.
pub fn with_row_limits(
    plan: Arc<dyn ExecutionPlan>,
    limits: RowLimits,
    read: &Read,
) -> Result<Arc<dyn ExecutionPlan>> {
    if limits == RowLimits::default() {
        return Ok(plan);
    }
    let reads = limits.read_rows > 0 || limits.read_bytes > 0;
    let done = plan.transform_up(|node| {
        if node.children().is_empty() {
            let limit =
                || Limit::Reads(limits.read_rows, limits.read_bytes, limits.read_breaks, Arc::clone(read));
            return if reads {
                over(&node, limit()).map(Transformed::yes)
            } else {
                Ok(Transformed::no(node))
            };
        }
        if limits.sorted_rows > 0 && node.is::<SortExec>() {
            return with_input(&node, 0, count(limits.sorted_rows, What::Sorted));
        }
        if limits.joined_rows > 0 && node.is::<HashJoinExec>() {
            return with_input(&node, 0, count(limits.joined_rows, What::Joined));
        }
        match node.downcast_ref::<AggregateExec>().map(|groups| what_of(groups, &limits)) {
            Some(Some((most, what))) => over(&node, count(most, what)).map(Transformed::yes),
            _ => Ok(Transformed::no(node)),
        }
    })?;
    Ok(done.data)
}

/// What the last step of an aggregation makes, and how much of it there may be.
fn what_of(groups: &AggregateExec, limits: &RowLimits) -> Option<(u64, What)> {
    let is_last = !matches!(groups.mode(), AggregateMode::Partial | AggregateMode::PartialReduce);
    if !is_last || groups.group_expr().expr().is_empty() {
        return None;
    }
    match groups.aggr_expr().is_empty() {
        true if limits.distinct_rows > 0 => Some((limits.distinct_rows, What::Distinct)),
        _ => (limits.grouped_rows > 0).then_some((limits.grouped_rows, What::Grouped)),
    }
}

fn count(most: u64, what: What) -> Limit {
    Limit::Counts(most, what, Arc::new(AtomicU64::new(0)))
}

fn over(input: &Arc<dyn ExecutionPlan>, limit: Limit) -> Result<Arc<dyn ExecutionPlan>> {
    Unary::over(Arc::clone(input), LimitExec { limit })
}

fn with_input(
    node: &Arc<dyn ExecutionPlan>,
    at: usize,
    limit: Limit,
) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let mut inputs: Vec<Arc<dyn ExecutionPlan>> = node.children().into_iter().cloned().collect();
    if let Some(input) = inputs.get_mut(at) {
        *input = over(input, limit)?;
    }
    Ok(Transformed::yes(replace_children_if_necessary(Arc::clone(node), inputs)?))
}

#[derive(Clone, Copy)]
enum What {
    Sorted,
    Grouped,
    Distinct,
    Joined,
}

#[derive(Clone)]
enum Limit {
    /// Of all that the statement reads: rows, bytes, and whether it breaks off.
    Reads(u64, u64, bool, Read),
    /// Of the rows that pass here.
    Counts(u64, What, Arc<AtomicU64>),
}

impl Limit {
    /// Whether the rows that came may go on; false to end the stream.
    fn passes(&self, rows: usize) -> Result<bool> {
        match self {
            Limit::Reads(rows_max, bytes_max, breaks, read) => {
                let (rows, bytes) = read();
                if *rows_max > 0 && rows > *rows_max {
                    let message =
                        format!("the statement has read {rows} rows, max_rows_to_read is {rows_max}");
                    return if *breaks { Ok(false) } else { Err(failed(ErrorCode::TOO_MANY_ROWS, message)) };
                }
                if *bytes_max > 0 && bytes > *bytes_max {
                    let message =
                        format!("the statement has read {bytes} bytes, max_bytes_to_read is {bytes_max}");
                    return if *breaks { Ok(false) } else { Err(failed(ErrorCode::TOO_MANY_BYTES, message)) };
                }
                Ok(true)
            }
            Limit::Counts(most, what, seen) => {
                let seen = seen.fetch_add(u64_of(rows), Ordering::Relaxed) + u64_of(rows);
                if seen <= *most {
                    return Ok(true);
                }
                let (code, said) = match what {
                    What::Sorted => (ErrorCode::TOO_MANY_ROWS_OR_BYTES, "rows to sort, max_rows_to_sort"),
                    What::Grouped => (ErrorCode::TOO_MANY_ROWS, "keys of GROUP BY, max_rows_to_group_by"),
                    What::Distinct => {
                        (ErrorCode::SET_SIZE_LIMIT_EXCEEDED, "rows of DISTINCT, max_rows_in_distinct")
                    }
                    What::Joined => {
                        (ErrorCode::SET_SIZE_LIMIT_EXCEEDED, "rows of a JOIN's table, max_rows_in_join")
                    }
                };
                Err(failed(code, format!("there are {seen} {said} is {most}")))
            }
        }
    }
}

fn failed(code: ErrorCode, message: String) -> datafusion::common::DataFusionError {
    into_datafusion(PhysicalError::bad_input(code, message))
}

#[derive(Clone)]
struct LimitExec {
    limit: Limit,
}

impl Step for LimitExec {
    const NAME: &'static str = "LimitExec";

    fn shown(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LimitExec")
    }

    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Result<Arc<PlanProperties>> {
        Ok(Arc::clone(input.properties()))
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn execute(
        node: &Unary<Self>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let rows = node.input.execute(partition, context)?;
        let (schema, limit): (SchemaRef, _) = (rows.schema(), node.step.limit.clone());
        let checked = rows.map(move |batch| {
            let batch = batch?;
            Ok(limit.passes(batch.num_rows())?.then_some(batch))
        });
        // The batch that goes beyond is not handed on where reading breaks off.
        let within = checked.take_while(|batch| std::future::ready(!matches!(batch, Ok(None))));
        let within = within.filter_map(|batch| std::future::ready(batch.transpose()));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, within)))
    }
}
