//! Unpacking pages of one chunk, run by run, by a reader that fetches the runs itself.
//!
//! Invariant: the runs come in the order in which [`Fill::next_run`] names them; a fill that did not get all of them has
//! no result. Must not know: how runs are fetched.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ::parquet::errors::ParquetError;
use bytes::Bytes;

use super::layout::ChunkLayout;
use super::slice;
use super::unpack::Unpacker;

/// Stored bytes of a run, more only for a single page: its pages are unpacked in a few milliseconds, after which a thread
/// can do something else.
const RUN_BYTES: u64 = 2 << 20;

/// The pages of a chunk that are being unpacked.
pub struct Fill {
    chunk: u32,
    layout: Arc<ChunkLayout>,
    /// Asked for, from the beginning of the unpacked chunk.
    asked: Range<u64>,
    pages: Range<usize>,
    /// The first page that is not unpacked yet.
    next: usize,
    unpacker: Option<Unpacker>,
    out: Vec<u8>,
    /// Where the bytes of a whole chunk are counted while it is unpacked.
    filling: Option<Arc<AtomicU64>>,
}

impl Drop for Fill {
    fn drop(&mut self) {
        if let Some(filling) = self.filling.take().filter(|_| self.unpacker.is_some()) {
            filling.fetch_sub(self.layout.bytes(), Ordering::Relaxed);
        }
    }
}

impl std::fmt::Debug for Fill {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Fill(chunk {}, pages {:?}, next {})", self.chunk, self.pages, self.next)
    }
}

impl Fill {
    /// Of the whole chunk, counted in `filling`, or of the pages that hold some of `asked`.
    pub(super) fn new(
        chunk: u32,
        layout: Arc<ChunkLayout>,
        asked: Range<u64>,
        filling: Option<Arc<AtomicU64>>,
    ) -> Fill {
        let pages = if filling.is_some() { 0..layout.pages.len() } else { layout.pages_of(&asked) };
        Fill { chunk, asked, next: pages.start, pages, unpacker: None, out: Vec::new(), filling, layout }
    }

    /// The chunk's number.
    pub fn chunk(&self) -> u32 {
        self.chunk
    }

    /// Whether all of the chunk is unpacked.
    pub fn is_whole(&self) -> bool {
        self.pages == (0..self.layout.pages.len())
    }

    /// What was asked for, out of the unpacked chunk.
    pub fn asked_of(&self, whole: &Bytes) -> Option<Bytes> {
        slice(whole, &self.asked)
    }

    /// The bytes of the file that have to come next; `None` when all came.
    pub fn next_run(&self) -> Option<Range<u64>> {
        let left = self.layout.pages.get(self.next..self.pages.end)?;
        let first = left.first()?.stored.clone();
        let of_run = left.iter().take_while(|page| page.stored.end - first.start <= RUN_BYTES);
        Some(first.start..of_run.last().map_or(first.end, |page| page.stored.end))
    }

    /// Unpacks the run that was asked for.
    ///
    /// # Errors
    /// A page is damaged.
    pub fn take(&mut self, run: &[u8]) -> Result<(), ParquetError> {
        let layout = Arc::clone(&self.layout);
        let Some(pages) = layout.pages.get(self.pages.clone()) else { return Ok(()) };
        let begin = pages.first().map_or(0, |page| page.unpacked.start);
        let end = pages.last().map_or(0, |page| page.unpacked.end);
        if self.out.is_empty() {
            self.out = vec![0; size(end - begin)?];
        }
        let unpacker = match &mut self.unpacker {
            Some(unpacker) => unpacker,
            none => {
                let unpacker = Unpacker::new(&layout)?;
                if let Some(filling) = &self.filling {
                    filling.fetch_add(layout.bytes(), Ordering::Relaxed);
                }
                none.insert(unpacker)
            }
        };
        let mut left = run;
        while let Some(page) = layout.pages.get(self.next).filter(|_| !left.is_empty()) {
            let stored = size(page.stored.end - page.stored.start)?;
            let cut = || ParquetError::EOF(format!("a run of {} bytes ends within a page", run.len()));
            let (bytes, behind) = left.split_at_checked(stored).ok_or_else(cut)?;
            let place = size(page.unpacked.start - begin)?..size(page.unpacked.end - begin)?;
            let out = self.out.get_mut(place).ok_or_else(cut)?;
            unpacker.unpack(page, bytes, out)?;
            left = behind;
            self.next += 1;
        }
        Ok(())
    }

    /// What was asked for, and the chunk if it was unpacked as a whole.
    pub(super) fn end(mut self) -> Result<(Bytes, Option<Bytes>), ParquetError> {
        let missing = || ParquetError::General(format!("{:?} is not in chunk {}", self.asked, self.chunk));
        if self.next < self.pages.end {
            return Err(missing());
        }
        let first = self.layout.pages.get(self.pages.start).map_or(0, |page| page.unpacked.start);
        let inside = self.asked.start.checked_sub(first).zip(self.asked.end.checked_sub(first));
        let (begin, end) = inside.ok_or_else(missing)?;
        let is_whole = self.is_whole();
        let bytes = Bytes::from(std::mem::take(&mut self.out));
        let asked = slice(&bytes, &(begin..end));
        let asked = asked
            .ok_or_else(|| ParquetError::General("a page was asked for that is not there".to_owned()))?;
        Ok((asked, is_whole.then_some(bytes)))
    }
}

fn size(bytes: u64) -> Result<usize, ParquetError> {
    usize::try_from(bytes).map_err(|e| ParquetError::External(Box::new(e)))
}
