//! A column chunk of another Parquet file, copied into a part: adoption (`docs/design/adoption.md`).
//!
//! The contents of its pages stay as they are. Headers, sums, the chunk's metadata, statistics and index of pages are written
//! anew, so nothing that the other file says of its values gets into a part. Invariant: a page gets a checksum when it is copied, and one
//! that it had is compared. Must not know: whether the contents are sound; who hands them in has looked at all of them.

use std::collections::VecDeque;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use ::parquet::basic::{Compression, Encoding, Type};
use ::parquet::column::writer::ColumnCloseResult;
use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::file::page_index::offset_index::{OffsetIndexMetaData, PageLocation};
use ::parquet::file::writer::SerializedRowGroupWriter;
use ::parquet::schema::types::ColumnDescPtr;
use bytes::Bytes;
use model::Value;

use super::copied_bounds::statistics;
use super::packed_pages::PageRun;
use super::page_header::{PageKind, page_header};
use super::page_sums::{content_crc, page_sum};

/// A page as it is stored in the other file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CopiedPage {
    pub is_dictionary: bool,
    /// Its bytes in the chunk, behind its header.
    pub content: Range<usize>,
    /// The same without compression.
    pub decoded_bytes: u32,
    /// Values, NULLs included; of a dictionary its entries.
    pub values: u32,
    /// The format's number of how values are written.
    pub encoding: u32,
    /// The CRC-32 of the content, where the other file has one.
    pub crc: Option<u32>,
}

/// A chunk as it is stored in the other file, and what was found in it: data pages of version 1, levels in RLE.
#[derive(Clone, Debug)]
pub struct CopiedChunk {
    pub bytes: Bytes,
    pub pages: Vec<CopiedPage>,
    pub layout: Type,
    pub compression: Compression,
    /// Whether the pages have levels that tell NULLs.
    pub is_optional: bool,
    pub nulls: u64,
    pub has_nan: bool,
    /// The least and the greatest value, as far as an order is known.
    pub bounds: Option<(Value, Value)>,
    /// Of the values, decoded.
    pub value_bytes: u64,
}

/// A chunk that waits for the end of its row group.
pub(crate) struct SplicedChunk {
    run: VecDeque<Bytes>,
    sums: Vec<u32>,
    close: ColumnCloseResult,
}

impl SplicedChunk {
    pub(crate) fn new(leaf: &ColumnDescPtr, chunk: &CopiedChunk) -> ParquetResult<SplicedChunk> {
        fits(leaf, chunk)?;
        let mut copied = Pages::default();
        for (number, page) in chunk.pages.iter().enumerate() {
            copied.add(&chunk.bytes, page).map_err(|problem| {
                ParquetError::General(format!("column {}, page {number}: {problem}", leaf.name()))
            })?;
        }
        let bounds =
            chunk.bounds.as_ref().filter(|_| !chunk.has_nan).map(|(least, greatest)| (least, greatest));
        let data_begin = copied.locations.first().map_or(0, |location| location.offset);
        let dictionary_begin = (data_begin > 0).then_some(0);
        let metadata = ColumnChunkMetaData::builder(Arc::clone(leaf))
            .set_compression(chunk.compression)
            .set_encodings(copied.encodings)
            .set_num_values(copied.rows)
            .set_total_compressed_size(copied.bytes)
            .set_total_uncompressed_size(copied.decoded_bytes)
            .set_dictionary_page_offset(dictionary_begin)
            .set_data_page_offset(data_begin)
            .set_statistics(statistics(chunk.layout, chunk.nulls, bounds))
            .build()?;
        let close = ColumnCloseResult {
            bytes_written: u64::try_from(copied.bytes)?,
            rows_written: u64::try_from(copied.rows)?,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: Some(OffsetIndexMetaData {
                page_locations: copied.locations,
                unencoded_byte_array_data_bytes: None,
            }),
        };
        Ok(SplicedChunk { run: copied.run, sums: copied.sums, close })
    }

    pub(crate) fn rows(&self) -> u64 {
        self.close.rows_written
    }

