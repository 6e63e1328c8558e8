//! Where the pages of a chunk are in the file, as its footer and offset index say.
//!
//! Pure. Invariant: the places are dense: nothing lies between or behind the pages of a chunk.

use std::ops::Range;

use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::file::page_index::offset_index::{OffsetIndexMetaData, PageLocation};

/// The dictionary of a stored chunk, if it has one, and its data pages; `true` if there is one.
pub(crate) fn stored_pages(
    chunk: &ColumnChunkMetaData,
    index: &OffsetIndexMetaData,
) -> Option<(Vec<Range<u64>>, bool)> {
    let (start, length) = chunk.byte_range();
    let place = |location: &PageLocation| {
        let begin = u64::try_from(location.offset).ok()?;
        Some(begin..begin + u64::try_from(location.compressed_page_size).ok()?)
    };
    let mut pages: Vec<Range<u64>> = index.page_locations().iter().map(place).collect::<Option<_>>()?;
    let first = pages.first()?.start;
    let has_dictionary = first != start;
    if has_dictionary {
        pages.insert(0, start..first);
    }
    // Anything between or behind the pages would get lost.
    let is_dense = pages.windows(2).all(|two| two[0].end == two[1].start);
    (is_dense && pages.last()?.end == start + length).then_some((pages, has_dictionary))
}
