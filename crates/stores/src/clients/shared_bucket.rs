//! A bucket or container that many servers share, or a prefix of it, as [`Objects`].
//!
//! Invariant: the request that creates an object is made once; what became of it when no answer came is for the caller to find out.
//! Every other request can be repeated, and is. Calls block, on any thread. Must not know: what is in the objects.

use std::fmt;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use host::{Created, DiskRead, Object, Objects, Runtimes};
use model::saturating::u64_of;
use model::{ExportObject, ExportStore};

use crate::clients::cache::{RetryPolicy, StoreCache};
use crate::clients::root_place::RootPlace;
use crate::clients::store::{ListedObject, Store};
use crate::credentials::S3Environment;
use crate::error::{Result, SourceError, SourceErrorKind};
use crate::statement::settings::SourceSettings;

/// Larger files are sent in parts of so many bytes, a few at a time.
const UPLOAD_PART_BYTES: u64 = 16 << 20;
const UPLOADS_AT_ONCE: usize = 3;
/// Keys of one page of a listing.
const PAGE_KEYS: usize = 1000;
/// How long an answer to one request is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the answer to a creation is.
const CREATE_PATIENCE: Duration = Duration::from_secs(4);
/// How often what can be repeated is.
const ATTEMPTS: usize = 4;

/// See the module.
pub struct SharedBucket {
    /// Asks once.
    once: Arc<Store>,
    /// Asks again.
    patient: Arc<Store>,
    /// In front of all keys; empty, or ends in `/`.
    prefix: String,
    runtimes: Runtimes,
}

impl fmt::Debug for SharedBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedBucket({})", self.place(""))
    }
}

impl SharedBucket {
    /// The objects below `s3://bucket/prefix`, or `gs://`, or a URL of an endpoint with bucket and prefix, or `az://container/prefix`.
    ///
    /// # Errors
    /// The URL is not understood, or no client can be made. Nobody was asked yet.
    pub fn open(
        stores: &StoreCache,
        environment: &S3Environment,
        runtimes: &Runtimes,
        url: &str,
    ) -> Result<SharedBucket> {
        let lookup = |name: &str| std::env::var(name).ok();
        let place = RootPlace::parse(url, environment, &lookup)?;
        let patient = RetryPolicy {
            attempts: ATTEMPTS,
            request_timeout: PATIENCE,
            retry_timeout: PATIENCE * 2,
            ..RetryPolicy::from(&SourceSettings::default())
        };
        // What became of a record is found out by reading it: nobody waits long for a lost answer.
        let once = RetryPolicy { attempts: 0, body_retries: 0, request_timeout: CREATE_PATIENCE, ..patient };
        Ok(SharedBucket {
            once: place.client(stores, once)?,
            patient: place.client(stores, patient)?,
            prefix: place.prefix,
            runtimes: runtimes.clone(),
        })
    }

    fn key(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    /// Waits for a request on the thread that asks, whichever it is.
    fn wait<T: Send + 'static>(
        &self,
        request: impl Future<Output = Result<T>> + Send + 'static,
    ) -> io::Result<T> {
        let (sender, receiver) = std::sync::mpsc::channel();
        let _running = self.runtimes.spawn_io("shared root", async move {
            // Whoever asked waits for it.
            let _ = sender.send(request.await);
        });
        let ended = || io::Error::new(ErrorKind::Interrupted, "the process is ending");
        receiver.recv().map_err(|_| ended())?.map_err(io_error)
    }

    fn object(&self, listed: ListedObject) -> Option<Object> {
        let modified = listed.modified.map_or(0, |modified| modified.timestamp_millis());
        let key = listed.key.strip_prefix(&self.prefix)?.to_owned();
        Some(Object { key, bytes: listed.bytes, modified_ms: u64::try_from(modified).unwrap_or(0) })
    }

    /// Sends a large file in parts; nobody sees anything of it before it is whole.
    fn upload(&self, key: &str, file: &dyn DiskRead, length: u64) -> io::Result<()> {
        let (store, full) = (Arc::clone(&self.patient), self.key(key));
        let begin = (Arc::clone(&store), full.clone());
        let upload = self.wait(async move { begin.0.create_upload(&begin.1).await })?;
        let sent = self.send_parts(&full, &upload, file, length);
        let finish = async move {
            match sent {
                Ok(parts) => {
                    let place = Arc::new(ExportStore::files());
                    let (named, upload) = (full.as_str().into(), upload.as_str().into());
                    let parts = parts.into_iter().map(Into::into).collect();
                    let whole = ExportObject { store: place, key: named, upload, parts, bytes: length };
                    store.complete_upload(&whole).await
                }
                Err(error) => {
                    // What stays of it shows nothing; the bucket's rules remove it.
                    let _ = store.abort_upload(&full, &upload).await;
                    Err(error)
                }
            }
        };
        self.wait(finish)
    }

