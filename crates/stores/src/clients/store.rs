//! One bucket, or the local file system, as requests see it.
//!
//! Invariant: every request runs on the `io` threads and is aborted when nobody waits for it any more, also while it
//! waits to be tried again; every body is collected whole, so a slow reader never holds a connection open. Errors name
//! bucket and key and never a secret. Must not know: how clients are made, when to try again, formats, patterns.

use std::borrow::Cow;
use std::future::Future;
use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use chrono::{DateTime, Utc};
use host::Runtimes;
use model::ErrorCode;
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::multipart::MultipartStore;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt};
use tokio_util::task::AbortOnDropHandle;

use crate::clients::local::bytes_of;
use crate::clients::tags::TagReader;
use crate::error::{Result, SourceError, SourceErrorKind};
use crate::keys::odd::{OddKeys, split, unmarked};
use crate::requests::attempts::{Attempts, Failure};
use crate::requests::download::{Arrived, Download};
use crate::requests::errors::{read_error, store_error};
use crate::requests::facts::Pairs;
use crate::requests::lane::RequestKind;
use crate::requests::verdict::Verdict;
use crate::web::store::WebPages;

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
    /// Of a bucket: for keys that a path cannot spell.
    pub(crate) odd_keys: Option<OddKeys>,
    /// Of `url()`: keys are numbers of pages.
    pub(crate) pages: Option<Arc<WebPages>>,
    /// Of a bucket.
    pub(crate) tags: Option<TagReader>,
    /// `?versionId=`.
    pub(crate) version: Option<String>,
    /// What `system.schema_inference_cache` calls the kind of store.
    pub(crate) storage: &'static str,
    /// What a key is shown with in front: `bucket/`, or `/`.
    pub(crate) prefix: String,
    /// What tells this store from any other in caches: endpoint and bucket.
    pub(crate) identity: String,
    pub(crate) runtimes: Runtimes,
    /// How requests to a bucket are made; local files are asked once.
    pub(crate) attempts: Attempts,
}

/// Whom to ask for a key, and by which path.
pub(crate) struct Addressed {
    pub objects: Arc<dyn ObjectStore>,
    pub uploads: Option<Arc<dyn MultipartStore>>,
    pub path: Path,
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

