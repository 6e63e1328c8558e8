//! A range of a local file as bytes.
//!
//! Invariant: what is read is not written twice: memory for it is not cleared first. Must not know: keys, who asked.

use std::io::{Read, Seek, SeekFrom};

use bytes::Bytes;
use host::Runtimes;
use object_store::{GetResult, GetResultPayload};

/// The bytes of an answer, which may end early.
pub(crate) async fn bytes_of(answer: GetResult, runtimes: &Runtimes) -> object_store::Result<Bytes> {
    let range = answer.range.clone();
    let mut file = match answer.payload {
        GetResultPayload::File(file, _) => file,
        payload @ GetResultPayload::Stream(_) => return GetResult { payload, ..answer }.bytes().await,
    };
    let length = range.end.saturating_sub(range.start);
    let read = move || {
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
        file.seek(SeekFrom::Start(range.start))?;
        file.take(length).read_to_end(&mut bytes)?;
        Ok(Bytes::from(bytes))
    };
    let read = runtimes.spawn_blocking("source read", read).await;
    read.map_err(std::io::Error::other)
        .and_then(|read| read)
        .map_err(|error| object_store::Error::Generic { store: "LocalFileSystem", source: Box::new(error) })
}
