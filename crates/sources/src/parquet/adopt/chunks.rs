//! The bytes of some columns of one row group, as they are stored, to be looked at and copied.
//!
//! Invariant: they are fetched in one set of requests, as those that are decoded, while whoever asked does something else, and
//! counted in the statement's memory for as long as they are held. Must not know: tables, units.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use host::{MemoryBudget, MemoryGrant, guarded};
use model::saturating::u64_of;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use stores::error::{Result, SourceError};
use stores::files::fetch::FileReader;
use tokio_util::task::AbortOnDropHandle;

use super::verify::{ChunkWanted, Verified, Verifier};

/// Which chunks of a file to fetch.
pub(crate) struct ChunksRead {
    pub reader: FileReader,
    pub footer: Arc<ParquetMetaData>,
    pub row_group: usize,
    /// Columns, counted as the file's leaves are.
    pub leaves: Vec<usize>,
    pub memory: MemoryBudget,
}

/// Chunks of one row group; their memory is granted until this is dropped.
#[derive(Debug)]
pub struct RowGroupChunks {
    verifier: Verifier,
    chunks: Vec<Chunk>,
    granted: MemoryGrant,
}

#[derive(Debug)]
struct Chunk {
    leaf: usize,
    begin: u64,
    bytes: Bytes,
}

/// Chunks that are on their way.
#[derive(Debug)]
pub struct ArrivingChunks {
    verifier: Verifier,
    places: Vec<(usize, u64)>,
    granted: MemoryGrant,
    task: AbortOnDropHandle<Result<Vec<Bytes>>>,
}

/// Asks for chunks; `None` if there is no memory for them: then the row group has to be read in smaller pieces.
pub(crate) fn fetch(read: ChunksRead) -> Result<Option<ArrivingChunks>> {
    let path = &read.reader.file.path;
    let verifier = Verifier::new(&read.footer, path, read.row_group)?;
    let ranges = ranges(&read)?;
    let bytes: u64 = ranges.iter().map(|range| range.end - range.start).fold(0, u64::saturating_add);
    let Ok(granted) = read.memory.try_grant("source buffers", bytes) else { return Ok(None) };
    let places = read.leaves.iter().zip(&ranges).map(|(leaf, range)| (*leaf, range.start)).collect();
    let runtimes = read.reader.store.runtimes().clone();
    let fetched = async move { read.reader.get_ranges(&ranges).await };
    let task = AbortOnDropHandle::new(runtimes.spawn_io("source row group", fetched));
    Ok(Some(ArrivingChunks { verifier, places, granted, task }))
}

impl ArrivingChunks {
    /// Waits for the bytes.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn arrive(self) -> Result<RowGroupChunks> {
        let ArrivingChunks { verifier, places, granted, task } = self;
        let fetched = task.await.map_err(|task| SourceError::ended_early("reading", task))??;
        let chunks = places.into_iter().zip(fetched);
        let chunks = chunks.map(|((leaf, begin), bytes)| Chunk { leaf, begin, bytes }).collect();
        Ok(RowGroupChunks { verifier, chunks, granted })
    }
}

/// Where the chunks are; they must be in the file.
fn ranges(read: &ChunksRead) -> Result<Vec<Range<u64>>> {
    let (path, group) = (&read.reader.file.path, read.row_group);
    let corrupt = |problem: String| {
        SourceError::corrupt(path, format!("\"{path}\" cannot be decoded: row group {group}: {problem}"))
    };
    let columns = read.footer.row_groups().get(group).map(|group| group.columns()).unwrap_or_default();
    let range = |leaf: &usize| {
        let chunk = columns.get(*leaf).ok_or_else(|| corrupt(format!("there is no column {leaf}")))?;
        range_of(chunk)
            .filter(|range| range.end <= read.reader.file.bytes)
            .ok_or_else(|| corrupt(format!("column {leaf} is not within the file")))
    };
    read.leaves.iter().map(range).collect()
}

fn range_of(chunk: &ColumnChunkMetaData) -> Option<Range<u64>> {
    // The library asserts what a broken footer does not keep.
    let (begin, length) = guarded(|| chunk.byte_range()).ok()?;
    Some(begin..begin.checked_add(length)?)
}

impl RowGroupChunks {
    /// The stored bytes of a chunk that was fetched.
    pub fn bytes(&self, leaf: usize) -> Option<&Bytes> {
        self.chunk(leaf).map(|chunk| &chunk.bytes)
    }

    /// Bytes that are held.
    pub fn memory_bytes(&self) -> u64 {
        self.granted.bytes().max(self.chunks.iter().map(|chunk| u64_of(chunk.bytes.len())).sum())
    }

    /// Looks at every page of a chunk. It takes as long as decoding, on the calling thread.
    ///
    /// # Errors
    /// The bytes are no pages, or not those that the footer says; or the chunk was not fetched.
    pub fn verify(&self, wanted: ChunkWanted) -> Result<Verified> {
        let Some(chunk) = self.chunk(wanted.leaf) else {
            return Err(SourceError::bad_arguments(format!("column {} was not fetched", wanted.leaf)));
        };
        self.verifier.verify(wanted, chunk.begin, &chunk.bytes)
    }

    fn chunk(&self, leaf: usize) -> Option<&Chunk> {
        self.chunks.iter().find(|chunk| chunk.leaf == leaf)
    }
}
