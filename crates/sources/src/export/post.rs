//! One page that is written: the body of a request, sent while rows come.
//!
//! Invariant: the body ends only by [`Post::finish`]. Dropped before, the request is cut, which no server can take for a
//! whole body. Nothing is sent twice, and nobody elsewhere is sent it: redirects are errors. Must not know: rows.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use formats::FormatKind;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use model::ErrorCode;
use stores::clients::cache::Poster;
use stores::codecs::compression::Compression;
use stores::error::{Result, SourceError, SourceErrorKind, StoreAnswer};
use stores::web::location::WebPage;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

/// Pieces of a body that wait to be sent.
const PIECES_AHEAD: usize = 4;
/// Bytes of a server's complaint that are repeated.
const COMPLAINT_BYTES: usize = 300;

/// Where a body goes, and with what.
pub(super) struct PostTarget {
    pub page: WebPage,
    pub method: Method,
    pub headers: HeaderMap,
}

/// A page in the making; see the module.
pub(super) struct Post {
    page: WebPage,
    /// `None` ends the body.
    pieces: mpsc::Sender<Option<Bytes>>,
    answer: AbortOnDropHandle<Result<()>>,
    patience: Duration,
}

/// Pages whose bodies are sent but for their ends.
pub struct Posted(pub(super) Vec<Post>);

impl Posted {
    /// Ends the bodies, one after the other, and waits for what the servers say.
    ///
    /// # Errors
    /// A server refused; those before it have their pages.
    pub async fn finish(self) -> Result<()> {
        let count = self.0.len();
        for (at, post) in self.0.into_iter().enumerate() {
            let finished = post.finish().await;
            finished.map_err(|error| match at {
                0 => error,
                _ => error.with_hint(format!("{at} of {count} pages were written before and stay")),
            })?;
        }
        Ok(())
    }
}

/// What the body says of itself.
pub(super) fn body_headers(format: FormatKind, compression: Compression) -> HeaderMap {
    let name = format.name();
    let with_names = name.contains("WithNames");
    let content_type = match name {
        _ if name.starts_with("CSV") && with_names => "text/csv; charset=UTF-8; header=present",
        _ if name.starts_with("CSV") => "text/csv; charset=UTF-8; header=absent",
        _ if name.starts_with("TabSeparated") => "text/tab-separated-values; charset=UTF-8",
        _ if name.starts_with("JSON") => "application/json; charset=UTF-8",
        _ if format.is_text() => "text/plain; charset=UTF-8",
        _ => "application/octet-stream",
    };
    let encoding = match compression {
        Compression::None => None,
        Compression::Brotli => Some("br"),
        other => Some(other.name()),
    };
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    if let Some(encoding) = encoding {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    headers
}

impl Post {
    /// Begins the request.
    pub(super) fn begin(poster: Poster, target: PostTarget) -> Result<Post> {
        let PostTarget { page, method, headers } = target;
        poster.hosts.check(&page.url)?;
        let (pieces, received) = mpsc::channel(PIECES_AHEAD);
        let ended = Arc::new(AtomicBool::new(false));
        let body = reqwest::Body::wrap_stream(body(received, Arc::clone(&ended)));
        let request = poster.client.request(method, page.url.clone()).headers(headers).body(body);
        let asked = page.clone();
        let work = async move {
            let answer = request.send().await.map_err(|error| unsent(&asked, error))?;
            let status = answer.status();
            if !status.is_success() {
                let complaint = answer.text().await.unwrap_or_default();
                return Err(refused(&asked, status, &complaint));
            }
            if !ended.load(Ordering::Acquire) {
                return Err(failed(&asked, "the server answered before it had all rows"));
            }
            Ok(())
        };
        let answer = AbortOnDropHandle::new(poster.runtimes.spawn_io("post", work));
        Ok(Post { page, pieces, answer, patience: poster.patience })
    }

    /// Sends more of the body; waits when the server is slow.
    pub(super) async fn push(&mut self, bytes: Vec<u8>) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.send(Some(Bytes::from(bytes))).await
    }

    async fn send(&mut self, piece: Option<Bytes>) -> Result<()> {
        match tokio::time::timeout(self.patience, self.pieces.send(piece)).await {
            Ok(Ok(())) => Ok(()),
            // The request is over, and its answer says why.
            Ok(Err(_)) => Err(self
                .answered()
                .await
                .err()
                .unwrap_or_else(|| failed(&self.page, "the server answered before it had all rows"))),
            Err(_) => Err(self.silent("takes no more of the body")),
        }
    }

    async fn finish(mut self) -> Result<()> {
        self.send(None).await?;
        self.answered().await
    }

    async fn answered(&mut self) -> Result<()> {
        match tokio::time::timeout(self.patience, &mut self.answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(failed(&self.page, "the request broke")),
            Err(_) => Err(self.silent("does not answer")),
        }
    }

    fn silent(&self, what: &str) -> SourceError {
        failed(&self.page, &format!("the server {what} for {} s", self.patience.as_secs()))
            .with_hint("http_receive_timeout limits it")
    }
}

