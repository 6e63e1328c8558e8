//! JSON documents and JSON rows.
//!
//! Invariant: the output is one valid JSON document (JSON, JSONCompact, or rows with `output_format_json_array_of_rows`) or one per
//! line.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use model::ColumnType;

use super::{Columns, OutputStats, RowWriter};
use crate::columns::text::indented::TABS;
use crate::columns::text::{ColumnText, Style};
use crate::error::FormatError;
use crate::settings::FormatSettings;
use model::format_kind::HeaderRows;
use model::value::print;

/// What a row is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Layout {
    Objects,
    Lists,
}

pub(super) fn string(text: &str, settings: &FormatSettings) -> Vec<u8> {
    let mut out = Vec::new();
    print::json_string(text.as_bytes(), settings.json_escape_forward_slashes, &mut out);
    out
}

/// `[a, b]`, with blanks as ClickHouse has them in compact rows.
fn list_row(
    columns: &mut [ColumnText],
    out: &mut Vec<u8>,
    mut value: impl FnMut(&mut ColumnText, &mut Vec<u8>),
) {
    out.push(b'[');
    for (at, column) in columns.iter_mut().enumerate() {
        if at > 0 {
            out.extend_from_slice(b", ");
        }
        value(column, out);
    }
    out.push(b']');
}

/// The head of a document: names and types of the columns.
pub(super) fn write_meta(
    keys: &[Vec<u8>],
    types: &[ColumnType],
    settings: &FormatSettings,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(b"{\n\t\"meta\":\n\t[\n");
    for (at, (key, column_type)) in keys.iter().zip(types).enumerate() {
        out.extend_from_slice(if at > 0 {
            b",\n\t\t{\n\t\t\t\"name\": "
        } else {
            b"\t\t{\n\t\t\t\"name\": "
        });
        out.extend_from_slice(key);
        out.extend_from_slice(b",\n\t\t\t\"type\": ");
        out.extend_from_slice(&string(&column_type.to_string(), settings));
        out.extend_from_slice(b"\n\t\t}");
    }
    out.extend_from_slice(b"\n\t],\n\n");
}

/// The end of a document behind its data: the number of rows and statistics.
pub(super) fn write_end(rows: u64, stats: &OutputStats, settings: &FormatSettings, out: &mut Vec<u8>) {
    out.extend_from_slice(b",\n\n\t\"rows\": ");
    print::integer(rows, out);
    if let Some(rows) = stats.rows_before_limit {
        out.extend_from_slice(b",\n\n\t\"rows_before_limit_at_least\": ");
        print::integer(rows, out);
    }
    if !settings.write_statistics {
        out.extend_from_slice(b"\n}\n");
        return;
    }
    out.extend_from_slice(b",\n\n\t\"statistics\":\n\t{\n\t\t\"elapsed\": ");
    let seconds = stats.elapsed.as_secs_f64();
    print::float(seconds, seconds, out);
    out.extend_from_slice(b",\n\t\t\"rows_read\": ");
    print::integer(stats.rows_read, out);
    out.extend_from_slice(b",\n\t\t\"bytes_read\": ");
    print::integer(stats.bytes_read, out);
    out.extend_from_slice(b"\n\t}\n}\n");
}

/// A value as its text in a string.
fn quoted(column: &mut ColumnText, row: usize, slashes: bool, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
    scratch.clear();
    column.write(row, Style::Plain, scratch);
    print::json_string(scratch, slashes, out);
}

/// JSON and JSONCompact, and both with every value in a string: metadata, rows, statistics.
pub(super) struct JsonWriter {
    layout: Layout,
    strings: bool,
    scratch: Vec<u8>,
    settings: FormatSettings,
    columns: Columns,
    /// Names as JSON strings.
    keys: Vec<Vec<u8>>,
    rows: u64,
}

/// Depth of a row's values in the document.
const VALUE_DEPTH: usize = 3;

impl JsonWriter {
    pub(super) fn new(layout: Layout, settings: &FormatSettings) -> Self {
        Self {
            layout,
            strings: false,
            scratch: Vec::new(),
            settings: settings.clone(),
            columns: Columns::default(),
            keys: Vec::new(),
            rows: 0,
        }
    }

    /// The same with every value in a string.
    pub(super) fn of_strings(self) -> Self {
        Self { strings: true, ..self }
    }

