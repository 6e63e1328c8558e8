//! CSV, TabSeparated and TabSeparatedRaw.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use model::{ColumnType, raw_text, value::print};

use super::{Columns, OutputStats, RowWriter};
use crate::columns::text::{ColumnText, Style};
use crate::error::FormatError;
use crate::settings::FormatSettings;
use model::format_kind::HeaderRows;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Syntax {
    Csv,
    Tsv,
    Raw,
}

pub(super) struct DelimitedWriter {
    syntax: Syntax,
    style: Style,
    delimiter: u8,
    line_end: &'static [u8],
    null: Vec<u8>,
    header: HeaderRows,
    settings: FormatSettings,
    columns: Columns,
}

impl DelimitedWriter {
    pub(super) fn new(syntax: Syntax, header: HeaderRows, settings: &FormatSettings) -> Self {
        let (style, delimiter, crlf, null) = match syntax {
            Syntax::Csv => (Style::Csv, settings.csv_delimiter, settings.csv_crlf, &settings.csv_null),
            Syntax::Tsv => (Style::Escaped, b'\t', settings.tsv_output_crlf, &settings.tsv_null),
            Syntax::Raw => (Style::Plain, b'\t', settings.tsv_output_crlf, &settings.tsv_null),
        };
        Self {
            syntax,
            style,
            delimiter,
            line_end: if crlf { b"\r\n" } else { b"\n" },
            null: null.clone().into_bytes(),
            header,
            settings: settings.clone(),
            columns: Columns::default(),
        }
    }

    /// Whether the elements of a tuple are values of their own.
    fn flattens(&self) -> bool {
        self.syntax == Syntax::Csv && self.settings.writing.csv_tuples_apart
    }

    /// One value; in CSV the elements of a tuple are values of their own.
    fn value(&self, column: &mut ColumnText, row: usize, out: &mut Vec<u8>) {
        if column.is_null(row) {
            return out.extend_from_slice(&self.null);
        }
        if self.flattens()
            && let Some(children) = column.tuple_children().filter(|children| !children.is_empty())
        {
            for (at, child) in children.iter_mut().enumerate() {
                if at > 0 {
                    out.push(self.delimiter);
                }
                self.value(child, row, out);
            }
            return;
        }
        column.write(row, self.style, out);
    }

    fn header_text(&self, text: &str, out: &mut Vec<u8>) {
        // The name of a column may quote a literal of any bytes.
        let bytes = raw_text::bytes(text);
        match self.syntax {
            Syntax::Csv => print::csv_quoted(&bytes, out),
            Syntax::Tsv => print::escaped(&bytes, b'\'', out),
            Syntax::Raw => out.extend_from_slice(&bytes),
        }
    }
}

/// Name and type of every cell: a tuple's elements in CSV have the tuple's name in front.
fn flattened(name: &str, column_type: &ColumnType, cells: &mut Columns) {
    match column_type {
        ColumnType::Tuple(elements) if !elements.is_empty() => {
            for (at, element) in elements.iter().enumerate() {
                let position = (at + 1).to_string();
                let name = format!("{name}.{}", element.name.as_deref().unwrap_or(&position));
                flattened(&name, &element.column_type, cells);
            }
        }
        _ => {
            cells.names.push(name.to_owned());
            cells.types.push(column_type.clone());
        }
    }
}

impl RowWriter for DelimitedWriter {
    fn start(&mut self, schema: &SchemaRef, out: &mut Vec<u8>) -> Result<(), FormatError> {
        self.columns = Columns::of(schema);
        let mut cells = Columns::default();
        for (name, column_type) in self.columns.names.iter().zip(&self.columns.types) {
            if self.flattens() {
                flattened(name, column_type, &mut cells);
            } else {
                cells.names.push(name.clone());
                cells.types.push(column_type.clone());
            }
        }
        for texts in cells.header_rows(self.header) {
            for (at, text) in texts.iter().enumerate() {
                if at > 0 {
                    out.push(self.delimiter);
                }
                self.header_text(text, out);
            }
            out.extend_from_slice(self.line_end);
        }
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let mut columns = self.columns.open(batch, &self.settings)?;
        for row in 0..batch.num_rows() {
            for (at, column) in columns.iter_mut().enumerate() {
                if at > 0 {
                    out.push(self.delimiter);
                }
                self.value(column, row, out);
            }
            out.extend_from_slice(self.line_end);
        }
        Ok(())
    }

    fn finish(&mut self, _: &OutputStats, _: &mut Vec<u8>) -> Result<(), FormatError> {
        Ok(())
    }
}
