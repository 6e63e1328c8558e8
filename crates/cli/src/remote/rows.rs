//! Bytes of an answer as batches.
//!
//! Invariant: names and types are those of the answer's own header, so that the batches look as they would in this
//! process. Must not know: HTTP.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use engine::{BodyStream, Error, ErrorCode, ErrorKind, FormatKind};
use formats::{FormatError, FormatSettings, RowReader, infer, new_reader};
use futures::StreamExt;
use futures::stream::BoxStream;
use model::type_arrow::to_field;

/// A header longer than this is none: ten thousand columns take a few hundred kilobytes.
const HEADER_BYTES_MAX: usize = 16 << 20;

/// Columns and rows of an answer.
pub(super) type Rows = (SchemaRef, BoxStream<'static, Result<RecordBatch, Error>>);

/// No columns: the statement has no answer.
pub(super) fn none() -> Rows {
    (Arc::new(Schema::empty()), futures::stream::empty().boxed())
}

/// Reads until the columns are known; the rows come when they are asked for.
pub(super) async fn read(
    kind: FormatKind,
    mut body: BodyStream,
    settings: &FormatSettings,
) -> Result<Rows, Error> {
    let mut pending = Vec::new();
    let columns = loop {
        let chunk = body.next().await.transpose()?;
        let at_end = chunk.is_none();
        pending.extend_from_slice(&chunk.unwrap_or_default());
        if at_end && pending.is_empty() {
            return Ok(none());
        }
        match infer(kind, &pending, at_end, settings) {
            Ok(columns) => break columns,
            Err(error) if at_end || pending.len() > HEADER_BYTES_MAX => return Err(unreadable(&error)),
            // The header is not all there.
            Err(_) => {}
        }
    };
    let fields: Vec<_> = columns.iter().map(|(name, column_type)| to_field(name, column_type)).collect();
    let schema: SchemaRef = Arc::new(Schema::new(fields));
    let reader = new_reader(kind, Arc::clone(&schema), settings).map_err(|error| unreadable(&error))?;
    let decoder = Decoder { body, reader, pending, ready: Vec::new(), ended: false };
    let batches = futures::stream::try_unfold(decoder, |mut decoder| async move {
        Ok(decoder.next().await?.map(|batch| (batch, decoder)))
    });
    Ok((schema, batches.boxed()))
}

struct Decoder {
    body: BodyStream,
    reader: Box<dyn RowReader>,
    /// Bytes not consumed yet.
    pending: Vec<u8>,
    /// Batches not given out yet, the next one last.
    ready: Vec<RecordBatch>,
    ended: bool,
}

impl Decoder {
    async fn next(&mut self) -> Result<Option<RecordBatch>, Error> {
        loop {
            if let Some(batch) = self.ready.pop() {
                return Ok(Some(batch));
            }
            if self.ended {
                return Ok(None);
            }
            match self.body.next().await.transpose()? {
                Some(chunk) => self.pending.extend_from_slice(&chunk),
                None => self.ended = true,
            }
            let used = self.reader.read(&self.pending, self.ended, &mut self.ready);
            self.pending.drain(..used.map_err(|error| unreadable(&error))?);
            self.ready.reverse();
        }
    }
}

fn unreadable(error: &FormatError) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        ErrorCode::NETWORK_ERROR,
        format!("the answer cannot be read: {}", error.message),
    )
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    /// One column `n` of UInt16 with 1 and 2.
    const BODY: &[u8] = b"\x01\x01n\x06UInt16\x01\x00\x02\x00";

    fn collect(body: &'static [u8], step: usize) -> Result<(Vec<String>, usize), Error> {
        let chunks: Vec<_> = body.chunks(step).map(|chunk| Ok(Bytes::from_static(chunk))).collect();
        let body = futures::stream::iter(chunks).boxed();
        futures::executor::block_on(async {
            let kind = FormatKind::RowBinaryWithNamesAndTypes;
            let (schema, batches) = read(kind, body, &FormatSettings::default()).await?;
            let batches: Vec<_> = batches.collect().await;
            let rows =
                batches.into_iter().map(|batch| Ok(batch?.num_rows())).sum::<Result<usize, Error>>()?;
            Ok((schema.fields().iter().map(|field| field.name().clone()).collect(), rows))
        })
    }

    #[test]
    fn rows_are_read_wherever_the_body_is_cut() {
        for step in 1..=BODY.len() {
            assert_eq!(collect(BODY, step).unwrap(), (vec!["n".to_owned()], 2), "{step}");
        }
        assert_eq!(collect(&BODY[..10], 3).unwrap(), (vec!["n".to_owned()], 0));
        assert_eq!(collect(b"", 3).unwrap(), (vec![], 0));
    }

    #[test]
    fn a_body_that_ends_too_early_is_an_error() {
        for length in [1, 5, BODY.len() - 1] {
            assert_eq!(collect(&BODY[..length], 100).unwrap_err().code.number(), 210, "{length}");
        }
    }
}
