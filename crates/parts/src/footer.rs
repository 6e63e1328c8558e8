//! The footer of a part, checked, and the sums by which bytes of its pages are checked.
//!
//! Invariant: a footer is decoded only after its bytes, and those of the index of pages, had the sum that the descriptor
//! says; bytes that pass [`PartFooter::check`] are those that were written. Must not know: how bytes come out of a file.

use std::ops::Range;
use std::sync::Arc;

use ::parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use bytes::Bytes;
use model::{PartDescriptor, PartId};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::PartError;
use crate::parquet::page_places::stored_pages;
use crate::parquet::page_sums::PageSums;
use crate::store::PartStore;

/// A footer with its page index, and the sums of the pages.
#[derive(Debug)]
pub struct PartFooter {
    part: PartId,
    metadata: Arc<ParquetMetaData>,
    /// `None` for a part that was written without; it is compared as a whole.
    sums: Option<PageSums>,
}

/// The bytes that [`PartFooter::decode`] wants; `None` for a part that was written without sums.
pub fn tail_range(part: &PartDescriptor) -> Option<Range<u64>> {
    part.tail.map(|tail| tail.begin.min(part.bytes)..part.bytes)
}

impl PartFooter {
    /// Reads the footer out of the tail of a part of `store`. `with_bounds` says whether the bounds of pages are wanted,
    /// too.
    ///
    /// # Errors
    /// The tail is not as it was written.
    pub fn decode(
        store: &PartStore,
        part: &PartDescriptor,
        tail: &Bytes,
        with_bounds: bool,
    ) -> Result<PartFooter, PartError> {
        let is_checked = !store.host().faults.planted("parts.no_page_check");
        let written = part.tail.map_or(0, |tail| tail.checksum);
        let found = xxh3_64(tail);
        if found != written && is_checked {
            let place = format!("its footer and index of pages, {} bytes", tail.len());
            return Err(PartError::Checksum { part: part.id, place, written, found });
        }
        let column_index = if with_bounds { PageIndexPolicy::Optional } else { PageIndexPolicy::Skip };
        let mut reader = ParquetMetaDataReader::new()
            .with_column_index_policy(column_index)
            .with_offset_index_policy(PageIndexPolicy::Optional);
        let decoded = reader.try_parse_sized(tail, part.bytes).and_then(|()| reader.finish());
        let metadata = Arc::new(decoded.map_err(|e| PartError::damaged(part.id, e))?);
        let sums = PageSums::of(&metadata).map_err(|e| PartError::damaged(part.id, e))?;
        Ok(PartFooter { part: part.id, metadata, sums: is_checked.then_some(sums) })
    }

    /// Of a part without sums, which was compared as a whole.
    pub fn without_sums(part: &PartDescriptor, metadata: Arc<ParquetMetaData>) -> PartFooter {
        PartFooter { part: part.id, metadata, sums: None }
    }

    pub fn part(&self) -> PartId {
        self.part
    }

    pub fn metadata(&self) -> &Arc<ParquetMetaData> {
        &self.metadata
    }

    /// What has to be read, and checked, to have `range`: whole pages.
    ///
    /// # Errors
    /// Part of it is in no page.
    pub fn pages_around(&self, range: &Range<u64>) -> Result<Range<u64>, PartError> {
        let Some(sums) = &self.sums else { return Ok(range.clone()) };
        let none = || PartError::damaged(self.part, format!("the bytes {range:?} are in no page"));
        sums.pages_around(range).ok_or_else(none)
    }

    /// Compares whole pages of the file, from `begin` on.
    ///
    /// # Errors
    /// A page is not as it was written; the error says which.
    pub fn check(&self, begin: u64, bytes: &[u8]) -> Result<(), PartError> {
        let Some(sums) = &self.sums else { return Ok(()) };
        sums.check(begin, bytes).map_err(|bad| {
            let place = self.place_of(bad.begin);
            let (written, found) = (u64::from(bad.written), u64::from(bad.found));
            PartError::Checksum { part: self.part, place, written, found }
        })
    }

    /// Bytes it takes in memory.
    pub fn memory_bytes(&self) -> usize {
        self.metadata.memory_size() + self.sums.as_ref().map_or(0, PageSums::memory_bytes)
    }

    /// Which page begins there, in words.
    fn place_of(&self, begin: u64) -> String {
        for (group, row_group) in self.metadata.row_groups().iter().enumerate() {
            for (leaf, chunk) in row_group.columns().iter().enumerate() {
                let index = self.metadata.offset_index().and_then(|index| index.get(group)?.get(leaf));
                let pages = index.and_then(|index| stored_pages(chunk, index));
                let found = pages.and_then(|(pages, has_dictionary)| {
                    Some((pages.iter().position(|page| page.start == begin)?, has_dictionary))
                });
                let Some((page, has_dictionary)) = found else { continue };
                let what = match page.checked_sub(usize::from(has_dictionary)) {
                    Some(data) => format!("page {data}"),
                    None => "the dictionary".to_owned(),
                };
                let column = chunk.column_path().string();
                return format!("column {column}, row group {group}, {what} (at byte {begin})");
            }
        }
        format!("the page at byte {begin}")
    }
}
