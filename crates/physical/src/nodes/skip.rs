//! SkipExec: OFFSET, as a node that lets no sort through.
//!
//! DataFusion's own node for LIMIT and OFFSET tells the rule that moves sorts how many rows leave it, not how many must
//! enter: a sort moved below it keeps too few rows, or chooses which of them are skipped. So OFFSET is a node of its own over
//! a LIMIT of all rows that are read. Invariant: which rows are skipped depends on the input's order alone, and the input
//! keeps it. Must not know: why the input has an order.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchemaRef, Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{
    Expr, Extension, FetchType, Limit, LogicalPlan, Projection, SkipType, UserDefinedLogicalNodeCore, lit,
};
use datafusion::physical_expr::{LexOrdering, OrderingRequirements};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{Distribution, ExecutionPlan, Partitioning, PlanProperties};
use futures::StreamExt;

use super::asked_order::asked_order;
use crate::unary::{Step, Unary};

/// All rows of the input behind the first `rows`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Skip {
    pub(super) rows: usize,
    input: LogicalPlan,
}

/// The plan with every OFFSET of a known number of rows as a node of its own. Only for a plan that no rule sees any more:
/// rules know LIMIT and OFFSET as one.
pub(super) fn with_skips(plan: LogicalPlan) -> Result<LogicalPlan> {
    Ok(plan.transform_up_with_subqueries(apart)?.data)
}

fn apart(node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Limit(limit) = &node else { return Ok(Transformed::no(node)) };
    let (SkipType::Literal(rows @ 1..), FetchType::Literal(fetch)) =
        (limit.get_skip_type()?, limit.get_fetch_type()?)
    else {
        return Ok(Transformed::no(node));
    };
    let skipped = |mut input| {
        if let Some(fetch) = fetch {
            let read = i64::try_from(rows.saturating_add(fetch)).unwrap_or(i64::MAX);
            input =
                Arc::new(LogicalPlan::Limit(Limit { skip: None, fetch: Some(Box::new(lit(read))), input }));
        }
        let skip = Skip { rows, input: Arc::unwrap_or_clone(input) };
        LogicalPlan::Extension(Extension { node: Arc::new(skip) })
    };
    below_projections(Arc::clone(&limit.input), &skipped).map(Transformed::yes)
}

/// Projections keep rows one by one, and may leave out what the sort below them goes by: OFFSET stands next to the sort.
fn below_projections(
    input: Arc<LogicalPlan>,
    make: &dyn Fn(Arc<LogicalPlan>) -> LogicalPlan,
) -> Result<LogicalPlan> {
    match input.as_ref() {
        LogicalPlan::Projection(projection) => {
            let below = Arc::new(below_projections(Arc::clone(&projection.input), make)?);
            let (exprs, schema) = (projection.expr.clone(), Arc::clone(&projection.schema));
            Ok(LogicalPlan::Projection(Projection::try_new_with_schema(exprs, below, schema)?))
        }
        _ => Ok(make(input)),
    }
}

impl PartialOrd for Skip {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.rows.partial_cmp(&other.rows).filter(|order| order.is_ne() || self == other)
    }
}

impl UserDefinedLogicalNodeCore for Skip {
    fn name(&self) -> &str {
        "Skip"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Skip: rows={}", self.rows)
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        let Some(input) = inputs.pop() else { return internal_err!("a skip has no input") };
        Ok(Skip { rows: self.rows, input })
    }
}

#[derive(Clone)]
pub(crate) struct SkipExec {
    rows: usize,
    ordering: Option<LexOrdering>,
}

impl SkipExec {
    pub(crate) fn over(input: Arc<dyn ExecutionPlan>, rows: usize) -> Result<Arc<dyn ExecutionPlan>> {
        let ordering = asked_order(&input);
        Unary::over(input, SkipExec { rows, ordering })
    }
}

impl Step for SkipExec {
    const NAME: &'static str = "SkipExec";

    fn shown(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SkipExec: rows={}", self.rows)
    }

    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Result<Arc<PlanProperties>> {
        // Rows that are said to have an order would let the limit of a sort above through.
        let mut known = input.properties().eq_properties.clone();
        known.clear_orderings();
        Ok(Arc::new(PlanProperties::new(
            known,
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        )))
    }

    fn distribution(&self) -> Distribution {
        Distribution::SinglePartition
    }

    fn ordering(&self) -> Option<OrderingRequirements> {
        self.ordering.clone().map(OrderingRequirements::from)
    }

    fn execute(
        node: &Unary<Self>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = node.input.execute(partition, context)?;
        let schema = input.schema();
        let mut left = node.step.rows;
        let rows = input.filter_map(move |batch| {
            let passed = batch.map(|batch| {
                let from = left.min(batch.num_rows());
                left -= from;
                batch.slice(from, batch.num_rows() - from)
            });
            std::future::ready(
                Some(passed).filter(|batch| !matches!(batch, Ok(batch) if batch.num_rows() == 0)),
            )
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}
