//! One compressed file decompressed in several places at once.
//!
//! ```text
//! stored bytes ──► borders of frames ──► groups of about 1 MiB ──► one task each ──► in order
//!                        └── none, or a group that is not what it seemed: the rest by one decoder
//! ```
//!
//! Invariant: bytes and errors are those of one decoder that reads the whole file (but how much comes before an error
//! depends, for one decoder too, on how its input arrives). A border is believed only when the
//! group before it has become whole frames of no more than the size they said; if not, that group and all behind it are
//! given to one decoder, whatever was decoded of them is thrown away. What is held is granted, and at most `threads`
//! groups are under way. Must not know: codecs, formats.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::{Either, select};
use futures::stream::{self, BoxStream, StreamExt};
use host::{MemoryBudget, MemoryGrant, Runtimes};
use model::saturating::u64_of;
use tokio_util::task::AbortOnDropHandle;

use crate::codecs::frames::{FrameScanner, Framing, Step, searched_decoded_max};
use crate::error::{Result, SourceError};

/// Decoded bytes of a group aimed at: a task's start is nothing beside it, and the first rows come soon. Short of a MiB
/// by one member of bgzf.
const GROUP_BYTES: u64 = (1 << 20) - (64 << 10);

/// Bytes as they are stored, or as they were before they were compressed.
pub type ByteStream = BoxStream<'static, Result<Bytes>>;
/// One decoder: reads frames one after the other.
pub(crate) type Decode = Arc<dyn Fn(ByteStream) -> ByteStream + Send + Sync>;

/// Where groups are decoded, and whose memory they use.
pub(crate) struct Workers {
    pub runtimes: Runtimes,
    pub memory: MemoryBudget,
    /// Groups under way.
    pub threads: usize,
    /// Memory of a decoder beside what it reads and gives.
    pub decoder_bytes: u64,
}

/// The decompressed bytes of `stored`.
pub(crate) fn side_by_side(
    stored: ByteStream,
    framing: Framing,
    decode: Decode,
    workers: Workers,
) -> ByteStream {
    let held = workers.memory.empty_grant("frames of compressed files");
    let stage = Stage {
        stored,
        scanner: FrameScanner::new(framing),
        unscanned: Bytes::new(),
        frames: Group::default(),
        open: Vec::new(),
        held,
        has_begun: false,
        is_last: false,
        is_whole: false,
        under_way: VecDeque::new(),
        ready: VecDeque::new(),
        granted: None,
        rest: None,
        decode,
        workers,
    };
    stream::try_unfold(stage, Stage::next).boxed()
}

/// Whole frames, as far as their borders are right.
#[derive(Default)]
struct Group {
    parts: Vec<Bytes>,
    stored: u64,
    decoded_max: u64,
}

struct UnderWay {
    /// To be decoded again if this goes wrong.
    parts: Vec<Bytes>,
    task: AbortOnDropHandle<Option<Vec<Bytes>>>,
    grant: MemoryGrant,
}

struct Stage {
    stored: ByteStream,
    scanner: FrameScanner,
    unscanned: Bytes,
    /// Not yet enough for a group, or more than may be under way.
    frames: Group,
    /// The beginning of the frame behind them, and its memory.
    open: Vec<Bytes>,
    held: MemoryGrant,
    /// A byte was seen: what a file without any is, its decoder says.
    has_begun: bool,
    /// `stored` has ended.
    is_last: bool,
    /// What follows `frames` cannot be divided.
    is_whole: bool,
    under_way: VecDeque<UnderWay>,
    ready: VecDeque<Bytes>,
    /// Memory of what is ready.
    granted: Option<MemoryGrant>,
    rest: Option<ByteStream>,
    decode: Decode,
    workers: Workers,
}

