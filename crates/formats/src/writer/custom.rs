//! CustomSeparated: fields escaped by one rule, with given texts around fields, rows and the whole.
//!
//! Invariant: byte for byte what ClickHouse writes; only a rule that quotes keeps a delimiter inside of a value apart.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::{Columns, OutputStats, RowWriter};
use crate::columns::text::{ColumnText, Style};
use crate::error::FormatError;
use crate::settings::{EscapingRule, FormatSettings};
use model::format_kind::HeaderRows;
use model::value::print;

pub(super) struct CustomWriter {
    header: HeaderRows,
    settings: FormatSettings,
    columns: Columns,
    /// Rows so far, header rows included.
    any_row: bool,
}

impl CustomWriter {
    pub(super) fn new(header: HeaderRows, settings: &FormatSettings) -> Self {
        Self { header, settings: settings.clone(), columns: Columns::default(), any_row: false }
    }

    fn style(&self) -> Style {
        match self.settings.custom.rule {
            EscapingRule::Escaped => Style::Escaped,
            EscapingRule::Quoted => Style::Quoted,
            EscapingRule::Csv => Style::Csv,
            EscapingRule::Json => Style::Json,
            EscapingRule::Raw => Style::Plain,
            EscapingRule::Xml => Style::Xml,
        }
    }

    fn value(&self, column: &mut ColumnText, row: usize, out: &mut Vec<u8>) {
        let (style, settings) = (self.style(), &self.settings);
        if column.is_null(row) {
            return match style {
                Style::Csv => out.extend_from_slice(settings.csv_null.as_bytes()),
                Style::Escaped | Style::Plain => out.extend_from_slice(settings.tsv_null.as_bytes()),
                Style::Quoted | Style::Json | Style::Xml => column.write(row, style, out),
            };
        }
        // Elements of a tuple are values of their own in CSV, parted as CSV parts them.
        if style == Style::Csv
            && let Some(children) = column.tuple_children().filter(|children| !children.is_empty())
        {
            for (at, child) in children.iter_mut().enumerate() {
                if at > 0 {
                    out.push(settings.csv_delimiter);
                }
                self.value(child, row, out);
            }
            return;
        }
        column.write(row, style, out);
    }

    fn header_text(&self, text: &str, out: &mut Vec<u8>) {
        let text = text.as_bytes();
        match self.style() {
            Style::Escaped => print::escaped(text, b'\'', out),
            Style::Quoted => print::quoted(text, out),
            Style::Csv => print::csv_quoted(text, out),
            Style::Json => print::json_string(text, self.settings.json_escape_forward_slashes, out),
            Style::Plain => out.extend_from_slice(text),
            Style::Xml => print::xml(text, out),
        }
    }

    fn row_start(&mut self, out: &mut Vec<u8>) {
        let custom = &self.settings.custom;
        if self.any_row {
            out.extend_from_slice(custom.row_between.as_bytes());
        }
        self.any_row = true;
        out.extend_from_slice(custom.row_before.as_bytes());
    }
}

impl RowWriter for CustomWriter {
    fn start(&mut self, schema: &SchemaRef, out: &mut Vec<u8>) -> Result<(), FormatError> {
        self.columns = Columns::of(schema);
        out.extend_from_slice(self.settings.custom.result_before.as_bytes());
        for texts in self.columns.header_rows(self.header) {
            self.row_start(out);
            for (at, text) in texts.iter().enumerate() {
                if at > 0 {
                    out.extend_from_slice(self.settings.custom.field_delimiter.as_bytes());
                }
                self.header_text(text, out);
            }
            out.extend_from_slice(self.settings.custom.row_after.as_bytes());
        }
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let mut columns = self.columns.open(batch, &self.settings)?;
        for row in 0..batch.num_rows() {
            self.row_start(out);
            for (at, column) in columns.iter_mut().enumerate() {
                if at > 0 {
                    out.extend_from_slice(self.settings.custom.field_delimiter.as_bytes());
                }
                self.value(column, row, out);
            }
            out.extend_from_slice(self.settings.custom.row_after.as_bytes());
        }
        Ok(())
    }

    fn finish(&mut self, _: &OutputStats, out: &mut Vec<u8>) -> Result<(), FormatError> {
        out.extend_from_slice(self.settings.custom.result_after.as_bytes());
        Ok(())
    }
}
