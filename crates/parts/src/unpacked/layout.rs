//! A column chunk as it would be in a file without compression: the same pages with the same headers, one behind the other.
//!
//! Such a chunk has addresses of its own, above those of any file, so that a reader's requests say which form it means.
//! Pure. Invariant: the chunk in these addresses is a valid Parquet chunk of the same values; its pages begin and end where
//! [`ChunkLayout::metadata`] and [`ChunkLayout::page_locations`] say.

use std::ops::Range;

use ::parquet::basic::Compression;
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::file::page_index::offset_index::{OffsetIndexMetaData, PageLocation};
use model::saturating::usize_of;

use crate::parquet::page_header::PageHeader;

/// The first address that is no place in a file: 4 TiB.
const FIRST_ADDRESS: u64 = 1 << 42;
/// Addresses of one chunk.
const CHUNK_ADDRESSES_BITS: u32 = 33;
/// Bytes in which the fields of a header that matter fit: three sizes, a sum, and the beginning of the next field.
pub(super) const HEADER_BYTES: usize = 25;

/// One page, in both forms. Sizes are of header and content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Page {
    /// In the file.
    pub stored: Range<u64>,
    /// In the chunk without compression, from its beginning.
    pub unpacked: Range<u64>,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct ChunkLayout {
    pub codec: Compression,
    /// In order; a dictionary is the first.
    pub pages: Vec<Page>,
    has_dictionary: bool,
    first_address: u64,
}

impl ChunkLayout {
    /// `sizes` are those of the pages without compression, headers included.
    pub(super) fn new(
        chunk: u32,
        codec: Compression,
        stored: &[Range<u64>],
        sizes: &[u32],
        has_dictionary: bool,
    ) -> ChunkLayout {
        let mut at = 0;
        let pages = stored.iter().zip(sizes).map(|(stored, size)| {
            let begin = at;
            at += u64::from(*size);
            Page { stored: stored.clone(), unpacked: begin..at }
        });
        let pages = pages.collect();
        let first_address = FIRST_ADDRESS + (u64::from(chunk) << CHUNK_ADDRESSES_BITS);
        ChunkLayout { codec, pages, has_dictionary, first_address }
    }

    /// The chunk whose addresses these are, and the range from its beginning; `None` for a place in the file.
    pub(super) fn chunk_of(range: &Range<u64>) -> Option<(u32, Range<u64>)> {
        let above = range.start.checked_sub(FIRST_ADDRESS)?;
        let chunk = u32::try_from(above >> CHUNK_ADDRESSES_BITS).ok()?;
        let begin = above & ((1 << CHUNK_ADDRESSES_BITS) - 1);
        Some((chunk, begin..begin + (range.end - range.start)))
    }

    /// Bytes without compression.
    pub(super) fn bytes(&self) -> u64 {
        self.pages.last().map_or(0, |page| page.unpacked.end)
    }

    /// Whether a chunk of these many bytes has addresses enough.
    pub(super) fn has_addresses(bytes: u64) -> bool {
        bytes < 1 << CHUNK_ADDRESSES_BITS
    }

    /// The pages that hold some of `range`.
    pub(super) fn pages_of(&self, range: &Range<u64>) -> Range<usize> {
        let begin = self.pages.partition_point(|page| page.unpacked.end <= range.start);
        let end = self.pages.partition_point(|page| page.unpacked.start < range.end);
        begin..end.max(begin)
    }

    /// Bytes of the file that hold some of `range`.
    pub(super) fn stored_bytes(&self, range: &Range<u64>) -> usize {
        let pages = self.pages.get(self.pages_of(range)).unwrap_or_default();
        let bytes = pages.iter().map(|page| page.stored.end - page.stored.start).sum::<u64>();
        usize_of(bytes)
    }

    /// The chunk's entry in the footer.
    pub(super) fn metadata(&self, stored: &ColumnChunkMetaData) -> Result<ColumnChunkMetaData, ParquetError> {
        let address = |at: u64| signed(self.first_address + at);
        let first_data =
            self.pages.get(usize::from(self.has_dictionary)).map_or(0, |page| page.unpacked.start);
        let dictionary = if self.has_dictionary { Some(address(0)?) } else { None };
        stored
            .clone()
            .into_builder()
            .set_compression(Compression::UNCOMPRESSED)
            .set_total_compressed_size(signed(self.bytes())?)
            .set_data_page_offset(address(first_data)?)
            .set_dictionary_page_offset(dictionary)
            .build()
    }

    /// The chunk's entry in the index of pages.
    pub(super) fn page_locations(
        &self,
        stored: &OffsetIndexMetaData,
    ) -> Result<OffsetIndexMetaData, ParquetError> {
        let data = self.pages.iter().skip(usize::from(self.has_dictionary));
        let locations = data.zip(stored.page_locations()).map(|(page, stored)| {
            let size = page.unpacked.end - page.unpacked.start;
            Ok(PageLocation {
                offset: signed(self.first_address + page.unpacked.start)?,
                compressed_page_size: i32::try_from(size).map_err(|e| ParquetError::External(Box::new(e)))?,
                first_row_index: stored.first_row_index,
            })
        });
        Ok(OffsetIndexMetaData {
            page_locations: locations.collect::<Result<_, ParquetError>>()?,
            unencoded_byte_array_data_bytes: stored.unencoded_byte_array_data_bytes().cloned(),
        })
    }
}

fn signed(value: u64) -> Result<i64, ParquetError> {
    i64::try_from(value).map_err(|e| ParquetError::External(Box::new(e)))
}

/// Bytes of a stored page without compression, header included; `None` if it is not one that can be unpacked. `page` is
/// the page from its beginning, `stored` what it takes in the file.
pub(super) fn unpacked_size(page: &[u8], stored: u64) -> Option<u32> {
    let header = PageHeader::parse(&page[..page.len().min(HEADER_BYTES)])?;
    let header_bytes = header.header_bytes(usize::try_from(stored).ok()?)?;
    let unpacked = header.unpacked_header_bytes(header_bytes) as u64 + u64::from(header.unpacked);
    u32::try_from(unpacked).ok().filter(|size| i32::try_from(*size).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_say_which_chunk_and_where_in_it() {
        let layout = ChunkLayout::new(7, Compression::SNAPPY, &[100..110, 110..130], &[50, 70], false);
        assert_eq!(layout.bytes(), 120);
        let begin = layout.first_address;
        assert_eq!(ChunkLayout::chunk_of(&(begin..begin + 120)), Some((7, 0..120)));
        assert_eq!(ChunkLayout::chunk_of(&(begin + 50..begin + 120)), Some((7, 50..120)));
        assert_eq!(ChunkLayout::chunk_of(&(100..130)), None, "a place in the file");
        assert!(ChunkLayout::has_addresses(5 << 30) && !ChunkLayout::has_addresses(9 << 30));
        let pages = |range: Range<u64>| layout.pages_of(&range);
        assert_eq!((pages(0..120), pages(0..50), pages(49..51), pages(50..51)), (0..2, 0..1, 0..2, 1..2));
        assert_eq!(pages(120..120), 2..2);
    }
}
