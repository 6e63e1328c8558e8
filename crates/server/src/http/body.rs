//! Bodies of answers: all there, or coming through a bounded channel.
//!
//! Invariant: an answer whose maker is gone before its end, or that ends with an error, is an error on the wire, never a
//! short answer.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use tokio::sync::mpsc;

use crate::door::lobby::Stay;
use crate::door::wire::Wire;

/// Chunks computed ahead of a client that reads slowly, beside the one that is being sent.
const CHUNKS_AHEAD: usize = 1;

/// A part of an answer.
pub(crate) enum Piece {
    /// Sent as one chunk.
    Bytes(Bytes),
    /// Sent as one chunk; then the connection breaks, so that clients notice who do not look into the chunk.
    Broken(Bytes),
    /// There is no more.
    End,
}

/// See the module.
pub(crate) enum Body {
    Whole(Option<Bytes>),
    Coming(Coming),
}

/// A body that is being made.
pub(crate) struct Coming {
    pieces: mpsc::Receiver<Piece>,
    /// Bytes still to come, where that is known.
    left: Option<u64>,
    stage: Stage,
    /// The connection it is sent on.
    wire: Option<Arc<Wire>>,
    /// While it is sent the connection works.
    busy: Option<Busy>,
}

/// A connection that has something to do, for as long as this is kept; then it waits for the next request.
pub(crate) struct Busy(Arc<Stay>);

impl Busy {
    pub(crate) fn new(stay: &Arc<Stay>) -> Busy {
        stay.works();
        Busy(Arc::clone(stay))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.moves();
        self.0.waits();
    }
}

enum Stage {
    /// How often the connection had flushed when the piece before was given.
    Open(Option<u64>),
    Ended,
    /// The last chunk was given when the connection had flushed so often.
    Breaking(u64),
}

impl Body {
    pub(crate) fn empty() -> Body {
        Body::Whole(None)
    }

    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Body {
        Body::Whole(Some(bytes.into()).filter(|bytes| !bytes.is_empty()))
    }

    /// A body and where its pieces are put in. `length` is sent ahead, if it is known.
    pub(crate) fn coming(length: Option<u64>) -> (mpsc::Sender<Piece>, Body) {
        let (sender, pieces) = mpsc::channel(CHUNKS_AHEAD);
        (
            sender,
            Body::Coming(Coming { pieces, left: length, stage: Stage::Open(None), wire: None, busy: None }),
        )
    }

    /// The same, sent on a connection that is busy with it. One that is whole is the library's from here on.
    #[must_use]
    pub(crate) fn on(self, wire: &Arc<Wire>, busy: Busy) -> Body {
        match self {
            Body::Coming(coming) => {
                Body::Coming(Coming { wire: Some(Arc::clone(wire)), busy: Some(busy), ..coming })
            }
            whole => whole,
        }
    }
}

impl Coming {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let before = match self.stage {
            Stage::Open(before) => before,
            Stage::Ended => return Poll::Ready(None),
            Stage::Breaking(before) => Some(before),
        };
        // HTTP's library would take one piece after the other from a client that reads none.
        let has_left = |wire: &Arc<Wire>| before.is_none_or(|before| wire.has_flushed_since(before, context));
        if !self.wire.as_ref().is_none_or(has_left) {
            self.busy.iter().for_each(|busy| busy.0.stalls());
            return Poll::Pending;
        }
        self.busy.iter().for_each(|busy| busy.0.moves());
        if let Stage::Breaking(_) = self.stage {
            return Poll::Ready(Some(Err(io::Error::other("the answer ended with an error"))));
        }
        let flushes = self.wire.as_ref().map(|wire| wire.flushes());
        let bytes = match ready!(self.pieces.poll_recv(context)) {
            Some(Piece::Bytes(bytes)) => {
                self.stage = Stage::Open(flushes);
                bytes
            }
            Some(Piece::Broken(bytes)) => {
                self.stage = Stage::Breaking(flushes.unwrap_or_default());
                bytes
            }
            Some(Piece::End) => {
                self.stage = Stage::Ended;
                return Poll::Ready(None);
            }
            None => {
                let message = "the statement was stopped before its answer was complete";
                return Poll::Ready(Some(Err(io::Error::other(message))));
            }
        };
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(bytes.len() as u64);
        }
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match self.get_mut() {
            Body::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Body::Coming(coming) => coming.poll_next(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Body::Whole(bytes) => bytes.is_none(),
            Body::Coming(coming) => matches!(coming.stage, Stage::Ended) || coming.left == Some(0),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Body::Coming(Coming { left: Some(left), .. }) => SizeHint::with_exact(*left),
            Body::Coming(_) => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::poll;
    use hyper::body::Body as _;
    use tokio::io::AsyncWriteExt;

    use super::*;
    use crate::door::lobby::Lobby;
    use crate::door::wire::Watched;

    async fn next(body: &mut Body) -> Bytes {
        let frame = std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await;
        frame.unwrap().unwrap().into_data().unwrap()
    }

    #[tokio::test]
    async fn the_next_piece_is_given_when_the_one_before_has_left() {
        let (ours, _theirs) = tokio::io::duplex(64);
        let (mut watched, wire) = Watched::new(ours);
        let (pieces, body) = Body::coming(None);
        let stay =
            Arc::new(Lobby::new(&host::Host::system(1 << 20).unwrap().clock).enter([127, 0, 0, 1].into()));
        let mut body = body.on(&wire, Busy::new(&stay));
        pieces.send(Piece::Bytes(Bytes::from_static(b"one"))).await.unwrap();
        assert_eq!(next(&mut body).await, "one");
        pieces.send(Piece::Bytes(Bytes::from_static(b"two"))).await.unwrap();
        let mut second = Box::pin(next(&mut body));
        assert!(poll!(&mut second).is_pending());
        assert!(pieces.try_reserve().is_err(), "nothing is computed behind it");
        assert!(stay.is_stalled(), "its client does not take it");
        watched.flush().await.unwrap();
        assert_eq!(second.await, "two");
        assert!(pieces.try_reserve().is_ok());
        assert!(!stay.is_waiting(), "it is being sent");
        assert!(!stay.is_stalled(), "and taken");
        drop(body);
        assert!(stay.is_waiting());
    }
}
