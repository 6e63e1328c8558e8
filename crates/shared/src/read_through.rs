//! The parts of a shared root as statements read them: from this machine where it has the file, from the store where not.
//!
//! A part is read in the ranges that are asked for. One that is asked for again and again is fetched whole meanwhile, and read from
//! this machine from then on. Invariant: reads only; bytes are those of the object. Must not know: what is in the files.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use chrono::DateTime;
use futures::stream::{self, BoxStream};
use futures::{StreamExt as _, TryStreamExt as _};
use host::{Host, Objects, Runtimes};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use parking_lot::Mutex;
use parts::PartStorage as _;

use crate::local_files::LocalFiles;
use crate::part_files::{SharedParts, again};

/// Ranges fetched at once for one reader.
const FETCHES: usize = 16;
/// Ranges that lie so near to each other are fetched together: a request costs more than the bytes between.
const GAP_BYTES: u64 = 256 << 10;
/// A part is asked for again when so much time has passed since it was asked for first: not by the same statement, most likely.
const AGAIN: Duration = Duration::from_secs(2);
/// Times it is asked for before it is fetched whole.
const TIMES: u32 = 2;

/// See the module.
pub struct ReadThrough {
    host: Host,
    objects: Arc<dyn Objects>,
    parts: Arc<SharedParts>,
    files: Arc<LocalFiles>,
    runtimes: Runtimes,
    asked: Mutex<HashMap<String, Asked>>,
    fetching: Arc<Mutex<HashSet<String>>>,
}

#[derive(Clone, Copy)]
struct Asked {
    last: Duration,
    times: u32,
}

impl fmt::Debug for ReadThrough {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for ReadThrough {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReadThrough({})", self.objects.place(""))
    }
}

impl ReadThrough {
    pub fn new(
        host: Host,
        objects: Arc<dyn Objects>,
        parts: Arc<SharedParts>,
        files: Arc<LocalFiles>,
        runtimes: Runtimes,
    ) -> ReadThrough {
        let (asked, fetching) = (Mutex::default(), Arc::default());
        ReadThrough { host, objects, parts, files, runtimes, asked, fetching }
    }

    /// Bytes of ranges, in their order.
    async fn ranges(&self, key: &str, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        if let Some(file) = self.files.get(key) {
            let ranges = ranges.to_vec();
            let read = move || ranges.iter().map(|range| read_range(&*file, range)).collect();
            return self.blocking(read).await;
        }
        self.note(key);
        let merged = merged(ranges);
        let fetches = merged.iter().cloned().map(|range| {
            let (host, objects, key) = (self.host.clone(), Arc::clone(&self.objects), key.to_owned());
            self.blocking(move || again(&host, || objects.get_range(&key, range.clone())))
        });
        let fetched: Vec<Bytes> = stream::iter(fetches).buffered(FETCHES).try_collect().await?;
        let of_range = |range: &Range<u64>| {
            let at = merged.partition_point(|merged| merged.end < range.end);
            let (bytes, first) = (fetched.get(at)?, merged.get(at)?.start);
            let (begin, end) = (place(range.start - first)?, place(range.end - first)?);
            (end <= bytes.len()).then(|| bytes.slice(begin..end))
        };
        let ended = || io::Error::new(ErrorKind::UnexpectedEof, "a range was not fetched");
        ranges.iter().map(|range| of_range(range).ok_or_else(ended)).collect()
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        self.runtimes.spawn_blocking("part fetch", work).await.map_err(io::Error::other)?
    }

    /// A part was asked for; if it was before, it is fetched whole.
    fn note(&self, key: &str) {
        let now = self.host.clock.monotonic();
        let mut asked = self.asked.lock();
        let known = asked.entry(key.to_owned()).or_insert(Asked { last: now, times: 1 });
        if now.saturating_sub(known.last) < AGAIN {
            return;
        }
        (known.last, known.times) = (now, known.times + 1);
        if known.times < TIMES {
            return;
        }
        asked.remove(key);
        drop(asked);
        if !self.fetching.lock().insert(key.to_owned()) {
            return;
        }
        let (parts, fetching, key) = (Arc::clone(&self.parts), Arc::clone(&self.fetching), key.to_owned());
        // Whatever becomes of it, the store has the part.
        let _fetching = self.runtimes.spawn_blocking("part fetch", move || {
            let _ = parts.open(&key);
            fetching.lock().remove(&key);
        });
    }

