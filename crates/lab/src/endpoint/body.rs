//! Bodies on their way from and to disk, a chunk at a time.
//!
//! Invariant: at most [`CHUNKS_AHEAD`] + 1 chunks of an object are in memory, however large it is.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use host::{DiskRead, Host, Runtimes};
use model::saturating::usize_of;
use s3s::dto::StreamingBlob;
use tokio::task::JoinHandle;

/// Large enough that handing a read to another thread costs little next to the read.
const CHUNK_BYTES: u64 = 1 << 20;
/// Chunks read while the one before them is on its way to the client.
const CHUNKS_AHEAD: usize = 2;

/// Bytes `range` of a file as a stream.
pub(super) fn read(
    runtimes: &Runtimes,
    file: Arc<dyn DiskRead>,
    range: Range<u64>,
) -> impl Stream<Item = io::Result<Bytes>> + Send + Sync + 'static {
    let ahead = Ahead { runtimes: runtimes.clone(), file, left: range, reads: VecDeque::new() };
    stream::unfold(ahead, |mut ahead| async move {
        while ahead.reads.len() <= CHUNKS_AHEAD && !ahead.left.is_empty() {
            ahead.start_read();
        }
        let read = ahead.reads.pop_front()?;
        let chunk = read.await.unwrap_or_else(|error| Err(io::Error::other(error)));
        Some((chunk, ahead))
    })
}

struct Ahead {
    runtimes: Runtimes,
    file: Arc<dyn DiskRead>,
    left: Range<u64>,
    reads: VecDeque<JoinHandle<io::Result<Bytes>>>,
}

impl Ahead {
    fn start_read(&mut self) {
        let start = self.left.start;
        let end = self.left.end.min(start + CHUNK_BYTES);
        self.left.start = end;
        let file = Arc::clone(&self.file);
        self.reads.push_back(self.runtimes.spawn_blocking("s3 read", move || {
            let mut chunk = vec![0; usize_of(end - start)];
            file.read_at(start, &mut chunk)?;
            Ok(Bytes::from(chunk))
        }));
    }
}

/// Writes a body into a new file at `path`; answers how many bytes it had. On an error the file is removed.
pub(super) async fn write(host: &Host, path: &Path, body: Option<StreamingBlob>) -> io::Result<u64> {
    let mut file = host.disk.create(path)?;
    let mut bytes = 0;
    let Some(mut body) = body else { return Ok(0) };
    while let Some(chunk) = body.next().await {
        // The page cache takes a chunk in microseconds: not worth a thread.
        let written = chunk.map_err(io::Error::other).and_then(|chunk| {
            bytes += chunk.len() as u64;
            file.append(&chunk)
        });
        if let Err(error) = written {
            drop(file);
            host.disk.remove_file(path)?;
            return Err(error);
        }
    }
    Ok(bytes)
}
