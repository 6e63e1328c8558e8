//! BSONEachRow: every row a document.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use model::value::bson;
use model::{ColumnType, ErrorCode};

use super::{Columns, OutputStats, RowWriter};
use crate::error::FormatError;
use crate::settings::FormatSettings;

pub(super) struct BsonWriter {
    settings: FormatSettings,
    columns: Columns,
}

impl BsonWriter {
    pub(super) fn new(settings: &FormatSettings) -> Self {
        Self { settings: settings.clone(), columns: Columns::default() }
    }
}

fn is_written(of: &ColumnType) -> bool {
    match of.value_type() {
        ColumnType::AggregateFunction(_) => false,
        interval if interval.is_interval() || interval.nullable_interval().is_some() => false,
        ColumnType::Array(item) => is_written(item),
        ColumnType::Map(key, value) => is_written(key) && is_written(value),
        ColumnType::Tuple(elements) => elements.iter().all(|element| is_written(&element.column_type)),
        _ => true,
    }
}

impl RowWriter for BsonWriter {
    fn start(&mut self, schema: &SchemaRef, _: &mut Vec<u8>) -> Result<(), FormatError> {
        self.columns = Columns::of(schema);
        match self.columns.types.iter().find(|of| !is_written(of)) {
            None => Ok(()),
            Some(of) => {
                let message = format!("type {of} is not written in format BSONEachRow");
                Err(FormatError::new(ErrorCode::ILLEGAL_COLUMN, message))
            }
        }
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let mut columns = self.columns.open(batch, &self.settings)?;
        for row in 0..batch.num_rows() {
            bson::document(out, |out| {
                let members = columns.iter_mut().zip(&self.columns.types).zip(&self.columns.names);
                members.for_each(|((column, of), name)| column.put_member(row, of, name.as_bytes(), out));
            });
        }
        Ok(())
    }

    fn finish(&mut self, _: &OutputStats, _: &mut Vec<u8>) -> Result<(), FormatError> {
        Ok(())
    }
}
