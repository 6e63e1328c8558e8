//! A request's body as its bytes come: how long they are waited for, and who waits for them.
//!
//! Bytes are asked for when somebody wants them; of a long body a task of its own reads ahead. Only the time in which bytes
//! were wanted and none came counts: a sender is slow, and not a statement that takes its time.
//! Invariant: no more of a body is held than [`AHEAD_BYTES_MAX`] and [`AHEAD_CHUNKS`] chunks that wait to be parsed. A body that
//! brings less than [`Patience::bytes_min`] in [`Patience::silence`] of waiting is an error, and so is one of too many that are
//! waited for: never a short body. Must not know: statements.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use engine::{BodyStream, Error, ErrorCode, ErrorKind};
use futures::{StreamExt, stream};
use host::{Clock, Runtimes};
use hyper::body::{Body as _, Frame, Incoming};
use tokio::sync::mpsc;

use crate::door::lobby::{Lobby, Stay};

/// A body is waited for when it brings nothing for so long; most come at once.
const SHORT: Duration = Duration::from_millis(5);

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

/// How long bodies are waited for, and how many of them.
#[derive(Clone)]
pub(crate) struct Patience {
    /// The longest a body is waited for ..
    pub(crate) silence: Duration,
    /// .. until it has brought so many bytes more.
    pub(crate) bytes_min: usize,
    /// So many are waited for at one time.
    pub(crate) bodies_max: usize,
    pub(crate) bodies: Arc<Lobby>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) runtimes: Runtimes,
}

/// What became of one body's share of it.
struct Waits {
    patience: Patience,
    from: IpAddr,
    waited: Duration,
    brought: usize,
    /// Since it was first waited for.
    stay: Option<Stay>,
}

/// One time of waiting, which counts however it ends.
struct Waited<'a> {
    stay: &'a Stay,
    clock: &'a Arc<dyn Clock>,
    since: Duration,
    waited: &'a mut Duration,
}

impl Drop for Waited<'_> {
    fn drop(&mut self) {
        self.stay.works();
        *self.waited += self.clock.monotonic().saturating_sub(self.since);
    }
}

/// What a body brings next.
type Came = Option<Result<Frame<Bytes>, hyper::Error>>;

impl Waits {
    /// The next frame of a body that did not bring it at once.
    async fn wait_for(&mut self, body: &mut Incoming) -> Result<Came, Error> {
        let Patience { silence, bodies_max, bodies, clock, .. } = &self.patience;
        let stay = self.stay.get_or_insert_with(|| bodies.enter(self.from));
        stay.waits();
        // Counting those that wait means looking at all.
        if bodies.count() > *bodies_max && bodies.waiting() > *bodies_max {
            bodies.send_one_away(None);
        }
        let left = silence.saturating_sub(self.waited);
        // It may be given up in the middle, for the time in which a piece is handed over.
        let waiting = Waited { stay, clock, since: clock.monotonic(), waited: &mut self.waited };
        tokio::select! {
            biased;
            frame = next_frame(body) => Ok(frame),
            () = waiting.stay.sent_away() => Err(crowded(*bodies_max)),
            () = tokio::time::sleep(left) => Err(too_slow(*silence, self.brought, self.patience.bytes_min)),
        }
    }

    fn brought(&mut self, bytes: usize) {
        self.brought += bytes;
        if self.brought >= self.patience.bytes_min {
            (self.brought, self.waited) = (0, Duration::ZERO);
        }
    }
}

fn crowded(bodies_max: usize) -> Error {
    let message =
        format!("{bodies_max} bodies are waited for, which is the limit, and this one has waited longest");
    Error::new(ErrorKind::Limit, ErrorCode::TOO_MANY_SIMULTANEOUS_QUERIES, message)
        .with_hint("try again later, or raise limits.bodies_waiting")
}

fn too_slow(silence: Duration, brought: usize, bytes_min: usize) -> Error {
    let seconds = silence.as_secs();
    let message = match brought {
        0 => format!("the request's body was silent for {seconds} s"),
        _ => format!("the request's body brought {brought} bytes in {seconds} s of waiting"),
    };
    Error::new(ErrorKind::Unavailable, ErrorCode::SOCKET_TIMEOUT, message).with_hint(format!(
        "nothing was stored; send at least {bytes_min} bytes in this time (limits.body_bytes_min, limits.body_silence_seconds)"
    ))
}

/// The next bytes of a body; after its end or an error there are none.
async fn next_chunk(body: &mut Draining, waits: &mut Waits) -> Option<Result<Bytes, Error>> {
    loop {
        let reading = body.body.as_mut()?;
        let came = match tokio::time::timeout(SHORT, next_frame(reading)).await {
            Ok(frame) => Ok(frame),
            Err(_) => waits.wait_for(reading).await,
        };
        let failed = match came {
            Ok(Some(Ok(frame))) => match frame.into_data() {
                Ok(chunk) => {
                    waits.brought(chunk.len());
                    return Some(Ok(chunk));
                }
                // Trailers say nothing we ask for.
                Err(_) => continue,
            },
            Ok(None) => None,
            Ok(Some(Err(error))) => {
                let message = format!("the request's body broke off: {error}");
                Some(Error::new(ErrorKind::Unavailable, ErrorCode::NETWORK_ERROR, message))
            }
            Err(error) => Some(error),
        };
        body.body = None;
        return failed.map(Err);
    }
}

/// How a body is read.
enum Reading {
    /// By whoever wants its bytes.
    Here {
        body: Draining,
        waits: Box<Waits>,
        bytes: usize,
    },
    /// By a task of its own, while what it has read is parsed. No bytes are the end; a task that is stopped says none, which
    /// must not look like it.
    Ahead(mpsc::Receiver<Result<Bytes, Error>>),
    Ended,
}

/// The bytes of a body that somebody sends from there.
pub(crate) fn bytes_of(body: Incoming, from: IpAddr, patience: Patience) -> BodyStream {
    let body = Draining { body: Some(body), runtimes: patience.runtimes.clone() };
    let waits = Box::new(Waits { patience, from, waited: Duration::ZERO, brought: 0, stay: None });
    let chunks = stream::unfold(Reading::Here { body, waits, bytes: 0 }, move |reading| async move {
        let mut ahead = match reading {
            Reading::Here { mut body, mut waits, bytes } if bytes < HERE_BYTES_MAX => {
                let chunk = next_chunk(&mut body, &mut waits).await?;
                let more = chunk.as_ref().map_or(0, Bytes::len);
                return Some((chunk, Reading::Here { body, waits, bytes: bytes + more }));
            }
            Reading::Here { body, waits, .. } => {
                let (sender, receiver) = mpsc::channel(AHEAD_CHUNKS);
                let runtimes = body.runtimes.clone();
                runtimes.spawn_io("http body", read_ahead(body, waits, sender));
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
                Some((
                    Err(Error::new(ErrorKind::Unavailable, ErrorCode::NETWORK_ERROR, message)),
                    Reading::Ended,
                ))
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
async fn read_ahead(mut body: Draining, mut waits: Box<Waits>, sender: mpsc::Sender<Result<Bytes, Error>>) {
    let mut held = Held::default();
    let last = loop {
        tokio::select! {
            biased;
            place = sender.reserve(), if held.bytes > 0 => match place {
                Ok(place) => place.send(Ok(held.pop())),
                Err(_) => return,
            },
            chunk = next_chunk(&mut body, &mut waits), if held.bytes < AHEAD_BYTES_MAX => match chunk {
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
