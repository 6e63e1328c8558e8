//! Vertical: one line per value.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::{Columns, OutputStats, RowWriter};
use crate::columns::text::Style;
use crate::error::FormatError;
use crate::settings::FormatSettings;
use model::value::in_words::tip;
use model::value::strokes::{BOLD, GREY, PLAIN};
use model::value::width::display_width;

pub(super) struct VerticalWriter {
    settings: FormatSettings,
    columns: Columns,
    /// Display widths of the names, the widest last.
    widths: Vec<usize>,
    rows: usize,
    /// Named tuples are indented JSON, as in tables.
    as_table: bool,
}

impl VerticalWriter {
    pub(super) fn new(settings: &FormatSettings) -> Self {
        let settings = settings.clone();
        Self { settings, columns: Columns::default(), widths: Vec::new(), rows: 0, as_table: false }
    }

    /// For rows that Pretty does not draw as a table, with values as it has them.
    pub(super) fn instead_of_table(settings: &FormatSettings) -> Self {
        Self { as_table: true, ..Self::new(settings) }
    }

    fn name(&self, column: usize, out: &mut Vec<u8>) {
        if self.settings.has_color() {
            out.extend_from_slice(BOLD);
        }
        out.extend_from_slice(self.columns.names[column].as_bytes());
        out.push(b':');
        if self.settings.has_color() {
            out.extend_from_slice(PLAIN);
        }
        let widest = self.widths.iter().max().copied().unwrap_or(0);
        out.resize(out.len() + widest - self.widths[column] + 1, b' ');
    }

    fn heading(&self, out: &mut Vec<u8>) {
        let number = self.rows.to_string();
        out.extend_from_slice(format!("Row {number}:\n").as_bytes());
        // ClickHouse sizes the line for the number after this one.
        let digits = (self.rows + 1).to_string().len();
        out.extend_from_slice("─".repeat(digits + "Row :".len()).as_bytes());
        out.push(b'\n');
    }
}

impl RowWriter for VerticalWriter {
    fn start(&mut self, schema: &SchemaRef, _: &mut Vec<u8>) -> Result<(), FormatError> {
        self.columns = Columns::of(schema);
        self.widths = self.columns.names.iter().map(|name| display_width(name, 0)).collect();
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let left = self.settings.pretty_rows_max.saturating_sub(self.rows);
        let mut columns = match self.as_table {
            true => self.columns.open_for_table(batch, &self.settings)?,
            false => self.columns.open(batch, &self.settings)?,
        };
        for row in 0..batch.num_rows().min(left) {
            if self.rows > 0 {
                out.push(b'\n');
            }
            self.rows += 1;
            self.heading(out);
            for (at, column) in columns.iter_mut().enumerate() {
                self.name(at, out);
                let start = out.len();
                column.write(row, Style::Plain, out);
                let note =
                    tip(&out[start..], &self.columns.types[at], self.settings.pretty_single_number_tip);
                if let Some(note) = note {
                    let (before, after): (&[u8], &[u8]) =
                        if self.settings.has_color() { (GREY, PLAIN) } else { (b"", b"") };
                    out.extend_from_slice(before);
                    out.extend_from_slice(note.as_bytes());
                    out.extend_from_slice(after);
                }
                out.push(b'\n');
            }
        }
        if batch.num_rows() > left {
            self.rows += batch.num_rows() - left;
        }
        Ok(())
    }

    fn finish(&mut self, _: &OutputStats, out: &mut Vec<u8>) -> Result<(), FormatError> {
        if self.rows > self.settings.pretty_rows_max {
            out.extend_from_slice(format!("\nShowed first {}.\n", self.settings.pretty_rows_max).as_bytes());
        }
        Ok(())
    }
}
