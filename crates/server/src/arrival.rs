//! A request's body as it arrives: bounded silence, and the statement told from its data.
//!
//! ```text
//! ?query=INSERT INTO t FORMAT CSV     body: 1,a\n2,b\n ..      one text, a line end between
//! ?                                   body: INSERT INTO t FORMAT CSV\n1,a\n2,b\n ..
//! ```
//! Invariant: no more of a body is held than the statement's text, [`AHEAD_BYTES_MAX`] and [`AHEAD_CHUNKS`] chunks that wait to be
//! parsed, and VALUES up to [`VALUES_BYTES_MAX`].

use std::collections::VecDeque;
use std::pin::Pin;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use engine::{Arrived, BodyStream, Error, ErrorKind, arrived};
use futures::{StreamExt, stream};
use host::Runtimes;
use hyper::body::{Body as _, Frame, Incoming};
use tokio::sync::mpsc;

/// Rows of VALUES up to here are part of the text; more are read as they come.
const VALUES_BYTES_MAX: usize = 1 << 20;

/// Of a body that nobody wants any more so much is read and dropped, in so long: clients look for the answer only when
/// they have sent everything.
const DRAINED_BYTES_MAX: usize = 256 << 20;
const DRAIN: Duration = Duration::from_secs(30);

/// A body longer than this is read by a task of its own; shorter ones are not worth it.
const HERE_BYTES_MAX: usize = 1 << 20;
/// Bytes of a long body that wait to be parsed, beside those handed over.
const AHEAD_BYTES_MAX: usize = 1 << 20;
/// Chunks that are handed over and not taken; none is longer than what the connection reads at once.
const AHEAD_CHUNKS: usize = 16;
/// Chunks below this are copied into one.
const SHORT_BYTES_MAX: usize = 16 << 10;

/// A body that is read to its end also after an error, or when it was dropped.
struct Draining {
    body: Option<Incoming>,
    runtimes: Runtimes,
}

impl Drop for Draining {
    fn drop(&mut self) {
        let Some(body) = self.body.take().filter(|body| !body.is_end_stream()) else { return };
        self.runtimes.spawn_io("http drain", tokio::time::timeout(DRAIN, drain(body)));
    }
}

async fn drain(mut body: Incoming) {
    let mut left = DRAINED_BYTES_MAX;
    while let Some(Ok(frame)) = next_frame(&mut body).await {
        left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
        if left == 0 {
            return;
        }
    }
}

async fn next_frame(body: &mut Incoming) -> Option<Result<Frame<Bytes>, hyper::Error>> {
    std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await
}

/// The next bytes of a body; after its end or an error there are none.
async fn next_chunk(body: &mut Draining, silence: Duration) -> Option<Result<Bytes, Error>> {
    loop {
        let reading = body.body.as_mut()?;
        let failed = match tokio::time::timeout(silence, next_frame(reading)).await {
            Ok(Some(Ok(frame))) => match frame.into_data() {
                Ok(chunk) => return Some(Ok(chunk)),
                // Trailers say nothing we ask for.
                Err(_) => continue,
            },
            Ok(None) => None,
            Ok(Some(Err(error))) => Some((210, format!("the request's body broke off: {error}"))),
            Err(_) => Some((209, format!("the request's body was silent for {} s", silence.as_secs()))),
        };
        body.body = None;
        let (code, message) = failed?;
        return Some(Err(Error::new(ErrorKind::Unavailable, code, message)));
    }
}

/// How a body is read.
enum Reading {
    /// By whoever wants its bytes.
    Here {
        body: Draining,
        bytes: usize,
    },
    /// By a task of its own, while what it has read is parsed. No bytes are the end; a task that is stopped says none, which
    /// must not look like it.
    Ahead(mpsc::Receiver<Result<Bytes, Error>>),
    Ended,
}

