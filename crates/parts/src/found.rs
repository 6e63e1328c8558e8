//! A part that no record names, found by its file: what its own footer says of it.
//!
//! Invariant: what is told of a part is covered by the sum of its footer, and a reader of it gets only pages whose own sums
//! are right. What the sum does not cover, bounds and places of pages, is not believed: bounds are left out, and a page in
//! a wrong place has a wrong sum. Must not know: what the pairs of the footer mean.

use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use ::parquet::file::reader::Length;
use model::part::{FORMAT_PARQUET, FileTail};
use model::{BlockRange, PartDescriptor, PartId, PartLocation, PartitionValue, SortOrder, TableId};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::PartError;
use crate::parquet::footer_sum::{self, OwnPairs};
use crate::ranges::FileRanges;
use crate::reader::{PartReader, open_part};
use crate::store::PartStore;

/// A file of a part, and what its footer says.
#[derive(Clone, Debug)]
pub struct FoundPart {
    /// Enough to read it by; partition, order and bounds are not known.
    descriptor: PartDescriptor,
    pairs: OwnPairs,
}

impl FoundPart {
    /// Reads the footer of the file with this key, which belongs to that part of that table.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, or is of a version that did not write what is needed.
    pub fn look(
        store: &PartStore,
        key: &str,
        (table, part): (TableId, PartId),
    ) -> Result<FoundPart, PartError> {
        let path = store.storage().place(key);
        let file = store.storage().open(key)?;
        let file = FileRanges::new(file, &path).map_err(PartError::disk("read", &path))?;
        let damaged = |e: ParquetError| PartError::damaged(part, e);
        let reader = ParquetMetaDataReader::new()
            .with_column_index_policy(PageIndexPolicy::Skip)
            .with_offset_index_policy(PageIndexPolicy::Optional);
        let footer = reader.parse_and_finish(&file).map_err(damaged)?;
        let (pairs, rows) = footer_sum::checked(&footer).map_err(|why| PartError::damaged(part, why))?;
        let bytes = file.len();
        let begin = tail_begin(&footer).unwrap_or(bytes).min(bytes);
        let tail = file.read(&(begin..bytes)).map_err(PartError::disk("read", &path))?;
        let descriptor = PartDescriptor {
            id: part,
            table,
            schema_version: 0,
            partition: PartitionValue::all(),
            bucket: 0,
            location: PartLocation { store: 0, key: key.into(), owner_nodes: Vec::new() },
            checksum: 0,
            tail: Some(FileTail { begin, checksum: xxh3_64(&tail) }),
            blocks: BlockRange::default(),
            level: 0,
            data_version: 0,
            sort_order: SortOrder::None,
            adopted: Vec::new(),
            bounds: Vec::new(),
            rows,
            bytes,
            bytes_uncompressed: 0,
            format: FORMAT_PARQUET,
            load: None,
            created_ms: 0,
        };
        Ok(FoundPart { descriptor, pairs })
    }

    pub fn id(&self) -> PartId {
        self.descriptor.id
    }

    pub fn rows(&self) -> u64 {
        self.descriptor.rows
    }

    /// Of the file.
    pub fn bytes(&self) -> u64 {
        self.descriptor.bytes
    }

    /// What the footer says under this key.
    pub fn says(&self, key: &str) -> Option<&str> {
        self.pairs.get(key).map(String::as_str)
    }

    /// Opens it for reading.
    ///
    /// # Errors
    /// As [`open_part`].
    pub fn open(&self, store: &PartStore) -> Result<PartReader, PartError> {
        open_part(store, &self.descriptor)
    }
}

/// Where the index of pages begins, which the tail holds whole.
fn tail_begin(footer: &ParquetMetaData) -> Option<u64> {
    let chunks = footer.row_groups().iter().flat_map(|group| group.columns());
    let indexes = chunks.flat_map(|chunk| [chunk.column_index_offset(), chunk.offset_index_offset()]);
    indexes.flatten().filter_map(|offset| u64::try_from(offset).ok()).min()
}