    /// What `system.schema_inference_cache` calls the kind of store.
    pub fn storage(&self) -> &'static str {
        self.storage
    }

    /// What tells this store from any other in caches: endpoint and bucket.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Whether it is the local file system.
    pub fn is_local(&self) -> bool {
        self.bucket.is_none() && self.pages.is_none()
    }

    /// Whether its objects may have tags: a bucket's may.
    pub fn has_tags(&self) -> bool {
        self.tags.is_some()
    }

    /// Whether it is pages of `url()`.
    pub fn is_web(&self) -> bool {
        self.pages.is_some()
    }

    /// Where its requests run.
    pub fn runtimes(&self) -> &Runtimes {
        &self.runtimes
    }

    /// Size, time and ETag of one key.
    pub async fn head(&self, key: &str) -> Result<ListedObject> {
        let Addressed { objects, path, .. } = self.addressed(key)?;
        let of_key = |meta: ObjectMeta| ListedObject { key: key.to_owned(), ..info(meta) };
        if self.bucket.is_none() {
            let answer = self.on_io("source head", async move { objects.head(&path).await }).await?;
            return answer.map(of_key).map_err(|error| self.missing_file(&error, key));
        }
        let (attempts, shown, version) = (self.attempts.clone(), self.shown(key), self.version.clone());
        let head = async move {
            let show = |error: &object_store::Error| read_error(error, &shown, None);
            let options = GetOptions { head: true, version: version.clone(), ..GetOptions::default() };
            let ask = || async { Ok(objects.get_opts(&path, options.clone()).await?) };
            let error = match attempts.run(RequestKind::List, show, ask).await {
                Ok(answer) => return Ok(answer.meta),
                Err(error) => error,
            };
            if !matches!(error.http_status(), Some(300..=499)) {
                return Err(error);
            }
            // A HEAD's refusal has no body; a GET's says why.
            let options =
                GetOptions { range: Some(GetRange::Bounded(0..1)), version, ..GetOptions::default() };
            let ask = || async { Ok(objects.get_opts(&path, options.clone()).await?) };
            Err(attempts.run(RequestKind::Get, show, ask).await.err().unwrap_or(error))
        };
        self.on_io("source head", head).await?.map(of_key)
    }

    /// As [`Store::head`] of a key of a bucket that is not empty: in one request whether it is there or not, for the answer that it is
    /// not has a body that says what is missing.
    pub async fn look(&self, key: &str) -> Result<ListedObject> {
        let Addressed { objects, path, .. } = self.addressed(key)?;
        let (attempts, shown) = (self.attempts.clone(), self.shown(key));
        let look = async move {
            let show = |error: &object_store::Error| read_error(error, &shown, None);
            let options = GetOptions { range: Some(GetRange::Bounded(0..1)), ..GetOptions::default() };
            let ask = || async { Ok(objects.get_opts(&path, options.clone()).await?) };
            let answer = attempts.run(RequestKind::List, show, ask).await?;
            let meta = answer.meta.clone();
            // Read to its end, or the connection is of no use to the next request.
            let _first = answer.bytes().await;
            Ok(meta)
        };
        let of_key = |meta: ObjectMeta| ListedObject { key: key.to_owned(), ..info(meta) };
        self.on_io("source look", look).await?.map(of_key)
    }

    /// The tags of one key of a bucket; `None` where there are no tags.
    pub async fn tags_of(self: &Arc<Self>, key: &str) -> Result<Option<Pairs>> {
        if self.tags.is_none() {
            return Ok(None);
        }
        let (store, key) = (Arc::clone(self), key.to_owned());
        let ask = async move {
            let Some(reader) = &store.tags else { return Ok(None) };
            let shown = store.shown(&key);
            let show = |error: &object_store::Error| read_error(error, &shown, None);
            store.attempts.run(RequestKind::Get, show, || reader.attempt(&key, &shown)).await.map(Some)
        };
        self.on_io("source tags", ask).await?
    }

    /// What the server of a page said of it when it was looked at.
    pub fn headers_of(&self, key: &str) -> Option<Pairs> {
        self.pages.as_ref()?.headers_of(key)
    }

    fn missing_file(&self, error: &object_store::Error, key: &str) -> SourceError {
        let shown = self.shown(key);
        match error {
            object_store::Error::NotFound { .. } => {
                SourceError::new(SourceErrorKind::NotFound, format!("file \"{shown}\" does not exist"))
                    .with_file(&shown)
                    .with_code(ErrorCode::FILE_DOESNT_EXIST)
            }
            other => read_error(other, &shown, None),
        }
    }

    /// The bytes of a range, all of them. With `etag` an object that has changed is an error.
    pub async fn get(&self, key: &str, range: Range<u64>, etag: Option<&str>) -> Result<Bytes> {
        let Addressed { path, .. } = self.addressed(key)?;
        if self.bucket.is_none() && !range.is_empty() {
            return self.get_once(key, &path, range, etag).await;
        }
        Ok(self.get_into(key, range, etag, BytesMut::new()).await?.freeze())
    }

    /// All bytes of an object of a bucket.
    pub async fn get_whole(&self, key: &str) -> Result<Bytes> {
        let Addressed { objects, path, .. } = self.addressed(key)?;
        let (attempts, shown, runtimes) = (self.attempts.clone(), self.shown(key), self.runtimes.clone());
        let get = async move {
            let show = |error: &object_store::Error| read_error(error, &shown, None);
            let ask = || async {
                Ok(bytes_of(objects.get_opts(&path, GetOptions::default()).await?, &runtimes).await?)
            };
            attempts.run(RequestKind::Get, show, ask).await
        };
        self.on_io("source get", get).await?
    }

    /// [`Store::get`] into `room`, which is empty; what comes back is in it if it has room for the range.
    pub(crate) async fn get_into(
        &self,
        key: &str,
        range: Range<u64>,
        etag: Option<&str>,
        mut room: BytesMut,
    ) -> Result<BytesMut> {
        if range.is_empty() {
            return Ok(room);
        }
        let Addressed { objects, path, .. } = self.addressed(key)?;
        if self.bucket.is_none() {
            room.extend_from_slice(&self.get_once(key, &path, range, etag).await?);
            return Ok(room);
        }
        let attempts = self.attempts.clone();
        let download = Arc::new(Download {
            objects,
            path,
            version: self.version.clone(),
            shown: self.shown(key),
            range,
            breaks_max: attempts.policy().body_retries,
            arrived: Arrived::of_version(etag, room),
        });
        let get = async move {
            let (shown, range) = (download.shown.as_str(), &download.range);
            let show = |error: &object_store::Error| read_error(error, shown, Some(range.clone()));
            attempts.run(RequestKind::Get, show, || Arc::clone(&download).attempt()).await
        };
        self.on_io("source get", get).await?
    }

    /// Files, and pages, which see to repetitions themselves.
    async fn get_once(&self, key: &str, path: &Path, range: Range<u64>, etag: Option<&str>) -> Result<Bytes> {
        let (objects, path, runtimes) = (Arc::clone(&self.objects), path.clone(), self.runtimes.clone());
        let options = GetOptions {
            range: Some(GetRange::Bounded(range.clone())),
            if_match: etag.map(str::to_owned),
            ..GetOptions::default()
        };
        let answer =
            self.on_io("source get", async move {
                bytes_of(objects.get_opts(&path, options).await?, &runtimes).await
            })
            .await?
            .map_err(|error| self.missing_file(&error, key).with_range(range.clone()))?;
        if u64::try_from(answer.len()).ok() != Some(range.end - range.start) {
            let message = format!("\"{}\" ended after {} bytes of the range", self.shown(key), answer.len());
            return Err(SourceError::corrupt(&self.shown(key), message).with_range(range));
        }
        Ok(answer)
    }

    /// One page of the keys that start with `prefix`, in order of keys.
    pub async fn list_page(&self, prefix: &str, token: Option<String>, keys_max: usize) -> Result<Page> {
        self.list_page_after(prefix, None, token, keys_max).await
    }

    /// [`Store::list_page`] of the keys behind `offset`, where the store can begin in the middle; others list them all.
    pub async fn list_page_after(
        &self,
        prefix: &str,
        offset: Option<String>,
        token: Option<String>,
        keys_max: usize,
    ) -> Result<Page> {
        let Some(bucket) = self.bucket.clone() else {
            return Err(SourceError::unsupported("the local file system is walked, not listed"));
        };
        let (attempts, name) = (self.attempts.clone(), self.prefix.trim_end_matches('/').to_owned());
        let prefix = prefix.to_owned();
        let list = async move {
            let show = |error: &object_store::Error| store_error(error, &name, &prefix);
            let asked = (!prefix.is_empty()).then_some(prefix.as_str());
            let ask = || async {
                let options = PaginatedListOptions {
                    offset: offset.clone(),
                    max_keys: Some(keys_max),
                    page_token: token.clone(),
                    ..PaginatedListOptions::default()
                };
                let answer = bucket.list_paginated(asked, options).await?;
                if answer.page_token.is_some() && answer.page_token == token {
                    let error = looping(&name, &prefix);
                    return Err(Failure::Ours { error, verdict: Verdict::AFew });
                }
                Ok(answer)
            };
            attempts.run(RequestKind::List, show, ask).await
        };
        let answer = self.on_io("source list", list).await??;
        let of_page = |meta: ObjectMeta| ListedObject { key: unmarked(meta.location.as_ref()), ..info(meta) };
        let objects = answer.result.objects.into_iter().map(of_page).collect();
        Ok(Page { objects, next: answer.page_token })
    }

    /// The folders right below a prefix; `None` if there are keys, too, or more than one page of folders.
    pub(crate) async fn folders_page(&self, prefix: &str, keys_max: usize) -> Result<Option<Vec<String>>> {
        let Some(bucket) = self.bucket.clone() else { return Ok(None) };
        let (attempts, name) = (self.attempts.clone(), self.prefix.trim_end_matches('/').to_owned());
        let prefix = prefix.to_owned();
        let list = async move {
            let show = |error: &object_store::Error| store_error(error, &name, &prefix);
            let asked = (!prefix.is_empty()).then_some(prefix.as_str());
            let ask = || async {
                let options = PaginatedListOptions {
                    delimiter: Some(Cow::Borrowed("/")),
                    max_keys: Some(keys_max),
                    ..PaginatedListOptions::default()
                };
                Ok(bucket.list_paginated(asked, options).await?)
            };
            attempts.run(RequestKind::List, show, ask).await
        };
        let answer = self.on_io("source folders", list).await??;
        let whole = answer.page_token.is_none() && answer.result.objects.is_empty();
        let folders =
            answer.result.common_prefixes.into_iter().map(|folder| format!("{}/", unmarked(folder.as_ref())));
        Ok(whole.then(|| folders.collect()))
    }

    /// Addressed exactly: keys are not escaped here, the client does it.
    pub(crate) fn addressed(&self, key: &str) -> Result<Addressed> {
        let (front, rest) = match (&self.odd_keys, split(key)) {
            (Some(odd), Some((front, rest))) => (Some(odd.client(front)?), rest),
            _ => (None, key),
        };
        let path = Path::parse(rest).map_err(|error| {
            SourceError::bad_arguments(format!("key \"{}\" cannot be addressed: {error}", self.shown(key)))
        })?;
        Ok(match front {
            Some(client) => Addressed {
                objects: Arc::clone(&client) as Arc<dyn ObjectStore>,
                uploads: Some(client),
                path,
            },
            None => Addressed { objects: Arc::clone(&self.objects), uploads: self.uploads.clone(), path },
        })
    }

    pub(crate) async fn on_io<F>(&self, name: &'static str, task: F) -> Result<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        AbortOnDropHandle::new(self.runtimes.spawn_io(name, task))
            .await
            .map_err(|task| SourceError::ended_early(name, task))
    }
}

/// A listing that names a page as its own next one, at once or in a circle, has no end.
pub(crate) fn looping(bucket: &str, prefix: &str) -> SourceError {
    let message =
        format!("the listing of \"{bucket}/{prefix}\" goes round in circles: a page's token came again");
    SourceError::new(SourceErrorKind::Unavailable, message)
        .with_hint("the store's listing is broken: name the files with {a,b} instead of a pattern")
}

fn info(meta: ObjectMeta) -> ListedObject {
    ListedObject {
        key: meta.location.to_string(),
        bytes: meta.size,
        modified: (meta.last_modified != DateTime::<Utc>::default()).then_some(meta.last_modified),
        etag: meta.e_tag,
    }
}
