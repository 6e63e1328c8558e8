//! Bodies of answers: all there, or coming through a bounded channel.
//!
//! Invariant: an answer whose maker is gone before its end is an error on the wire, never a short answer.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use tokio::sync::mpsc;

/// Chunks computed ahead of a client that reads slowly.
const CHUNKS_AHEAD: usize = 2;

/// A part of an answer.
pub(crate) enum Piece {
    /// Sent as one chunk.
    Bytes(Bytes),
    /// There is no more.
    End,
}

/// See the module.
pub(crate) enum Body {
    Whole(Option<Bytes>),
    Coming {
        pieces: mpsc::Receiver<Piece>,
        /// Bytes still to come, where that is known.
        left: Option<u64>,
        ended: bool,
    },
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
        (sender, Body::Coming { pieces, left: length, ended: false })
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let next = match self.get_mut() {
            Body::Whole(bytes) => bytes.take().map(|bytes| Ok(Frame::data(bytes))),
            Body::Coming { ended: true, .. } => None,
            Body::Coming { pieces, left, ended } => match ready!(pieces.poll_recv(context)) {
                Some(Piece::Bytes(bytes)) => {
                    if let Some(left) = left {
                        *left = left.saturating_sub(bytes.len() as u64);
                    }
                    Some(Ok(Frame::data(bytes)))
                }
                Some(Piece::End) => {
                    *ended = true;
                    None
                }
                None => {
                    Some(Err(io::Error::other("the statement was stopped before its answer was complete")))
                }
            },
        };
        Poll::Ready(next)
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Body::Whole(bytes) => bytes.is_none(),
            Body::Coming { left, ended, .. } => *ended || *left == Some(0),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Body::Coming { left: Some(left), .. } => SizeHint::with_exact(*left),
            Body::Coming { left: None, .. } => SizeHint::default(),
        }
    }
}
