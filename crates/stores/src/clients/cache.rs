//! Clients of object stores: one per endpoint, bucket or container, and credential; and of pages.
//!
//! Invariant: a client is made once and shared; errors hold no secret. Must not know: requests, formats, patterns.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use host::{Clock, Runtimes, SystemClock};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::azure::{MicrosoftAzure, MicrosoftAzureBuilder};
use object_store::list::PaginatedListStore;
use object_store::local::LocalFileSystem;
use object_store::{ClientOptions, ObjectStore, RetryConfig};
use parking_lot::Mutex;

use crate::clients::store::Store;
use crate::clients::tags::TagReader;
use crate::credentials::{Credentials, Secret};
use crate::error::{Result, SourceError};
use crate::keys::odd::{OddKeys, in_url};
use crate::locations::location::{BucketLocation, ContainerLocation};
use crate::network::connector::{GuardedConnector, header_map};
use crate::network::hosts::HostFilter;
use crate::network::wire::WatchedConnector;
use crate::requests::attempts::Attempts;
pub use crate::requests::attempts::RetryPolicy;
use crate::requests::lane::Lane;
use crate::statement::settings::{SourceSettings, WebPolicy};
use crate::web::location::WebPage;
use crate::web::store::WebPages;

/// What a client was made for.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Place {
    Bucket(BucketLocation),
    Container(ContainerLocation),
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct StoreKey {
    place: Place,
    credentials: Credentials,
    policy: RetryPolicy,
}

/// Clients kept; statements with headers or versions of their own could otherwise leave one behind each.
const STORES_MAX: usize = 1000;
/// The longest a body of a page is sent.
const BODY_TIME_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// All clients of a server.
pub struct StoreCache {
    runtimes: Runtimes,
    hosts: Arc<HostFilter>,
    clock: Arc<dyn Clock>,
    stores: Mutex<HashMap<StoreKey, Arc<Store>>>,
    /// By endpoint and bucket: limits hold whatever credentials and settings ask with.
    lanes: Mutex<HashMap<String, Arc<Lane>>>,
    local: Arc<Store>,
}

impl std::fmt::Debug for StoreCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreCache").field("stores", &self.stores.lock().len()).finish_non_exhaustive()
    }
}

impl StoreCache {
    /// Clients that may talk to any host.
    pub fn new(runtimes: Runtimes) -> Self {
        Self::with_hosts(runtimes, HostFilter::default())
    }

