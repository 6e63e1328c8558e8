//! EndlessExec: rows that never end unless somebody stops reading, and the table that gives them.
//!
//! DataFusion is not told that they never end: it would refuse to aggregate what a LIMIT below takes of them. Invariant: rows,
//! their order and their partitions stay as they are. Must not know: what the rows are.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec};
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};

use crate::unary::{Step, Unary};

/// See the module.
#[derive(Clone)]
struct Endless;

/// A table whose rows never end.
#[derive(Debug)]
pub(super) struct EndlessTable(pub(super) StreamingTable);

/// Whether the rows of the plan may never end, for all that is known of it.
pub(crate) fn is_endless(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let is_limit = plan.is::<GlobalLimitExec>() || plan.is::<LocalLimitExec>();
    if is_limit || plan.fetch().is_some() {
        return false;
    }
    let is_source = plan.downcast_ref::<Unary<Endless>>().is_some_and(|node| node.input.fetch().is_none());
    is_source || plan.children().into_iter().any(is_endless)
}

/// Whether the plan reads its left input to the end before it looks at the right one.
pub(crate) fn builds_from_left(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<HashJoinExec>() || plan.is::<NestedLoopJoinExec>() || plan.is::<CrossJoinExec>()
}

impl Step for Endless {
    const NAME: &'static str = "EndlessExec";

    fn keeps_order(&self) -> bool {
        true
    }

    fn may_be_divided(&self) -> bool {
        false
    }

    fn keeps_rows(&self) -> bool {
        true
    }

    fn passes_conditions(&self, _conditions: &[Arc<dyn PhysicalExpr>]) -> bool {
        true
    }

    fn execute(
        node: &Unary<Self>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        node.input.execute(partition, context)
    }
}

#[async_trait]
impl TableProvider for EndlessTable {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    fn table_type(&self) -> TableType {
        self.0.table_type()
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let rows = self.0.scan(state, projection, filters, limit).await?;
        if limit.is_some() { Ok(rows) } else { Unary::over(rows, Endless) }
    }
}
