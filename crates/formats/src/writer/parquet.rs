//! Parquet files, rows grouped as they come.

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::file::properties::WriterProperties;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::{OutputStats, RowWriter};
use crate::error::{FormatError, code};
use crate::settings::FormatSettings;

pub(super) struct ParquetWriter {
    row_group_rows: usize,
    compression: Compression,
    /// Present between `start` and `finish`; its buffer is emptied after every batch.
    writer: Option<ArrowWriter<Vec<u8>>>,
}

impl ParquetWriter {
    pub(super) fn new(settings: &FormatSettings) -> Self {
        let compression = match settings.parquet_compression.as_str() {
            "none" => Compression::UNCOMPRESSED,
            "snappy" => Compression::SNAPPY,
            "lz4" => Compression::LZ4_RAW,
            _ => Compression::ZSTD(ZstdLevel::default()),
        };
        Self { row_group_rows: settings.parquet_row_group_rows.max(1), compression, writer: None }
    }
}

fn failed(error: impl std::fmt::Display) -> FormatError {
    FormatError::new(code::CANNOT_WRITE, error.to_string())
}

fn not_started() -> FormatError {
    FormatError::new(code::LOGICAL_ERROR, "rows come before the columns")
}

impl RowWriter for ParquetWriter {
    fn start(&mut self, schema: &SchemaRef, _: &mut Vec<u8>) -> Result<(), FormatError> {
        let properties = WriterProperties::builder()
            .set_compression(self.compression)
            .set_max_row_group_row_count(Some(self.row_group_rows))
            .build();
        let schema = std::sync::Arc::clone(schema);
        self.writer = Some(ArrowWriter::try_new(Vec::new(), schema, Some(properties)).map_err(failed)?);
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let writer = self.writer.as_mut().ok_or_else(not_started)?;
        writer.write(batch).map_err(failed)?;
        out.append(writer.inner_mut());
        Ok(())
    }

    fn finish(&mut self, _: &OutputStats, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let writer = self.writer.take().ok_or_else(not_started)?;
        out.extend(writer.into_inner().map_err(failed)?);
        Ok(())
    }
}
