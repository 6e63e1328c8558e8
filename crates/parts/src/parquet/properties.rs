//! Our choices in the vocabulary of the Parquet writer.
//!
//! Invariant: every column keeps chunk statistics, columns of the sort key page statistics too, but free text outside the
//! key has none: comparing every text with two others is a twentieth of a load, and the bounds of unsorted text
//! exclude nothing. The page index is always written; `sorting_columns` never claims an order the rows do not have.

use ::parquet::basic::{Compression, Encoding, Type, ZstdLevel};
use ::parquet::file::metadata::{KeyValue, SortingColumn};
use ::parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use ::parquet::schema::types::SchemaDescriptor;
use arrow::datatypes::{DataType, Schema};

use super::page_limits::{PAGE_BYTES_MAX, PAGE_ROWS_MAX};
use super::text_chunk::TextChunk;
use crate::encoding::{ColumnEncodings, PageCodec, ValueEncoding};
use crate::packer::Effort;

/// A dictionary that grows past this costs more than it saves; the writer then falls back to plain values.
const DICTIONARY_BYTES_MAX: usize = 256 * 1024;

/// Texts in statistics are cut here.
pub(crate) const STATISTICS_TEXT_BYTES_MAX: usize = 64;

/// What decides the layout of a file beside the encodings.
pub(crate) struct FileLayout<'a> {
    pub schema: &'a SchemaDescriptor,
    pub encodings: &'a ColumnEncodings,
    /// Leaves of the sort key's columns.
    pub key_leaves: Vec<usize>,
    pub sorting: Vec<SortingColumn>,
    pub key_values: Vec<(String, String)>,
}

impl FileLayout<'_> {
    fn is_free_text(&self, leaf: usize) -> bool {
        let plain = self.encodings.leaf(leaf).is_some_and(|chosen| chosen.values == ValueEncoding::Plain);
        plain
            && self.schema.column(leaf).physical_type() == Type::BYTE_ARRAY
            && !self.key_leaves.contains(&leaf)
    }

    /// Of each leaf: whether we write it ourselves, and how.
    pub(crate) fn text_leaves(&self, columns: &Schema) -> Vec<Option<Effort>> {
        let effort = |leaf: usize| {
            let column = columns.field(self.schema.get_column_root_idx(leaf));
            let is_text = matches!(column.data_type(), DataType::Utf8View | DataType::BinaryView);
            if !is_text || !self.is_free_text(leaf) || !TextChunk::fits(&self.schema.column(leaf)) {
                return None;
            }
            match self.encodings.leaf(leaf)?.codec {
                PageCodec::QuickZstd => Some(Effort::Quick),
                PageCodec::Zstd(level) => Some(Effort::Level(level)),
                PageCodec::None | PageCodec::Lz4 => None,
            }
        };
        (0..self.schema.num_columns()).map(effort).collect()
    }
}

pub(crate) fn writer_properties(
    mut layout: FileLayout<'_>,
) -> Result<WriterProperties, ::parquet::errors::ParquetError> {
    let key_values = std::mem::take(&mut layout.key_values)
        .into_iter()
        .map(|(key, value)| KeyValue::new(key, value))
        .collect();
    let mut builder = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_created_by(format!("gristmill version {}", env!("CARGO_PKG_VERSION")))
        .set_data_page_row_count_limit(PAGE_ROWS_MAX)
        .set_data_page_size_limit(PAGE_BYTES_MAX)
        .set_dictionary_page_size_limit(DICTIONARY_BYTES_MAX)
        .set_statistics_truncate_length(Some(STATISTICS_TEXT_BYTES_MAX))
        .set_column_index_truncate_length(Some(STATISTICS_TEXT_BYTES_MAX))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_dictionary_enabled(false)
        // The writer closes row groups itself, by rows and bytes.
        .set_max_row_group_row_count(None)
        .set_key_value_metadata(Some(key_values));
    if !layout.sorting.is_empty() {
        builder = builder.set_sorting_columns(Some(std::mem::take(&mut layout.sorting)));
    }
    for (index, leaf) in layout.schema.columns().iter().enumerate() {
        let path = leaf.path().clone();
        if layout.key_leaves.contains(&index) {
            builder = builder.set_column_statistics_enabled(path.clone(), EnabledStatistics::Page);
        }
        let Some(chosen) = layout.encodings.leaf(index) else { continue };
        if layout.is_free_text(index) {
            builder = builder.set_column_statistics_enabled(path.clone(), EnabledStatistics::None);
        }
        builder = builder.set_column_compression(path.clone(), compression(chosen.codec)?);
        builder = match chosen.values {
            // Choosing is pure and may be wrong about a layout; the file must be right.
            ValueEncoding::Delta if !matches!(leaf.physical_type(), Type::INT32 | Type::INT64) => builder,
            ValueEncoding::Plain => builder,
            ValueEncoding::Dictionary => builder.set_column_dictionary_enabled(path, true),
            ValueEncoding::Delta => builder.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
        };
    }
    Ok(builder.build())
}

fn compression(codec: PageCodec) -> Result<Compression, ::parquet::errors::ParquetError> {
    Ok(match codec {
        PageCodec::None => Compression::UNCOMPRESSED,
        PageCodec::Lz4 => Compression::LZ4_RAW,
        PageCodec::Zstd(level) => Compression::ZSTD(ZstdLevel::try_new(level)?),
        PageCodec::QuickZstd => Compression::ZSTD(ZstdLevel::try_new(1)?),
    })
}
