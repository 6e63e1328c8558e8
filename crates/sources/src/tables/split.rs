//! Where a source may be cut into units of work.
//!
//! Pure. Invariant: units cover every row once; a unit stays inside one file. Parquet is cut between row groups; a text
//! file is one unit, several shares of it, or ranges that are found by reading it. Must not know: who reads units.

use std::ops::Range;
use std::sync::Arc;

use model::saturating::usize_of;
use parquet::file::metadata::ParquetMetaData;
use stores::statement::settings::SourceSettings;

use crate::text::parallel::{self, Share};
use formats::FormatKind;

/// A piece of one file, read by one stream.
///
/// With a [`Share`] it is no certain rows, but what the other shares of the file leave when it is read: all of them
/// together are the file, once. Such a unit cannot be remembered beyond the statement that made it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SourceUnit {
    /// Position in `ObjectTable::files`.
    pub file: usize,
    /// Row groups of a Parquet file; `None` is the whole file, or a range of it.
    pub row_groups: Option<Vec<usize>>,
    /// Bytes of a text file, whole records; `None` is the whole file.
    pub range: Option<Range<u64>>,
    /// Bytes as stored, of all columns.
    pub bytes: u64,
    /// Rows, where metadata tells.
    pub rows: Option<u64>,
    /// Of a text file that several streams parse together.
    pub share: Option<Share>,
}

/// A file to be cut.
pub(crate) struct Cuttable {
    pub file: usize,
    pub bytes: u64,
    /// Of Parquet: the footer, and the row groups that may hold rows anyone wants.
    pub row_groups: Option<(Arc<ParquetMetaData>, Vec<usize>)>,
}

/// Units of about `target_bytes`: neighbouring row groups of a file together until there is enough.
pub(crate) fn cut(files: &[Cuttable], target_bytes: u64) -> Vec<SourceUnit> {
    let mut units = Vec::new();
    for file in files {
        match &file.row_groups {
            None => units.push(SourceUnit {
                file: file.file,
                row_groups: None,
                range: None,
                bytes: file.bytes,
                rows: None,
                share: None,
            }),
            Some((footer, kept)) => cut_row_groups(file.file, footer, kept, target_bytes, &mut units),
        }
    }
    units
}

/// Stored bytes of a text file for which one more stream is worth while.
const SHARE_BYTES_MIN: u64 = 4 << 20;

/// Streams that may parse a text file of this size together.
pub(crate) fn shares_of(bytes: u64, settings: &SourceSettings) -> usize {
    let worth = usize_of(bytes / SHARE_BYTES_MIN);
    worth.min(settings.parsing_threads()).max(1)
}

/// Whether streams that take whole files, the largest first, would wait for the last of them for more than a third of the
/// time. Only then is it worth to look for the ends of records ahead of parsing, which costs up to a third of it.
pub(crate) fn is_uneven(sizes: impl Iterator<Item = u64>, streams: usize) -> bool {
    let mut sizes: Vec<u64> = sizes.collect();
    sizes.sort_unstable_by(|left, right| right.cmp(left));
    let total: u64 = sizes.iter().sum();
    let mut loads = vec![0_u64; streams.max(1)];
    for size in sizes {
        if let Some(least) = loads.iter_mut().min() {
            *least += size;
        }
    }
    let longest = loads.iter().copied().max().unwrap_or(0);
    // The mean load is total / streams; compared without dividing.
    let streams = u64::try_from(loads.len()).unwrap_or(1);
    longest.saturating_mul(3).saturating_mul(streams) > total.saturating_mul(4)
}

/// The same units, with large text files in shares if streams would otherwise be idle.
pub(crate) fn share(
    units: Vec<SourceUnit>,
    format: FormatKind,
    settings: &SourceSettings,
) -> Vec<SourceUnit> {
    if !is_uneven(units.iter().map(|unit| unit.bytes), settings.max_threads) {
        return units;
    }
    let mut shared = Vec::with_capacity(units.len());
    for unit in units {
        let count = shares_of(unit.bytes, settings);
        let Some(shares) = parallel::shares(format, &settings.format, count) else {
            shared.push(unit);
            continue;
        };
        // The remainder is counted with the first.
        let bytes = unit.bytes / u64::try_from(count).unwrap_or(1);
        let first = unit.bytes - bytes * (u64::try_from(count).unwrap_or(1) - 1);
        shared.extend(shares.enumerate().map(|(index, share)| SourceUnit {
            bytes: if index == 0 { first } else { bytes },
            share: Some(share),
            ..unit.clone()
        }));
    }
    shared
}

fn cut_row_groups(
    file: usize,
    footer: &ParquetMetaData,
    kept: &[usize],
    target_bytes: u64,
    units: &mut Vec<SourceUnit>,
) {
    let mut open: Option<SourceUnit> = None;
    for row_group in kept {
        let metadata = footer.row_group(*row_group);
        let bytes = u64::try_from(metadata.compressed_size()).unwrap_or(0);
        let rows = u64::try_from(metadata.num_rows()).unwrap_or(0);
        if let Some(full) =
            open.take_if(|unit| unit.bytes > 0 && unit.bytes.saturating_add(bytes) > target_bytes)
        {
            units.push(full);
        }
        let unit = open.get_or_insert_with(|| SourceUnit {
            file,
            row_groups: Some(Vec::new()),
            range: None,
            bytes: 0,
            rows: Some(0),
            share: None,
        });
        unit.bytes = unit.bytes.saturating_add(bytes);
        unit.rows = unit.rows.map(|sum| sum.saturating_add(rows));
        unit.row_groups.get_or_insert_default().push(*row_group);
    }
    units.extend(open);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_shared_only_if_streams_would_be_idle() {
        for (sizes, streams, expected) in [
            (&[100][..], 2, true),
            (&[100], 1, false),
            (&[50, 50], 2, false),
            (&[50, 40], 2, false),
            (&[70, 10, 10], 2, true),
            (&[25, 25, 25, 25], 2, false),
            (&[10, 10, 10], 2, false),
            (&[10; 5], 4, true),
            (&[10; 9], 4, false),
            (&[], 4, false),
        ] {
            assert_eq!(is_uneven(sizes.iter().copied(), streams), expected, "{sizes:?} on {streams}");
        }
    }
}
