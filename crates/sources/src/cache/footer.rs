//! Parquet footers, read once per version of a file.
//!
//! Invariant: a cached footer, and the bloom filters kept with it, are used only for the same store, key, ETag and size; a
//! file without ETag is never cached. Must not know: columns' meaning in SQL.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use host::guarded;
use model::saturating::usize_of;
use parking_lot::Mutex;
use parquet::DecodeResult;
use parquet::bloom_filter::Sbbf;
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    FileMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataPushDecoder, ParquetMetaDataReader,
    RowGroupMetaData,
};
use stores::error::{Result, SourceError};
use stores::files::fetch::FileReader;

use crate::cache::pages::has_page_index;

/// The first request for a footer: enough for most files' whole footer in one round trip.
const TAIL_BYTES: u64 = 64 << 10;
/// Length and magic at the end of a Parquet file.
const TRAILER_BYTES: usize = 8;
const MAGIC: &[u8; 4] = b"PAR1";
/// Memory of all cached footers and bloom filters.
const CACHE_BYTES_MAX: usize = 128 << 20;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct FooterKey {
    store: String,
    key: String,
    etag: String,
    bytes: u64,
}

/// Which bloom filter of a file: row group and leaf column.
pub(crate) type BloomPlace = (usize, usize);

/// Footers of a server, the least recently used forgotten first.
#[derive(Debug, Default)]
pub(crate) struct FooterCache {
    state: Mutex<CacheState>,
}

#[derive(Debug, Default)]
struct CacheState {
    entries: HashMap<FooterKey, Entry>,
    bytes: usize,
    clock: u64,
}

/// What is kept of one version of a file.
#[derive(Debug)]
struct Entry {
    footer: Arc<ParquetMetaData>,
    blooms: HashMap<BloomPlace, Arc<Sbbf>>,
    used: u64,
}

impl Entry {
    fn bytes(&self) -> usize {
        self.footer.memory_size() + self.blooms.values().map(|bloom| bloom_bytes(bloom)).sum::<usize>()
    }
}

fn bloom_bytes(bloom: &Sbbf) -> usize {
    /// Bytes of a block of a split block bloom filter.
    const BLOCK_BYTES: usize = 32;
    bloom.num_blocks().saturating_mul(BLOCK_BYTES)
}

impl FooterCache {
    /// The footer of a file, from the cache or from the store.
    pub(crate) async fn load(&self, reader: &FileReader) -> Result<Arc<ParquetMetaData>> {
        let key = key_of(reader);
        if let Some(found) = key.as_ref().and_then(|key| self.find(key)) {
            return Ok(found);
        }
        let footer = Arc::new(read_footer(reader).await?);
        if let Some(key) = key {
            self.insert(key, &footer);
        }
        Ok(footer)
    }

    /// The footer with its page index, read when first needed.
    pub(crate) async fn load_with_pages(&self, reader: &FileReader) -> Result<Arc<ParquetMetaData>> {
        let footer = self.load(reader).await?;
        if footer.column_index().is_some() || !has_page_index(&footer) {
            return Ok(footer);
        }
        let footer = Arc::new(read_page_index(reader, &footer).await?);
        if let Some(key) = key_of(reader) {
            self.insert(key, &footer);
        }
        Ok(footer)
    }

    pub(crate) fn clear(&self) {
        *self.state.lock() = CacheState::default();
    }

    /// Bloom filters of a file that are known already.
    pub(crate) fn blooms(&self, reader: &FileReader) -> HashMap<BloomPlace, Arc<Sbbf>> {
        let Some(key) = key_of(reader) else { return HashMap::new() };
        let state = self.state.lock();
        state.entries.get(&key).map(|entry| entry.blooms.clone()).unwrap_or_default()
    }

