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

use crate::wire::Wire;

/// Chunks computed ahead of a client that reads slowly.
const CHUNKS_AHEAD: usize = 2;

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
}

enum Stage {
    Open,
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
        (sender, Body::Coming(Coming { pieces, left: length, stage: Stage::Open, wire: None }))
    }

    /// The same, sent on a connection.
    #[must_use]
    pub(crate) fn on(self, wire: &Arc<Wire>) -> Body {
        match self {
            Body::Coming(coming) => Body::Coming(Coming { wire: Some(Arc::clone(wire)), ..coming }),
            whole => whole,
        }
    }
}

impl Coming {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match self.stage {
            Stage::Open => {}
            Stage::Ended => return Poll::Ready(None),
            Stage::Breaking(flushes) => {
                let has_left = |wire: &Arc<Wire>| wire.has_flushed_since(flushes, context);
                if !self.wire.as_ref().is_none_or(has_left) {
                    return Poll::Pending;
                }
                return Poll::Ready(Some(Err(io::Error::other("the answer ended with an error"))));
            }
        }
        let bytes = match ready!(self.pieces.poll_recv(context)) {
            Some(Piece::Bytes(bytes)) => bytes,
            Some(Piece::Broken(bytes)) => {
                self.stage = Stage::Breaking(self.wire.as_ref().map_or(0, |wire| wire.flushes()));
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
