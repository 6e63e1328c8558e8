//! Parquet files, rows grouped as they come.

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::foreign::{self, Texts};
use super::{Columns, OutputStats, RowWriter};
use crate::error::{FormatError, code};
use crate::settings::FormatSettings;

pub(super) struct ParquetWriter {
    properties: WriterProperties,
    /// `None`: batches are written as they are, their strings marked as text.
    unmarked: Option<(Columns, Option<SchemaRef>)>,
    /// Present between `start` and `finish`; its buffer is emptied after every batch.
    writer: Option<ArrowWriter<Vec<u8>>>,
}

/// Strings as bytes without the mark of text.
const UNMARKED: Texts = Texts { marked: false, fixed: true };

impl ParquetWriter {
    pub(super) fn new(settings: &FormatSettings) -> Result<Self, FormatError> {
        let statistics = match settings.parquet.page_index {
            true => EnabledStatistics::Page,
            false => EnabledStatistics::Chunk,
        };
        let properties = WriterProperties::builder()
            .set_compression(compression(&settings.parquet.compression)?)
            .set_max_row_group_row_count(Some(settings.parquet.row_group_rows.max(1)))
            .set_max_row_group_bytes(Some(settings.parquet.row_group_bytes.max(1)))
            .set_data_page_size_limit(settings.parquet.data_page_bytes.max(1))
            .set_statistics_enabled(statistics)
            .set_bloom_filter_enabled(settings.parquet.bloom_filters)
            .build();
        let unmarked = (!settings.parquet.string_as_string).then(Default::default);
        Ok(Self { properties, unmarked, writer: None })
    }
}

fn compression(name: &str) -> Result<Compression, FormatError> {
    Ok(match name {
        "none" => Compression::UNCOMPRESSED,
        "snappy" => Compression::SNAPPY,
        // What ClickHouse calls lz4 is the codec without Hadoop's frames.
        "lz4" | "lz4_raw" => Compression::LZ4_RAW,
        "zstd" => Compression::ZSTD(ZstdLevel::default()),
        "gzip" => Compression::GZIP(GzipLevel::default()),
        "brotli" => Compression::BROTLI(BrotliLevel::default()),
        other => {
            let message = format!(
                "output_format_parquet_compression_method is \"{other}\": none, snappy, lz4, lz4_raw, zstd, gzip and \
                 brotli are known"
            );
            return Err(FormatError::new(code::BAD_ARGUMENTS, message));
        }
    })
}

fn failed(error: impl std::fmt::Display) -> FormatError {
    FormatError::new(code::CANNOT_WRITE, error.to_string())
}

fn not_started() -> FormatError {
    FormatError::new(code::LOGICAL_ERROR, "rows come before the columns")
}

impl RowWriter for ParquetWriter {
    fn start(&mut self, schema: &SchemaRef, _: &mut Vec<u8>) -> Result<(), FormatError> {
        let mut schema = std::sync::Arc::clone(schema);
        if let Some((columns, file_schema)) = &mut self.unmarked {
            *columns = Columns::of(&schema);
            schema = foreign::schema(&columns.names, &columns.types, UNMARKED);
            *file_schema = Some(std::sync::Arc::clone(&schema));
        }
        let writer = ArrowWriter::try_new(Vec::new(), schema, Some(self.properties.clone()));
        self.writer = Some(writer.map_err(failed)?);
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let writer = self.writer.as_mut().ok_or_else(not_started)?;
        match &self.unmarked {
            Some((columns, Some(schema))) => {
                columns.fits(batch)?;
                let batch = foreign::batch(batch, schema, &columns.types, UNMARKED)?;
                writer.write(&batch).map_err(failed)?;
            }
            _ => writer.write(batch).map_err(failed)?,
        }
        out.append(writer.inner_mut());
        Ok(())
    }

    fn finish(&mut self, _: &OutputStats, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let writer = self.writer.take().ok_or_else(not_started)?;
        out.extend(writer.into_inner().map_err(failed)?);
        Ok(())
    }
}
