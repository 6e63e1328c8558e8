//! HTTP clients that talk only to hosts the filter lets through: before a request, on every redirect, and for each
//! address a name resolves to. What resolves is what is connected to, so a name cannot change between check and use.
//!
//! Invariant: no request of this crate leaves through any other client. A proxy resolves names itself, so with users in
//! front none is used. Must not know: buckets, retries.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect;
use url::Url;

use crate::credentials::Secret;
use crate::error::{Result, SourceError, SourceErrorKind};
use crate::network::hosts::HostFilter;

const USER_AGENT: &str = concat!("gristmill/", env!("CARGO_PKG_VERSION"));

/// Stores close connections that are idle for longer; a request sent on one of those is lost.
const IDLE_MAX: Duration = Duration::from_secs(15);

/// What the region a bucket is in is called in answers that carry no body.
const REGION_HEADER: &str = "x-amz-bucket-region";

/// Makes clients; see the module.
#[derive(Clone, Debug)]
pub(crate) struct GuardedConnector {
    pub hosts: Arc<HostFilter>,
    pub connect_timeout: Duration,
    /// Of a request with its body.
    pub request_timeout: Option<Duration>,
    /// Of silence.
    pub read_timeout: Duration,
    pub redirects_max: usize,
    /// Requests carry headers meant for one host: a redirect to another one is not followed, for they would go with it.
    pub keeps_to_host: bool,
}

impl GuardedConnector {
    pub(crate) fn client(&self, headers: HeaderMap) -> reqwest::Result<reqwest::Client> {
        let (hosts, redirects_max) = (Arc::clone(&self.hosts), self.redirects_max);
        let keeps_to_host = self.keeps_to_host;
        let redirects = redirect::Policy::custom(move |attempt| {
            if attempt.previous().len() > redirects_max {
                let problem = match redirects_max {
                    0 => "the server redirects, and no redirect is followed".to_owned(),
                    most => format!("more than {most} redirects"),
                };
                let error = SourceError::new(SourceErrorKind::Unavailable, problem)
                    .with_hint("s3_max_redirects and max_http_get_redirects limit them");
                return attempt.error(error);
            }
            let leaves =
                attempt.previous().first().is_some_and(|first| first.origin() != attempt.url().origin());
            if keeps_to_host && leaves {
                let to = attempt.url().host_str().unwrap_or("?").to_owned();
                let problem =
                    format!("the server redirects to \"{to}\", and headers meant for it go nowhere else");
                let error = SourceError::new(SourceErrorKind::Unavailable, problem)
                    .with_hint("name the address it redirects to, if its owner may have the headers");
                return attempt.error(error);
            }
            match hosts.check(attempt.url()) {
                Ok(()) => attempt.follow(),
                Err(error) => attempt.error(error),
            }
        });
        let mut builder = reqwest::Client::builder();
        if let Some(timeout) = self.request_timeout {
            builder = builder.timeout(timeout);
        }
        let builder = builder
            .default_headers(headers)
            .connect_timeout(self.connect_timeout)
            .read_timeout(self.read_timeout)
            .dns_resolver(Arc::new(GuardedResolver::new(Arc::clone(&self.hosts))))
            .user_agent(USER_AGENT)
            .pool_idle_timeout(IDLE_MAX)
            // The address redirected from may hold a signature or a token.
            .referer(false)
            // Many connections carry more than many streams of one.
            .http1_only()
            // Ranges and lengths are of bytes as they are stored.
            .no_gzip()
            .no_brotli()
            .no_zstd()
            .no_deflate()
            .redirect(redirects);
        match self.hosts.faces_users() {
            true => builder.no_proxy().build(),
            false => builder.build(),
        }
    }
}

impl HttpConnector for GuardedConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let headers = options.get_default_headers().cloned().unwrap_or_default();
        let client = self.client(headers).map_err(|error| object_store::Error::Generic {
            store: "HTTP",
            source: Box::new(error.without_url()),
        })?;
        Ok(HttpClient::new(GuardedService { client, hosts: Arc::clone(&self.hosts) }))
    }
}

/// Requests of one client.
#[derive(Clone, Debug)]
struct GuardedService {
    client: reqwest::Client,
    hosts: Arc<HostFilter>,
}

