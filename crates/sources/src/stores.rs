//! Clients of object stores: one per endpoint, bucket and credential, with bounded retries.
//!
//! Invariant: every request runs on the `io` threads and is aborted when nobody waits for it any more; every body is
//! collected whole, so a slow reader never holds a connection open. Errors name bucket and key and never a secret.
//! Must not know: formats, patterns.

use std::collections::HashMap;
use std::future::Future;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use host::Runtimes;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    BackoffConfig, ClientOptions, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, RetryConfig,
};
use parking_lot::Mutex;
use tokio_util::task::AbortOnDropHandle;

use crate::credentials::Credentials;
use crate::error::{Result, SourceError, SourceErrorKind, code};
use crate::location::BucketLocation;
use crate::settings::SourceSettings;
use crate::store_errors::{read_error, store_error};

/// First wait before a retry and the longest one; waits double, with jitter.
const BACKOFF_MIN: Duration = Duration::from_millis(25);
const BACKOFF_MAX: Duration = Duration::from_secs(5);

/// How often and how long a request is tried.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RetryPolicy {
    pub attempts: usize,
    pub connect_timeout: Duration,
    pub request_timeout: Duration,
    pub retry_timeout: Duration,
}

impl From<&SourceSettings> for RetryPolicy {
    fn from(settings: &SourceSettings) -> Self {
        RetryPolicy {
            attempts: settings.retry_attempts,
            connect_timeout: settings.connect_timeout,
            request_timeout: settings.request_timeout,
            retry_timeout: settings.retry_timeout,
        }
    }
}

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

/// A client of one bucket, or of the local file system.
pub struct Store {
    objects: Arc<dyn ObjectStore>,
    bucket: Option<Arc<AmazonS3>>,
    /// What a key is shown with in front: `bucket/`, or `/`.
    prefix: String,
    /// What tells this store from any other in caches: endpoint and bucket.
    identity: String,
    runtimes: Runtimes,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct StoreKey {
    bucket: BucketLocation,
    credentials: Credentials,
    policy: RetryPolicy,
}

/// All clients of a server.
pub struct StoreCache {
    runtimes: Runtimes,
    buckets: Mutex<HashMap<StoreKey, Arc<Store>>>,
    local: Arc<Store>,
}

impl std::fmt::Debug for StoreCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreCache").field("buckets", &self.buckets.lock().len()).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl StoreCache {
    pub fn new(runtimes: Runtimes) -> Self {
        let local = Store {
            objects: Arc::new(LocalFileSystem::new()),
            bucket: None,
            prefix: "/".to_owned(),
            identity: "file:".to_owned(),
            runtimes: runtimes.clone(),
        };
        StoreCache { runtimes, buckets: Mutex::default(), local: Arc::new(local) }
    }

    /// The local file system; keys are absolute paths without their leading `/`.
    pub fn local(&self) -> Arc<Store> {
        Arc::clone(&self.local)
    }

    /// The client of a bucket, made on first use.
    pub fn bucket(
        &self,
        bucket: &BucketLocation,
        credentials: &Credentials,
        policy: RetryPolicy,
    ) -> Result<Arc<Store>> {
        let key = StoreKey { bucket: bucket.clone(), credentials: credentials.clone(), policy };
        let mut buckets = self.buckets.lock();
        if let Some(found) = buckets.get(&key) {
            return Ok(Arc::clone(found));
        }
        let client = Arc::new(client(&key)?);
        let store = Arc::new(Store {
            objects: Arc::clone(&client) as Arc<dyn ObjectStore>,
            bucket: Some(client),
            prefix: format!("{}/", bucket.bucket),
            identity: format!("{}/{}", bucket.endpoint, bucket.bucket),
            runtimes: self.runtimes.clone(),
        });
        buckets.insert(key, Arc::clone(&store));
        Ok(store)
    }
}

fn client(key: &StoreKey) -> Result<AmazonS3> {
    let StoreKey { bucket, credentials, policy } = key;
    let options = ClientOptions::new()
        .with_allow_http(true)
        .with_connect_timeout(policy.connect_timeout)
        .with_timeout(policy.request_timeout);
    let backoff = BackoffConfig { init_backoff: BACKOFF_MIN, max_backoff: BACKOFF_MAX, base: 2.0 };
    let retry = RetryConfig { backoff, max_retries: policy.attempts, retry_timeout: policy.retry_timeout };
    let mut builder = AmazonS3Builder::new()
        .with_endpoint(&bucket.endpoint)
        .with_bucket_name(&bucket.bucket)
        .with_virtual_hosted_style_request(bucket.virtual_host)
        .with_region(bucket.region.as_deref().unwrap_or("us-east-1"))
        .with_client_options(options)
        .with_retry(retry);
    builder = match credentials.key() {
        None => builder.with_skip_signature(true),
        Some(key) => {
            let builder = builder.with_access_key_id(&key.id).with_secret_access_key(key.secret.reveal());
            match &key.session_token {
                Some(token) => builder.with_token(token.reveal()),
                None => builder,
            }
        }
    };
    builder.build().map_err(|_| {
        // The builder's own text could repeat a key.
        SourceError::bad_arguments(format!(
            "no client can be made for \"{}/{}\"",
            bucket.endpoint, bucket.bucket
        ))
    })
}

impl Store {
    /// The name shown for a key: `bucket/key` or an absolute path.
    pub fn shown(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    pub(crate) fn is_local(&self) -> bool {
        self.bucket.is_none()
    }

    pub(crate) fn runtimes(&self) -> &Runtimes {
        &self.runtimes
    }

    /// Size, time and ETag of one key.
    pub async fn head(&self, key: &str) -> Result<ListedObject> {
        let (objects, path) = (Arc::clone(&self.objects), self.path(key)?);
        let asked = path.clone();
        let answer = self.on_io("source head", async move { objects.head(&asked).await }).await?;
        match answer {
            Ok(meta) => Ok(info(meta)),
            // A HEAD's refusal has no body; a GET's says why.
            Err(error) if self.bucket.is_some() => {
                let objects = Arc::clone(&self.objects);
                let options = GetOptions { range: Some(GetRange::Bounded(0..1)), ..GetOptions::default() };
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
    fn path(&self, key: &str) -> Result<Path> {
        Path::parse(key).map_err(|error| {
            SourceError::bad_arguments(format!("key \"{}\" cannot be addressed: {error}", self.shown(key)))
        })
    }

    async fn on_io<F>(&self, name: &'static str, task: F) -> Result<F::Output>
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
