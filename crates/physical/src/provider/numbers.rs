//! `numbers(n)`, `numbers(offset, n[, step])`, `zeros(n)`, `generate_series(a, b)` and `system.numbers`.
//!
//! Invariant: values come in rising order from one partition, in batches that begin small, without holding them all.

use std::sync::Arc;

use arrow::array::{RecordBatch, UInt8Array, UInt64Array};
use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use model::ColumnType;
use model::saturating::u64_of;
use model::type_arrow::to_field;
use stores::ReadProgress;

use super::endless::EndlessTable;

/// What to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberRange {
    pub start: u64,
    /// `None` never ends.
    pub count: Option<u64>,
    pub step: u64,
    /// The column's name; one called [`ZERO`] has nothing but zeros.
    pub column: &'static str,
}

/// Rows of the first batch; the next are twice as many, up to the session's. Whoever reads only the beginning, or nothing,
/// does not make the rest be counted.
const FIRST_ROWS: u64 = 1024;

/// The column of `zeros`.
pub const ZERO: &str = "zero";

/// See the module. Rows beyond a LIMIT are not made, and not counted as read.
#[derive(Debug)]
struct NumbersTable {
    range: NumberRange,
    schema: SchemaRef,
    progress: Arc<ReadProgress>,
}

#[derive(Debug)]
struct Counting {
    range: NumberRange,
    schema: SchemaRef,
    progress: Arc<ReadProgress>,
}

/// A table that counts; its rows are read as those of a file are.
pub fn numbers_table(range: NumberRange, progress: &Arc<ReadProgress>) -> Result<Arc<dyn TableProvider>> {
    let column_type = if range.column == ZERO { ColumnType::UInt8 } else { ColumnType::UInt64 };
    let schema = Arc::new(Schema::new(vec![to_field(range.column, &column_type)]));
    Ok(Arc::new(NumbersTable { range, schema, progress: Arc::clone(progress) }))
}

#[async_trait]
impl TableProvider for NumbersTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let count = [self.range.count, limit.map(u64_of)].into_iter().flatten().min();
        let (schema, progress) = (Arc::clone(&self.schema), Arc::clone(&self.progress));
        let stream = Counting { range: NumberRange { count, ..self.range }, schema, progress };
        let table = StreamingTable::try_new(self.schema(), vec![Arc::new(stream)])?;
        match self.range.count {
            Some(_) => table.scan(state, projection, filters, limit).await,
            None => EndlessTable(table).scan(state, projection, filters, limit).await,
        }
    }
}

impl PartitionStream for Counting {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let batch_rows = context.session_config().batch_size() as u64;
        let mut rows_max = batch_rows.min(FIRST_ROWS);
        let (range, schema) = (self.range, Arc::clone(&self.schema));
        let (mut given, progress) = (0, Arc::clone(&self.progress));
        let batches = std::iter::from_fn(move || {
            let left = range.count.map_or(rows_max, |count| count - given).min(rows_max);
            if left == 0 {
                return None;
            }
            let batch = batch_of(range, given, left, &schema);
            given += left;
            rows_max = (rows_max * 2).min(batch_rows);
            if let Ok(batch) = &batch {
                progress.add_rows(batch.num_rows());
                progress.add_bytes(left * value_bytes(range));
            }
            Some(batch)
        });
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), futures::stream::iter(batches)))
    }
}

fn value_bytes(range: NumberRange) -> u64 {
    if range.column == ZERO { 1 } else { 8 }
}

fn batch_of(range: NumberRange, given: u64, rows: u64, schema: &SchemaRef) -> Result<RecordBatch> {
    let number = |i: u64| range.start.wrapping_add(i.wrapping_mul(range.step));
    let column: arrow::array::ArrayRef = match range.column == ZERO {
        true => Arc::new(UInt8Array::from_iter_values((0..rows).map(|_| 0))),
        false => Arc::new(UInt64Array::from_iter_values((given..given + rows).map(number))),
    };
    Ok(RecordBatch::try_new(Arc::clone(schema), vec![column])?)
}