#[async_trait::async_trait]
impl HttpService for GuardedService {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let unknown = |error: SourceError| HttpError::new(HttpErrorKind::Unknown, error);
        let url = Url::parse(&request.uri().to_string())
            .map_err(|_| unknown(SourceError::bad_arguments("a URL of a request cannot be parsed")))?;
        self.hosts.check(&url).map_err(unknown)?;
        match HttpService::call(&self.client, request).await {
            Ok(answer) => Ok(with_region(answer)),
            // Refused by us: trying again changes nothing.
            Err(error) => match SourceError::find(&error).cloned() {
                Some(ours) => Err(unknown(ours)),
                None => Err(error),
            },
        }
    }
}

/// A redirect to another region comes without a place to go to, or (to a HEAD) without a body: made into the error it
/// is, with the region in it.
fn with_region(answer: HttpResponse) -> HttpResponse {
    let region = answer.headers().get(REGION_HEADER).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let is_elsewhere =
        answer.status() == StatusCode::MOVED_PERMANENTLY || answer.status() == StatusCode::TEMPORARY_REDIRECT;
    match region {
        Some(region) if is_elsewhere && region.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') => {
            let body = format!("<Error><Code>PermanentRedirect</Code><Region>{region}</Region></Error>");
            let (mut parts, _) = answer.into_parts();
            parts.status = StatusCode::BAD_REQUEST;
            parts.headers.remove(http::header::CONTENT_LENGTH);
            HttpResponse::from_parts(parts, HttpResponseBody::from(body))
        }
        _ => answer,
    }
}

/// Resolves by the system, and passes on only addresses that may be talked to, each time another one first: a store of
/// many addresses is meant to be used at all of them.
#[derive(Debug)]
struct GuardedResolver {
    hosts: Arc<HostFilter>,
    resolved: AtomicUsize,
}

impl GuardedResolver {
    fn new(hosts: Arc<HostFilter>) -> Self {
        GuardedResolver { hosts, resolved: AtomicUsize::new(0) }
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let hosts = Arc::clone(&self.hosts);
        let turn = self.resolved.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            let mut found: Vec<_> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            for address in &found {
                hosts.check_address(name.as_str(), address.ip())?;
            }
            let first = turn.checked_rem(found.len()).unwrap_or(0);
            found.rotate_left(first);
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Headers of a call as a client sends them.
pub fn header_map(headers: &[(String, Secret)]) -> Result<HeaderMap> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let wrong = || SourceError::bad_arguments(format!("header \"{name}\" cannot be sent"));
        let key = HeaderName::try_from(name.as_str()).map_err(|_| wrong())?;
        let mut value = HeaderValue::try_from(value.reveal()).map_err(|_| wrong())?;
        value.set_sensitive(true);
        map.append(key, value);
    }
    Ok(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(hosts: HostFilter, name: &str) -> std::result::Result<usize, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let resolver = GuardedResolver::new(Arc::new(hosts));
        let answer = runtime.block_on(resolver.resolve(name.parse().unwrap()));
        answer.map(Iterator::count).map_err(|error| error.to_string())
    }

    #[test]
    fn a_name_of_this_machine_is_no_address_for_users() {
        assert!(resolved(HostFilter::default(), "localhost").is_ok_and(|count| count > 0));
        let error = resolved(HostFilter::new(None, true).unwrap(), "localhost").unwrap_err();
        assert!(error.contains("\"localhost\" is this machine"), "{error}");
        let named = HostFilter::new(Some(vec!["localhost:9000".to_owned()]), true).unwrap();
        assert!(resolved(named, "localhost").is_ok());
    }

    #[test]
    fn a_redirect_to_a_region_becomes_an_error_that_names_it() {
        let answer = |status: u16, region: &str| {
            let answer = http::Response::builder().status(status).header(REGION_HEADER, region);
            with_region(answer.body(HttpResponseBody::from("x".to_owned())).unwrap()).status().as_u16()
        };
        for (status, region, expected) in [
            (301, "eu-west-3", 400),
            (307, "eu-west-3", 400),
            (301, "<Region>", 301),
            (200, "eu-west-3", 200),
            (403, "eu-west-3", 403),
        ] {
            assert_eq!(answer(status, region), expected, "{status} {region}");
        }
    }

    #[test]
    fn values_of_headers_do_not_print() {
        let map = header_map(&[("Authorization".to_owned(), Secret::new("s3cr3t"))]).unwrap();
        assert_eq!(map["authorization"], "s3cr3t");
        assert!(!format!("{map:?}").contains("s3cr3t"));
    }
}