/// The bytes of a body. Silence for longer than `silence` is an error.
pub(crate) fn bytes_of(body: Incoming, silence: Duration, runtimes: &Runtimes) -> BodyStream {
    let body = Draining { body: Some(body), runtimes: runtimes.clone() };
    let chunks = stream::unfold(Reading::Here { body, bytes: 0 }, move |reading| async move {
        let mut ahead = match reading {
            Reading::Here { mut body, bytes } if bytes < HERE_BYTES_MAX => {
                let chunk = next_chunk(&mut body, silence).await?;
                let more = chunk.as_ref().map_or(0, Bytes::len);
                return Some((chunk, Reading::Here { body, bytes: bytes + more }));
            }
            Reading::Here { body, .. } => {
                let (sender, receiver) = mpsc::channel(AHEAD_CHUNKS);
                let runtimes = body.runtimes.clone();
                runtimes.spawn_io("http body", read_ahead(body, silence, sender));
                receiver
            }
            Reading::Ahead(receiver) => receiver,
            Reading::Ended => return None,
        };
        match ahead.recv().await {
            Some(Ok(end)) if end.is_empty() => None,
            Some(Ok(chunk)) => Some((Ok(chunk), Reading::Ahead(ahead))),
            Some(Err(error)) => Some((Err(error), Reading::Ended)),
            None => {
                let message = "reading of the request's body was stopped";
                Some((Err(Error::new(ErrorKind::Unavailable, 210, message)), Reading::Ended))
            }
        }
    });
    chunks.boxed()
}

/// What has come and nobody has taken.
#[derive(Default)]
struct Held {
    chunks: VecDeque<Bytes>,
    /// Chunks too short to be handed over one by one, in one.
    short: BytesMut,
    bytes: usize,
}

impl Held {
    fn push(&mut self, chunk: Bytes) {
        self.bytes += chunk.len();
        if chunk.len() < SHORT_BYTES_MAX {
            self.short.extend_from_slice(&chunk);
            return;
        }
        if !self.short.is_empty() {
            self.chunks.push_back(self.short.split().freeze());
        }
        self.chunks.push_back(chunk);
    }

    /// Nothing if there is nothing.
    fn pop(&mut self) -> Bytes {
        let chunk = self.chunks.pop_front().unwrap_or_else(|| self.short.split().freeze());
        self.bytes -= chunk.len();
        chunk
    }
}

/// Reads a body while somebody parses what came before: the busier they are, the more short chunks they get at once.
async fn read_ahead(mut body: Draining, silence: Duration, sender: mpsc::Sender<Result<Bytes, Error>>) {
    let mut held = Held::default();
    let last = loop {
        tokio::select! {
            biased;
            place = sender.reserve(), if held.bytes > 0 => match place {
                Ok(place) => place.send(Ok(held.pop())),
                Err(_) => return,
            },
            chunk = next_chunk(&mut body, silence), if held.bytes < AHEAD_BYTES_MAX => match chunk {
                Some(Ok(chunk)) => held.push(chunk),
                Some(Err(error)) => break Err(error),
                None => break Ok(Bytes::new()),
            },
        }
    };
    // Whoever does not listen any more does not ask how it ended.
    while held.bytes > 0 {
        if sender.send(Ok(held.pop())).await.is_err() {
            return;
        }
    }
    let _ = sender.send(last).await;
}

/// A statement and the data that goes with it.
pub(crate) struct Arrival {
    pub(crate) sql: String,
    pub(crate) data: Option<BodyStream>,
}

/// Reads a statement that begins with `in_url` and goes on in `body`.
///
/// # Errors
/// The body's own; a text that is not UTF-8 or longer than `text_bytes_max`.
pub(crate) async fn arrival(in_url: &str, body: BodyStream, text_bytes_max: usize) -> Result<Arrival, Error> {
    // It may be asked again after its end.
    let mut body = body.fuse();
    let mut read = in_url.trim_end().as_bytes().to_vec();
    if !read.is_empty() {
        read.push(b'\n');
    }
    let (mut ended, mut look_at) = (false, 0);
    loop {
        // The text is looked at when it has grown by a half, so that many small pieces cost little.
        if read.len() >= look_at || ended {
            match arrived(valid(&read)) {
                Arrived::Format { end, data } => {
                    let rest = Bytes::from(read.split_off(data));
                    read.truncate(end);
                    let data = stream::iter([Ok(rest)]).chain(body).boxed();
                    return Ok(Arrival { sql: text(read)?, data: Some(data) });
                }
                Arrived::Values { data } if read.len() - data > VALUES_BYTES_MAX => {
                    let rest = Bytes::from(read.split_off(data));
                    let data = stream::iter([Ok(rest)]).chain(body).boxed();
                    return Ok(Arrival { sql: text(read)?, data: Some(data) });
                }
                Arrived::Values { .. } => look_at = read.len() + VALUES_BYTES_MAX / 4,
                Arrived::Text | Arrived::Undecided => {
                    if read.len() > text_bytes_max {
                        return Err(too_long(text_bytes_max));
                    }
                    look_at = read.len() * 3 / 2;
                }
            }
        }
        if ended {
            return Ok(Arrival { sql: text(read)?, data: None });
        }
        match body.next().await {
            Some(chunk) => read.extend_from_slice(&chunk?),
            None => ended = true,
        }
    }
}

