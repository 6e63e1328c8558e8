//! Row groups that are too large to be held: each page is read from the disk when it is decoded, of a local file from where it
//! is, of another from a copy of the row group in a file without a name.
//!
//! A row group is decoded column beside column, so its stored bytes, held whole, and a page and a dictionary of each column are in
//! memory at once: of 300 columns 600 MB of pages. Invariant: the rows are those of a row group that is held; the copy is gone
//! with its reader, and with the process. Must not know: streams, queries.

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use stores::error::Result;
use stores::files::fetch::FileReader;

/// Where most writers end a page, and a dictionary.
const PAGE_BYTES: u64 = 1 << 20;
/// What is smaller is held, whatever memory is left: the way over the disk is longer.
const COPIED_MIN: u64 = 32 << 20;

/// What decoding a row group takes beside its batches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Held {
    /// Its bytes in the file.
    pub stored: u64,
    /// The decoder's: of each column a page and a dictionary.
    pub pages: u64,
}

impl Held {
    pub(crate) fn of(group: &RowGroupMetaData, mask: &ProjectionMask) -> Held {
        let bytes = |size: i64| u64::try_from(size).unwrap_or(0);
        let chunks = group.columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf));
        chunks.fold(Held::default(), |held, (_, chunk)| Held {
            stored: held.stored.saturating_add(bytes(chunk.compressed_size())),
            pages: held.pages.saturating_add(bytes(chunk.uncompressed_size()).min(2 * PAGE_BYTES)),
        })
    }

    /// Whether more than half of the memory that is left would go into it, and nothing into what is made of the rows.
    pub(crate) fn is_too_large(self, available: u64, is_local: bool) -> bool {
        (is_local || self.stored >= COPIED_MIN) && self.stored.saturating_add(self.pages) > available / 2
    }
}

/// The file, if it is one of the disk's, as long and as old as it was listed. Of another the copy finds out that it was replaced.
pub(crate) fn open(reader: &FileReader) -> Option<File> {
    if !reader.store.is_local() || reader.file.unwrapped.is_some() {
        return None;
    }
    #[expect(clippy::disallowed_methods, reason = "files that a query names are not the database's own disk")]
    let file = File::open(Path::new("/").join(&reader.file.key)).ok()?;
    let found = file.metadata().ok()?;
    let is_as_old =
        |listed: DateTime<Utc>| found.modified().is_ok_and(|at| DateTime::<Utc>::from(at) == listed);
    let is_same = found.len() == reader.file.bytes && reader.file.modified.is_none_or(is_as_old);
    is_same.then_some(file)
}

/// A file that holds these ranges where they stand in the source's.
pub(crate) async fn copied(reader: FileReader, ranges: Vec<Range<u64>>) -> Result<File> {
    let copy = Arc::new(tempfile::tempfile().map_err(|error| reader.no_copy(&error))?);
    reader.copy_ranges(&ranges, &copy).await?;
    copy.try_clone().map_err(|error| reader.no_copy(&error))
}

/// The rows of one row group.
pub(crate) fn rows(
    file: File,
    arrow: &ArrowReaderMetadata,
    mask: &ProjectionMask,
    row_group: usize,
    batch_rows: usize,
) -> std::result::Result<ParquetRecordBatchReader, ParquetError> {
    ParquetRecordBatchReaderBuilder::new_with_metadata(file, arrow.clone())
        .with_row_groups(vec![row_group])
        .with_projection(mask.clone())
        .with_batch_size(batch_rows)
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_memory_is_left_to_others() {
        const MIB: u64 = 1 << 20;
        for (stored, pages, available, of_local, of_other) in [
            (604 * MIB, 600 * MIB, 1024 * MIB, true, true),
            (604 * MIB, 600 * MIB, 4096 * MIB, false, false),
            (100 * MIB, 20 * MIB, 1024 * MIB, false, false),
            (8 * MIB, 8 * MIB, 4 * MIB, true, false),
            (0, 0, 0, false, false),
            (1, 0, 0, true, false),
            (u64::MAX, 1, u64::MAX, true, true),
        ] {
            let held = Held { stored, pages };
            let found = (held.is_too_large(available, true), held.is_too_large(available, false));
            assert_eq!(found, (of_local, of_other), "{held:?} of {available}");
        }
    }
}
