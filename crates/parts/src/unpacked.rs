//! Column chunks of parts in memory, without their compression: what is read again and again is unpacked once.
//!
//! A chunk is read from its file the first time, which tells how large its pages are; it is unpacked as a whole and kept
//! the second time, if [`residency`] has room for it; from the third time on it is there. To whoever reads, a kept chunk is
//! a chunk of the same file that was never compressed: [`UnpackedPages::view`] gives a footer that says so.
//! Invariant: what is kept is counted against the memory of the process, and goes when somebody else needs that memory. A
//! reader with an old footer is served all the same. Must not know: who reads, and how bytes come out of a file.

mod layout;
mod unpack;
mod fill;
mod residency;
mod part_pages;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::ParquetMetaData;
use bytes::Bytes;
use host::{MemoryBudget, MemoryGrant, Spare};
use parking_lot::Mutex;

pub use fill::Fill;
pub use part_pages::PartPages;

use layout::ChunkLayout;
use residency::{ChunkId, Residency, Tick};

/// One chunk may take one in so many of the memory for all.
const CHUNK_SHARE: u64 = 8;
/// Chunks that are being unpacked may take one in so many of it beside what is kept: nobody counts them otherwise.
const FILLING_SHARE: u64 = 4;

/// The kept chunks of all parts.
#[derive(Debug)]
pub struct UnpackedPages {
    memory: MemoryBudget,
    bytes_max: u64,
    kept: Mutex<Kept>,
    /// Bytes of whole chunks that readers unpack at this moment.
    filling: Arc<AtomicU64>,
    hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Debug)]
struct Kept {
    residency: Residency,
    chunks: HashMap<ChunkId, Chunk>,
    parts: HashMap<Arc<str>, Arc<PartPages>>,
    parts_seen: u64,
}

#[derive(Debug)]
struct Chunk {
    bytes: Bytes,
    _counted: MemoryGrant,
}

/// What a reader asks for.
#[derive(Debug)]
pub enum Wanted {
    /// A place in the file.
    Stored,
    /// Kept; `stored` are the bytes of the file it stands for.
    Here { bytes: Bytes, stored: usize },
    /// To be unpacked.
    Missing(Fill),
}

impl UnpackedPages {
    /// Keeps at most `bytes_max`, taken from `memory`.
    pub fn new(memory: MemoryBudget, bytes_max: u64) -> Arc<UnpackedPages> {
        let kept = Kept {
            residency: Residency::new(bytes_max),
            chunks: HashMap::new(),
            parts: HashMap::new(),
            parts_seen: 0,
        };
        let pages = Arc::new(UnpackedPages {
            memory,
            bytes_max,
            kept: Mutex::new(kept),
            filling: Arc::default(),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        });
        let spare: Arc<dyn Spare> = Arc::<UnpackedPages>::clone(&pages);
        pages.memory.set_spare(Arc::downgrade(&spare));
        pages
    }

    /// The part at `key`, as [`model::PartLocation`] has it.
    pub fn part(&self, key: &str) -> Arc<PartPages> {
        let mut kept = self.kept.lock();
        if let Some(part) = kept.parts.get(key) {
            return Arc::clone(part);
        }
        kept.parts_seen += 1;
        let part = Arc::new(PartPages::new(kept.parts_seen));
        kept.parts.insert(key.into(), Arc::clone(&part));
        part
    }

    /// The part is gone.
    pub fn forget(&self, key: &str) {
        let mut kept = self.kept.lock();
        if let Some(part) = kept.parts.remove(key) {
            kept.drop_chunks(|id| id.part == part.id());
        }
    }

    /// All parts whose key begins so are gone.
    pub fn forget_below(&self, prefix: &str) {
        let mut kept = self.kept.lock();
        let mut gone = HashSet::new();
        kept.parts.retain(|key, part| {
            let stays = !key.starts_with(prefix);
            if !stays {
                gone.insert(part.id());
            }
            stays
        });
        kept.drop_chunks(|id| gone.contains(&id.part));
    }

    /// Keeps nothing of what it has.
    pub fn clear(&self) {
        self.kept.lock().drop_chunks(|_| true);
    }

    /// The footer of a part with those chunks of the columns `wanted` unpacked that are kept or may be kept now.
    ///
    /// # Errors
    /// The footer contradicts itself.
    pub fn view(
        &self,
        part: &PartPages,
        footer: &Arc<ParquetMetaData>,
        wanted: &HashSet<String>,
    ) -> Result<Arc<ParquetMetaData>, ParquetError> {
        part.view(footer, wanted, |candidates| {
            let kept = self.kept.lock();
            let mut coming = 0;
            let room = (self.bytes_max / FILLING_SHARE).saturating_sub(self.filling.load(Ordering::Relaxed));
            let is_chosen = |(id, bytes, last_read): &(ChunkId, u64, Tick)| {
                if kept.residency.contains(*id) {
                    return true;
                }
                let is_small = *bytes <= (self.bytes_max / CHUNK_SHARE).min(room);
                let fits = is_small && kept.residency.has_room(coming + bytes, *last_read);
                if fits {
                    coming += bytes;
                }
                fits
            };
            candidates.iter().map(is_chosen).collect()
        })
    }