    async fn meta(&self, location: &Path) -> io::Result<ObjectMeta> {
        let key = location.to_string();
        let (bytes, modified_ms) = match self.files.get(&key) {
            Some(file) => (file.len()?, 0),
            None => {
                let (host, objects, asked) = (self.host.clone(), Arc::clone(&self.objects), key.clone());
                let found = self.blocking(move || again(&host, || objects.head(&asked))).await?;
                let found = found.ok_or_else(|| io::Error::new(ErrorKind::NotFound, key))?;
                (found.bytes, found.modified_ms)
            }
        };
        let modified =
            DateTime::from_timestamp_millis(i64::try_from(modified_ms).unwrap_or(0)).unwrap_or_default();
        let location = location.clone();
        Ok(ObjectMeta { location, last_modified: modified, size: bytes, e_tag: None, version: None })
    }
}

fn read_range(file: &dyn host::DiskRead, range: &Range<u64>) -> io::Result<Bytes> {
    file.read_bytes(range.start, usize::try_from(range.end - range.start).map_err(io::Error::other)?)
}

fn place(at: u64) -> Option<usize> {
    usize::try_from(at).ok()
}

/// The ranges in order of their places, those that are near to each other as one.
fn merged(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut sorted = ranges.to_vec();
    sorted.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in sorted {
        match merged.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(GAP_BYTES) => {
                last.end = last.end.max(range.end)
            }
            _ => merged.push(range),
        }
    }
    merged
}

fn store_error(location: &Path, error: io::Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => Error::NotFound { path: location.to_string(), source: Box::new(error) },
        _ => Error::Generic { store: "shared root", source: Box::new(error) },
    }
}

fn read_only() -> Error {
    Error::NotSupported { source: "parts are written by other means".into() }
}

#[async_trait]
impl ObjectStore for ReadThrough {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let failed = |error| store_error(location, error);
        let meta = self.meta(location).await.map_err(failed)?;
        let whole = 0..meta.size;
        let range = match options.range.filter(|_| !options.head) {
            Some(range) => range.as_range(meta.size).map_err(|error| failed(io::Error::other(error)))?,
            None => whole,
        };
        let bytes = match options.head {
            true => Bytes::new(),
            false => {
                let fetched = self.ranges(location.as_ref(), std::slice::from_ref(&range)).await;
                fetched.map_err(failed)?.into_iter().next().unwrap_or_default()
            }
        };
        let payload = GetResultPayload::Stream(stream::iter([Ok(bytes)]).boxed());
        Ok(GetResult { payload, meta, range, attributes: object_store::Attributes::default() })
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.ranges(location.as_ref(), ranges).await.map_err(|error| store_error(location, error))
    }

    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        Err(read_only())
    }

    async fn put_multipart_opts(&self, _: &Path, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        Err(read_only())
    }

    fn delete_stream(&self, _: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        stream::iter([Err(read_only())]).boxed()
    }

    fn list(&self, _: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        stream::iter([Err(read_only())]).boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> Result<ListResult> {
        Err(read_only())
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(read_only())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_ranges_are_fetched_together() {
        let near = GAP_BYTES;
        assert_eq!(
            merged(&[near * 9..near * 9 + 1, 5..9, 0..5, 9 + near..20 + near]),
            [0..20 + near, near * 9..near * 9 + 1]
        );
        assert!(merged(&[]).is_empty());
    }

    #[test]
    fn ranges_come_in_the_order_they_were_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::system(1 << 20).unwrap();
        let runtimes = Runtimes::new(1, 1).unwrap();
        let store = host::SimStore::new(1);
        let bytes: Vec<u8> = (0..2_000_000u32).map(|number| (number % 251) as u8).collect();
        store.client().put("data/t/p.parquet", bytes.clone().into()).unwrap();
        let objects: Arc<dyn Objects> = Arc::new(store.client());
        let files = Arc::new(LocalFiles::open(host.clone(), folder.path(), 1 << 30).unwrap());
        let parts = Arc::new(SharedParts::new(host.clone(), Arc::clone(&objects), Arc::clone(&files)));
        let through = ReadThrough::new(host, objects, Arc::clone(&parts), files, runtimes.clone());
        let ranges = [1_900_000..1_900_010, 5..9, 700_000..700_003, 0..5, 1_999_999..2_000_000];
        let read = || {
            let location = Path::from("data/t/p.parquet");
            runtimes.io().block_on(through.get_ranges(&location, &ranges)).unwrap()
        };
        let expected: Vec<&[u8]> = ranges
            .iter()
            .map(|range| &bytes[usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()])
            .collect();
        assert_eq!(read(), expected);
        parts.open("data/t/p.parquet").unwrap();
        let calls = store.calls();
        assert_eq!(read(), expected);
        assert_eq!(store.calls(), calls, "read from this machine");
        let missing = runtimes.io().block_on(through.get_ranges(&Path::from("data/t/q.parquet"), &ranges));
        assert!(matches!(missing, Err(Error::NotFound { .. })), "{missing:?}");
        runtimes.shutdown(Duration::from_secs(5));
    }
}