    /// Clients that talk only to hosts the filter lets through.
    pub fn with_hosts(runtimes: Runtimes, hosts: HostFilter) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let local = Store {
            objects: Arc::new(LocalFileSystem::new()),
            bucket: None,
            uploads: None,
            odd_keys: None,
            tags: None,
            pages: None,
            version: None,
            storage: "File",
            prefix: "/".to_owned(),
            identity: "file:".to_owned(),
            runtimes: runtimes.clone(),
            attempts: unused_attempts(&clock),
        };
        let (stores, lanes) = (Mutex::default(), Mutex::default());
        StoreCache { runtimes, hosts: Arc::new(hosts), clock, stores, lanes, local: Arc::new(local) }
    }

    /// Which hosts may be talked to.
    pub fn hosts(&self) -> &HostFilter {
        &self.hosts
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
        let key = StoreKey { place: Place::Bucket(bucket.clone()), credentials: credentials.clone(), policy };
        self.kept(key, || {
            let identity = format!("{}/{}", bucket.endpoint, bucket.bucket);
            let has_token = credentials.key().is_some_and(|key| key.session_token.is_some());
            let connector = self.connector(policy, has_token || !bucket.headers.is_empty());
            let client = Arc::new(s3_client(bucket, None, credentials, &connector)?);
            let options = bucket_options(bucket)?;
            let tags = TagReader::new(bucket, credentials, &options, &connector)
                .map_err(|_| no_client(&bucket.endpoint, &bucket.bucket))?;
            let (of_odd, secret) = (bucket.clone(), credentials.clone());
            let odd_keys = OddKeys::new(move |front| {
                Ok(Arc::new(s3_client(&of_odd, Some(front), &secret, &connector)?))
            });
            Ok(Store {
                objects: Arc::clone(&client) as Arc<dyn ObjectStore>,
                bucket: Some(Arc::clone(&client) as Arc<dyn PaginatedListStore>),
                uploads: Some(client),
                odd_keys: Some(odd_keys),
                tags: Some(tags),
                pages: None,
                version: bucket.version.clone(),
                storage: "S3",
                prefix: format!("{}/", bucket.bucket),
                attempts: Attempts::new(self.lane(&identity), policy),
                identity,
                runtimes: self.runtimes.clone(),
            })
        })
    }

    /// The client of an Azure container, made on first use.
    pub fn container(
        &self,
        container: &ContainerLocation,
        credentials: &Credentials,
        policy: RetryPolicy,
    ) -> Result<Arc<Store>> {
        let key =
            StoreKey { place: Place::Container(container.clone()), credentials: credentials.clone(), policy };
        self.kept(key, || {
            let identity = format!("{}/{}", container.endpoint, container.container);
            let client = Arc::new(azure_client(container, credentials, &self.connector(policy, false))?);
            Ok(Store {
                objects: Arc::clone(&client) as Arc<dyn ObjectStore>,
                bucket: Some(Arc::clone(&client) as Arc<dyn PaginatedListStore>),
                uploads: Some(client),
                odd_keys: None,
                tags: None,
                pages: None,
                version: None,
                storage: "Azure",
                prefix: format!("{}/", container.container),
                attempts: Attempts::new(self.lane(&identity), policy),
                identity,
                runtimes: self.runtimes.clone(),
            })
        })
    }

    /// The pages of one call; they are looked at anew in every statement.
    pub fn pages(
        &self,
        pages: Vec<WebPage>,
        headers: &[(String, Secret)],
        policy: WebPolicy,
    ) -> Result<Arc<Store>> {
        let connector = GuardedConnector {
            hosts: Arc::clone(&self.hosts),
            connect_timeout: policy.connect_timeout,
            request_timeout: None,
            read_timeout: policy.receive_timeout,
            redirects_max: policy.redirects_max,
            keeps_to_host: !headers.is_empty(),
        };
        let client = connector.client(http::HeaderMap::new()).map_err(|_| no_poster())?;
        let identity = pages_identity(&pages);
        let pages =
            Arc::new(WebPages::new(client, Arc::clone(&self.hosts), header_map(headers)?, pages, policy));
        Ok(Arc::new(Store {
            objects: Arc::clone(&pages) as Arc<dyn ObjectStore>,
            bucket: None,
            uploads: None,
            odd_keys: None,
            tags: None,
            pages: Some(pages),
            version: None,
            storage: "URL",
            prefix: String::new(),
            identity,
            runtimes: self.runtimes.clone(),
            attempts: unused_attempts(&self.clock),
        }))
    }

    /// A client that sends bodies of pages.
    pub fn poster(&self, policy: WebPolicy) -> Result<Poster> {
        let connector = GuardedConnector {
            hosts: Arc::clone(&self.hosts),
            connect_timeout: policy.connect_timeout,
            request_timeout: None,
            // It counts from the beginning of the request, and a body takes as long as its rows.
            read_timeout: BODY_TIME_MAX,
            // A body cannot be sent again to somebody else.
            redirects_max: 0,
            keeps_to_host: true,
        };
        let client = connector.client(http::HeaderMap::new()).map_err(|_| no_poster())?;
        let (hosts, runtimes) = (Arc::clone(&self.hosts), self.runtimes.clone());
        Ok(Poster { client, hosts, runtimes, patience: policy.receive_timeout })
    }

    fn kept(&self, key: StoreKey, make: impl FnOnce() -> Result<Store>) -> Result<Arc<Store>> {
        let mut stores = self.stores.lock();
        if let Some(found) = stores.get(&key) {
            return Ok(Arc::clone(found));
        }
        let store = Arc::new(make()?);
        if stores.len() >= STORES_MAX {
            stores.clear();
        }
        stores.insert(key, Arc::clone(&store));
        Ok(store)
    }

    fn connector(&self, policy: RetryPolicy, keeps_to_host: bool) -> WatchedConnector {
        let guarded = GuardedConnector {
            hosts: Arc::clone(&self.hosts),
            connect_timeout: policy.connect_timeout,
            // Silence is limited, not the time of a whole answer, and by `wire`, which says so in words; this is the net.
            request_timeout: None,
            read_timeout: policy.request_timeout * 2,
            redirects_max: policy.redirects_max,
            keeps_to_host,
        };
        WatchedConnector { guarded, request_timeout: policy.request_timeout }
    }

    fn lane(&self, identity: &str) -> Arc<Lane> {
        let mut lanes = self.lanes.lock();
        let lane = lanes.entry(identity.to_owned()).or_insert_with(|| Lane::new(Arc::clone(&self.clock)));
        Arc::clone(lane)
    }
}

