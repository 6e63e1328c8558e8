//! Markdown tables.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::{Columns, OutputStats, RowWriter};
use crate::columns::text::Style;
use crate::error::FormatError;
use crate::settings::FormatSettings;
use crate::values::print;

pub(super) struct MarkdownWriter {
    settings: FormatSettings,
    columns: Columns,
}

impl MarkdownWriter {
    pub(super) fn new(settings: &FormatSettings) -> Self {
        Self { settings: settings.clone(), columns: Columns::default() }
    }
}

impl RowWriter for MarkdownWriter {
    fn start(&mut self, schema: &SchemaRef, out: &mut Vec<u8>) -> Result<(), FormatError> {
        self.columns = Columns::of(schema);
        out.push(b'|');
        for name in &self.columns.names {
            out.push(b' ');
            print::escaped(name.as_bytes(), b'\'', out);
            out.extend_from_slice(b" |");
        }
        out.extend_from_slice(b"\n|");
        for right in self.columns.right_aligned() {
            out.extend_from_slice(if right { b"-:|" } else { b":-|" });
        }
        out.push(b'\n');
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let mut columns = self.columns.open(batch, &self.settings)?;
        for row in 0..batch.num_rows() {
            out.push(b'|');
            for column in &mut columns {
                out.push(b' ');
                column.write(row, Style::Escaped, out);
                out.extend_from_slice(b" |");
            }
            out.push(b'\n');
        }
        Ok(())
    }

    fn finish(&mut self, _: &OutputStats, _: &mut Vec<u8>) -> Result<(), FormatError> {
        Ok(())
    }
}
