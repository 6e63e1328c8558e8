//! The rows of one part as they come from the plan, made rows of the table.
//!
//! Invariant: what comes out has the layout of the table's columns; MATERIALIZED columns are computed anew, and CHECKs asked,
//! of the rows that matched and no others. Must not know: plans, parts.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions, UInt8Array};
use arrow::compute::filter_record_batch;
use arrow::compute::kernels::zip::zip;
use arrow::datatypes::{DataType, SchemaRef};
use arrow::error::ArrowError;
use boundary::error::Error;
use functions::cast::{CastMode, cast_column};
use model::{ColumnDef, ColumnId, RowExpr, TableDef};

use super::checked::Kind;
use crate::tables::conform::Defaults;
use crate::tables::constraints::Constraints;

/// See the module.
pub(super) struct NewValues {
    schema: SchemaRef,
    columns: Vec<ColumnDef>,
    /// What is computed anew, in an order in which each sees what it reads: position and expression.
    computed: Vec<(usize, Arc<dyn RowExpr>)>,
    constraints: Option<Arc<Constraints>>,
    /// Whether a column behind the others says which rows matched.
    says_matched: bool,
}

impl NewValues {
    /// `defaults` are those of the columns that an INSERT writes.
    pub(super) fn new(
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
        let says_matched = matches!(kind, Kind::Update { .. });
        NewValues { schema: def.arrow_schema(), columns, computed: ordered, constraints, says_matched }
    }

    /// `rows_before` of the part came before these.
    pub(super) fn of(&self, rows: &RecordBatch, rows_before: u64) -> Result<RecordBatch, Error> {
        let mut columns = Vec::with_capacity(self.columns.len());
        for (column, (value, field)) in
            self.columns.iter().zip(rows.columns().iter().zip(rows.schema_ref().fields()))
        {
            let wanted = model::type_arrow::to_data_type(&column.column_type);
            columns.push(match *value.data_type() == wanted {
                true => Arc::clone(value),
                false => {
                    let given = model::type_arrow::from_field(field);
                    cast_column(value, &given, &column.column_type, CastMode::Insert)?
                }
            });
        }
        let mut batch = self.batch(columns, rows.num_rows())?;
        let Some(matched) = self.says_matched.then(|| rows.columns().last()).flatten() else {
            return Ok(batch);
        };
        let matched = truths(matched)?;
        for (at, expression) in &self.computed {
            let value = expression.evaluate(&batch).map_err(Error::from)?;
            let wanted = &self.columns[*at].column_type;
            let value = cast_column(&value, expression.column_type(), wanted, CastMode::Insert)?;
            let mut columns = batch.columns().to_vec();
            columns[*at] = zip(&matched, &value, &columns[*at]).map_err(broken)?;
            batch = self.batch(columns, batch.num_rows())?;
        }
        if let Some(constraints) = &self.constraints {
            constraints.check(&filter_record_batch(&batch, &matched).map_err(broken)?, rows_before)?;
        }
        Ok(batch)
    }

    fn batch(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch, Error> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options).map_err(broken)
    }
}

fn broken(error: ArrowError) -> Error {
    Error::internal(error.to_string())
}

fn truths(matched: &ArrayRef) -> Result<BooleanArray, Error> {
    match matched.data_type() {
        DataType::Boolean => Ok(matched.as_boolean().clone()),
        DataType::UInt8 => {
            let numbers: &UInt8Array = matched.as_primitive();
            Ok(numbers.iter().map(|number| Some(number.is_some_and(|number| number != 0))).collect())
        }
        other => Err(Error::internal(format!("whether a row matched is {other}"))),
    }
}