    /// Bytes came out of the part's file: they tell the sizes of their pages.
    pub fn note_stored(&self, part: &PartPages, range: &Range<u64>, bytes: &[u8]) {
        part.note_stored(range, bytes, || self.kept.lock().residency.tick());
    }

    /// What a reader asks for with `ranges`, one answer for each. Who asks for half of a chunk or more that is not kept
    /// unpacks all of it, once for all of its ranges.
    ///
    /// # Errors
    /// A range is neither in the file nor in a footer that was given out.
    pub fn wanted(&self, part: &PartPages, ranges: &[Range<u64>]) -> Result<Vec<Wanted>, ParquetError> {
        let mut asked: HashMap<u32, u64> = HashMap::new();
        for (chunk, range) in ranges.iter().filter_map(ChunkLayout::chunk_of) {
            *asked.entry(chunk).or_default() += range.end - range.start;
        }
        let answer = |range: &Range<u64>| {
            let Some((chunk, inside)) = ChunkLayout::chunk_of(range) else { return Ok(Wanted::Stored) };
            let layout = part.layout(chunk).ok_or_else(|| {
                ParquetError::General(format!("nothing is known of the addresses {range:?} of a part"))
            })?;
            if let Some(bytes) = self.here(part, chunk, &inside) {
                return Ok(Wanted::Here { bytes, stored: layout.stored_bytes(&inside) });
            }
            let is_most = asked.get(&chunk).is_some_and(|asked| asked * 2 >= layout.bytes());
            Ok(Wanted::Missing(Fill::new(chunk, layout, inside, is_most.then(|| Arc::clone(&self.filling)))))
        };
        ranges.iter().map(answer).collect()
    }

    /// A range of a chunk that is kept.
    fn here(&self, part: &PartPages, chunk: u32, range: &Range<u64>) -> Option<Bytes> {
        let id = ChunkId { part: part.id(), chunk };
        let mut kept = self.kept.lock();
        let found = kept.chunks.get(&id).and_then(|held| slice(&held.bytes, range));
        if found.is_some() {
            kept.residency.touch(id);
        }
        drop(kept);
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// Keeps a chunk that was unpacked as a whole, if there still is room. Returns what its reader asked for, and the
    /// chunk if it is whole.
    ///
    /// # Errors
    /// The reader asked for more than there is.
    pub fn keep(&self, part: &PartPages, fill: Fill) -> Result<(Bytes, Option<Bytes>), ParquetError> {
        let chunk = fill.chunk();
        let (asked, whole) = fill.end()?;
        if let Some(bytes) = &whole {
            let id = ChunkId { part: part.id(), chunk };
            self.admit(id, bytes.clone(), part.last_read(chunk));
        }
        Ok((asked, whole))
    }

    fn admit(&self, id: ChunkId, bytes: Bytes, last_read: Tick) {
        let size = bytes.len() as u64;
        let mut kept = self.kept.lock();
        let Some(out) = kept.residency.admit(id, size, last_read) else { return };
        for old in out {
            kept.chunks.remove(&old);
        }
        match self.memory.try_grant_unused("uncompressed cache", size) {
            Ok(counted) => {
                kept.chunks.insert(id, Chunk { bytes, _counted: counted });
            }
            Err(_no_room) => kept.residency.drop_one(id),
        }
    }

    /// Bytes and chunks kept.
    pub fn size(&self) -> (u64, usize) {
        let kept = self.kept.lock();
        (kept.residency.bytes(), kept.chunks.len())
    }

    /// How often a chunk was there, and how often it was not, since the process started.
    pub fn hits_and_misses(&self) -> (u64, u64) {
        (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed))
    }
}

impl Kept {
    fn drop_chunks(&mut self, is_gone: impl Fn(&ChunkId) -> bool) {
        let gone: Vec<ChunkId> = self.chunks.keys().filter(|id| is_gone(id)).copied().collect();
        for id in gone {
            self.residency.drop_one(id);
            self.chunks.remove(&id);
        }
    }
}

impl Spare for UnpackedPages {
    fn bytes(&self) -> u64 {
        self.kept.lock().residency.bytes()
    }

    fn give_way(&self, bytes: u64) {
        let mut kept = self.kept.lock();
        for id in kept.residency.drop_oldest(bytes) {
            kept.chunks.remove(&id);
        }
    }
}

fn slice(bytes: &Bytes, range: &Range<u64>) -> Option<Bytes> {
    let (begin, end) = (usize::try_from(range.start).ok()?, usize::try_from(range.end).ok()?);
    (begin <= end && end <= bytes.len()).then(|| bytes.slice(begin..end))
}
