//! Sums of the pages of a file: half an XXH3-64 of each page as it is stored, header included, in the order of the file.
//!
//! They stand in the footer (key `gristmill.page_sums`, Base64 of four little-endian bytes a page), which the tail's sum of
//! the part's descriptor vouches for. Where the pages are says the offset index of the same tail.
//! Invariant: bytes that passed [`PageSums::check`] are those that were written. Must not know: what is in a page.

use std::ops::Range;

use ::parquet::file::metadata::{KeyValue, ParquetMetaData};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use crc_fast::CrcAlgorithm;
use model::saturating::usize_of;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::page_places::stored_pages;

/// The key of the footer under which the sums stand.
const KEY: &str = "gristmill.page_sums";
const SUM_BYTES: usize = size_of::<u32>();

/// The sums of a file as an entry of its footer.
pub(crate) fn key_value(sums: &[u32]) -> KeyValue {
    let bytes: Vec<u8> = sums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
    KeyValue::new(KEY.to_owned(), STANDARD_NO_PAD.encode(bytes))
}

/// The CRC-32 of a page's content, which the format wants in the header.
pub(crate) fn content_crc(content: &[u8]) -> u32 {
    low_half(crc_fast::checksum(CrcAlgorithm::Crc32IsoHdlc, content))
}

/// The sum of a page that is in two pieces.
pub(crate) fn page_sum(header: &[u8], content: &[u8]) -> u32 {
    let mut hash = Xxh3::new();
    hash.update(header);
    hash.update(content);
    low_half(hash.digest())
}

/// The sum of a page as it is stored.
fn stored_page_sum(page: &[u8]) -> u32 {
    low_half(xxh3_64(page))
}

fn low_half(sum: u64) -> u32 {
    u32::try_from(sum & u64::from(u32::MAX)).unwrap_or_default()
}

/// Where the pages of a file begin, and their sums.
#[derive(Debug)]
pub(crate) struct PageSums {
    /// Of each page, and at last where the last one ends.
    begins: Vec<u64>,
    sums: Vec<u32>,
}

/// A page that is not as it was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BadPage {
    pub begin: u64,
    pub written: u32,
    pub found: u32,
}

impl PageSums {
    /// Reads them from a footer; an error says what does not fit.
    pub(crate) fn of(footer: &ParquetMetaData) -> Result<PageSums, String> {
        let entries = footer.file_metadata().key_value_metadata();
        let text = entries.and_then(|all| all.iter().find(|entry| entry.key == KEY)?.value.as_deref());
        let text = text.ok_or("its pages have no sums")?;
        let bytes = STANDARD_NO_PAD.decode(text).map_err(|e| format!("the sums of its pages: {e}"))?;
        let (sums, rest) = bytes.as_chunks::<SUM_BYTES>();
        let sums: Vec<u32> = sums.iter().map(|sum| u32::from_le_bytes(*sum)).collect();
        let begins = page_begins(footer)?;
        if !rest.is_empty() || begins.len().saturating_sub(1) != sums.len() {
            let pages = begins.len().saturating_sub(1);
            return Err(format!("it has {pages} pages and {} sums of pages", sums.len()));
        }
        Ok(PageSums { begins, sums })
    }

    /// The pages that hold some of `range`, from the beginning of the first to the end of the last; `None` if part of it is
    /// in no page.
    pub(crate) fn pages_around(&self, range: &Range<u64>) -> Option<Range<u64>> {
        if range.is_empty() {
            return Some(range.clone());
        }
        let first = self.begins.partition_point(|begin| *begin <= range.start).checked_sub(1)?;
        let end = self.begins.partition_point(|begin| *begin < range.end);
        Some(*self.begins.get(first)?..*self.begins.get(end)?)
    }

    /// Compares whole pages that begin at `begin`.
    pub(crate) fn check(&self, begin: u64, mut bytes: &[u8]) -> Result<(), BadPage> {
        let first = self.begins.partition_point(|page| *page < begin);
        let mut at = begin;
        for (place, sum) in self.begins[first..].windows(2).zip(&self.sums[first.min(self.sums.len())..]) {
            if bytes.is_empty() {
                break;
            }
            let length = usize_of(place[1] - place[0]);
            let (page, behind) = bytes.split_at_checked(length).unwrap_or((bytes, &[]));
            let found = stored_page_sum(page);
            if found != *sum || place[0] != at {
                return Err(BadPage { begin: place[0], written: *sum, found });
            }
            (at, bytes) = (place[1], behind);
        }
        match bytes.is_empty() {
            true => Ok(()),
            false => Err(BadPage { begin: at, written: 0, found: stored_page_sum(bytes) }),
        }
    }

    /// Bytes it takes in memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.begins.capacity() * size_of::<u64>() + self.sums.capacity() * SUM_BYTES
    }
}

/// Where the pages begin, and where the last one ends: they lie one behind the other.
fn page_begins(footer: &ParquetMetaData) -> Result<Vec<u64>, String> {
    let mut begins = Vec::new();
    let mut end = None;
    for (group, row_group) in footer.row_groups().iter().enumerate() {
        for (leaf, chunk) in row_group.columns().iter().enumerate() {
            let index = footer.offset_index().and_then(|index| index.get(group)?.get(leaf));
            let pages = index.and_then(|index| stored_pages(chunk, index));
            let Some((pages, _)) = pages else {
                return Err(format!(
                    "the places of pages of column {leaf}, row group {group}, are not known"
                ));
            };
            for page in pages {
                if end.is_some_and(|end| end != page.start) {
                    return Err(format!("there is a gap in front of the page at {}", page.start));
                }
                end = Some(page.end);
                begins.push(page.start);
            }
        }
    }
    begins.extend(end);
    Ok(begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums() -> PageSums {
        let pages = [&b"first"[..], b"", b"second page", b"3"];
        let mut begins = vec![4];
        for page in pages {
            begins.push(begins[begins.len() - 1] + page.len() as u64);
        }
        PageSums { begins, sums: pages.map(stored_page_sum).to_vec() }
    }

    #[test]
    fn whole_pages_are_compared() {
        let sums = sums();
        sums.check(4, b"firstsecond page3").unwrap();
        sums.check(9, b"second page").unwrap();
        sums.check(20, b"3").unwrap();
        assert_eq!(sums.check(4, b"firstsecond pagf3").unwrap_err().begin, 9);
        for (begin, bytes) in [
            (4, &b"firs"[..]),
            (5, b"irst"),
            (9, b"second page3?"),
            (21, b"x"),
            (0, b"PAR1first"),
            (9, b"sec"),
        ] {
            assert!(sums.check(begin, bytes).is_err(), "{begin}");
        }
    }

    #[test]
    fn ranges_become_whole_pages() {
        let sums = sums();
        for (range, pages) in
            [(4..5, 4..9), (6..10, 4..20), (20..21, 20..21), (4..21, 4..21), (10..11, 9..20)]
        {
            assert_eq!(sums.pages_around(&range), Some(pages));
        }
        assert_eq!(sums.pages_around(&(3..5)), None);
        assert_eq!(sums.pages_around(&(20..22)), None);
        assert_eq!(sums.pages_around(&(30..31)), None);
    }
}
