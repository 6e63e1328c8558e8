//! One part as a table whose rows have their numbers: what DELETE and UPDATE read.
//!
//! Invariant: rows come in the order of the part, all of them, with their numbers counted from 0; the plan knows that
//! they are in its order. Where the plan mixes them, an ORDER BY it brings them back. Must not know: what becomes of them.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{Distribution, ExecutionPlan, Partitioning, PlanProperties};
use futures::StreamExt;

use crate::unary::{Step, Unary};

/// The column of row numbers, which is the last one. Nobody gives a column this name.
pub const PART_OFFSET: &str = "\u{a0}row";

/// The columns of `stored`, and the row numbers.
#[derive(Debug)]
pub struct NumberedPart {
    stored: Arc<dyn TableProvider>,
    schema: SchemaRef,
}

impl NumberedPart {
    /// `stored` has one part and no other rows.
    pub fn new(stored: Arc<dyn TableProvider>) -> NumberedPart {
        let columns = stored.schema();
        let number = Arc::new(Field::new(PART_OFFSET, DataType::UInt64, false));
        let fields: Vec<_> = columns.fields().iter().cloned().chain([number]).collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, columns.metadata().clone()));
        NumberedPart { stored, schema }
    }
}

#[async_trait]
impl TableProvider for NumberedPart {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let numbers_at = self.schema.fields().len() - 1;
        let asked = projection.cloned().unwrap_or_else(|| (0..=numbers_at).collect());
        let stored: Vec<usize> = asked.iter().copied().filter(|at| *at < numbers_at).collect();
        // Without a condition: no page is passed over, or the numbers would be wrong.
        let rows = self.stored.scan(session, Some(&stored), &[], None).await?;
        match asked.iter().position(|at| *at == numbers_at) {
            None => Ok(rows),
            Some(at) => {
                let schema = Arc::new(self.schema.project(&asked)?);
                Unary::over(rows, Numbering { at, schema })
            }
        }
    }
}

/// Puts the numbers of rows between the columns.
#[derive(Clone)]
struct Numbering {
    at: usize,
    schema: SchemaRef,
}

impl Step for Numbering {
    const NAME: &'static str = "NumberingExec";

    fn properties(&self, _input: &Arc<dyn ExecutionPlan>) -> Result<Arc<PlanProperties>> {
        let mut known = EquivalenceProperties::new(Arc::clone(&self.schema));
        let number = Arc::new(Column::new(PART_OFFSET, self.at));
        known.add_ordering([PhysicalSortExpr::new_default(number)]);
        let partitioning = Partitioning::UnknownPartitioning(1);
        let (emission, bounded) = (EmissionType::Incremental, Boundedness::Bounded);
        Ok(Arc::new(PlanProperties::new(known, partitioning, emission, bounded)))
    }

    fn distribution(&self) -> Distribution {
        Distribution::SinglePartition
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn execute(
        node: &Unary<Self>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let (at, schema) = (node.step.at, Arc::clone(&node.step.schema));
        let (mut next, made) = (0_u64, Arc::clone(&schema));
        let rows = node.input.execute(partition, context)?.map(move |batch| {
            let batch = batch?;
            let rows = batch.num_rows();
            let numbers: ArrayRef = Arc::new(UInt64Array::from_iter_values(next..next + rows as u64));
            next += rows as u64;
            let mut columns = batch.columns().to_vec();
            columns.insert(at, numbers);
            let options = RecordBatchOptions::new().with_row_count(Some(rows));
            Ok(RecordBatch::try_new_with_options(Arc::clone(&made), columns, &options)?)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}
