//! Markdown tables.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use model::ColumnType;
use model::value::print;

use super::{Columns, OutputStats, RowWriter};
use crate::columns::text::Style;
use crate::error::FormatError;
use crate::settings::FormatSettings;

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
        let mut escaped = Vec::new();
        for row in 0..batch.num_rows() {
            out.push(b'|');
            for (column, column_type) in columns.iter_mut().zip(&self.columns.types) {
                out.push(b' ');
                if self.settings.writing.escapes_markdown && is_text(column_type) {
                    escaped.clear();
                    column.write(row, Style::Plain, &mut escaped);
                    punctuation_escaped(&escaped, out);
                } else {
                    column.write(row, Style::Escaped, out);
                }
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

/// Whether ClickHouse escapes values of the type: those that may be NULL it does not.
fn is_text(column_type: &ColumnType) -> bool {
    use ColumnType as T;
    matches!(column_type, T::String | T::FixedString(_) | T::Enum8(_) | T::Enum16(_))
}

/// Text in which punctuation means nothing in Markdown.
fn punctuation_escaped(text: &[u8], out: &mut Vec<u8>) {
    for byte in text {
        if byte.is_ascii_punctuation() {
            out.push(b'\\');
        }
        out.push(*byte);
    }
}
