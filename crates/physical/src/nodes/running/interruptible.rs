//! Joins that look whether somebody still waits for them.
//!
//! A join whose condition throws its pairs away hands no batch on for as long as one batch of its inputs has pairs: a thousand
//! billion of them take hours, in which nothing between two batches is asked. Its condition is: it is computed for a few
//! thousand pairs at a time. After some of them the task gives its thread away, and keeps nobody waiting.
//! Invariant: the condition answers as it did, or fails once its statement was stopped. Put into a plan when it is run, shown
//! nowhere. Must not know: why a statement is stopped.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, NestedLoopJoinExecBuilder};
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};
use host::at_length::let_others_go;

use crate::error::{PhysicalError, into_datafusion};

/// Whether the statement was stopped.
pub type Stopped = Arc<dyn Fn() -> bool + Send + Sync>;

/// The plan with the conditions of its joins looking whether their statement was stopped.
///
/// # Errors
/// A join is not built again.
pub fn interruptible(plan: Arc<dyn ExecutionPlan>, stopped: &Stopped) -> Result<Arc<dyn ExecutionPlan>> {
    let done = plan.transform_up(|node| {
        if let Some(join) = node.downcast_ref::<NestedLoopJoinExec>()
            && let Some(filter) = join.filter()
        {
            let filter = Some(watched(filter, stopped));
            let join = NestedLoopJoinExecBuilder::from(join).with_filter(filter).build()?;
            return Ok(Transformed::yes(Arc::new(join) as _));
        }
        if let Some(join) = node.downcast_ref::<HashJoinExec>()
            && let Some(filter) = join.filter()
        {
            return Ok(Transformed::yes(
                join.builder().with_filter(Some(watched(filter, stopped))).build_exec()?,
            ));
        }
        Ok(Transformed::no(node))
    })?;
    Ok(done.data)
}

fn watched(filter: &JoinFilter, stopped: &Stopped) -> JoinFilter {
    let condition = Watched::new(Arc::clone(filter.expression()), stopped);
    JoinFilter::new(Arc::new(condition), filter.column_indices().to_vec(), Arc::clone(filter.schema()))
}

/// After so many batches of pairs, some milliseconds, others have their turn.
const BATCHES_OF_A_TURN: usize = 16;

struct Watched {
    condition: Arc<dyn PhysicalExpr>,
    stopped: Stopped,
    batches: AtomicUsize,
}

impl Watched {
    fn new(condition: Arc<dyn PhysicalExpr>, stopped: &Stopped) -> Watched {
        Watched { condition, stopped: Arc::clone(stopped), batches: AtomicUsize::new(0) }
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watched({:?})", self.condition)
    }
}

impl fmt::Display for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.condition.fmt(f)
    }
}

impl PartialEq for Watched {
    fn eq(&self, other: &Watched) -> bool {
        self.condition.eq(&other.condition) && Arc::ptr_eq(&self.stopped, &other.stopped)
    }
}

impl Eq for Watched {}

impl Hash for Watched {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.condition.hash(state);
    }
}

impl PhysicalExpr for Watched {
    fn data_type(&self, schema: &Schema) -> Result<DataType> {
        self.condition.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.condition.nullable(schema)
    }

    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        self.condition.return_field(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        if (self.stopped)() {
            return Err(into_datafusion(PhysicalError::Stopped));
        }
        if self.batches.fetch_add(1, Ordering::Relaxed) % BATCHES_OF_A_TURN == BATCHES_OF_A_TURN - 1 {
            let_others_go();
        }
        self.condition.evaluate(batch)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.condition]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let Ok([condition]) = <[Arc<dyn PhysicalExpr>; 1]>::try_from(children) else {
            return Err(into_datafusion(PhysicalError::internal("a condition is one")));
        };
        Ok(Arc::new(Watched::new(condition, &self.stopped)))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.condition.fmt_sql(f)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use datafusion::physical_plan::collect;
    use datafusion::prelude::SessionContext;

    use super::*;

    #[tokio::test]
    async fn joins_answer_until_they_are_stopped() {
        for condition in ["a.x < b.y", "a.x = b.y AND a.z + b.z > 0"] {
            let context = SessionContext::new();
            let sql = format!(
                "SELECT * FROM (VALUES (1, 1), (2, 2)) AS a(x, z) JOIN (VALUES (2, 2), (2, 3)) AS b(y, z) ON {condition}"
            );
            let plan = context.sql(&sql).await.unwrap().create_physical_plan().await.unwrap();
            let stop = Arc::new(AtomicBool::new(false));
            let flag = Arc::clone(&stop);
            let stopped: Stopped = Arc::new(move || flag.load(Ordering::Relaxed));
            let joined = async || {
                let plan = interruptible(Arc::clone(&plan), &stopped).unwrap();
                collect(plan, context.task_ctx()).await
            };
            let rows: usize = joined().await.unwrap().iter().map(RecordBatch::num_rows).sum();
            assert_eq!(rows, 2, "{condition}");
            stop.store(true, Ordering::Relaxed);
            let error = joined().await.unwrap_err().to_string();
            assert!(error.contains("stopped"), "{condition}: {error}");
        }
    }
}
