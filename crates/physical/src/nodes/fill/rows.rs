//! Rows that WITH FILL makes, as batches: filled keys, the values of the keys before them, INTERPOLATE, defaults.
//!
//! Invariant: a made row has the input's columns in the input's layouts.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::physical_plan::PhysicalExpr;
use functions::default_array;
use model::ColumnType;
use model::type_arrow::from_field;

use crate::nodes::cells::{Cell, array_of, invalid};

/// Where a column of a made row comes from.
#[derive(Clone)]
pub(crate) enum Origin {
    /// The filled key of this number.
    Key(usize),
    /// The first row of its range.
    Range,
    /// The row before.
    Before,
    /// Computed from the row before.
    Computed(Arc<dyn PhysicalExpr>),
    Default,
}

/// Makes rows.
pub(crate) struct Maker {
    schema: SchemaRef,
    origins: Vec<Origin>,
    types: Vec<ColumnType>,
    /// One row of defaults.
    defaults: RecordBatch,
}

impl Maker {
    pub(crate) fn try_new(schema: SchemaRef, origins: Vec<Origin>) -> Result<Maker> {
        let types: Vec<ColumnType> = schema.fields().iter().map(|field| from_field(field)).collect();
        let columns = types.iter().zip(schema.fields()).map(|(column_type, field)| {
            let array = default_array(column_type, 1);
            let same = array.data_type() == field.data_type();
            if same { Ok(array) } else { arrow::compute::cast(&array, field.data_type()) }
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let defaults = RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options)?;
        Ok(Maker { schema, origins, types, defaults })
    }

    /// One row of defaults, which stands for the row before the first.
    pub(crate) fn defaults(&self) -> &RecordBatch {
        &self.defaults
    }

    /// Whether every row needs the one before it.
    pub(crate) fn computes(&self) -> bool {
        self.origins.iter().any(|origin| matches!(origin, Origin::Computed(_)))
    }

    /// Rows with these keys. `range` and `before` are one row each.
    pub(crate) fn made(
        &self,
        keys: &[Vec<Cell>],
        range: &RecordBatch,
        before: &RecordBatch,
    ) -> Result<RecordBatch> {
        let mut columns = Vec::with_capacity(self.origins.len());
        for (at, origin) in self.origins.iter().enumerate() {
            columns.push(match origin {
                Origin::Key(key) => {
                    let cells = keys.iter().map(|row| row.get(*key).copied().unwrap_or(Cell::Null));
                    self.laid_out(array_of(cells, &self.types[at])?, at)?
                }
                Origin::Range => repeated(range.column(at), keys.len())?,
                Origin::Before => repeated(before.column(at), keys.len())?,
                Origin::Computed(value) => {
                    let value = value.evaluate(before)?.into_array(1)?;
                    self.laid_out(repeated(&value, keys.len())?, at)?
                }
                Origin::Default => repeated(self.defaults.column(at), keys.len())?,
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(keys.len()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }

    fn laid_out(&self, array: ArrayRef, at: usize) -> Result<ArrayRef> {
        let field = self.schema.field(at);
        if array.data_type() == field.data_type() {
            return Ok(array);
        }
        arrow::compute::cast(&array, field.data_type())
            .map_err(|_| invalid(format!("a value of INTERPOLATE does not fit into column {}", field.name())))
    }
}

fn repeated(one: &ArrayRef, rows: usize) -> Result<ArrayRef> {
    if rows == 1 {
        return Ok(Arc::clone(one));
    }
    Ok(take(one, &UInt32Array::from(vec![0; rows]), None)?)
}
