//! Clients of object stores: one per endpoint, bucket and credential.
//!
//! Invariant: a client is made once and shared; errors hold no secret. Must not know: requests, formats, patterns.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use host::Runtimes;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::local::LocalFileSystem;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};
use parking_lot::Mutex;

use crate::credentials::Credentials;
use crate::error::{Result, SourceError};
use crate::location::BucketLocation;
use crate::settings::SourceSettings;
use crate::store::Store;

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