    /// Keeps bloom filters beside the footer they belong to, as long as that is kept.
    pub(crate) fn put_blooms(&self, reader: &FileReader, found: &HashMap<BloomPlace, Arc<Sbbf>>) {
        let Some(key) = key_of(reader) else { return };
        let mut state = self.state.lock();
        let Some(entry) = state.entries.get_mut(&key) else { return };
        let mut added = 0_usize;
        for (place, bloom) in found {
            if entry.blooms.insert(*place, Arc::clone(bloom)).is_none() {
                added = added.saturating_add(bloom_bytes(bloom));
            }
        }
        state.bytes = state.bytes.saturating_add(added);
        state.forget_oldest();
    }

    fn find(&self, key: &FooterKey) -> Option<Arc<ParquetMetaData>> {
        let mut state = self.state.lock();
        state.clock += 1;
        let now = state.clock;
        let entry = state.entries.get_mut(key)?;
        entry.used = now;
        Some(Arc::clone(&entry.footer))
    }

    fn insert(&self, key: FooterKey, footer: &Arc<ParquetMetaData>) {
        let mut state = self.state.lock();
        state.clock += 1;
        let mut entry = Entry { footer: Arc::clone(footer), blooms: HashMap::new(), used: state.clock };
        if let Some(replaced) = state.entries.remove(&key) {
            state.bytes -= replaced.bytes();
            entry.blooms = replaced.blooms;
        }
        state.bytes += entry.bytes();
        state.entries.insert(key, entry);
        state.forget_oldest();
    }
}

impl CacheState {
    fn forget_oldest(&mut self) {
        while self.bytes > CACHE_BYTES_MAX {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone());
            let Some(dropped) = oldest.and_then(|key| self.entries.remove(&key)) else { break };
            self.bytes -= dropped.bytes();
        }
    }
}

fn key_of(reader: &FileReader) -> Option<FooterKey> {
    Some(FooterKey {
        store: reader.store.identity().to_owned(),
        key: reader.file.key.clone(),
        etag: reader.file.etag.clone()?,
        bytes: reader.file.bytes,
    })
}

async fn read_page_index(reader: &FileReader, footer: &ParquetMetaData) -> Result<ParquetMetaData> {
    let path = reader.file.path.as_str();
    let broken = |error: ParquetError| {
        SourceError::corrupt(path, format!("the page index of \"{path}\" cannot be read: {error}"))
    };
    let mut decoder = ParquetMetaDataPushDecoder::try_new_with_metadata(reader.file.bytes, footer.clone())
        .map_err(broken)?
        .with_page_index_policy(PageIndexPolicy::Optional);
    loop {
        match decoder.try_decode().map_err(broken)? {
            DecodeResult::Data(footer) => return Ok(footer),
            DecodeResult::NeedsData(ranges) => {
                let bytes = reader.get_ranges(&ranges).await?;
                decoder.push_ranges(ranges, bytes).map_err(broken)?;
            }
            DecodeResult::Finished => {
                return Err(SourceError::corrupt(path, format!("the page index of \"{path}\" has no end")));
            }
        }
    }
}

pub(crate) async fn read_footer(reader: &FileReader) -> Result<ParquetMetaData> {
    let (path, bytes) = (reader.file.path.as_str(), reader.file.bytes);
    let tail_start = bytes.saturating_sub(TAIL_BYTES);
    let tail = reader.get(tail_start..bytes).await?;
    if tail.len() < TRAILER_BYTES + MAGIC.len() || !tail.ends_with(MAGIC) {
        return Err(not_parquet(reader, &tail).await);
    }
    let length_at = tail.len() - TRAILER_BYTES;
    let length = tail[length_at..length_at + 4].try_into().map_or(0, u32::from_le_bytes);
    let length_needed = u64::from(length) + u64::try_from(TRAILER_BYTES).unwrap_or_default();
    let Some(start) = bytes.checked_sub(length_needed) else {
        let message = format!("\"{path}\" is cut: its footer claims {length} bytes, the file has {bytes}");
        return Err(SourceError::corrupt(path, message));
    };
    let metadata = if start >= tail_start {
        let from = usize_of(start - tail_start);
        tail.slice(from..length_at)
    } else {
        reader.get(start..start + u64::from(length)).await?
    };
    let broken = |error: String| {
        SourceError::corrupt(path, format!("the footer of \"{path}\" cannot be read: {error}"))
            .with_range(start..bytes)
    };
    let footer = guarded(|| ParquetMetaDataReader::decode_metadata(&metadata))
        .map_err(broken)?
        .map_err(|error| broken(error.to_string()))?;
    check(&footer, bytes).map_err(broken)?;
    Ok(with_counted_rows(footer))
}

