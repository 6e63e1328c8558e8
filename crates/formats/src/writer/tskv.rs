//! TSKV: `a=1<tab>b=x`.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::{Columns, OutputStats, RowWriter};
use crate::columns::text::Style;
use crate::error::FormatError;
use crate::settings::FormatSettings;
use model::value::print;

pub(super) struct TskvWriter {
    settings: FormatSettings,
    columns: Columns,
    /// Of every column: its escaped name and `=`.
    names: Vec<Vec<u8>>,
}

impl TskvWriter {
    pub(super) fn new(settings: &FormatSettings) -> Self {
        Self { settings: settings.clone(), columns: Columns::default(), names: Vec::new() }
    }
}

/// A name whose `=` cannot be taken for the end of the name.
fn escaped_name(name: &str) -> Vec<u8> {
    let mut text = Vec::new();
    // Quotes stand in names as they are.
    print::escaped(name.as_bytes(), b'\\', &mut text);
    let mut escaped: Vec<u8> = Vec::with_capacity(text.len() + 1);
    for byte in text {
        if byte == b'=' {
            escaped.push(b'\\');
        }
        escaped.push(byte);
    }
    escaped.push(b'=');
    escaped
}

impl RowWriter for TskvWriter {
    fn start(&mut self, schema: &SchemaRef, _: &mut Vec<u8>) -> Result<(), FormatError> {
        self.columns = Columns::of(schema);
        self.names = self.columns.names.iter().map(|name| escaped_name(name)).collect();
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let mut columns = self.columns.open(batch, &self.settings)?;
        for row in 0..batch.num_rows() {
            for (at, (column, name)) in columns.iter_mut().zip(&self.names).enumerate() {
                if at > 0 {
                    out.push(b'\t');
                }
                out.extend_from_slice(name);
                match column.is_null(row) {
                    true => out.extend_from_slice(self.settings.tsv_null.as_bytes()),
                    false => column.write(row, Style::Escaped, out),
                }
            }
            out.push(b'\n');
        }
        Ok(())
    }

    fn finish(&mut self, _: &OutputStats, _: &mut Vec<u8>) -> Result<(), FormatError> {
        Ok(())
    }
}
