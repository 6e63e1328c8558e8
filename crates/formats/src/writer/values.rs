//! Values: `(1,'a'),(2,'b')`.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::{Columns, OutputStats, RowWriter};
use crate::columns::text::Style;
use crate::error::FormatError;
use crate::settings::FormatSettings;

pub(super) struct ValuesWriter {
    settings: FormatSettings,
    columns: Columns,
    any_row: bool,
}

impl ValuesWriter {
    pub(super) fn new(settings: &FormatSettings) -> Self {
        Self { settings: settings.clone(), columns: Columns::default(), any_row: false }
    }
}

impl RowWriter for ValuesWriter {
    fn start(&mut self, schema: &SchemaRef, _: &mut Vec<u8>) -> Result<(), FormatError> {
        self.columns = Columns::of(schema);
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let mut columns = self.columns.open(batch, &self.settings)?;
        for row in 0..batch.num_rows() {
            out.extend_from_slice(if self.any_row { b",(" } else { b"(" });
            self.any_row = true;
            for (at, column) in columns.iter_mut().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                column.write(row, Style::Quoted, out);
            }
            out.push(b')');
        }
        Ok(())
    }

    fn finish(&mut self, _: &OutputStats, _: &mut Vec<u8>) -> Result<(), FormatError> {
        Ok(())
    }
}