    fn object_row(&mut self, columns: &mut [ColumnText], row: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\t\t{");
        for (at, (column, key)) in columns.iter_mut().zip(&self.keys).enumerate() {
            out.extend_from_slice(if at > 0 { b",\n\t\t\t" } else { b"\n\t\t\t" });
            out.extend_from_slice(key);
            out.extend_from_slice(b": ");
            match self.strings {
                true => {
                    quoted(column, row, self.settings.json_escape_forward_slashes, &mut self.scratch, out);
                }
                false if !self.settings.writing.json_indents => column.write(row, Style::Json, out),
                false => column.write_indented(row, VALUE_DEPTH, TABS, out),
            }
        }
        out.extend_from_slice(b"\n\t\t}");
    }
}

/// A document is UTF-8: of what is none every run becomes one sign, as in ClickHouse.
pub(super) fn make_valid(out: &mut Vec<u8>, from: usize) {
    if std::str::from_utf8(&out[from..]).is_ok() {
        return;
    }
    let written = out.split_off(from);
    let mut in_run = false;
    for chunk in written.utf8_chunks() {
        in_run &= chunk.valid().is_empty();
        out.extend_from_slice(chunk.valid().as_bytes());
        if !chunk.invalid().is_empty() && !std::mem::replace(&mut in_run, true) {
            out.extend_from_slice("\u{fffd}".as_bytes());
        }
    }
}

impl RowWriter for JsonWriter {
    fn start(&mut self, schema: &SchemaRef, out: &mut Vec<u8>) -> Result<(), FormatError> {
        self.columns = Columns::of(schema);
        self.keys = self.columns.names.iter().map(|name| string(name, &self.settings)).collect();
        write_meta(&self.keys, &self.columns.types, &self.settings, out);
        out.extend_from_slice(b"\t\"data\":\n\t[\n");
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let mut columns = self.columns.open(batch, &self.settings)?;
        let from = out.len();
        for row in 0..batch.num_rows() {
            if self.rows > 0 {
                out.extend_from_slice(b",\n");
            }
            self.rows += 1;
            match self.layout {
                Layout::Objects => self.object_row(&mut columns, row, out),
                Layout::Lists => {
                    out.extend_from_slice(b"\t\t");
                    let (strings, slashes) = (self.strings, self.settings.json_escape_forward_slashes);
                    let scratch = &mut self.scratch;
                    list_row(&mut columns, out, |column, out| match strings {
                        true => quoted(column, row, slashes, scratch, out),
                        false => column.write(row, Style::Json, out),
                    });
                }
            }
        }
        make_valid(out, from);
        Ok(())
    }

    fn finish(&mut self, stats: &OutputStats, out: &mut Vec<u8>) -> Result<(), FormatError> {
        out.extend_from_slice(b"\n\t]");
        write_end(self.rows, stats, &self.settings, out);
        Ok(())
    }
}

/// JSONEachRow, JSONCompactEachRow, and both with every value in a string.
pub(super) struct JsonRowsWriter {
    layout: Layout,
    strings: bool,
    scratch: Vec<u8>,
    header: HeaderRows,
    settings: FormatSettings,
    columns: Columns,
    keys: Vec<Vec<u8>>,
    any_row: bool,
}

impl JsonRowsWriter {
    pub(super) fn new(layout: Layout, header: HeaderRows, settings: &FormatSettings) -> Self {
        let settings = settings.clone();
        Self {
            layout,
            strings: false,
            scratch: Vec::new(),
            header,
            settings,
            columns: Columns::default(),
            keys: Vec::new(),
            any_row: false,
        }
    }

    /// The same with every value in a string.
    pub(super) fn of_strings(self) -> Self {
        Self { strings: true, ..self }
    }

    /// Takes names and types.
    pub(super) fn take_columns(&mut self, schema: &SchemaRef) -> &Columns {
        self.columns = Columns::of(schema);
        self.keys = self.columns.names.iter().map(|name| string(name, &self.settings)).collect();
        &self.columns
    }

    pub(super) fn open(&self, batch: &RecordBatch) -> Result<Vec<ColumnText>, FormatError> {
        self.columns.open(batch, &self.settings)
    }

    /// One row without anything around it.
    pub(super) fn write_row(&mut self, columns: &mut [ColumnText], row: usize, out: &mut Vec<u8>) {
        let (strings, slashes) = (self.strings, self.settings.json_escape_forward_slashes);
        let scratch = &mut self.scratch;
        let mut value = |column: &mut ColumnText, out: &mut Vec<u8>| match strings {
            true => quoted(column, row, slashes, scratch, out),
            false => column.write(row, Style::Json, out),
        };
        if self.layout == Layout::Lists {
            return list_row(columns, out, value);
        }
        out.push(b'{');
        for (at, (column, key)) in columns.iter_mut().zip(&self.keys).enumerate() {
            if at > 0 {
                out.push(b',');
            }
            out.extend_from_slice(key);
            out.push(b':');
            value(column, out);
        }
        out.push(b'}');
    }

    /// Rows that are lists are lines, whatever the setting says, as in ClickHouse.
    fn is_array(&self) -> bool {
        self.settings.writing.json_array_of_rows && self.layout != Layout::Lists
    }

    fn separator(&mut self, out: &mut Vec<u8>) {
        if self.is_array() {
            out.extend_from_slice(if self.any_row { b",\n" } else { b"\n" });
        }
        self.any_row = true;
    }

    fn line_end(&self, out: &mut Vec<u8>) {
        if !self.is_array() {
            out.push(b'\n');
        }
    }
}

impl RowWriter for JsonRowsWriter {
    fn start(&mut self, schema: &SchemaRef, out: &mut Vec<u8>) -> Result<(), FormatError> {
        self.take_columns(schema);
        if self.is_array() {
            out.push(b'[');
        }
        for texts in self.columns.header_rows(self.header) {
            self.separator(out);
            let texts: Vec<Vec<u8>> = texts.iter().map(|text| string(text, &self.settings)).collect();
            out.push(b'[');
            out.extend_from_slice(&texts.join(&b", "[..]));
            out.push(b']');
            self.line_end(out);
        }
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let mut columns = self.open(batch)?;
        for row in 0..batch.num_rows() {
            self.separator(out);
            self.write_row(&mut columns, row, out);
            self.line_end(out);
        }
        Ok(())
    }

    fn finish(&mut self, _: &OutputStats, out: &mut Vec<u8>) -> Result<(), FormatError> {
        if self.is_array() {
            out.extend_from_slice(b"\n]\n");
        }
        Ok(())
    }
}
