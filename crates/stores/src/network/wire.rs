//! What stands between the store's client and the network: it limits silence, and notes what the client forgets.
//!
//! The client hands on neither headers nor the time a store asks us to wait, takes an error under status 200 for an
//! object, and reads listings without looking at how slowly they come.
//!
//! Invariant: no answer is waited for without a limit; a listing is handed on whole or not at all. The request an
//! answer belongs to is known by its task ([`Asked::scope`]). Must not know: retries, buckets, formats.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use chrono::DateTime;
use futures::stream::{BoxStream, Stream, StreamExt};
use host::Clock;
use http::{HeaderMap, Method, StatusCode};
use model::saturating::u64_of;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use parking_lot::Mutex;

use crate::keys::odd::marked;
use crate::network::connector::GuardedConnector;
use crate::network::pace::Pace;
use crate::xml::{Elements, root};

/// Error answers are a few hundred bytes.
const ERROR_BYTES_MAX: usize = 256 << 10;
/// A page of 1000 keys of 1 kB, every byte of it escaped, is below this.
const LISTING_BYTES_MAX: usize = 16 << 20;
/// A body is sent at least this fast, or the request counts as silent.
const UPLOAD_BYTES_PER_SECOND: u64 = 256 << 10;

tokio::task_local! {
    static ASKED: Arc<Asked>;
}

/// One attempt: how patient it is, and what it was told.
#[derive(Debug)]
pub(crate) struct Asked {
    clock: Arc<dyn Clock>,
    /// Until the head of the answer, and between pieces of its body.
    silence_max: Duration,
    /// See [`Pace`].
    window: Duration,
    told: Mutex<Told>,
}

/// What the head of the answer said.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Told {
    pub status: Option<u16>,
    pub retry_after: Option<Duration>,
    pub request_id: Option<String>,
    /// Of the bucket.
    pub region: Option<String>,
}

impl Asked {
    pub(crate) fn new(clock: Arc<dyn Clock>, silence_max: Duration, window: Duration) -> Arc<Asked> {
        Arc::new(Asked { clock, silence_max, window, told: Mutex::default() })
    }

    /// Requests made by `task` are this attempt's.
    pub(crate) async fn scope<F: Future>(self: Arc<Self>, task: F) -> F::Output {
        ASKED.scope(self, task).await
    }

    pub(crate) fn told(&self) -> Told {
        self.told.lock().clone()
    }

    fn note(&self, status: StatusCode, headers: &HeaderMap) {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let id = ["x-amz-request-id", "x-ms-request-id", "x-guploader-uploadid"].into_iter().find_map(text);
        *self.told.lock() = Told {
            status: Some(status.as_u16()),
            retry_after: text("retry-after").and_then(|value| retry_after(value, self.clock.now_ms())),
            request_id: id.map(str::to_owned),
            region: text("x-amz-bucket-region").map(str::to_owned),
        };
    }
}

/// A number of seconds, or a date.
fn retry_after(value: &str, now_ms: u64) -> Option<Duration> {
    if let Ok(seconds) = value.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = DateTime::parse_from_rfc2822(value.trim()).ok()?;
    let until_ms = u64::try_from(until.timestamp_millis()).ok()?;
    Some(Duration::from_millis(until_ms.saturating_sub(now_ms)))
}

/// Why an attempt was given up by us.
#[derive(Debug)]
struct GaveUp(String);

impl fmt::Display for GaveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for GaveUp {}

fn gave_up(kind: HttpErrorKind, why: impl Into<String>) -> HttpError {
    HttpError::new(kind, GaveUp(why.into()))
}

/// The next piece of a body, or an error when it does not come in time. Outside an attempt nothing limits it but the
/// client.
pub(crate) struct Paced<S> {
    pieces: S,
    pace: Option<(Pace, Arc<Asked>)>,
}