/// What sending a page takes.
pub struct Poster {
    pub client: reqwest::Client,
    pub hosts: Arc<HostFilter>,
    pub runtimes: Runtimes,
    /// A server may be silent for so long.
    pub patience: Duration,
}

fn no_poster() -> SourceError {
    SourceError::bad_arguments("no HTTP client can be made: the system's certificates cannot be read")
}

/// Tells pages apart without repeating query strings, which may be secrets: caches show it.
fn pages_identity(pages: &[WebPage]) -> String {
    let mut hasher = DefaultHasher::new();
    pages.iter().for_each(|page| page.url.hash(&mut hasher));
    let first = pages.first().map_or("", |page| page.shown.as_str());
    format!("{first}#{:016x}", hasher.finish())
}

/// Files are asked once, and pages see to repetitions themselves.
fn unused_attempts(clock: &Arc<dyn Clock>) -> Attempts {
    Attempts::new(Lane::new(Arc::clone(clock)), RetryPolicy::from(&SourceSettings::default()))
}

/// `attempts` tries again; the client would do it without our limits.
fn no_retries() -> RetryConfig {
    RetryConfig { max_retries: 0, ..RetryConfig::default() }
}

fn bucket_options(bucket: &BucketLocation) -> Result<ClientOptions> {
    Ok(ClientOptions::new().with_allow_http(true).with_default_headers(header_map(&bucket.headers)?))
}

/// With a `front`, the client of keys that begin with it and a `/`.
fn s3_client(
    bucket: &BucketLocation,
    front: Option<&str>,
    credentials: &Credentials,
    connector: &WatchedConnector,
) -> Result<AmazonS3> {
    let options = bucket_options(bucket)?;
    let address = match (front, bucket.virtual_host) {
        (None, _) => bucket.endpoint.clone(),
        (Some(front), true) => format!("{}/{}", bucket.endpoint, in_url(front)),
        (Some(front), false) => format!("{}/{}/{}", bucket.endpoint, bucket.bucket, in_url(front)),
    };
    let mut builder = AmazonS3Builder::new()
        .with_endpoint(address)
        .with_bucket_name(&bucket.bucket)
        // Then the endpoint is all that stands in front of the path.
        .with_virtual_hosted_style_request(bucket.virtual_host || front.is_some())
        .with_region(bucket.region.as_deref().unwrap_or("us-east-1"))
        .with_http_connector(connector.clone())
        .with_client_options(options)
        .with_retry(no_retries());
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
    builder.build().map_err(|_| no_client(&bucket.endpoint, &bucket.bucket))
}

fn azure_client(
    container: &ContainerLocation,
    credentials: &Credentials,
    connector: &WatchedConnector,
) -> Result<MicrosoftAzure> {
    let builder = MicrosoftAzureBuilder::new()
        .with_endpoint(container.endpoint.clone())
        .with_account(&container.account)
        .with_container_name(&container.container)
        .with_http_connector(connector.clone())
        .with_client_options(ClientOptions::new().with_allow_http(true))
        .with_retry(no_retries());
    let builder = match (&container.signature, credentials.key()) {
        (_, Some(key)) => builder.with_access_key(key.secret.reveal()),
        (Some(signature), None) => {
            let pairs = url::form_urlencoded::parse(signature.reveal().as_bytes()).into_owned();
            builder.with_sas_authorization(pairs.collect::<Vec<_>>())
        }
        // The builder wants some credential even when nothing is signed.
        (None, None) => builder.with_skip_signature(true).with_bearer_token_authorization(""),
    };
    builder.build().map_err(|_| {
        no_client(&container.endpoint, &container.container)
            .with_hint("an account key is base64, as the Azure portal shows it")
    })
}

/// The builder's own text could repeat a key.
fn no_client(endpoint: &str, name: &str) -> SourceError {
    SourceError::bad_arguments(format!("no client can be made for \"{endpoint}/{name}\""))
}
