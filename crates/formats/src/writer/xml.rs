//! XML: one document of columns, rows, totals, extremes and statistics.
//!
//! Invariant: the document is UTF-8. A column whose name is no name of a tag is `field`, as in ClickHouse.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::json::make_valid;
use super::{Columns, OutputStats, RowWriter, is_extremes, is_totals};
use crate::columns::text::{ColumnText, Style};
use crate::error::FormatError;
use crate::settings::FormatSettings;
use model::value::print;

pub(super) struct XmlWriter {
    settings: FormatSettings,
    columns: Columns,
    /// Of every column: the name of its tag.
    tags: Vec<String>,
    rows: u64,
    /// Whether the rows are behind us.
    is_closed: bool,
}

/// A name that may be a tag's.
fn tag_of(name: &str) -> String {
    let is_tag = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let fits =
        name.bytes().all(is_tag) && !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit());
    if fits { name.to_owned() } else { "field".to_owned() }
}

/// `<tag>number</tag>` on a line of its own.
fn count(depth: &str, tag: &str, number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("{depth}<{tag}>{number}</{tag}>\n").as_bytes());
}

impl XmlWriter {
    pub(super) fn new(settings: &FormatSettings) -> Self {
        let (columns, tags) = (Columns::default(), Vec::new());
        Self { settings: settings.clone(), columns, tags, rows: 0, is_closed: false }
    }

    /// The values of a row in an element of this name.
    fn row(&self, name: &str, depth: usize, columns: &mut [ColumnText], row: usize, out: &mut Vec<u8>) {
        let indent = "\t".repeat(depth);
        out.extend_from_slice(format!("{indent}<{name}>\n").as_bytes());
        for (column, tag) in columns.iter_mut().zip(&self.tags) {
            out.extend_from_slice(format!("{indent}\t<{tag}>").as_bytes());
            column.write(row, Style::Xml, out);
            out.extend_from_slice(format!("</{tag}>\n").as_bytes());
        }
        out.extend_from_slice(format!("{indent}</{name}>\n").as_bytes());
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.is_closed, true) {
            out.extend_from_slice(b"\t</data>\n");
        }
    }
}

impl RowWriter for XmlWriter {
    fn start(&mut self, schema: &SchemaRef, out: &mut Vec<u8>) -> Result<(), FormatError> {
        self.columns = Columns::of(schema);
        self.tags = self.columns.names.iter().map(|name| tag_of(name)).collect();
        out.extend_from_slice(
            b"<?xml version='1.0' encoding='UTF-8' ?>\n<result>\n\t<meta>\n\t\t<columns>\n",
        );
        for (name, column_type) in self.columns.names.iter().zip(&self.columns.types) {
            out.extend_from_slice(b"\t\t\t<column>\n\t\t\t\t<name>");
            print::xml(name.as_bytes(), out);
            out.extend_from_slice(b"</name>\n\t\t\t\t<type>");
            print::xml(column_type.to_string().as_bytes(), out);
            out.extend_from_slice(b"</type>\n\t\t\t</column>\n");
        }
        out.extend_from_slice(b"\t\t</columns>\n\t</meta>\n\t<data>\n");
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let mut columns = self.columns.open(batch, &self.settings)?;
        let from = out.len();
        if is_totals(batch) {
            self.close(out);
            self.row("totals", 1, &mut columns, 0, out);
        } else if is_extremes(batch) {
            self.close(out);
            out.extend_from_slice(b"\t<extremes>\n");
            for (row, name) in (0..batch.num_rows()).zip(["min", "max"]) {
                self.row(name, 2, &mut columns, row, out);
            }
            out.extend_from_slice(b"\t</extremes>\n");
        } else {
            for row in 0..batch.num_rows() {
                self.rows += 1;
                self.row("row", 2, &mut columns, row, out);
            }
        }
        make_valid(out, from);
        Ok(())
    }

    fn finish(&mut self, stats: &OutputStats, out: &mut Vec<u8>) -> Result<(), FormatError> {
        self.close(out);
        count("\t", "rows", self.rows, out);
        if let Some(rows) = stats.rows_before_limit {
            count("\t", "rows_before_limit_at_least", rows, out);
        }
        if self.settings.write_statistics {
            out.extend_from_slice(b"\t<statistics>\n\t\t<elapsed>");
            let seconds = stats.elapsed.as_secs_f64();
            print::float(seconds, seconds, out);
            out.extend_from_slice(b"</elapsed>\n");
            count("\t\t", "rows_read", stats.rows_read, out);
            count("\t\t", "bytes_read", stats.bytes_read, out);
            out.extend_from_slice(b"\t</statistics>\n");
        }
        out.extend_from_slice(b"</result>\n");
        Ok(())
    }
}
