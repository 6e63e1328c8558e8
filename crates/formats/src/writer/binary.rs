//! Native, RowBinary and RawBLOB.
//!
//! Invariant: the bytes are those ClickHouse writes for the same rows and types (Native at any revision up to the one
//! that binary serialization hints came after). Native blocks are the batches given.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use model::saturating::u64_of;
use model::{ColumnType, ErrorCode};

use super::{Columns, OutputStats, RowWriter};
use crate::binary::bulk;
use crate::binary::cells::{self, Lengths};
use crate::binary::column::{Column, Layout};
use crate::binary::from_array::from_array;
use crate::binary::wire::{put_number, put_text};
use crate::columns::text::Style;
use crate::error::FormatError;
use crate::settings::FormatSettings;
use model::format_kind::HeaderRows;

/// From here on a DateTime's type names its zone.
const REVISION_OF_ZONES: u64 = 54_337;
/// From here on a byte says whether a column is serialized in another way than its type's own.
const REVISION_OF_SERIALIZATIONS: u64 = 54_454;
/// What stands ahead of a block for readers of any revision above 0: field 1, no overflow row; field 2, bucket -1; end.
const BLOCK_NOTES: [u8; 8] = [1, 0, 2, 0xff, 0xff, 0xff, 0xff, 0];

pub(super) struct NativeWriter {
    revision: u64,
    columns: Columns,
}

impl NativeWriter {
    pub(super) fn new(revision: u64) -> NativeWriter {
        NativeWriter { revision, columns: Columns::default() }
    }

    fn type_name(&self, column_type: &ColumnType) -> String {
        match column_type {
            ColumnType::DateTime { .. } if self.revision < REVISION_OF_ZONES => "DateTime".to_owned(),
            other => other.to_string(),
        }
    }
}

impl RowWriter for NativeWriter {
    fn start(&mut self, schema: &SchemaRef, _: &mut Vec<u8>) -> Result<(), FormatError> {
        self.columns = Columns::of(schema);
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError> {
        self.columns.fits(batch)?;
        if batch.num_rows() == 0 {
            return Ok(());
        }
        if self.revision > 0 {
            out.extend_from_slice(&BLOCK_NOTES);
        }
        put_number(out, u64_of(batch.num_columns()));
        put_number(out, u64_of(batch.num_rows()));
        let columns = batch.columns().iter().zip(&self.columns.types).zip(&self.columns.names);
        for ((array, column_type), name) in columns {
            put_text(out, name.as_bytes());
            put_text(out, self.type_name(column_type).as_bytes());
            if self.revision >= REVISION_OF_SERIALIZATIONS {
                out.push(0);
            }
            let values = from_array(array, column_type, Layout::Columns);
            let values = values.map_err(|error| error.in_column(name.as_str()))?;
            bulk::write_prefix(column_type, out);
            bulk::write(&values, column_type, out);
        }
        Ok(())
    }

    fn finish(&mut self, _: &OutputStats, _: &mut Vec<u8>) -> Result<(), FormatError> {
        Ok(())
    }
}

pub(super) struct RowBinaryWriter {
    header: HeaderRows,
    columns: Columns,
}

impl RowBinaryWriter {
    pub(super) fn new(header: HeaderRows) -> Self {
        Self { header, columns: Columns::default() }
    }
}

impl RowWriter for RowBinaryWriter {
    fn start(&mut self, schema: &SchemaRef, out: &mut Vec<u8>) -> Result<(), FormatError> {
        self.columns = Columns::of(schema);
        if self.header != HeaderRows::None {
            put_number(out, u64_of(self.columns.names.len()));
        }
        for text in self.columns.header_rows(self.header).iter().flatten() {
            put_text(out, text.as_bytes());
        }
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError> {
        self.columns.fits(batch)?;
        let mut columns: Vec<Column> = Vec::with_capacity(batch.num_columns());
        for ((array, t), name) in batch.columns().iter().zip(&self.columns.types).zip(&self.columns.names) {
            let values = from_array(array, t, Layout::Rows);
            columns.push(values.map_err(|error| error.in_column(name.as_str()))?);
        }
        for row in 0..batch.num_rows() {
            for (column, column_type) in columns.iter().zip(&self.columns.types) {
                cells::write(column, column_type, row, Lengths::Short, out);
            }
        }
        Ok(())
    }

    fn finish(&mut self, _: &OutputStats, _: &mut Vec<u8>) -> Result<(), FormatError> {
        Ok(())
    }
}

/// The bytes of every value and nothing between: a file of one value reads back as that value.
pub(super) struct RawBlobWriter {
    settings: FormatSettings,
    columns: Columns,
}

impl RawBlobWriter {
    pub(super) fn new(settings: &FormatSettings) -> Self {
        Self { settings: settings.clone(), columns: Columns::default() }
    }
}

impl RowWriter for RawBlobWriter {
    fn start(&mut self, schema: &SchemaRef, _: &mut Vec<u8>) -> Result<(), FormatError> {
        self.columns = Columns::of(schema);
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let mut texts = self.columns.open(batch, &self.settings)?;
        let mut values: Vec<Option<Column>> = Vec::with_capacity(texts.len());
        for ((array, t), name) in batch.columns().iter().zip(&self.columns.types).zip(&self.columns.names) {
            if matches!(t, ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Tuple(_)) {
                let message = format!("format RawBLOB has no bytes for values of type {t}");
                return Err(FormatError::new(ErrorCode::NOT_IMPLEMENTED, message).in_column(name.as_str()));
            }
            let has_bytes = !t.is_string() && *t.value_type() != ColumnType::Nothing;
            let column = has_bytes.then(|| from_array(array, t.value_type(), Layout::Rows));
            values.push(column.transpose()?);
        }
        for row in 0..batch.num_rows() {
            for (at, t) in self.columns.types.iter().enumerate() {
                match &values[at] {
                    _ if texts[at].is_null(row) => {}
                    Some(column) => cells::write(column, t.value_type(), row, Lengths::Short, out),
                    None => texts[at].write(row, Style::Plain, out),
                }
            }
        }
        Ok(())
    }

    fn finish(&mut self, _: &OutputStats, _: &mut Vec<u8>) -> Result<(), FormatError> {
        Ok(())
    }
}