/// The decoder makes no batch larger than the file's own count of rows, which some writers leave 0.
fn with_counted_rows(footer: ParquetMetaData) -> ParquetMetaData {
    let file = footer.file_metadata();
    let counted = footer.row_groups().iter().map(RowGroupMetaData::num_rows).fold(0, i64::saturating_add);
    if file.num_rows() == counted {
        return footer;
    }
    let (created_by, pairs) = (file.created_by().map(str::to_owned), file.key_value_metadata().cloned());
    let (schema, orders) = (file.schema_descr_ptr(), file.column_orders().cloned());
    let file = FileMetaData::new(file.version(), counted, created_by, pairs, schema, orders);
    ParquetMetaData::new(file, footer.row_groups().to_vec())
}

/// Rows of all row groups.
pub(crate) fn rows(footer: &ParquetMetaData) -> u64 {
    let rows = |group: &RowGroupMetaData| u64::try_from(group.num_rows()).unwrap_or(0);
    footer.row_groups().iter().map(rows).sum()
}

/// What the decoder takes for granted: chunks inside the file, as many values as rows.
fn check(footer: &ParquetMetaData, file_bytes: u64) -> std::result::Result<(), String> {
    for (number, group) in footer.row_groups().iter().enumerate() {
        let rows = group.num_rows();
        if rows < 0 {
            return Err(format!("row group {number} claims {rows} rows"));
        }
        for column in group.columns() {
            let name = column.column_path().string();
            let start = match column.dictionary_page_offset() {
                Some(offset) if offset > 0 => offset.min(column.data_page_offset()),
                _ => column.data_page_offset(),
            };
            let end = u64::try_from(start)
                .ok()
                .zip(u64::try_from(column.compressed_size()).ok())
                .and_then(|(start, length)| start.checked_add(length));
            if end.is_none_or(|end| end > file_bytes) {
                return Err(format!(
                    "row group {number} puts column \"{name}\" at byte {start} with {} bytes, outside of the file",
                    column.compressed_size()
                ));
            }
            let repeated = column.column_descr().max_rep_level() > 0;
            if !repeated && column.num_values() != rows {
                return Err(format!(
                    "row group {number} has {rows} rows and {} values of column \"{name}\"",
                    column.num_values()
                ));
            }
        }
    }
    Ok(())
}

/// Tells a cut file from one that never was Parquet.
async fn not_parquet(reader: &FileReader, tail: &Bytes) -> SourceError {
    let (path, bytes) = (reader.file.path.as_str(), reader.file.bytes);
    let head = if bytes <= TAIL_BYTES { Ok(tail.clone()) } else { reader.get(0..4).await };
    match head {
        Err(error) => error,
        Ok(_) if bytes == 0 => {
            SourceError::corrupt(path, format!("\"{path}\" is empty, and no Parquet file is"))
                .with_hint("s3_skip_empty_files = 1 passes over empty files")
        }
        Ok(head) if head.starts_with(MAGIC) => SourceError::corrupt(
            path,
            format!("\"{path}\" is cut: it starts as Parquet and does not end as Parquet"),
        )
        .with_range(bytes.saturating_sub(4)..bytes),
        Ok(_) => SourceError::corrupt(path, format!("\"{path}\" is not a Parquet file: wrong magic bytes"))
            .with_hint("give the format as an argument if the name misleads"),
    }
}
