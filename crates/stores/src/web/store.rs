//! Pages of `url()` as an object store: key `0` is the first page, and so on.
//!
//! A page is looked at once, with a request for its first byte: a server that answers with a range is read in ranges; any
//! other answer is the whole page already, and is kept, decoded, for as long as the statement reads it. Invariant: a
//! page that changes while it is read in ranges is an error; nothing is written or listed. Must not know: formats.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use chrono::{DateTime, Utc};
use futures::stream::{self, BoxStream, StreamExt};
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_RANGE, ETAG, LAST_MODIFIED, RANGE};
use http::{HeaderMap, StatusCode};
use model::ErrorCode;
use model::saturating::usize_of;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetRange, GetResult, GetResultPayload, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult,
};
use parking_lot::Mutex;

use crate::codecs::compression::{Compression, opened};
use crate::error::{Result, SourceError, SourceErrorKind};
use crate::network::hosts::HostFilter;
use crate::requests::errors::no_connection;
use crate::requests::facts::{Pairs, of_head};
use crate::statement::settings::WebPolicy;
use crate::web::location::WebPage;
use crate::web::spool::Spool;

/// What looking at a page found.
#[derive(Clone)]
struct Looked {
    bytes: u64,
    etag: Option<String>,
    modified: Option<DateTime<Utc>>,
    headers: Pairs,
    /// The whole page, of a server that gives no ranges.
    whole: Option<Arc<Spool>>,
}

/// See the module.
pub(crate) struct WebPages {
    client: reqwest::Client,
    hosts: Arc<HostFilter>,
    headers: HeaderMap,
    pages: Vec<WebPage>,
    policy: WebPolicy,
    looked: Mutex<HashMap<usize, Looked>>,
}

impl fmt::Debug for WebPages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebPages").field("pages", &self.pages).finish_non_exhaustive()
    }
}

impl fmt::Display for WebPages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} pages", self.pages.len())
    }
}

impl WebPages {
    /// The client follows no more redirects than the policy says, and only to hosts of the filter.
    pub(crate) fn new(
        client: reqwest::Client,
        hosts: Arc<HostFilter>,
        headers: HeaderMap,
        pages: Vec<WebPage>,
        policy: WebPolicy,
    ) -> Self {
        WebPages { client, hosts, headers, pages, policy, looked: Mutex::default() }
    }

    /// The page of a key.
    pub(crate) fn page(&self, key: &str) -> Option<&WebPage> {
        self.pages.get(key.parse::<usize>().ok()?)
    }

    /// The head of the answer that a page was looked at with.
    pub(crate) fn headers_of(&self, key: &str) -> Option<Pairs> {
        Some(self.looked.lock().get(&key.parse::<usize>().ok()?)?.headers.clone())
    }

    async fn look(&self, at: usize, page: &WebPage) -> Result<Looked> {
        if let Some(found) = self.looked.lock().get(&at) {
            return Ok(found.clone());
        }
        let first = self.ask(page, Some(0..1)).await?;
        let total = content_range_total(first.headers());
        let is_encoded = first.headers().contains_key(CONTENT_ENCODING);
        let looked = match (first.status(), total) {
            (StatusCode::PARTIAL_CONTENT, Some(bytes)) if !is_encoded => Looked {
                bytes,
                etag: text(first.headers(), ETAG),
                modified: modified(first.headers()),
                headers: of_head(first.headers(), total),
                whole: None,
            },
            (StatusCode::RANGE_NOT_SATISFIABLE, _) => Looked {
                bytes: 0,
                etag: None,
                modified: modified(first.headers()),
                headers: of_head(first.headers(), Some(0)),
                whole: None,
            },
            (StatusCode::PARTIAL_CONTENT, _) => self.keep(page, None).await?,
            _ => self.keep(page, Some(first)).await?,
        };
        self.looked.lock().insert(at, looked.clone());
        Ok(looked)
    }

    /// Reads a whole page, from an answer that is already there if there is one; a body that breaks is asked for again.
    async fn keep(&self, page: &WebPage, mut answer: Option<reqwest::Response>) -> Result<Looked> {
        let mut wait = self.policy.backoff_min;
        for tried in 1.. {
            let response = match answer.take() {
                Some(response) => response,
                None => self.ask(page, None).await?,
            };
            let (etag, modified) = (text(response.headers(), ETAG), modified(response.headers()));
            let headers = of_head(response.headers(), None);
            match self.spool(page, response).await {
                Ok(spool) => {
                    let whole = Some(Arc::new(spool));
                    let bytes = whole.as_ref().map_or(0, |spool| spool.bytes());
                    return Ok(Looked { bytes, etag, modified, headers, whole });
                }
                Err(error) if error.kind() != SourceErrorKind::Unavailable || tried >= self.policy.tries => {
                    return Err(error);
                }
                Err(_) => {
                    tokio::time::sleep(wait).await;
                    wait = (wait * 2).min(self.policy.backoff_max);
                }
            }
        }
        Err(unavailable(page, "no try is allowed"))
    }