impl<S: Stream + Unpin> Paced<S> {
    pub(crate) fn new(pieces: S) -> Paced<S> {
        let asked = ASKED.try_with(Arc::clone).ok();
        let pace =
            asked.map(|asked| (Pace::new(asked.silence_max, asked.window, asked.clock.monotonic()), asked));
        Paced { pieces, pace }
    }

    /// `size` tells how much a piece brings.
    pub(crate) async fn next(
        &mut self,
        size: impl Fn(&S::Item) -> usize,
    ) -> Result<Option<S::Item>, HttpError> {
        let Some((pace, asked)) = &mut self.pace else { return Ok(self.pieces.next().await) };
        let patience = pace.patience(asked.clock.monotonic());
        let piece = tokio::time::timeout(patience, self.pieces.next()).await.map_err(|_| {
            let why = "the answer's body came to a stop, or too slowly to go on";
            gave_up(HttpErrorKind::Timeout, why)
        })?;
        if let Some(piece) = &piece {
            pace.arrived(size(piece), asked.clock.monotonic());
        }
        Ok(piece)
    }
}

async fn collect(
    body: BoxStream<'static, Result<Bytes, HttpError>>,
    bytes_max: usize,
) -> Result<Bytes, HttpError> {
    let mut pieces = Paced::new(body);
    let mut whole = BytesMut::new();
    while let Some(piece) = pieces.next(|piece| piece.as_ref().map_or(0, Bytes::len)).await? {
        whole.extend_from_slice(&piece?);
        if whole.len() > bytes_max {
            let why = format!("the answer is longer than {bytes_max} bytes, which no such answer is");
            return Err(gave_up(HttpErrorKind::Decode, why));
        }
    }
    Ok(whole.freeze())
}

/// Makes connections as the client would, and watches them.
#[derive(Clone, Debug)]
pub(crate) struct WatchedConnector {
    pub guarded: GuardedConnector,
    pub request_timeout: Duration,
}

impl HttpConnector for WatchedConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = self.guarded.connect(options)?;
        Ok(HttpClient::new(Watched { client, request_timeout: self.request_timeout }))
    }
}

#[derive(Debug)]
struct Watched {
    client: HttpClient,
    request_timeout: Duration,
}

/// What may be in the body of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    Listing,
    /// A part of an object, under status 206.
    Range,
    Other,
}

fn expected(request: &HttpRequest) -> Expected {
    let query = request.uri().query().unwrap_or_default();
    if request.method() != Method::GET {
        return Expected::Other;
    }
    match query.contains("list-type=2") || query.contains("comp=list") {
        true => Expected::Listing,
        false if request.headers().contains_key(http::header::RANGE) => Expected::Range,
        false => Expected::Other,
    }
}

#[async_trait]
impl HttpService for Watched {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let asked = ASKED.try_with(Arc::clone).ok();
        let expected = expected(&request);
        let silence_max = asked.as_ref().map_or(self.request_timeout, |asked| asked.silence_max);
        let upload = u64_of(request.body().content_length());
        let patience = match upload {
            0 => silence_max,
            bytes => self.request_timeout + Duration::from_secs(bytes / UPLOAD_BYTES_PER_SECOND),
        };
        let answer = tokio::time::timeout(patience, self.client.execute(request)).await.map_err(|_| {
            gave_up(HttpErrorKind::Timeout, format!("no answer within {} ms", patience.as_millis()))
        })??;
        let status = answer.status();
        if let Some(asked) = &asked {
            asked.note(status, answer.headers());
        }
        let (parts, body) = answer.into_parts();
        let whole = match expected {
            _ if !status.is_success() => collect(body.bytes_stream(), ERROR_BYTES_MAX).await?,
            Expected::Listing => marked(&collect(body.bytes_stream(), LISTING_BYTES_MAX).await?),
            Expected::Range if status != StatusCode::PARTIAL_CONTENT => peek(body).await?,
            _ => return Ok(HttpResponse::from_parts(parts, body)),
        };
        let mut answer = HttpResponse::from_parts(parts, HttpResponseBody::from(whole.clone()));
        if status.is_success() && is_error_body(&whole) {
            *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        } else if status.is_success() && expected == Expected::Listing {
            whole_listing(&whole)?;
        }
        Ok(answer)
    }
}

