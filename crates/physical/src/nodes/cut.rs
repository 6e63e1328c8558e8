//! CutExec: LIMIT n BY keys and LIMIT n WITH TIES over one stream of rows.
//!
//! Invariant: rows keep their order, and their order is that of the input when the plan was made. Memory holds one
//! counter for each value of the keys, and is asked for.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::row::{OwnedRow, RowConverter, SortField};
use datafusion::common::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{LexOrdering, OrderingRequirements};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{Distribution, ExecutionPlan, Partitioning, PhysicalExpr, PlanProperties};
use futures::StreamExt;
use parts::sorted::with_one_zero;
use planner::nodes::CutKind;

use super::asked_order::asked_order;
use crate::unary::{Step, Unary};

/// Bytes of a counter beside its key.
const COUNTER_BYTES: usize = 64;

/// What passes: kind, keys, rows to skip, rows to pass.
#[derive(Clone)]
pub(crate) struct Rule {
    pub kind: CutKind,
    pub keys: Vec<Arc<dyn PhysicalExpr>>,
    pub skip: u64,
    pub fetch: u64,
}

#[derive(Clone)]
pub(crate) struct CutExec {
    rule: Rule,
    ordering: Option<LexOrdering>,
}

impl CutExec {
    pub(crate) fn over(input: Arc<dyn ExecutionPlan>, rule: Rule) -> Result<Arc<dyn ExecutionPlan>> {
        let ordering = asked_order(&input);
        Unary::over(input, CutExec { rule, ordering })
    }
}

impl Step for CutExec {
    const NAME: &'static str = "CutExec";

    fn shown(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rule { kind, keys, skip, fetch } = &self.rule;
        let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
        write!(f, "CutExec: kind={kind:?}, skip={skip}, fetch={fetch}, keys=[{}]", keys.join(", "))
    }

    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Result<Arc<PlanProperties>> {
        let mut known = input.properties().eq_properties.clone();
        if self.ordering.is_none() {
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
        // A sort above rows without an order stays there: below, it would choose which of them pass.
        self.ordering.is_some()
    }

    fn expressions(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.rule.keys.iter().collect()
    }

    fn execute(
        node: &Unary<Self>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let rule = &node.step.rule;
        let input = node.input.execute(partition, Arc::clone(&context))?;
        let schema = input.schema();
        let types = rule.keys.iter().map(|key| key.data_type(&schema).map(SortField::new));
        let converter = RowConverter::new(types.collect::<Result<Vec<_>>>()?)?;
        let memory = MemoryConsumer::new("CutExec").register(context.memory_pool());
        let state = match rule.kind {
            CutKind::By => State::By { seen: HashMap::new(), memory },
            CutKind::Ties => State::Ties { passed: 0, last: None },
        };
        let cutter = Cutter { rule: rule.clone(), converter, state };
        let rows = futures::stream::unfold(Some((input, cutter)), |running| async move {
            let (mut input, mut cutter) = running?;
            let batch = match input.next().await? {
                Ok(batch) => cutter.passed(&batch),
                Err(error) => Err(error),
            };
            match batch {
                Ok((batch, true)) => Some((Ok(batch), Some((input, cutter)))),
                Ok((batch, false)) => Some((Ok(batch), None)),
                Err(error) => Some((Err(error), None)),
            }
        });
        let rows =
            rows.filter(|batch| std::future::ready(!matches!(batch, Ok(batch) if batch.num_rows() == 0)));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}

/// What came before.
enum State {
    By { seen: HashMap<Box<[u8]>, u64>, memory: MemoryReservation },
    Ties { passed: u64, last: Option<OwnedRow> },
}

struct Cutter {
    rule: Rule,
    converter: RowConverter,
    state: State,
}

impl Cutter {
    /// The rows of a batch that pass, and whether more may.
    fn passed(&mut self, batch: &RecordBatch) -> Result<(RecordBatch, bool)> {
        let columns = self.rule.keys.iter().map(|key| key.evaluate(batch)?.into_array(batch.num_rows()));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let (skip, end) = (self.rule.skip, self.rule.skip.saturating_add(self.rule.fetch));
        if columns.is_empty() {
            // Without keys all rows have the same.
            return Ok((batch.clone(), true));
        }
        let columns: Vec<_> = columns.iter().map(with_one_zero).collect();
        let rows = self.converter.convert_columns(&columns)?;
        let mut passes = Vec::with_capacity(batch.num_rows());
        let mut goes_on = true;
        match &mut self.state {
            State::By { seen, memory } => {
                for row in &rows {
                    let count = match seen.get_mut(row.as_ref()) {
                        Some(count) => count,
                        None => {
                            memory.try_grow(row.as_ref().len() + COUNTER_BYTES)?;
                            seen.entry(row.as_ref().into()).or_insert(0)
                        }
                    };
                    passes.push(*count >= skip && *count < end);
                    *count += 1;
                }
            }
            State::Ties { passed, last } => {
                for row in &rows {
                    let is_tie = *passed >= end && last.as_ref().is_some_and(|last| last.row() == row);
                    goes_on = *passed < end || is_tie;
                    passes.push(goes_on && *passed >= skip);
                    if !goes_on {
                        break;
                    }
                    *passed += 1;
                    if *passed == end {
                        *last = Some(row.owned());
                    }
                }
                goes_on &= end > skip;
                passes.resize(batch.num_rows(), false);
            }
        }
        Ok((filter_record_batch(batch, &BooleanArray::from(passes))?, goes_on))
    }
}
