//! A column chunk of plain text, written here: a load is mostly texts, and the Parquet library copies each four times.
//!
//! Values are copied once, into the one page that is filled; a full page is packed while it is in the processor's cache,
//! behind those that wait for the end of the row group. Nullable or not, but neither nested nor with statistics: the library
//! writes those. Format: Parquet data pages of version 1, encodings PLAIN and RLE, codec ZSTD. Invariant: a chunk in the file
//! is what its metadata and its offset index say. Must not know: which columns are written like this, and why.

use std::io::Write;
use std::sync::Arc;

use ::parquet::basic::{Compression, Encoding, ZstdLevel};
use ::parquet::column::writer::ColumnCloseResult;
use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::file::page_index::offset_index::{OffsetIndexMetaData, PageLocation};
use ::parquet::file::writer::SerializedRowGroupWriter;
use ::parquet::schema::types::ColumnDescPtr;
use arrow::array::{Array, ArrayRef, AsArray, BooleanBufferBuilder};

use super::packed_pages::PackedPages;
use super::page_header::{data_page_header, put_varint};
use super::page_limits::{PAGE_BYTES_MAX, PAGE_ROWS_MAX};
use crate::packer::{Effort, Packer};

/// In front of the values, for the definition levels: their length, the length of a run, a bit for each row.
const LEVELS_BYTES_MAX: usize = 4 + 5 + PAGE_ROWS_MAX.div_ceil(8);
/// A page that grew beyond this for one long text gives its memory back.
const PAGE_CAPACITY_MAX: usize = 8 * PAGE_BYTES_MAX;

/// One chunk while it is written.
pub(crate) struct TextChunk {
    leaf: ColumnDescPtr,
    packer: Packer,
    /// The page that is being filled: room for levels, then the values.
    page: Vec<u8>,
    /// Of its rows; only looked at where the column is nullable.
    validity: BooleanBufferBuilder,
    page_rows: usize,
    rows: usize,
    done: PackedPages,
    locations: Vec<PageLocation>,
    unpacked_bytes: usize,
}

impl TextChunk {
    /// Whether a chunk of such a leaf can be written here: a text that is not within another value.
    pub(crate) fn fits(leaf: &ColumnDescPtr) -> bool {
        leaf.max_rep_level() == 0 && leaf.max_def_level() <= 1 && leaf.path().parts().len() == 1
    }

    pub(crate) fn new(leaf: &ColumnDescPtr, effort: Effort) -> ParquetResult<TextChunk> {
        Ok(TextChunk {
            leaf: Arc::clone(leaf),
            packer: Packer::new(effort).map_err(ParquetError::General)?,
            page: Vec::new(),
            validity: BooleanBufferBuilder::new(0),
            page_rows: 0,
            rows: 0,
            done: PackedPages::default(),
            locations: Vec::new(),
            unpacked_bytes: 0,
        })
    }

    /// Appends texts: an array of views.
    pub(crate) fn write(&mut self, values: &ArrayRef) -> ParquetResult<()> {
        if let Some(texts) = values.as_string_view_opt() {
            return texts.iter().try_for_each(|text| self.push(text.map(str::as_bytes)));
        }
        let texts = values.as_binary_view_opt();
        let texts =
            texts.ok_or_else(|| ParquetError::General(format!("{} is no text", values.data_type())))?;
        texts.iter().try_for_each(|text| self.push(text))
    }

    /// Bytes that wait for the end of the row group.
    pub(crate) fn memory_size(&self) -> usize {
        self.page.len() + self.done.bytes()
    }

    fn push(&mut self, text: Option<&[u8]>) -> ParquetResult<()> {
        if self.page.is_empty() {
            self.page.resize(LEVELS_BYTES_MAX, 0);
        }
        if self.leaf.max_def_level() > 0 {
            self.validity.append(text.is_some());
        }
        if let Some(text) = text {
            let length = u32::try_from(text.len()).map_err(|_| self.too_long(text.len()))?;
            self.page.extend_from_slice(&length.to_le_bytes());
            self.page.extend_from_slice(text);
        }
        self.page_rows += 1;
        if self.page_rows >= PAGE_ROWS_MAX || self.page.len() >= LEVELS_BYTES_MAX + PAGE_BYTES_MAX {
            self.end_page()?;
        }
        Ok(())
    }