    fn send_parts(&self, full: &str, upload: &str, file: &dyn DiskRead, length: u64) -> Result<Vec<String>> {
        let (mut parts, mut running) = (Vec::new(), std::collections::VecDeque::new());
        let unread = |error: io::Error| unavailable(format!("the file to be sent cannot be read: {error}"));
        let (mut at, mut index) = (0, 0);
        while at < length || !running.is_empty() {
            if at < length && running.len() < UPLOADS_AT_ONCE {
                let bytes = UPLOAD_PART_BYTES.min(length - at);
                let content =
                    file.read_bytes(at, usize::try_from(bytes).unwrap_or(usize::MAX)).map_err(unread)?;
                running.push_back(self.patient.put_part(full, upload, index, content)?);
                (at, index) = (at + bytes, index + 1);
                continue;
            }
            let Some(oldest) = running.pop_front() else { break };
            let part =
                async move { oldest.await.map_err(|task| SourceError::ended_early("part upload", task))? };
            parts.push(self.wait(part).map_err(|error| unavailable(error.to_string()))?);
        }
        Ok(parts)
    }
}

fn unavailable(message: String) -> SourceError {
    SourceError::new(SourceErrorKind::Unavailable, message)
}

/// The kind is what callers go by.
fn io_error(error: SourceError) -> io::Error {
    let kind = match error.kind() {
        // A bucket that is not there holds no object, but it is none of the answers a caller expects.
        SourceErrorKind::NotFound
            if matches!(error.s3_code(), Some("NoSuchBucket" | "ContainerNotFound")) =>
        {
            ErrorKind::Other
        }
        SourceErrorKind::NotFound => ErrorKind::NotFound,
        // Whatever became of its body.
        _ if error.http_status() == Some(404) && error.s3_code().is_none() => ErrorKind::NotFound,
        SourceErrorKind::Denied => ErrorKind::PermissionDenied,
        SourceErrorKind::Exists => ErrorKind::AlreadyExists,
        SourceErrorKind::Unavailable => ErrorKind::TimedOut,
        _ => ErrorKind::Other,
    };
    io::Error::new(kind, error.message().to_owned())
}

impl Objects for SharedBucket {
    fn create(&self, key: &str, bytes: Bytes) -> Created {
        let (store, full) = (Arc::clone(&self.once), self.key(key));
        match self.wait(async move { store.create_once(&full, bytes).await }) {
            Ok(()) => Created::New,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Created::Exists,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Created::Refused(error),
            Err(error) => Created::Unknown(error),
        }
    }

    fn put(&self, key: &str, bytes: Bytes) -> io::Result<()> {
        let (store, full) = (Arc::clone(&self.patient), self.key(key));
        self.wait(async move { store.put_whole(&full, bytes, true).await.map_err(|failed| failed.error) })
    }

    fn put_file(&self, key: &str, file: &dyn DiskRead) -> io::Result<()> {
        let length = file.len()?;
        if length > UPLOAD_PART_BYTES {
            return self.upload(key, file, length);
        }
        self.put(key, file.read_bytes(0, usize::try_from(length).map_err(io::Error::other)?)?)
    }

    fn get(&self, key: &str) -> io::Result<Bytes> {
        let (store, full) = (Arc::clone(&self.patient), self.key(key));
        self.wait(async move { store.get_whole(&full).await })
    }

    fn get_range(&self, key: &str, range: Range<u64>) -> io::Result<Bytes> {
        let (store, full, asked) = (Arc::clone(&self.patient), self.key(key), range.end - range.start);
        let bytes = self.wait(async move { store.get(&full, range, None).await })?;
        match u64_of(bytes.len()) == asked {
            true => Ok(bytes),
            false => {
                Err(io::Error::new(ErrorKind::UnexpectedEof, format!("{} ends before", self.place(key))))
            }
        }
    }

    fn head(&self, key: &str) -> io::Result<Option<Object>> {
        let (store, full) = (Arc::clone(&self.patient), self.key(key));
        match self.wait(async move { store.look(&full).await }) {
            Ok(listed) => Ok(self.object(listed)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn list(&self, folder: &str, after: &str) -> io::Result<Vec<Object>> {
        let (store, prefix) = (Arc::clone(&self.patient), self.key(folder));
        let offset = (!after.is_empty()).then(|| self.key(after));
        let listed = self.wait(async move {
            let (mut objects, mut token) = (Vec::new(), None);
            loop {
                let page = store.list_page_after(&prefix, offset.clone(), token, PAGE_KEYS).await?;
                objects.extend(page.objects);
                token = page.next;
                if token.is_none() {
                    return Ok(objects);
                }
            }
        })?;
        let mut objects: Vec<Object> = listed.into_iter().filter_map(|listed| self.object(listed)).collect();
        // A store that does not know where to begin lists all.
        objects.retain(|object| object.key.as_str() > after);
        objects.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(objects)
    }

    fn delete(&self, key: &str) -> io::Result<()> {
        let (store, full) = (Arc::clone(&self.patient), self.key(key));
        match self.wait(async move { store.delete(&full).await }) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    fn place(&self, key: &str) -> String {
        let scheme = if self.patient.storage() == "Azure" { "az" } else { "s3" };
        format!("{scheme}://{}", self.patient.shown(&self.key(key)))
    }
}