    /// Bytes that wait for the end of the row group.
    pub(crate) fn memory_size(&self) -> usize {
        self.run.iter().map(Bytes::len).sum()
    }

    /// Appends the chunk to a row group, and the sums of its pages to `sums`.
    pub(crate) fn append_to<W: Write + Send>(
        self,
        target: &mut SerializedRowGroupWriter<'_, W>,
        sums: &mut Vec<u32>,
    ) -> ParquetResult<()> {
        sums.extend_from_slice(&self.sums);
        target.append_column(&PageRun::of(self.run), self.close)
    }
}

/// Whether the pages can be those of this leaf.
fn fits(leaf: &ColumnDescPtr, chunk: &CopiedChunk) -> ParquetResult<()> {
    let is_flat = leaf.max_rep_level() == 0 && leaf.path().parts().len() == 1;
    let has_levels = leaf.max_def_level() > 0;
    if is_flat && has_levels == chunk.is_optional && leaf.physical_type() == chunk.layout {
        return Ok(());
    }
    let (name, layout) = (leaf.name(), leaf.physical_type());
    Err(ParquetError::General(format!(
        "column {name} is {layout:?}, optional: {has_levels}; pages of {:?} and optional: {} are not copied into it",
        chunk.layout, chunk.is_optional
    )))
}

/// The pages that are copied so far.
#[derive(Default)]
struct Pages {
    /// Header and content of each, in turn.
    run: VecDeque<Bytes>,
    sums: Vec<u32>,
    locations: Vec<PageLocation>,
    encodings: Vec<Encoding>,
    rows: i64,
    bytes: i64,
    decoded_bytes: i64,
}

impl Pages {
    fn add(&mut self, chunk: &Bytes, page: &CopiedPage) -> Result<(), String> {
        let too_large = |_| "it is too large".to_owned();
        let range = page.content.clone();
        if range.start > range.end || range.end > chunk.len() {
            return Err("it is not within its chunk".to_owned());
        }
        let content = chunk.slice(range);
        let crc = content_crc(&content);
        if let Some(written) = page.crc.filter(|written| *written != crc) {
            return Err(format!("its checksum is wrong, {crc:x} where {written:x} was written"));
        }
        let encoding = encoding_of(page.encoding);
        let encoding = encoding.ok_or_else(|| format!("encoding {} is not known", page.encoding))?;
        let packed = u32::try_from(content.len()).map_err(too_large)?;
        let kind = if page.is_dictionary { PageKind::Dictionary } else { PageKind::Data };
        let sizes = (page.decoded_bytes, packed);
        let header = page_header(kind, sizes, crc, (page.values, page.encoding));
        let stored = i32::try_from(header.len() + content.len()).map_err(too_large)?;
        if page.is_dictionary && !self.run.is_empty() {
            return Err("a dictionary stands behind other pages".to_owned());
        }
        if !page.is_dictionary {
            self.locations.push(PageLocation {
                offset: self.bytes,
                compressed_page_size: stored,
                first_row_index: self.rows,
            });
            self.rows += i64::from(page.values);
        }
        self.bytes += i64::from(stored);
        self.decoded_bytes += i64::from(stored) - i64::from(packed) + i64::from(page.decoded_bytes);
        // Levels are in RLE.
        for seen in [encoding, Encoding::RLE] {
            if !self.encodings.contains(&seen) {
                self.encodings.push(seen);
            }
        }
        self.sums.push(page_sum(&header, &content));
        self.run.push_back(Bytes::from(header));
        self.run.push_back(content);
        Ok(())
    }
}

/// By the format's number; bit-packed levels were never values.
fn encoding_of(number: u32) -> Option<Encoding> {
    Some(match number {
        0 => Encoding::PLAIN,
        2 => Encoding::PLAIN_DICTIONARY,
        3 => Encoding::RLE,
        5 => Encoding::DELTA_BINARY_PACKED,
        6 => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        7 => Encoding::DELTA_BYTE_ARRAY,
        8 => Encoding::RLE_DICTIONARY,
        9 => Encoding::BYTE_STREAM_SPLIT,
        _ => return None,
    })
}
