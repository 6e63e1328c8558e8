//! The parts of a shared root as statements read them: from this machine where it has the file, from the store where not.
//!
//! A part is read in the ranges that are asked for, which stay on this machine (`local_files.rs`) and come from there the next time.
//! Invariant: reads only; bytes are those of the object. Must not know: what is in the files.

use std::fmt;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use chrono::DateTime;
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use host::{DiskRead, Host, Objects, Runtimes};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

use crate::fetches::{Fetches, Flight, again};
use crate::local_files::LocalFiles;

/// See the module.
pub struct ReadThrough {
    host: Host,
    objects: Arc<dyn Objects>,
    files: Arc<LocalFiles>,
    fetches: Arc<Fetches>,
    runtimes: Runtimes,
}

/// Where a range is read.
enum Place {
    /// In a file of this machine that begins at this byte of the part.
    Here(Arc<dyn DiskRead>, u64),
    Coming(Flight),
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
        files: Arc<LocalFiles>,
        fetches: Arc<Fetches>,
        runtimes: Runtimes,
    ) -> ReadThrough {
        ReadThrough { host, objects, files, fetches, runtimes }
    }

    /// Bytes of ranges, in their order.
    async fn ranges(&self, key: &str, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        match self.ranges_once(key, ranges).await {
            // What is kept here is not what was written: the store has it.
            Err(error) if error.kind() != ErrorKind::NotFound && self.files.forget(key) => {
                self.ranges_once(key, ranges).await
            }
            read => read,
        }
    }

    async fn ranges_once(&self, key: &str, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        let mut local = Vec::new();
        let mut answers: Vec<Option<Bytes>> = vec![None; ranges.len()];
        let mut coming = Vec::new();
        for (at, (place, range)) in self.places(key, ranges).into_iter().zip(ranges).enumerate() {
            match place {
                Place::Here(file, start) => local.push((at, file, range.start - start..range.end - start)),
                Place::Coming(flight) => coming.push((at, flight.bytes(range.clone()))),
            }
        }
        if !local.is_empty() {
            let read = move || {
                local.iter().map(|(at, file, range)| Ok((*at, read_range(&**file, range)?))).collect()
            };
            let read: Vec<(usize, Bytes)> = self.blocking(read).await?;
            read.into_iter().for_each(|(at, bytes)| answers[at] = Some(bytes));
        }
        // They come by themselves, all at once.
        for (at, bytes) in coming {
            answers[at] = Some(bytes.await?);
        }
        let ended = || io::Error::new(ErrorKind::UnexpectedEof, "a range was not fetched");
        answers.into_iter().map(|bytes| bytes.ok_or_else(ended)).collect()
    }

    /// Where each range is read; what is not here is on its way when this returns.
    fn places(&self, key: &str, ranges: &[Range<u64>]) -> Vec<Place> {
        if let Some(file) = self.files.get(key) {
            return ranges.iter().map(|_| Place::Here(Arc::clone(&file), 0)).collect();
        }
        let here: Vec<_> = ranges.iter().map(|range| self.files.piece(key, range)).collect();
        let missing = ranges.iter().zip(&here).filter(|(_, here)| here.is_none());
        let missing: Vec<Range<u64>> = missing.map(|(range, _)| range.clone()).collect();
        let mut flights = self.fetches.begin(key, &missing).into_iter();
        let place = |here: Option<(Arc<dyn DiskRead>, u64)>| match here {
            Some((file, start)) => Some(Place::Here(file, start)),
            None => flights.next().map(Place::Coming),
        };
        here.into_iter().filter_map(place).collect()
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        self.runtimes.spawn_blocking("part fetch", work).await.map_err(io::Error::other)?
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

fn read_range(file: &dyn DiskRead, range: &Range<u64>) -> io::Result<Bytes> {
    file.read_bytes(range.start, usize::try_from(range.end - range.start).map_err(io::Error::other)?)
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
    use std::time::Duration;

    use super::*;
    use crate::part_files::SharedParts;
    use parts::PartStorage as _;

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
        let fetches = Fetches::new(host.clone(), Arc::clone(&objects), Arc::clone(&files), runtimes.clone());
        let (shared, kept) = (Arc::clone(&objects), Arc::clone(&files));
        let parts = SharedParts::new(host.clone(), shared, kept, Arc::clone(&fetches));
        let through = ReadThrough::new(host, objects, files, fetches, runtimes.clone());
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
