//! BlocksExec: rows in blocks of ClickHouse's size and in their order, for what is computed of the rows around: `neighbor(x, 1)`,
//! `runningDifference(x)`, `blockSize()`.
//!
//! DataFusion takes a sort away that nothing above asks for, and hands rows on in batches of its own size. Invariant: the rows
//! are the input's, one stream in the order that the input had when the plan was made. Memory holds one block, and is asked
//! for. Must not know: what is computed.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchemaRef, Result, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore};
use datafusion::physical_expr::{LexOrdering, OrderingRequirements};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{Distribution, ExecutionPlan, Partitioning, PlanProperties};
use futures::StreamExt;
use planner::sees_blocks;

use super::asked_order::asked_order;
use crate::unary::{Step, Unary};

/// Rows of a block: ClickHouse's `max_block_size`. A session that hands on fewer than DataFusion does means it so.
const BLOCK_ROWS: usize = 65_409;

/// Rows of a batch where a session says nothing.
const BATCH_ROWS: usize = 8_192;

/// The rows of the input, in blocks.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Blocks {
    input: LogicalPlan,
}

/// The plan with blocks below all that sees them. Only for a plan that no rule sees any more.
pub(super) fn with_blocks(plan: LogicalPlan) -> Result<LogicalPlan> {
    let node = |node: LogicalPlan| {
        if node.inputs().len() != 1 || !sees_blocks(&node.expressions())? {
            return Ok(Transformed::no(node));
        }
        let inputs = node.inputs().into_iter().map(|input| {
            LogicalPlan::Extension(Extension { node: Arc::new(Blocks { input: input.clone() }) })
        });
        node.with_new_exprs(node.expressions(), inputs.collect()).map(Transformed::yes)
    };
    Ok(plan.transform_up_with_subqueries(node)?.data)
}

impl PartialOrd for Blocks {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for Blocks {
    fn name(&self) -> &str {
        "Blocks"
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
        f.write_str("Blocks")
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        let Some(input) = inputs.pop() else { return internal_err!("blocks have no input") };
        Ok(Blocks { input })
    }
}

#[derive(Clone)]
pub(crate) struct BlocksExec {
    ordering: Option<LexOrdering>,
}

impl BlocksExec {
    pub(crate) fn over(input: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        let ordering = asked_order(&input);
        Unary::over(input, BlocksExec { ordering })
    }
}

impl Step for BlocksExec {
    const NAME: &'static str = "BlocksExec";

    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Result<Arc<PlanProperties>> {
        let mut known = input.properties().eq_properties.clone();
        if self.ordering.is_none() {
            // A sort above rows without an order stays there: below, it would choose who stands beside whom.
            known.clear_orderings();
        }
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

    fn keeps_order(&self) -> bool {
        self.ordering.is_some()
    }

    fn keeps_rows(&self) -> bool {
        true
    }

    fn execute(
        node: &Unary<Self>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = node.input.execute(partition, Arc::clone(&context))?;
        let schema = input.schema();
        let memory = MemoryConsumer::new("BlocksExec").register(context.memory_pool());
        let rows_max = match context.session_config().batch_size() {
            rows @ 1..BATCH_ROWS => rows,
            _ => BLOCK_ROWS,
        };
        let block = Block { schema: Arc::clone(&schema), rows_max, held: vec![], rows: 0, memory };
        let blocks = futures::stream::unfold(Some((input, block)), |running| async move {
            let (mut input, mut block) = running?;
            loop {
                if block.rows >= block.rows_max {
                    return Some((block.taken(), Some((input, block))));
                }
                match input.next().await {
                    Some(Ok(batch)) => {
                        if let Err(error) = block.add(batch) {
                            return Some((Err(error), None));
                        }
                    }
                    Some(Err(error)) => return Some((Err(error), None)),
                    None if block.rows > 0 => return Some((block.taken(), Some((input, block)))),
                    None => return None,
                }
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, blocks)))
    }
}

/// What has come of the next blocks.
struct Block {
    schema: SchemaRef,
    rows_max: usize,
    held: Vec<RecordBatch>,
    rows: usize,
    memory: MemoryReservation,
}

impl Block {
    fn add(&mut self, batch: RecordBatch) -> Result<()> {
        self.memory.try_grow(batch.get_array_memory_size())?;
        self.rows += batch.num_rows();
        self.held.push(batch);
        Ok(())
    }

    /// The next block; what is more stays.
    fn taken(&mut self) -> Result<RecordBatch> {
        let all = concat_batches(&self.schema, &self.held)?;
        let rows = self.rows_max.min(all.num_rows());
        let rest = all.slice(rows, all.num_rows() - rows);
        self.held.clear();
        self.rows = rest.num_rows();
        self.memory.free();
        if rest.num_rows() > 0 {
            self.memory.try_grow(rest.get_array_memory_size())?;
            self.held.push(rest);
        }
        Ok(all.slice(0, rows))
    }
}
