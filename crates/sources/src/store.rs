//! One bucket, or the local file system, as requests see it.
//!
//! Invariant: every request runs on the `io` threads and is aborted when nobody waits for it any more; every body is
//! collected whole, so a slow reader never holds a connection open. Errors name bucket and key and never a secret.
//! Must not know: how clients are made, formats, patterns.

use std::future::Future;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use host::Runtimes;
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::multipart::MultipartStore;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore};
use tokio_util::task::AbortOnDropHandle;

use crate::error::{Result, SourceError, SourceErrorKind, code};
use crate::store_errors::{read_error, store_error};
use crate::web_store::WebPages;

/// An object as a listing or a HEAD describes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedObject {
    pub key: String,
    pub bytes: u64,
    pub modified: Option<DateTime<Utc>>,
    pub etag: Option<String>,
}

/// One page of a listing.
#[derive(Debug, Default)]
pub struct Page {
    pub objects: Vec<ListedObject>,
    pub next: Option<String>,
}

/// A client of one bucket or container, of pages, or of the local file system.
pub struct Store {
    pub(crate) objects: Arc<dyn ObjectStore>,
    /// Lists; a bucket or a container.
    pub(crate) bucket: Option<Arc<dyn PaginatedListStore>>,
    /// The same client for uploads in parts; `None` where there are none.
    pub(crate) uploads: Option<Arc<dyn MultipartStore>>,
    /// Of `url()`: keys are numbers of pages.
    pub(crate) pages: Option<Arc<WebPages>>,
    /// `?versionId=`.
    pub(crate) version: Option<String>,
    /// What a key is shown with in front: `bucket/`, or `/`.
    pub(crate) prefix: String,
    /// What tells this store from any other in caches: endpoint and bucket.
    pub(crate) identity: String,
    pub(crate) runtimes: Runtimes,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl Store {
    /// The name shown for a key: `bucket/key` or an absolute path.
    pub fn shown(&self, key: &str) -> String {
        match self.pages.as_ref().and_then(|pages| pages.page(key)) {
            Some(page) => page.shown.clone(),
            None => format!("{}{key}", self.prefix),
        }
    }

    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    pub(crate) fn is_local(&self) -> bool {
        self.bucket.is_none() && self.pages.is_none()
    }

    pub(crate) fn runtimes(&self) -> &Runtimes {
        &self.runtimes
    }

    /// Size, time and ETag of one key.
    pub async fn head(&self, key: &str) -> Result<ListedObject> {
        let (objects, path) = (Arc::clone(&self.objects), self.path(key)?);
        let asked = path.clone();
        let options = GetOptions { head: true, version: self.version.clone(), ..GetOptions::default() };
        let answer =
            self.on_io("source head", async move { objects.get_opts(&asked, options).await }).await?;
        match answer {
            Ok(answer) => Ok(info(answer.meta)),
            // A HEAD's refusal has no body; a GET's says why.
            Err(error) if self.bucket.is_some() => {
                let objects = Arc::clone(&self.objects);
                let range = Some(GetRange::Bounded(0..1));
                let options = GetOptions { range, version: self.version.clone(), ..GetOptions::default() };
                let told =
                    self.on_io("source head", async move { objects.get_opts(&path, options).await }).await?;
                Err(read_error(&told.err().unwrap_or(error), &self.shown(key), None))
            }
            Err(error) => Err(self.missing_file(&error, key)),
        }
    }

    fn missing_file(&self, error: &object_store::Error, key: &str) -> SourceError {
        let shown = self.shown(key);
        match error {
            object_store::Error::NotFound { .. } => {
                SourceError::new(SourceErrorKind::NotFound, format!("file \"{shown}\" does not exist"))
                    .with_file(&shown)
                    .with_code(code::FILE_DOESNT_EXIST)
            }
            other => read_error(other, &shown, None),
        }
    }

    /// The bytes of a range, all of them. With `etag` an object that has changed is an error.
    pub async fn get(&self, key: &str, range: Range<u64>, etag: Option<&str>) -> Result<Bytes> {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let (objects, path) = (Arc::clone(&self.objects), self.path(key)?);
        let options = GetOptions {
            range: Some(GetRange::Bounded(range.clone())),
            if_match: etag.map(str::to_owned),
            version: self.version.clone(),
            ..GetOptions::default()
        };
        let answer = self
            .on_io("source get", async move { objects.get_opts(&path, options).await?.bytes().await })
            .await?
            .map_err(|error| match self.bucket {
                Some(_) => read_error(&error, &self.shown(key), Some(range.clone())),
                None => self.missing_file(&error, key).with_range(range.clone()),
            })?;
        if u64::try_from(answer.len()).ok() != Some(range.end - range.start) {
            let message = format!("\"{}\" ended after {} bytes of the range", self.shown(key), answer.len());
            return Err(SourceError::corrupt(&self.shown(key), message).with_range(range));
        }
        Ok(answer)
    }

    /// One page of the keys that start with `prefix`, in order of keys.
    pub async fn list_page(&self, prefix: &str, token: Option<String>, keys_max: usize) -> Result<Page> {
        let Some(bucket) = self.bucket.clone() else {
            return Err(SourceError::unsupported("the local file system is walked, not listed"));
        };
        let options = PaginatedListOptions {
            max_keys: Some(keys_max),
            page_token: token,
            ..PaginatedListOptions::default()
        };
        let asked = (!prefix.is_empty()).then(|| prefix.to_owned());
        let answer = self
            .on_io("source list", async move { bucket.list_paginated(asked.as_deref(), options).await })
            .await?
            .map_err(|error| store_error(&error, self.prefix.trim_end_matches('/'), prefix))?;
        let objects = answer.result.objects.into_iter().map(info).collect();
        Ok(Page { objects, next: answer.page_token })
    }

    /// The same, addressed exactly: keys are not escaped here, the client does it.
    pub(crate) fn path(&self, key: &str) -> Result<Path> {
        Path::parse(key).map_err(|error| {
            SourceError::bad_arguments(format!("key \"{}\" cannot be addressed: {error}", self.shown(key)))
        })
    }

    pub(crate) async fn on_io<F>(&self, name: &'static str, task: F) -> Result<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        AbortOnDropHandle::new(self.runtimes.spawn_io(name, task))
            .await
            .map_err(|_| SourceError::new(SourceErrorKind::Unavailable, "the I/O threads are shutting down"))
    }
}

fn info(meta: ObjectMeta) -> ListedObject {
    ListedObject {
        key: meta.location.to_string(),
        bytes: meta.size,
        modified: (meta.last_modified != DateTime::<Utc>::default()).then_some(meta.last_modified),
        etag: meta.e_tag,
    }
}
