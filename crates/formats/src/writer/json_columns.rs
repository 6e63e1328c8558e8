//! JSON by columns, and JSON as one object of rows: JSONColumns, JSONCompactColumns, JSONColumnsWithMetadata,
//! JSONObjectEachRow.
//!
//! Invariant: one valid document. What is written by columns is held back until the last row has come.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::json::{make_valid, string, write_end, write_meta};
use super::{Columns, OutputStats, RowWriter};
use crate::columns::text::Style;
use crate::error::FormatError;
use crate::settings::FormatSettings;
use model::value::print;

/// What stands around the columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Frame {
    /// An object of lists.
    Named,
    /// A list of lists.
    Bare,
    /// An object of lists between metadata and statistics.
    Document,
}

pub(super) struct JsonColumnsWriter {
    frame: Frame,
    settings: FormatSettings,
    columns: Columns,
    keys: Vec<Vec<u8>>,
    /// The values so far of each column.
    values: Vec<Vec<u8>>,
    rows: u64,
}

impl JsonColumnsWriter {
    pub(super) fn new(frame: Frame, settings: &FormatSettings) -> Self {
        let settings = settings.clone();
        Self { frame, settings, columns: Columns::default(), keys: vec![], values: vec![], rows: 0 }
    }
}

impl RowWriter for JsonColumnsWriter {
    fn start(&mut self, schema: &SchemaRef, out: &mut Vec<u8>) -> Result<(), FormatError> {
        self.columns = Columns::of(schema);
        self.keys = self.columns.names.iter().map(|name| string(name, &self.settings)).collect();
        self.values = vec![vec![]; self.keys.len()];
        match self.frame {
            Frame::Named => out.extend_from_slice(b"{\n"),
            Frame::Bare => out.extend_from_slice(b"[\n"),
            Frame::Document => {
                write_meta(&self.keys, &self.columns.types, &self.settings, out);
                out.extend_from_slice(b"\t\"data\":\n\t{\n");
            }
        }
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, _: &mut Vec<u8>) -> Result<(), FormatError> {
        let mut columns = self.columns.open(batch, &self.settings)?;
        for (column, values) in columns.iter_mut().zip(&mut self.values) {
            for row in 0..batch.num_rows() {
                if !values.is_empty() {
                    values.extend_from_slice(b", ");
                }
                column.write(row, Style::Json, values);
            }
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    fn held_bytes(&self) -> usize {
        self.values.iter().map(Vec::capacity).sum()
    }

    fn finish(&mut self, stats: &OutputStats, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let indent: &[u8] = if self.frame == Frame::Document { b"\t\t" } else { b"\t" };
        // Without rows only the object of lists has its lists, as in ClickHouse.
        let columns = if self.rows == 0 && self.frame != Frame::Named { 0 } else { self.keys.len() };
        for (at, (key, values)) in self.keys.iter().zip(&mut self.values).enumerate().take(columns) {
            if at > 0 {
                out.extend_from_slice(b",\n");
            }
            out.extend_from_slice(indent);
            if self.frame != Frame::Bare {
                out.extend_from_slice(key);
                out.extend_from_slice(b": ");
            }
            out.push(b'[');
            if self.frame == Frame::Document {
                make_valid(values, 0);
            }
            out.append(values);
            out.push(b']');
        }
        match self.frame {
            Frame::Named => out.extend_from_slice(b"\n}\n"),
            Frame::Bare => out.extend_from_slice(b"\n]\n"),
            Frame::Document => {
                out.extend_from_slice(b"\n\t}");
                write_end(self.rows, stats, &self.settings, out);
            }
        }
        Ok(())
    }
}

/// JSONObjectEachRow: `"row_1": {..}`, one a line.
pub(super) struct JsonObjectWriter {
    settings: FormatSettings,
    columns: Columns,
    keys: Vec<Vec<u8>>,
    rows: u64,
}

impl JsonObjectWriter {
    pub(super) fn new(settings: &FormatSettings) -> Self {
        Self { settings: settings.clone(), columns: Columns::default(), keys: vec![], rows: 0 }
    }
}

impl RowWriter for JsonObjectWriter {
    fn start(&mut self, schema: &SchemaRef, out: &mut Vec<u8>) -> Result<(), FormatError> {
        self.columns = Columns::of(schema);
        self.keys = self.columns.names.iter().map(|name| string(name, &self.settings)).collect();
        out.extend_from_slice(b"{\n");
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let mut columns = self.columns.open(batch, &self.settings)?;
        for row in 0..batch.num_rows() {
            if self.rows > 0 {
                out.extend_from_slice(b",\n");
            }
            self.rows += 1;
            out.extend_from_slice(b"\t\"row_");
            print::integer(self.rows, out);
            out.extend_from_slice(b"\": {");
            for (at, (column, key)) in columns.iter_mut().zip(&self.keys).enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                out.extend_from_slice(key);
                out.push(b':');
                column.write(row, Style::Json, out);
            }
            out.push(b'}');
        }
        Ok(())
    }

    fn finish(&mut self, _: &OutputStats, out: &mut Vec<u8>) -> Result<(), FormatError> {
        out.extend_from_slice(b"\n}\n");
        Ok(())
    }
}