    fn end_page(&mut self) -> ParquetResult<()> {
        if self.page_rows == 0 {
            return Ok(());
        }
        let begin = self.put_levels();
        let content = &self.page[begin..];
        let unpacked = u32::try_from(content.len()).ok().filter(|bytes| i32::try_from(*bytes).is_ok());
        let unpacked = unpacked.ok_or_else(|| self.too_long(content.len()))?;
        let rows = u32::try_from(self.page_rows)?;
        let at = self.done.bytes();
        let header_bytes = self
            .done
            .add(content, &mut self.packer, |packed, sum| data_page_header(unpacked, packed, sum, rows))?;
        self.unpacked_bytes += header_bytes + content.len();
        self.locations.push(PageLocation {
            offset: i64::try_from(at)?,
            compressed_page_size: i32::try_from(self.done.bytes() - at)?,
            first_row_index: i64::try_from(self.rows)?,
        });
        self.rows += self.page_rows;
        self.page_rows = 0;
        self.page.clear();
        self.page.shrink_to(PAGE_CAPACITY_MAX);
        Ok(())
    }

    /// Puts the definition levels in front of the values; returns where they begin. One run of ones, or the bits as they are.
    fn put_levels(&mut self) -> usize {
        if self.leaf.max_def_level() == 0 {
            return LEVELS_BYTES_MAX;
        }
        let validity = self.validity.finish();
        let mut levels = Vec::with_capacity(LEVELS_BYTES_MAX);
        if validity.count_set_bits() == validity.len() {
            put_varint((self.page_rows as u64) << 1, &mut levels);
            levels.push(1);
        } else {
            let bytes = validity.values();
            put_varint((bytes.len() as u64) << 1 | 1, &mut levels);
            levels.extend_from_slice(bytes);
        }
        let length = u32::try_from(levels.len()).unwrap_or(u32::MAX).to_le_bytes();
        let begin = LEVELS_BYTES_MAX - levels.len() - length.len();
        self.page[begin..begin + length.len()].copy_from_slice(&length);
        self.page[begin + length.len()..LEVELS_BYTES_MAX].copy_from_slice(&levels);
        begin
    }

    /// Ends the chunk and appends it to a row group, and the sums of its pages to `sums`.
    pub(crate) fn append_to<W: Write + Send>(
        mut self,
        target: &mut SerializedRowGroupWriter<'_, W>,
        sums: &mut Vec<u32>,
    ) -> ParquetResult<()> {
        self.end_page()?;
        sums.extend_from_slice(self.done.sums());
        let bytes = self.done.bytes();
        let metadata = ColumnChunkMetaData::builder(Arc::clone(&self.leaf))
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
            .set_encodings(vec![Encoding::PLAIN, Encoding::RLE])
            .set_num_values(i64::try_from(self.rows)?)
            .set_total_compressed_size(i64::try_from(bytes)?)
            .set_total_uncompressed_size(i64::try_from(self.unpacked_bytes)?)
            .set_data_page_offset(0)
            .build()?;
        let close = ColumnCloseResult {
            bytes_written: bytes as u64,
            rows_written: self.rows as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: Some(OffsetIndexMetaData {
                page_locations: self.locations,
                unencoded_byte_array_data_bytes: None,
            }),
        };
        target.append_column(&self.done.into_run(), close)
    }

    fn too_long(&self, bytes: usize) -> ParquetError {
        let column = self.leaf.name();
        ParquetError::General(format!(
            "column {column}: a text of {bytes} bytes is longer than a page of Parquet may be, 2147483647 bytes; split it"
        ))
    }
}
