//! Bytes of a format, as they arrive, made into batches by one reader.
//!
//! Invariant: bytes are read no faster than batches are taken, and only what a row still lacks is kept.

use std::sync::Arc;

use arrow::array::RecordBatch;
use bytes::{Bytes, BytesMut};
use formats::{FormatError, RowReader};
use futures::StreamExt;
use futures::stream::BoxStream;
use sources::rejects::Rejects;

use crate::error::Error;

/// Bytes of a chunk that complete the row before them, at first: more than most rows have.
const JOINED_BYTES_MIN: usize = 4 << 10;

/// A reader, and the bytes that it was given and has not used.
pub(crate) struct Feed {
    reader: Box<dyn RowReader>,
    rest: BytesMut,
    consumed: u64,
}

impl Feed {
    pub(crate) fn new(reader: Box<dyn RowReader>) -> Self {
        Self { reader, rest: BytesMut::new(), consumed: 0 }
    }

    pub(crate) fn reader(&mut self) -> &mut dyn RowReader {
        self.reader.as_mut()
    }

    /// Bytes that became rows, or stand for none.
    pub(crate) fn consumed(&self) -> u64 {
        self.consumed
    }

    /// Lets go what is not used, for whoever has these bytes himself.
    pub(crate) fn forget_rest(&mut self) {
        self.rest = BytesMut::new();
    }

    fn read(&mut self, bytes: &[u8], end: bool, out: &mut Vec<RecordBatch>) -> Result<usize, FormatError> {
        let consumed = self.reader.read(bytes, end, out)?.min(bytes.len());
        self.consumed += consumed as u64;
        Ok(consumed)
    }

    /// Reads what there is with `chunk` behind it; `end` says that nothing follows. A row that began in the chunk before
    /// gets what it needs of this one; the rest is read where it lies.
    pub(crate) fn take(
        &mut self,
        mut chunk: &[u8],
        end: bool,
        out: &mut Vec<RecordBatch>,
    ) -> Result<(), FormatError> {
        let mut step = JOINED_BYTES_MIN;
        while !self.rest.is_empty() && !chunk.is_empty() {
            let (joined, behind) = chunk.split_at(step.min(chunk.len()));
            let held = self.rest.len();
            let mut rest = std::mem::take(&mut self.rest);
            rest.extend_from_slice(joined);
            let consumed = self.read(&rest, false, out)?;
            match consumed.checked_sub(held) {
                Some(of_chunk) => chunk = chunk.get(of_chunk..).unwrap_or_default(),
                None => {
                    let _ = rest.split_to(consumed);
                    self.rest = rest;
                    chunk = behind;
                    step = step.saturating_mul(2);
                }
            }
        }
        if self.rest.is_empty() {
            let consumed = self.read(chunk, end, out)?;
            self.rest.extend_from_slice(chunk.get(consumed..).unwrap_or_default());
        } else if end {
            let rest = std::mem::take(&mut self.rest);
            self.read(&rest, true, out)?;
        }
        Ok(())
    }

    /// [`Feed::take`] of bytes that lie in several parts. If `joins`, they are put together first: columns of a block
    /// are longer than a part, and each of them would be.
    pub(crate) fn take_all(
        &mut self,
        parts: Vec<Bytes>,
        joins: bool,
        end: bool,
        out: &mut Vec<RecordBatch>,
    ) -> Result<(), FormatError> {
        if parts.len() < 2 || joins {
            return self.take(&joined(parts), end, out);
        }
        let last = parts.len() - 1;
        parts.iter().enumerate().try_for_each(|(at, part)| self.take(part, end && at == last, out))
    }
}

/// The parts end to end; copied if there are several.
pub(crate) fn joined(mut parts: Vec<Bytes>) -> Bytes {
    if parts.len() < 2 {
        return parts.pop().unwrap_or_default();
    }
    let mut joined = Vec::with_capacity(parts.iter().map(Bytes::len).sum());
    parts.iter().for_each(|part| joined.extend_from_slice(part));
    joined.into()
}

/// What one reader makes of all that comes.
pub(crate) struct Reading {
    pub feed: Feed,
    chunks: BoxStream<'static, Result<Bytes, Error>>,
    rejects: Arc<Rejects>,
    /// Rows skipped so far that `rejects` knows of.
    rejected: u64,
    ended: bool,
}

/// The rows in `chunks`; those that are skipped go to `rejects`.
pub(crate) fn read_batches(
    reader: Box<dyn RowReader>,
    chunks: BoxStream<'static, Result<Bytes, Error>>,
    rejects: Arc<Rejects>,
) -> BoxStream<'static, Result<RecordBatch, Error>> {
    let reading = Reading::new(Feed::new(reader), chunks, rejects);
    let steps = futures::stream::unfold(Some(reading), |reading| async move {
        let mut reading = reading?;
        match reading.step().await {
            Ok(None) => None,
            Ok(Some(batches)) => Some((Ok(batches), Some(reading))),
            Err(error) => Some((Err(error), None)),
        }
    });
    each_batch(steps)
}

/// The batches of steps, one after the other.
pub(crate) fn each_batch(
    steps: impl futures::Stream<Item = Result<Vec<RecordBatch>, Error>> + Send + 'static,
) -> BoxStream<'static, Result<RecordBatch, Error>> {
    steps
        .flat_map(|step| match step {
            Ok(batches) => futures::stream::iter(batches.into_iter().map(Ok).collect::<Vec<_>>()),
            Err(error) => futures::stream::iter(vec![Err(error)]),
        })
        .boxed()
}

impl Reading {
    pub(crate) fn new(
        feed: Feed,
        chunks: BoxStream<'static, Result<Bytes, Error>>,
        rejects: Arc<Rejects>,
    ) -> Self {
        Self { feed, chunks, rejects, rejected: 0, ended: false }
    }

    /// The next chunk of the body; `None` after the last.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        self.chunks.next().await.transpose()
    }

    /// The reader, and what it has not been given.
    pub(crate) fn into_parts(self) -> (Feed, BoxStream<'static, Result<Bytes, Error>>) {
        (self.feed, self.chunks)
    }

    /// The batches of one more chunk; `None` after the last.
    async fn step(&mut self) -> Result<Option<Vec<RecordBatch>>, Error> {
        if self.ended {
            return Ok(None);
        }
        let chunk = self.chunk().await?;
        Ok(Some(self.read(chunk)?))
    }

    /// The batches of a chunk; `None` is the end of the body.
    pub(crate) fn read(&mut self, chunk: Option<Bytes>) -> Result<Vec<RecordBatch>, FormatError> {
        let mut batches = Vec::new();
        self.ended = chunk.is_none();
        self.feed.take(&chunk.unwrap_or_default(), self.ended, &mut batches)?;
        let skipped = self.feed.reader.rejected() - self.rejected;
        if skipped > 0 {
            self.rejected += skipped;
            self.rejects.add("", self.feed.reader.take_rejected(), skipped);
        }
        Ok(batches)
    }
}

#[cfg(test)]
mod tests;
