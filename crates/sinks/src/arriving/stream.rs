//! Bytes of a format, as they arrive, made into batches by one reader.
//!
//! Invariant: bytes are read no faster than batches are taken.

use std::sync::Arc;

use arrow::array::RecordBatch;
use boundary::error::Error;
use bytes::Bytes;
use formats::{Feed, FormatError, RowReader};
use futures::StreamExt;
use futures::stream::BoxStream;
use stores::statement::rejects::Rejects;

/// What one reader makes of all that comes.
pub struct Reading {
    pub feed: Feed,
    chunks: BoxStream<'static, Result<Bytes, Error>>,
    rejects: Arc<Rejects>,
    /// Rows skipped so far that `rejects` knows of.
    rejected: u64,
    ended: bool,
}

/// The rows in `chunks`; those that are skipped go to `rejects`.
pub fn read_batches(
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
pub fn each_batch(
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
    pub fn new(feed: Feed, chunks: BoxStream<'static, Result<Bytes, Error>>, rejects: Arc<Rejects>) -> Self {
        Self { feed, chunks, rejects, rejected: 0, ended: false }
    }

    /// The next chunk of the body; `None` after the last.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        self.chunks.next().await.transpose()
    }

    /// The reader, and what it has not been given.
    pub fn into_parts(self) -> (Feed, BoxStream<'static, Result<Bytes, Error>>) {
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
    pub fn read(&mut self, chunk: Option<Bytes>) -> Result<Vec<RecordBatch>, FormatError> {
        let mut batches = Vec::new();
        self.ended = chunk.is_none();
        self.feed.take(&chunk.unwrap_or_default(), self.ended, &mut batches)?;
        let skipped = self.feed.rejected() - self.rejected;
        if skipped > 0 {
            self.rejected += skipped;
            self.rejects.add("", self.feed.take_rejected(), skipped);
        }
        Ok(batches)
    }
}
