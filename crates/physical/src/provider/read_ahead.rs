//! What of a part will be read next, guessed from what was read: for storages that answer late.
//!
//! A reader that takes row groups one after the other gets the same columns of the next ones fetched while it decodes: of few at
//! first, of twice as many each time it goes on. One that jumps about gets nothing ahead. Invariant: a wrong guess costs bytes, never
//! rows. Must not know: how bytes are fetched, and where they wait.

use std::collections::BTreeMap;
use std::ops::Range;

use parquet::file::metadata::ParquetMetaData;

/// Row groups fetched ahead at most.
const GROUPS_MAX: usize = 64;
/// Bytes on their way, or waiting, for one reader.
const BYTES_MAX: u64 = 16 << 20;
/// Row groups fetched ahead once it is seen that a reader goes on.
const GROUPS_FIRST: usize = 2;
/// A column is read as a whole if so much of a hundredth of its bytes is.
const WHOLE_PERCENT: u64 = 90;

/// The guesses about one reader of one part.
#[derive(Debug, Default)]
pub(super) struct ReadAhead {
    /// The row group that was read last.
    last: Option<usize>,
    /// How many row groups to fetch behind that one.
    groups: usize,
    /// Every row group will be read, so there is nothing to wait for.
    reads_all: bool,
    /// Of each leaf of the schema the row group up to which it has been fetched.
    fetched: BTreeMap<usize, usize>,
}

impl ReadAhead {
    /// `reads_all`: nothing lets the reader pass over row groups, or end before the last.
    pub(super) fn new(reads_all: bool) -> ReadAhead {
        ReadAhead { reads_all, ..ReadAhead::default() }
    }

    /// Takes note of ranges that are read now, and answers with those that will be read soon.
    pub(super) fn note(&mut self, footer: &ParquetMetaData, ranges: &[Range<u64>]) -> Vec<Range<u64>> {
        let read = whole_chunks(footer, ranges);
        let Some((group, _)) = read.iter().max().copied() else { return Vec::new() };
        match self.last {
            // Another step of reading the same rows.
            Some(last) if last == group => {}
            Some(last) if last + 1 == group => {
                self.groups = (self.groups * 2).clamp(GROUPS_FIRST, GROUPS_MAX);
            }
            _ => self.groups = if self.reads_all { GROUPS_FIRST } else { 0 },
        }
        self.last = Some(group);
        let mut ahead = Vec::new();
        let mut bytes = 0;
        let end = (group + self.groups + 1).min(footer.num_row_groups());
        for next in group + 1..end {
            for (_, leaf) in read.iter().filter(|(of, _)| *of == group) {
                let (begin, length) = footer.row_group(next).column(*leaf).byte_range();
                bytes += length;
                let is_new = self.fetched.get(leaf).is_none_or(|fetched| *fetched < next);
                if is_new {
                    ahead.push(begin..begin + length);
                    self.fetched.insert(*leaf, next);
                }
            }
            if bytes > BYTES_MAX {
                break;
            }
        }
        ahead
    }
}

/// The row groups and leaves of which the ranges are most: a chunk may be asked for page by page.
fn whole_chunks(footer: &ParquetMetaData, ranges: &[Range<u64>]) -> Vec<(usize, usize)> {
    let mut read: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for range in ranges {
        if let Some(chunk) = chunk_of(footer, range.start) {
            *read.entry(chunk).or_default() += range.end - range.start;
        }
    }
    let is_whole = |((group, leaf), bytes): ((usize, usize), u64)| {
        let length = footer.row_group(group).column(leaf).byte_range().1;
        (bytes * 100 >= length * WHOLE_PERCENT).then_some((group, leaf))
    };
    read.into_iter().filter_map(is_whole).collect()
}

/// The row group and the leaf of a byte.
fn chunk_of(footer: &ParquetMetaData, byte: u64) -> Option<(usize, usize)> {
    let groups = footer.row_groups();
    let begin = |group: usize| groups[group].columns().iter().map(|chunk| chunk.byte_range().0).min();
    let (mut low, mut high) = (0, groups.len());
    while low + 1 < high {
        let middle = low.midpoint(high);
        match begin(middle) {
            Some(begin) if begin <= byte => low = middle,
            _ => high = middle,
        }
    }
    let mut chunks = groups.get(low)?.columns().iter().map(|chunk| chunk.byte_range());
    chunks.position(|(begin, length)| begin <= byte && byte < begin + length).map(|leaf| (low, leaf))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use arrow::array::{ArrayRef, Int64Array, RecordBatch};
    use bytes::Bytes;
    use parquet::arrow::ArrowWriter;
    use parquet::file::metadata::ParquetMetaDataReader;
    use parquet::file::properties::WriterProperties;

    /// Ten row groups of two columns.
    fn footer() -> ParquetMetaData {
        let column =
            |seed: i64| Arc::new(Int64Array::from_iter_values((0..1000).map(|n| n * seed))) as ArrayRef;
        let rows = RecordBatch::try_from_iter([("a", column(7)), ("b", column(13))]).unwrap();
        let properties = WriterProperties::builder().set_max_row_group_row_count(Some(100)).build();
        let mut file = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut file, rows.schema(), Some(properties)).unwrap();
        writer.write(&rows).unwrap();
        writer.close().unwrap();
        ParquetMetaDataReader::new().parse_and_finish(&Bytes::from(file)).unwrap()
    }

    #[test]
    fn who_goes_on_gets_twice_as_much_each_time_and_who_jumps_nothing() {
        let footer = footer();
        let chunk = |group: usize, leaf: usize| {
            let (begin, length) = footer.row_group(group).column(leaf).byte_range();
            begin..begin + length
        };
        let mut ahead = ReadAhead::default();
        assert!(ahead.note(&footer, &[chunk(0, 0)]).is_empty(), "nobody knows yet");
        assert_eq!(ahead.note(&footer, &[chunk(1, 0)]), [chunk(2, 0), chunk(3, 0)]);
        assert_eq!(ahead.note(&footer, &[chunk(1, 1)]), [chunk(2, 1), chunk(3, 1)], "of the same rows");
        assert_eq!(ahead.note(&footer, &[chunk(2, 0)]), [chunk(4, 0), chunk(5, 0), chunk(6, 0)]);
        assert_eq!(ahead.note(&footer, &[chunk(3, 0)]), [chunk(7, 0), chunk(8, 0), chunk(9, 0)]);
        assert!(ahead.note(&footer, &[chunk(4, 0)]).is_empty(), "all of it is on its way");
        assert_eq!(ReadAhead::new(true).note(&footer, &[chunk(0, 0)]), [chunk(1, 0), chunk(2, 0)]);
        let mut jumping = ReadAhead::default();
        assert!([5, 2, 8, 0].iter().all(|group| jumping.note(&footer, &[chunk(*group, 0)]).is_empty()));
        let mut pages = ReadAhead::default();
        let half = |group| chunk(group, 0).start..chunk(group, 0).start + 40;
        assert!((0..9).all(|group| pages.note(&footer, &[half(group)]).is_empty()), "pages are chosen");
        let both = |group| [half(group), half(group).end..chunk(group, 0).end];
        assert!(pages.note(&footer, &both(0)).is_empty());
        assert_eq!(
            pages.note(&footer, &both(1)),
            [chunk(2, 0), chunk(3, 0)],
            "page by page, but all of them"
        );
    }
}
