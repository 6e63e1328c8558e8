//! Hash: one sum over all values, row by row.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use model::ErrorCode;
use model::value::digest::Digest;

use super::{Columns, OutputStats, RowWriter};
use crate::binary::cells::{self, Lengths};
use crate::binary::column::{Column, Layout};
use crate::binary::from_array::from_array;
use crate::error::FormatError;

#[derive(Default)]
pub(super) struct HashWriter {
    columns: Columns,
    digest: Digest,
}

impl RowWriter for HashWriter {
    fn start(&mut self, schema: &SchemaRef, _: &mut Vec<u8>) -> Result<(), FormatError> {
        self.columns = Columns::of(schema);
        match self.columns.types.iter().find(|of| of.to_string().contains("AggregateFunction(")) {
            None => Ok(()),
            Some(of) => {
                let message = format!("format Hash makes no sum of values of type {of}");
                Err(FormatError::new(ErrorCode::NOT_IMPLEMENTED, message))
            }
        }
    }

    fn write(&mut self, batch: &RecordBatch, _: &mut Vec<u8>) -> Result<(), FormatError> {
        self.columns.fits(batch)?;
        let mut columns: Vec<Column> = Vec::with_capacity(batch.num_columns());
        for ((array, t), name) in batch.columns().iter().zip(&self.columns.types).zip(&self.columns.names) {
            let values = from_array(array, t, Layout::Rows);
            columns.push(values.map_err(|error| error.in_column(name.as_str()))?);
        }
        let mut row_bytes = Vec::new();
        for row in 0..batch.num_rows() {
            row_bytes.clear();
            for (column, column_type) in columns.iter().zip(&self.columns.types) {
                cells::write(column, column_type, row, Lengths::Words, &mut row_bytes);
            }
            self.digest.add(&row_bytes);
        }
        Ok(())
    }

    fn finish(&mut self, _: &OutputStats, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let sum = std::mem::take(&mut self.digest).finish();
        out.extend(sum.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()));
        out.push(b'\n');
        Ok(())
    }
}