/// The body as a stream: its end is said, never implied by nobody writing any more.
fn body(
    received: mpsc::Receiver<Option<Bytes>>,
    ended: Arc<AtomicBool>,
) -> impl futures::Stream<Item = io::Result<Bytes>> + Send + 'static {
    futures::stream::unfold(Some(received), move |state| {
        let ended = Arc::clone(&ended);
        async move {
            let mut received = state?;
            match received.recv().await {
                Some(Some(bytes)) => Some((Ok(bytes), Some(received))),
                Some(None) => {
                    ended.store(true, Ordering::Release);
                    None
                }
                None => Some((Err(io::ErrorKind::BrokenPipe.into()), None)),
            }
        }
    })
}

fn failed(page: &WebPage, problem: &str) -> SourceError {
    SourceError::new(SourceErrorKind::Unavailable, format!("writing \"{}\" failed: {problem}", page.shown))
        .with_code(ErrorCode::RECEIVED_ERROR_FROM_REMOTE_IO_SERVER)
}

fn unsent(page: &WebPage, error: reqwest::Error) -> SourceError {
    let error = error.without_url();
    if let Some(ours) = SourceError::find(&error) {
        return ours.clone();
    }
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    failed(page, &text)
}

fn refused(page: &WebPage, status: http::StatusCode, complaint: &str) -> SourceError {
    let kind = match status.as_u16() {
        404 | 410 => SourceErrorKind::NotFound,
        401 | 403 => SourceErrorKind::Denied,
        _ => SourceErrorKind::Unavailable,
    };
    let complaint: String = complaint.chars().take(COMPLAINT_BYTES).flat_map(char::escape_default).collect();
    let message = format!("writing \"{}\" failed: the server answered {status}: {complaint}", page.shown);
    let answer = StoreAnswer { http_status: Some(status.as_u16()), ..Default::default() };
    SourceError::new(kind, message)
        .with_code(ErrorCode::RECEIVED_ERROR_FROM_REMOTE_IO_SERVER)
        .with_answer(answer)
}

#[cfg(test)]
mod tests {
    use futures::StreamExt;

    use super::*;

    #[test]
    fn a_body_ends_only_when_it_is_said() {
        for (says_end, last_is_error) in [(true, false), (false, true)] {
            let (sender, received) = mpsc::channel(4);
            let ended = Arc::new(AtomicBool::new(false));
            sender.try_send(Some(Bytes::from_static(b"1\n"))).unwrap();
            if says_end {
                sender.try_send(None).unwrap();
            }
            drop(sender);
            let sent: Vec<_> =
                futures::executor::block_on(body(received, Arc::clone(&ended)).collect::<Vec<_>>());
            assert_eq!(sent[0].as_ref().unwrap(), "1\n");
            assert_eq!(sent.last().is_some_and(Result::is_err), last_is_error);
            assert_eq!(ended.load(Ordering::Acquire), says_end);
        }
    }

    #[test]
    fn a_body_says_what_it_is() {
        for (format, compression, expected) in [
            (FormatKind::Csv, Compression::None, "text/csv; charset=UTF-8; header=absent "),
            (FormatKind::CsvWithNames, Compression::Gzip, "text/csv; charset=UTF-8; header=present gzip"),
            (FormatKind::Parquet, Compression::None, "application/octet-stream "),
            (FormatKind::JsonEachRow, Compression::Brotli, "application/json; charset=UTF-8 br"),
        ] {
            let headers = body_headers(format, compression);
            let text = |name| headers.get(name).map_or("", |value| value.to_str().unwrap());
            assert_eq!(format!("{} {}", text(CONTENT_TYPE), text(CONTENT_ENCODING)), expected);
        }
    }
}
