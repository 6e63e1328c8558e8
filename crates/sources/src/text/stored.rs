//! The bytes of a file as they are stored, in order, while the next ones arrive.
//!
//! Invariant: what is asked for ahead stays below `prefetch_bytes_max`, and is counted as memory of the statement. Must not know:
//! compression, formats.

use std::collections::VecDeque;
use std::ops::Range;

use bytes::Bytes;
use futures::stream::StreamExt;
use host::{MemoryBudget, MemoryGrant};
use model::saturating::u64_of;
use stores::codecs::compression::ByteStream;
use stores::error::{Result, SourceError};
use stores::files::fetch::FileReader;
use tokio_util::task::AbortOnDropHandle;

/// Bytes of a local file that are read at once: their buffers fit into the cache and are used again, and a call of the
/// system costs nothing beside parsing them.
const LOCAL_STEP_BYTES: u64 = 1 << 20;

/// These bytes of the file as it is stored, in order; the first requests are sent at once.
pub(crate) fn stored(reader: FileReader, memory: MemoryBudget, range: Range<u64>) -> ByteStream {
    let bytes = range.end.saturating_sub(range.start);
    let step_max = if reader.store.is_local() { LOCAL_STEP_BYTES } else { u64::MAX };
    let step = reader.settings.max_download_buffer_size.min(step_max);
    // Small files are one request; two halves would only add a round trip.
    let step = if bytes <= 2 * step { bytes.max(1) } else { step };
    let ahead_max = match reader.settings.reads_ahead() {
        true => reader.settings.max_download_threads,
        false => 1,
    };
    let Range { start: next, end } = range;
    let mut pieces = Pieces { reader, memory, step, ahead_max, next, end, arriving: VecDeque::new() };
    pieces.fetch_ahead();
    futures::stream::try_unfold(pieces, |mut pieces| async move {
        pieces.fetch_ahead();
        let Some((task, grant)) = pieces.arriving.pop_front() else { return Ok(None) };
        let chunk = task.await.map_err(|task| SourceError::ended_early("reading", task))??;
        pieces.fetch_ahead();
        drop(grant);
        Ok(Some((chunk, pieces)))
    })
    .boxed()
}

struct Pieces {
    reader: FileReader,
    memory: MemoryBudget,
    step: u64,
    ahead_max: usize,
    next: u64,
    end: u64,
    arriving: VecDeque<(AbortOnDropHandle<Result<Bytes>>, MemoryGrant)>,
}

impl Pieces {
    fn fetch_ahead(&mut self) {
        while self.next < self.end && self.arriving.len() < self.ahead_max {
            let range = self.next..(self.next + self.step).min(self.end);
            let bytes = range.end - range.start;
            let waiting = u64_of(self.arriving.len()).saturating_mul(self.step);
            let needed_now = self.arriving.is_empty();
            if !needed_now && waiting.saturating_add(bytes) > self.reader.settings.prefetch_bytes_max {
                return;
            }
            let mut grant = self.memory.empty_grant("source buffers");
            if grant.try_grow(bytes).is_err() {
                if !needed_now {
                    return;
                }
                // Without these bytes there is no progress at all, so they are counted past the limit.
                grant.grow_anyway(bytes);
            }
            self.next = range.end;
            let reader = self.reader.clone();
            let fetch = async move { reader.get(range).await };
            let task = self.reader.store.runtimes().spawn_io("source range", fetch);
            self.arriving.push_back((AbortOnDropHandle::new(task), grant));
        }
    }
}
