//! LookedUpExec: reads all rows into a lookup, and gives one row that says they are there.
//!
//! A subquery of the call that asks the lookup is made of it, so DataFusion runs it before the first row asks. Invariant: what
//! the lookup holds was asked for, and is given back with it. Must not know: whose rows they are, and who asks.

use std::fmt;
use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{Distribution, ExecutionPlan, Partitioning, PlanProperties};
use functions::default_array;
use futures::StreamExt;
use model::ColumnType;
use planner::{Lookup, LookupBuilder};

use crate::unary::{Step, Unary};

/// The one column.
pub(crate) fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("is_there", DataType::Boolean, false)]))
}

/// Fills `lookup`; the last column of the input is its values, those before it are the keys.
#[derive(Clone)]
pub(crate) struct LookedUpExec {
    pub lookup: Arc<Lookup>,
    /// Its default is the value of what is not there.
    pub missing: ColumnType,
    /// Of rows of equal key the last stays.
    pub keeps_last: bool,
}

impl Step for LookedUpExec {
    const NAME: &'static str = "LookedUpExec";

    fn shown(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LookedUpExec: missing={}", self.missing)
    }

    fn properties(&self, _input: &Arc<dyn ExecutionPlan>) -> Result<Arc<PlanProperties>> {
        Ok(Arc::new(PlanProperties::new(
            EquivalenceProperties::new(schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        )))
    }

    fn distribution(&self) -> Distribution {
        Distribution::SinglePartition
    }

    fn execute(
        node: &Unary<Self>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let LookedUpExec { lookup, missing, keeps_last } = node.step.clone();
        let mut input = node.input.execute(partition, Arc::clone(&context))?;
        let memory = MemoryConsumer::new(Self::NAME).register(context.memory_pool());
        let filled = async move {
            let there = RecordBatch::try_new(schema(), vec![Arc::new(BooleanArray::from(vec![true]))])?;
            if lookup.is_filled() {
                return Ok(there);
            }
            let input_schema = input.schema();
            let values_at = input_schema.fields().len().saturating_sub(1);
            let layouts = input_schema.fields().iter().take(values_at).map(|field| field.data_type().clone());
            let mut rows = LookupBuilder::new(layouts)?.keeping_last(keeps_last);
            while let Some(batch) = input.next().await {
                let batch = batch?;
                // Once as it comes, once in the one column that all become.
                memory.try_grow(2 * batch.column(values_at).get_array_memory_size())?;
                memory.try_grow(
                    rows.push(&batch.columns()[..values_at], Arc::clone(batch.column(values_at)))?,
                )?;
            }
            lookup.fill(rows, &default_array(&missing, 1), memory)?;
            Ok::<_, DataFusionError>(there)
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema(), futures::stream::once(filled))))
    }
}
