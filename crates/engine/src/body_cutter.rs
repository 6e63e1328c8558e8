//! A body cut into pieces of whole records, as it arrives.
//!
//! Invariant: every byte is in one piece, and the pieces come in the order of the body. A piece is made of parts of the
//! chunks themselves: nothing is copied. Beside the pieces given out no more is held than one that is open. Must not
//! know: readers, tasks.

use std::collections::VecDeque;

use bytes::Bytes;
use formats::RecordBoundaries;
use futures::StreamExt;

use crate::error::Error;
use crate::request::BodyStream;

/// Bytes that are scanned at once at least.
const STEP_BYTES_MIN: usize = 64 << 10;
/// Without a record's end in this many bytes the rest of a body is not cut.
const OPEN_BYTES_MAX: usize = 32 << 20;
const MARK: &[u8; 3] = b"\xef\xbb\xbf";

/// Whole records.
pub(crate) struct Piece {
    /// End to end.
    pub parts: Vec<Bytes>,
    /// Where it starts in the body.
    pub position: u64,
}

impl Piece {
    pub(crate) fn bytes(&self) -> usize {
        self.parts.iter().map(Bytes::len).sum()
    }
}

/// Where the next piece ends.
pub(crate) enum Cut {
    /// Behind a record.
    Records(Piece),
    /// With the body; nothing may be in it.
    Last(Piece),
    /// Nobody knows: what is left is for one reader.
    Endless,
}

pub(crate) struct Cutter {
    chunks: BodyStream,
    boundaries: RecordBoundaries,
    /// What is still to come of a byte order mark, which is part of no record.
    mark: usize,
    unscanned: VecDeque<Bytes>,
    open: VecDeque<Bytes>,
    open_bytes: usize,
    /// Behind the last record in `open`.
    end: Option<usize>,
    position: u64,
}

impl Cutter {
    /// Of a body of which `seen` is there and `chunks` follow. Somebody else has read the first `consumed` bytes.
    pub(crate) fn new(
        seen: Vec<Bytes>,
        chunks: BodyStream,
        boundaries: RecordBoundaries,
        consumed: u64,
    ) -> Cutter {
        let first = seen.iter().flat_map(|chunk| chunk.iter().copied()).take(MARK.len());
        let mark = if boundaries.may_follow_mark() && first.eq(*MARK) { MARK.len() } else { 0 };
        let mut cutter = Cutter {
            chunks,
            boundaries,
            mark,
            unscanned: VecDeque::new(),
            open: VecDeque::new(),
            open_bytes: 0,
            end: None,
            position: consumed,
        };
        let mut before = usize::try_from(consumed).unwrap_or(usize::MAX);
        for mut chunk in seen {
            let read = chunk.split_to(before.min(chunk.len()));
            before -= read.len();
            cutter.scan(&read);
            cutter.unscanned.push_back(chunk);
        }
        cutter
    }

    /// The next piece, of about `bytes_aimed`. May be dropped and asked again.
    pub(crate) async fn next(&mut self, bytes_aimed: usize) -> Result<Cut, Error> {
        loop {
            let is_lost = self.boundaries.are_lost();
            if let Some(end) = self.end.filter(|_| is_lost || self.open_bytes >= bytes_aimed) {
                return Ok(Cut::Records(self.split(end)));
            }
            if is_lost || self.end.is_none() && self.open_bytes >= OPEN_BYTES_MAX {
                return Ok(Cut::Endless);
            }
            let Some(mut chunk) = self.unscanned.pop_front() else {
                match self.chunks.next().await {
                    Some(chunk) => self.unscanned.push_back(chunk?),
                    None => return Ok(Cut::Last(self.split(self.open_bytes))),
                }
                continue;
            };
            let wanted = bytes_aimed.saturating_sub(self.open_bytes).max(STEP_BYTES_MIN);
            let step = chunk.split_to(wanted.min(chunk.len()));
            if !chunk.is_empty() {
                self.unscanned.push_front(chunk);
            }
            self.end = self.scan(&step).map(|end| self.open_bytes + end).or(self.end);
            self.open_bytes += step.len();
            self.open.push_back(step);
        }
    }

    /// Whether no end of a record will be found any more.
    pub(crate) fn is_lost(&self) -> bool {
        self.boundaries.are_lost()
    }

    fn scan(&mut self, step: &[u8]) -> Option<usize> {
        let mark = self.mark.min(step.len());
        self.mark -= mark;
        self.boundaries.advance(step.get(mark..).unwrap_or_default()).map(|end| mark + end)
    }

    /// The first bytes of what is open.
    fn split(&mut self, end: usize) -> Piece {
        let (position, mut left, mut parts) = (self.position, end, Vec::with_capacity(self.open.len()));
        while let Some(mut part) = self.open.pop_front() {
            let taken = part.split_to(left.min(part.len()));
            left -= taken.len();
            if !taken.is_empty() {
                parts.push(taken);
            }
            if !part.is_empty() {
                self.open.push_front(part);
                break;
            }
        }
        self.open_bytes -= end;
        self.end = None;
        self.position = position.saturating_add(u64::try_from(end).unwrap_or(0));
        Piece { parts, position }
    }

    /// Where what is left begins in the body, and all of it.
    pub(crate) fn rest(self) -> (u64, BodyStream) {
        let held = self.open.into_iter().chain(self.unscanned).map(Ok);
        (self.position, futures::stream::iter(held).chain(self.chunks).boxed())
    }
}

#[cfg(test)]
mod tests;