impl Stage {
    async fn next(mut self) -> Result<Option<(Bytes, Stage)>> {
        loop {
            if let Some(chunk) = self.ready.pop_front() {
                return Ok(Some((chunk, self)));
            }
            if let Some(rest) = &mut self.rest {
                let chunk = rest.next().await.transpose()?;
                return Ok(chunk.map(|chunk| (chunk, self)));
            }
            self.granted = None;
            let wants_bytes = self.start_groups();
            let Some(first) = self.under_way.front_mut() else {
                if wants_bytes {
                    let chunk = self.stored.next().await;
                    self.arrived(chunk);
                } else if self.has_begun && self.is_last && self.is_empty() {
                    return Ok(None);
                } else {
                    self.give_up(Vec::new());
                }
                continue;
            };
            let first_done = match wants_bytes {
                true => match select(&mut first.task, self.stored.next()).await {
                    Either::Left((decoded, _)) => Ok(decoded),
                    Either::Right((chunk, _)) => Err(chunk),
                },
                false => Ok((&mut first.task).await),
            };
            let decoded = match first_done {
                Ok(decoded) => decoded,
                Err(chunk) => {
                    self.arrived(chunk);
                    continue;
                }
            };
            let decoded = decoded.map_err(|task| SourceError::ended_early("decompression", task))?;
            let Some(UnderWay { parts, grant, .. }) = self.under_way.pop_front() else { continue };
            match decoded {
                Some(chunks) => {
                    self.ready.extend(chunks);
                    self.granted = Some(grant);
                }
                None => self.give_up(parts),
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.unscanned.is_empty() && self.frames.parts.is_empty() && self.open.is_empty()
    }

    /// What came from the store.
    fn arrived(&mut self, chunk: Option<Result<Bytes>>) {
        match chunk {
            Some(Ok(chunk)) => {
                self.has_begun |= !chunk.is_empty();
                self.unscanned = chunk;
            }
            // It comes behind what was decoded until then.
            Some(Err(error)) => {
                self.is_whole = true;
                self.stored = stream::iter([Err(error)]).boxed();
            }
            None => {
                self.is_last = true;
                self.stored = stream::empty().boxed();
                if self.scanner.is_searched() && !self.open.is_empty() {
                    let stored = self.open.iter().map(|part| u64_of(part.len())).sum();
                    self.close(searched_decoded_max(stored));
                } else {
                    // A frame that is still open is cut, which its decoder says best.
                    self.is_whole |= !self.open.is_empty();
                }
            }
        }
    }

    /// Starts tasks for the groups there are; true if more bytes are wanted for the next.
    fn start_groups(&mut self) -> bool {
        loop {
            if self.under_way.len() >= self.workers.threads {
                return false;
            }
            let is_due = self.frames.decoded_max.max(self.frames.stored) >= GROUP_BYTES;
            let is_end = self.unscanned.is_empty() && self.is_last || self.is_whole;
            if is_due || is_end && !self.frames.parts.is_empty() {
                if !self.start_group() {
                    return false;
                }
            } else if is_end {
                return false;
            } else if self.unscanned.is_empty() {
                return true;
            } else {
                self.scan();
            }
        }
    }

    fn scan(&mut self) {
        match self.scanner.advance(&self.unscanned) {
            Step::Whole => self.is_whole = true,
            Step::Ends { at, decoded_max } => {
                let part = self.unscanned.split_to(at);
                self.open.extend((!part.is_empty()).then_some(part));
                self.close(decoded_max);
            }
            Step::More => {
                let part = std::mem::take(&mut self.unscanned);
                let held = self.held.bytes().saturating_add(u64_of(part.len()));
                self.open.push(part);
                // One decoder needs no more than a chunk at a time.
                self.is_whole |= self.held.resize(held).is_err();
            }
        }
    }

    /// The open frame has ended.
    fn close(&mut self, decoded_max: u64) {
        self.held.shrink(self.held.bytes());
        let frames = &mut self.frames;
        frames.stored += self.open.iter().map(|part| u64_of(part.len())).sum::<u64>();
        frames.parts.append(&mut self.open);
        frames.decoded_max = frames.decoded_max.saturating_add(decoded_max);
    }

    /// Starts a task for the frames there are. Without memory for it they wait for others, or for one decoder, which
    /// has its memory already: then this is false.
    fn start_group(&mut self) -> bool {
        let (workers, frames) = (&self.workers, &self.frames);
        let bytes = frames.decoded_max.saturating_add(frames.stored).saturating_add(workers.decoder_bytes);
        let Ok(grant) = workers.memory.try_grant("decompression of frames", bytes) else { return false };
        let Group { parts, decoded_max, .. } = std::mem::take(&mut self.frames);
        let work = decoded(Arc::clone(&self.decode), parts.clone(), decoded_max);
        let task = AbortOnDropHandle::new(self.workers.runtimes.spawn_cpu("source frames", work));
        self.under_way.push_back(UnderWay { parts, task, grant });
        true
    }

    /// Leaves `parts` and all that follows them to one decoder.
    fn give_up(&mut self, mut parts: Vec<Bytes>) {
        for group in self.under_way.drain(..) {
            parts.extend(group.parts);
        }
        parts.append(&mut self.frames.parts);
        parts.append(&mut self.open);
        parts.push(std::mem::take(&mut self.unscanned));
        parts.retain(|part| !part.is_empty());
        let stored = std::mem::replace(&mut self.stored, stream::empty().boxed());
        let stored = stream::iter(parts.into_iter().map(Ok)).chain(stored).boxed();
        self.held.shrink(self.held.bytes());
        self.rest = Some((self.decode)(stored));
    }
}

/// A group decoded; `None` if it is not what its borders said.
async fn decoded(decode: Decode, parts: Vec<Bytes>, decoded_max: u64) -> Option<Vec<Bytes>> {
    let mut stream = decode(stream::iter(parts.into_iter().map(Ok)).boxed());
    let (mut chunks, mut bytes) = (Vec::new(), 0_u64);
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.ok()?;
        bytes = bytes.saturating_add(u64_of(chunk.len()));
        if bytes > decoded_max {
            return None;
        }
        chunks.push(chunk);
    }
    Some(chunks)
}
