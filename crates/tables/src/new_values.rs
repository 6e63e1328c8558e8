//! Rows of a table with other values for some of them.
//!
//! Invariant: what comes out has the layout of the table's columns; MATERIALIZED columns are computed anew, and CHECKs and the
//! sizes of Nested asked, of the rows that changed and no others. Must not know: plans, parts.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::filter_record_batch;
use arrow::compute::kernels::zip::zip;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use boundary::error::Error;
use functions::cast::{CastMode, cast_column};
use model::{ColumnDef, ColumnId, RowExpr, TableDef};

use crate::changes::Kind;
use crate::conform::Defaults;
use crate::constraints::Constraints;
use crate::nested::{Parts, complete, nested_of};

/// See the module.
pub struct NewValues {
    schema: SchemaRef,
    columns: Vec<ColumnDef>,
    /// What is computed anew, in an order in which each sees what it reads: position and expression.
    computed: Vec<(usize, Arc<dyn RowExpr>)>,
    constraints: Option<Arc<Constraints>>,
    nested: Vec<Parts>,
}

impl NewValues {
    /// `defaults` are those of the columns that an INSERT writes.
    pub fn new(
        def: &TableDef,
        kind: &Kind,
        defaults: &Defaults,
        constraints: Option<Arc<Constraints>>,
    ) -> NewValues {
        let columns: Vec<ColumnDef> = def.stored_columns().cloned().collect();
        let mut waiting: Vec<(ColumnId, usize, Arc<dyn RowExpr>)> = Vec::new();
        if let Kind::Update { computed, .. } = kind {
            for (column, default) in def.written_columns().zip(defaults.iter()) {
                let at = columns.iter().position(|stored| stored.id == column.id);
                if let (true, Some(at), Some(default)) = (computed.contains(&column.id), at, default) {
                    waiting.push((column.id, at, Arc::clone(default)));
                }
            }
        }
        let mut ordered = Vec::new();
        while !waiting.is_empty() {
            let ready = waiting
                .iter()
                .position(|(_, _, value)| waiting.iter().all(|(id, _, _)| !value.columns().contains(id)));
            // Definitions have no circles.
            let (_, at, value) = waiting.swap_remove(ready.unwrap_or(0));
            ordered.push((at, value));
        }
        let nested = nested_of(columns.iter());
        NewValues { schema: def.arrow_schema(), columns, computed: ordered, constraints, nested }
    }

    /// Rows of the table as they were, in its layout.
    pub fn as_stored(&self, rows: &RecordBatch) -> Result<RecordBatch, Error> {
        let fields = rows.schema_ref().fields().iter();
        let values = self.columns.iter().zip(rows.columns().iter().zip(fields));
        let columns = values.map(|(column, (value, field))| {
            match *value.data_type() == model::type_arrow::to_data_type(&column.column_type) {
                true => Ok(Arc::clone(value)),
                false => self.cast(value, &model::type_arrow::from_field(field), column),
            }
        });
        self.batch(columns.collect::<Result<_, Error>>()?, rows.num_rows())
    }

    /// A value of the plan in the layout of the column at a position.
    pub fn value(
        &self,
        at: usize,
        value: &ArrayRef,
        field: &arrow::datatypes::Field,
    ) -> Result<ArrayRef, Error> {
        self.cast(value, &model::type_arrow::from_field(field), &self.columns[at])
    }

    fn cast(
        &self,
        value: &ArrayRef,
        given: &model::ColumnType,
        column: &ColumnDef,
    ) -> Result<ArrayRef, Error> {
        Ok(cast_column(value, given, &column.column_type, CastMode::Insert)?)
    }

    /// The same rows with `columns` at their positions, which differ in the rows that `changed` says.
    pub fn changed(
        &self,
        rows: &RecordBatch,
        columns: Vec<(usize, ArrayRef)>,
        changed: &BooleanArray,
        rows_before: u64,
    ) -> Result<RecordBatch, Error> {
        let mut all = rows.columns().to_vec();
        columns.into_iter().for_each(|(at, column)| all[at] = column);
        let mut batch = self.batch(all, rows.num_rows())?;
        for (at, expression) in &self.computed {
            let value = expression.evaluate(&batch).map_err(Error::from)?;
            let value = self.cast(&value, expression.column_type(), &self.columns[*at])?;
            let mut columns = batch.columns().to_vec();
            columns[*at] = zip(changed, &value, &columns[*at]).map_err(broken)?;
            batch = self.batch(columns, batch.num_rows())?;
        }
        if changed.true_count() > 0 && (self.constraints.is_some() || !self.nested.is_empty()) {
            self.check(&filter_record_batch(&batch, changed).map_err(broken)?, rows_before)?;
        }
        Ok(batch)
    }

    fn check(&self, changed: &RecordBatch, rows_before: u64) -> Result<(), Error> {
        let defs: Vec<&ColumnDef> = self.columns.iter().collect();
        let mut arrays: Vec<Option<ArrayRef>> = changed.columns().iter().cloned().map(Some).collect();
        self.nested.iter().try_for_each(|parts| complete(parts, &mut arrays, &defs, &|_| false))?;
        self.constraints.as_ref().map_or(Ok(()), |constraints| constraints.check(changed, rows_before))
    }

    fn batch(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch, Error> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options).map_err(broken)
    }
}

pub fn broken(error: ArrowError) -> Error {
    Error::internal(error.to_string())
}