/// The part of `read` that is text; data behind it may be anything.
fn valid(read: &[u8]) -> &str {
    match std::str::from_utf8(read) {
        Ok(text) => text,
        Err(error) => {
            read.get(..error.valid_up_to()).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or("")
        }
    }
}

fn text(read: Vec<u8>) -> Result<String, Error> {
    String::from_utf8(read).map_err(|_| {
        Error::new(ErrorKind::Syntax, 62, "the statement is not UTF-8, and no data begins before that")
    })
}

fn too_long(bytes_max: usize) -> Error {
    Error::new(ErrorKind::Limit, 229, format!("the statement is longer than {bytes_max} bytes"))
        .with_hint("send rows as data of INSERT .. FORMAT")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &[u8], length: usize) -> BodyStream {
        let pieces: Vec<_> = text.chunks(length).map(Bytes::copy_from_slice).collect();
        // As a body does, it breaks when it is asked after its end.
        stream::unfold(pieces.into_iter(), |mut left| async move { Some((Ok(left.next()?), left)) }).boxed()
    }

    async fn read(in_url: &str, body: &[u8], length: usize) -> Result<(String, Option<Vec<u8>>), Error> {
        let Arrival { sql, data } = arrival(in_url, pieces(body, length), 1000).await?;
        let Some(data) = data else { return Ok((sql, None)) };
        let chunks: Vec<_> = data.map(|chunk| chunk.unwrap().to_vec()).collect().await;
        Ok((sql, Some(chunks.concat())))
    }

    #[tokio::test]
    async fn a_statement_and_its_data_are_the_same_wherever_the_body_is_cut() {
        type Case = (&'static str, &'static [u8], &'static str, Option<&'static [u8]>);
        let cases: [Case; 9] = [
            ("SELECT 1", b"", "SELECT 1\n", None),
            ("", b"SELECT 1", "SELECT 1", None),
            ("SELECT", b"1", "SELECT\n1", None),
            (
                "INSERT INTO t FORMAT Native",
                b"\x01\x01\xff",
                "INSERT INTO t FORMAT Native",
                Some(b"\x01\x01\xff"),
            ),
            ("INSERT INTO t FORMAT CSV\n", b"1\n", "INSERT INTO t FORMAT CSV", Some(b"1\n")),
            (
                "",
                b"INSERT INTO t FORMAT RowBinary\n\n\xff\x00",
                "INSERT INTO t FORMAT RowBinary",
                Some(b"\n\xff\x00"),
            ),
            ("", b"INSERT INTO t FORMAT CSV 1\n2\n", "INSERT INTO t FORMAT CSV", Some(b"1\n2\n")),
            ("INSERT INTO t VALUES", b"(1), (2)", "INSERT INTO t VALUES\n(1), (2)", None),
            ("", b"INSERT INTO t (a) VALUES (now())", "INSERT INTO t (a) VALUES (now())", None),
        ];
        for (in_url, body, sql, data) in cases {
            for length in 1..=body.len().max(1) {
                let (read_sql, read_data) = read(in_url, body, length).await.unwrap();
                assert_eq!((read_sql.as_str(), read_data.as_deref()), (sql, data), "{in_url} {length}");
            }
        }
    }

    #[tokio::test]
    async fn long_values_are_data_and_long_texts_an_error() {
        let rows = b"(1),".repeat(VALUES_BYTES_MAX / 2);
        let (sql, data) = read("INSERT INTO t VALUES", &rows, 10_000).await.unwrap();
        assert_eq!((sql.as_str(), data.unwrap().len()), ("INSERT INTO t VALUES", rows.len() + 1));
        let long = b"SELECT 1 ".repeat(1000);
        assert_eq!(read("", &long, 100).await.unwrap_err().code, 229);
        assert_eq!(read("", b"SELECT \xff", 100).await.unwrap_err().code, 62);
    }
}