/// The beginning of an answer that should have been a part of an object: an error, or an object from its first byte by
/// a server that does not know ranges, whose length does not matter then.
async fn peek(body: HttpResponseBody) -> Result<Bytes, HttpError> {
    let mut pieces = Paced::new(body.bytes_stream());
    let mut begin = BytesMut::new();
    while begin.len() < ERROR_BYTES_MAX {
        match pieces.next(|piece| piece.as_ref().map_or(0, Bytes::len)).await? {
            Some(piece) => begin.extend_from_slice(&piece?),
            None => break,
        }
    }
    Ok(begin.freeze())
}

/// S3 says `200 OK` early and finds out later that it failed.
fn is_error_body(body: &Bytes) -> bool {
    let begin = &body[..body.len().min(512)];
    let text = String::from_utf8_lossy(begin);
    root(text.trim_start_matches('\u{feff}')).is_some_and(|name| name == "Error")
}

/// The client takes a page without the token of the next one for the last page.
fn whole_listing(body: &Bytes) -> Result<(), HttpError> {
    let text = String::from_utf8_lossy(body);
    let (mut is_closed, mut is_truncated, mut has_token) = (false, false, false);
    for element in Elements::of(&text) {
        match (element.depth, element.name.as_str()) {
            (0, name) => is_closed = matches!(name, "ListBucketResult" | "EnumerationResults"),
            (1, "IsTruncated") => is_truncated = element.text.trim() == "true",
            (1, "NextContinuationToken") => has_token = !element.text.is_empty(),
            _ => {}
        }
    }
    if !is_closed {
        return Err(gave_up(HttpErrorKind::Decode, "the page of the listing is cut, or not a listing"));
    }
    if is_truncated && !has_token {
        let why = "the page of the listing says that there are more and not how to get them";
        return Err(gave_up(HttpErrorKind::Decode, why));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_to_wait_are_seconds_or_dates() {
        let now_ms = 1_700_000_000_000;
        for (value, expected) in [
            ("7", Some(7)),
            (" 0 ", Some(0)),
            ("Tue, 14 Nov 2023 22:13:30 GMT", Some(10)),
            ("Tue, 14 Nov 2023 22:00:00 GMT", Some(0)),
            ("soon", None),
            ("-1", None),
        ] {
            assert_eq!(retry_after(value, now_ms).map(|wait| wait.as_secs()), expected, "{value}");
        }
    }

    #[test]
    fn errors_are_known_by_their_root() {
        for (body, is_error) in [
            ("<Error><Code>InternalError</Code></Error>", true),
            ("<?xml version=\"1.0\"?>\n<Error xmlns=\"x\"><Code>SlowDown</Code></Error>", true),
            ("<ListBucketResult><Key>Error</Key></ListBucketResult>", false),
            ("<Errors>", false),
            ("a,b\n<Error>", false),
            ("", false),
        ] {
            assert_eq!(is_error_body(&Bytes::from(body)), is_error, "{body}");
        }
    }

    #[test]
    fn a_page_is_whole_or_an_error() {
        let page = |inside: &str| format!("<ListBucketResult>{inside}</ListBucketResult>\n");
        for (body, whole) in [
            (page("<IsTruncated>false</IsTruncated>"), true),
            (page("<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"), true),
            (page("<IsTruncated>true</IsTruncated>"), false),
            ("<ListBucketResult><Contents><Key>a".to_owned(), false),
            ("<html>proxy</html>".to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(whole_listing(&Bytes::from(body.clone())).is_ok(), whole, "{body}");
        }
    }
}
