//! Bytes of a format, as they arrive, made into batches.
//!
//! Invariant: bytes are read no faster than batches are taken, and only what a row still lacks is kept.

use std::sync::Arc;

use arrow::array::RecordBatch;
use bytes::{Bytes, BytesMut};
use formats::RowReader;
use futures::StreamExt;
use futures::stream::BoxStream;
use sources::rejects::Rejects;

use crate::error::Error;

struct Reading {
    reader: Box<dyn RowReader>,
    chunks: BoxStream<'static, Result<Bytes, Error>>,
    pending: BytesMut,
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
    let reading = Reading { reader, chunks, pending: BytesMut::new(), rejects, rejected: 0, ended: false };
    let steps = futures::stream::unfold(Some(reading), |reading| async move {
        let mut reading = reading?;
        match reading.step().await {
            Ok(None) => None,
            Ok(Some(batches)) => Some((Ok(batches), Some(reading))),
            Err(error) => Some((Err(error), None)),
        }
    });
    steps
        .flat_map(|step| match step {
            Ok(batches) => futures::stream::iter(batches.into_iter().map(Ok).collect::<Vec<_>>()),
            Err(error) => futures::stream::iter(vec![Err(error)]),
        })
        .boxed()
}

impl Reading {
    /// The batches of one more chunk; `None` after the last.
    async fn step(&mut self) -> Result<Option<Vec<RecordBatch>>, Error> {
        if self.ended {
            return Ok(None);
        }
        match self.chunks.next().await {
            Some(chunk) => self.pending.extend_from_slice(&chunk?),
            None => self.ended = true,
        }
        let mut batches = Vec::new();
        let consumed = self.reader.read(&self.pending, self.ended, &mut batches)?;
        let _ = self.pending.split_to(consumed);
        let skipped = self.reader.rejected() - self.rejected;
        if skipped > 0 {
            self.rejected += skipped;
            self.rejects.add("", self.reader.take_rejected(), skipped);
        }
        Ok(Some(batches))
    }
}
