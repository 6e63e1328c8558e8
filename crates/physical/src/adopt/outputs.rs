//! The columns of a SELECT that only projects one source, each for itself: what is not copied can be read without the rest.
//!
//! Invariant: the values of an output are those that the plan it was taken from would have made of the same rows. Must not know:
//! which outputs are wanted, and what for.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use datafusion::common::{DataFusionError, Result};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};
use futures::StreamExt;
use host::meter;
use sources::{BatchStream, ObjectTable, SourceUnit};

use crate::error::{PhysicalError, into_datafusion};
use crate::nodes::unit_list::UnitList;
use crate::nodes::unit_scan::{Queue, UnitScanExec};

/// Rows of which constants are made at once.
const BATCH_ROWS: usize = 8192;

/// A plan that is one projection, or none, over units of a source, taken apart.
#[derive(Debug)]
pub struct UnitPlan {
    pub source: Arc<ObjectTable>,
    /// Numbered as the queue hands them out.
    pub units: Arc<UnitList>,
    pub(super) queue: Queue,
    /// Streams that take them, here and elsewhere.
    pub streams: usize,
    pub outputs: Outputs,
}

impl UnitPlan {
    /// `None` if the plan does anything else.
    pub fn of(plan: &Arc<dyn ExecutionPlan>) -> Option<UnitPlan> {
        let schema = plan.schema();
        let projection = plan.downcast_ref::<ProjectionExec>();
        let mut below = projection.map_or(plan, |above| above.input());
        // Put over every scan, so that it gives way to other tasks.
        while below.is::<CooperativeExec>() {
            below = below.children().into_iter().next()?;
        }
        let scan: &UnitScanExec = below.downcast_ref()?;
        let columns: Vec<Arc<dyn PhysicalExpr>> = match projection {
            Some(projection) => projection.expr().iter().map(|one| Arc::clone(&one.expr)).collect(),
            None => {
                let column = |(at, field): (usize, &FieldRef)| Arc::new(Column::new(field.name(), at)) as _;
                schema.fields().iter().enumerate().map(column).collect()
            }
        };
        Some(UnitPlan {
            source: Arc::clone(&scan.table),
            units: Arc::clone(&scan.units),
            queue: scan.queue.clone(),
            streams: scan.streams,
            outputs: Outputs { columns, schema },
        })
    }
}

/// The outputs of a [`UnitPlan`].
#[derive(Debug)]
pub struct Outputs {
    columns: Vec<Arc<dyn PhysicalExpr>>,
    schema: SchemaRef,
}

impl Outputs {
    /// Of all outputs.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The column of the source that an output is.
    pub fn source_column(&self, output: usize) -> Option<&str> {
        let column = self.columns.get(output)?.downcast_ref::<Column>()?;
        Some(column.name())
    }

    /// Columns of the source, by position, that these outputs are computed from, each once.
    pub fn read_for(&self, source: &ObjectTable, wanted: &[usize]) -> Vec<usize> {
        let schema = source.schema();
        let exprs = wanted.iter().filter_map(|output| self.columns.get(*output));
        let names = exprs.flat_map(collect_columns);
        let mut positions: Vec<usize> =
            names.filter_map(|column| schema.index_of(column.name()).ok()).collect();
        positions.sort_unstable();
        positions.dedup();
        positions
    }

    /// Starts to read these outputs of a unit of `rows` rows: the first requests are sent at once.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn read(
        &self,
        source: &ObjectTable,
        (unit, rows): (&SourceUnit, usize),
        wanted: &[usize],
        batch_rows: usize,
    ) -> Result<OutputRows> {
        let positions = self.read_for(source, wanted);
        let projected = source.schema().project(&positions)?;
        let expr = |output: &usize| {
            let expr = self.columns.get(*output).map(Arc::clone);
            let missing = || DataFusionError::Internal(format!("there is no output {output}"));
            reassign_expr_columns(expr.ok_or_else(missing)?, &projected)
        };
        let exprs = wanted.iter().map(expr).collect::<Result<Vec<_>>>()?;
        let read = match positions.is_empty() {
            true => Read::Nothing { rows },
            false => {
                let rows = source.scan_unit(unit, Some(&positions), &[], batch_rows).await;
                Read::Rows(rows.map_err(into_datafusion)?)
            }
        };
        Ok(OutputRows { exprs, read })
    }
}

/// Where the rows come from.
enum Read {
    Rows(BatchStream),
    /// All outputs are constants.
    Nothing {
        rows: usize,
    },
}

/// The rows of some outputs.
pub struct OutputRows {
    exprs: Vec<Arc<dyn PhysicalExpr>>,
    read: Read,
}

impl OutputRows {
    /// Whether a file is read for them.
    pub fn reads(&self) -> bool {
        matches!(self.read, Read::Rows(_))
    }

    /// The number of the next rows and their values, one array for each wanted output.
    ///
    /// # Errors
    /// The file cannot be read, or an expression cannot be computed.
    pub async fn next(&mut self) -> Result<Option<(usize, Vec<ArrayRef>)>> {
        let batch = match &mut self.read {
            Read::Rows(rows) => match rows.next().await {
                Some(batch) => batch.map_err(into_datafusion)?,
                None => return Ok(None),
            },
            Read::Nothing { rows: 0 } => return Ok(None),
            Read::Nothing { rows } => {
                let now = BATCH_ROWS.min(*rows);
                *rows -= now;
                let options = RecordBatchOptions::new().with_row_count(Some(now));
                RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)?
            }
        };
        meter::check("the statement").map_err(|refused| into_datafusion(PhysicalError::from(refused)))?;
        let values = self.exprs.iter().map(|expr| expr.evaluate(&batch)?.into_array(batch.num_rows()));
        Ok(Some((batch.num_rows(), values.collect::<Result<Vec<_>>>()?)))
    }
}