    async fn spool(&self, page: &WebPage, response: reqwest::Response) -> Result<Spool> {
        let encoding = text(response.headers(), CONTENT_ENCODING).unwrap_or_default().to_ascii_lowercase();
        let coding = match encoding.as_str() {
            "" | "identity" => None,
            "gzip" | "x-gzip" => Some(Compression::by_name("gzip")?),
            "br" | "zstd" => Some(Compression::by_name(&encoding)?),
            other => {
                return Err(SourceError::unsupported(format!(
                    "the server sends \"{}\" with the encoding \"{other}\"; gzip, br and zstd are understood",
                    page.shown
                )));
            }
        };
        let name = page.shown.clone();
        let body = response
            .bytes_stream()
            .map(move |chunk| chunk.map_err(|error| broken(&name, &error.without_url())));
        let mut chunks = match coding {
            Some(coding) => opened(Box::pin(body), Some(coding), &page.shown, None),
            None => Box::pin(body),
        };
        let mut spool = Spool::default();
        while let Some(chunk) = chunks.next().await {
            spool.push(&page.shown, chunk?).await?;
        }
        Ok(spool)
    }

    /// One request, tried again as the policy says; every answer but success and "no such range" is an error.
    async fn ask(&self, page: &WebPage, range: Option<Range<u64>>) -> Result<reqwest::Response> {
        self.hosts.check(&page.url)?;
        let mut wait = self.policy.backoff_min;
        let mut tried = 0;
        loop {
            tried += 1;
            // Not in any encoding: ranges are of what is sent.
            let mut request = self
                .client
                .get(page.url.clone())
                .headers(self.headers.clone())
                .header(ACCEPT_ENCODING, "identity");
            if let Some(range) = &range {
                request =
                    request.header(RANGE, format!("bytes={}-{}", range.start, range.end.saturating_sub(1)));
            }
            let (error, is_passing) = match request.send().await {
                Ok(answer)
                    if answer.status().is_success()
                        || answer.status() == StatusCode::RANGE_NOT_SATISFIABLE =>
                {
                    return Ok(answer);
                }
                Ok(answer) => {
                    let status = answer.status();
                    let is_passing = status.is_server_error()
                        || status == StatusCode::TOO_MANY_REQUESTS
                        || status == StatusCode::REQUEST_TIMEOUT;
                    (status_error(page, status), is_passing)
                }
                Err(error) => {
                    let error = error.without_url();
                    match SourceError::find(&error) {
                        Some(ours) => (ours.clone(), false),
                        None => (broken(&page.shown, &error), true),
                    }
                }
            };
            if !is_passing || tried >= self.policy.tries {
                let hint = format!("it was tried {tried} times; http_max_tries limits it");
                return Err(if tried > 1 { error.with_hint(hint) } else { error });
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(self.policy.backoff_max);
        }
    }

    async fn range(&self, page: &WebPage, looked: &Looked, range: Range<u64>) -> Result<Bytes> {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        if let Some(whole) = &looked.whole {
            return whole.get(&page.shown, range).await;
        }
        let mut wait = self.policy.backoff_min;
        for tried in 1.. {
            match self.range_once(page, looked, range.clone()).await {
                Err(error) if error.kind() == SourceErrorKind::Unavailable && tried < self.policy.tries => {
                    tokio::time::sleep(wait).await;
                    wait = (wait * 2).min(self.policy.backoff_max);
                }
                other => return other,
            }
        }
        Err(unavailable(page, "no try is allowed"))
    }

    async fn range_once(&self, page: &WebPage, looked: &Looked, range: Range<u64>) -> Result<Bytes> {
        let replaced = || {
            let message = format!("\"{}\" was replaced while it was being read", page.shown);
            SourceError::new(SourceErrorKind::Changed, message).with_range(range.clone())
        };
        let answer = self.ask(page, Some(range.clone())).await?;
        let total = content_range_total(answer.headers());
        let etag = text(answer.headers(), ETAG);
        let is_same = total.is_none_or(|total| total == looked.bytes) && etag == looked.etag;
        if answer.status() != StatusCode::PARTIAL_CONTENT || !is_same {
            return Err(replaced());
        }
        let bytes_max = usize_of(range.end - range.start);
        let mut body = BytesMut::new();
        let mut chunks = answer.bytes_stream();
        while let Some(chunk) = chunks.next().await {
            body.extend_from_slice(&chunk.map_err(|error| broken(&page.shown, &error.without_url()))?);
            // A body without an end must not be collected until memory ends.
            if body.len() > bytes_max {
                return Err(replaced());
            }
        }
        Ok(body.freeze())
    }

    async fn get(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let no_page = || SourceError::bad_arguments(format!("page {location} is not known"));
        let at = location.as_ref().parse::<usize>().map_err(|_| no_page())?;
        let page = self.pages.get(at).ok_or_else(no_page)?;
        let looked = self.look(at, page).await?;
        if options.if_match.as_ref().is_some_and(|tag| Some(tag) != looked.etag.as_ref()) {
            let message = format!("\"{}\" was replaced while it was being read", page.shown);
            return Err(SourceError::new(SourceErrorKind::Changed, message));
        }
        let range = match options.range {
            _ if options.head => 0..0,
            None => 0..looked.bytes,
            Some(GetRange::Bounded(range)) => range.start..range.end.min(looked.bytes),
            Some(GetRange::Offset(start)) => start..looked.bytes,
            Some(GetRange::Suffix(last)) => looked.bytes.saturating_sub(last)..looked.bytes,
        };
        let body = self.range(page, &looked, range.clone()).await?;
        let meta = ObjectMeta {
            location: location.clone(),
            last_modified: looked.modified.unwrap_or_default(),
            size: looked.bytes,
            e_tag: looked.etag,
            version: None,
        };
        let payload = GetResultPayload::Stream(stream::iter([Ok(body)]).boxed());
        Ok(GetResult { payload, meta, range, attributes: Default::default() })
    }
}

fn text(headers: &HeaderMap, name: http::HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

fn modified(headers: &HeaderMap) -> Option<DateTime<Utc>> {
    let text = text(headers, LAST_MODIFIED)?;
    DateTime::parse_from_rfc2822(&text).ok().map(|time| time.to_utc())
}

/// The 9 of `bytes 0-0/9`.
fn content_range_total(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_RANGE)?.to_str().ok()?.rsplit_once('/')?.1.parse().ok()
}

fn unavailable(page: &WebPage, problem: &str) -> SourceError {
    SourceError::new(SourceErrorKind::Unavailable, format!("reading \"{}\" failed: {problem}", page.shown))
        .with_code(ErrorCode::RECEIVED_ERROR_FROM_REMOTE_IO_SERVER)
}

fn broken(shown: &str, error: &reqwest::Error) -> SourceError {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    let host = shown.split_once("://").map_or(shown, |(_, rest)| rest.split('/').next().unwrap_or(rest));
    let text = no_connection(&text, host).unwrap_or(text);
    SourceError::new(SourceErrorKind::Unavailable, format!("reading \"{shown}\" failed: {text}"))
        .with_code(ErrorCode::RECEIVED_ERROR_FROM_REMOTE_IO_SERVER)
}

fn status_error(page: &WebPage, status: StatusCode) -> SourceError {
    let (kind, message) = match status.as_u16() {
        404 | 410 => (SourceErrorKind::NotFound, format!("page \"{}\" does not exist", page.shown)),
        401 | 403 => (SourceErrorKind::Denied, format!("access to page \"{}\" was denied", page.shown)),
        _ => (SourceErrorKind::Unavailable, format!("reading \"{}\" failed: {status}", page.shown)),
    };
    let answer = crate::error::StoreAnswer { http_status: Some(status.as_u16()), ..Default::default() };
    SourceError::new(kind, message)
        .with_code(ErrorCode::RECEIVED_ERROR_FROM_REMOTE_IO_SERVER)
        .with_answer(answer)
}

fn read_only() -> Error {
    Error::NotSupported { source: Box::new(SourceError::unsupported("pages of url() are only read")) }
}

#[async_trait]
impl ObjectStore for WebPages {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> object_store::Result<GetResult> {
        self.get(location, options)
            .await
            .map_err(|error| Error::Generic { store: "HTTP", source: Box::new(error) })
    }

    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> object_store::Result<PutResult> {
        Err(read_only())
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> object_store::Result<Box<dyn MultipartUpload>> {
        Err(read_only())
    }

    fn delete_stream(
        &self,
        _: BoxStream<'static, object_store::Result<Path>>,
    ) -> BoxStream<'static, object_store::Result<Path>> {
        stream::iter([Err(read_only())]).boxed()
    }

    fn list(&self, _: Option<&Path>) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        stream::iter([Err(read_only())]).boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> object_store::Result<ListResult> {
        Err(read_only())
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> object_store::Result<()> {
        Err(read_only())
    }
}
