//! A connection's bytes, and whether those written have left.
//!
//! HTTP's library writes ahead of its connection and drops what it has not yet sent when an answer ends with an error. An
//! error behind rows must be heard before the connection breaks, so its body waits here until everything has left.
//! Invariant: passes every call on. Must not know: requests, answers.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use futures::task::AtomicWaker;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How often everything written had left; the library asks for that only when it holds nothing back.
#[derive(Debug, Default)]
pub(crate) struct Wire {
    flushes: AtomicU64,
    waits: AtomicWaker,
}

impl Wire {
    pub(crate) fn flushes(&self) -> u64 {
        self.flushes.load(Ordering::Acquire)
    }

    fn flushed(&self) {
        self.flushes.fetch_add(1, Ordering::Release);
        self.waits.wake();
    }

    /// Whether everything has left since there were so many flushes; if not, the task is woken when it has. One that need not
    /// wait is not woken: it would flush and wake itself for ever.
    pub(crate) fn has_flushed_since(&self, flushes: u64, context: &Context<'_>) -> bool {
        if self.flushes() > flushes {
            return true;
        }
        self.waits.register(context.waker());
        self.flushes() > flushes
    }
}

/// A stream whose flushes are counted.
pub(crate) struct Watched<S> {
    stream: S,
    wire: Arc<Wire>,
}

impl<S> Watched<S> {
    pub(crate) fn new(stream: S) -> (Watched<S>, Arc<Wire>) {
        let wire = Arc::new(Wire::default());
        (Watched { stream, wire: Arc::clone(&wire) }, wire)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        if let Poll::Ready(Ok(())) = &flushed {
            self.wire.flushed();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[derive(Default)]
    struct Wakes(AtomicU64);

    impl std::task::Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn only_who_waits_for_a_flush_is_woken_by_it() {
        let wire = Wire::default();
        let wakes = Arc::new(Wakes::default());
        let waker = Arc::clone(&wakes).into();
        let context = Context::from_waker(&waker);
        for before in 0..3 {
            assert!(!wire.has_flushed_since(before, &context));
            wire.flushed();
            assert!(wire.has_flushed_since(before, &context));
            assert_eq!(wakes.0.load(Ordering::Relaxed), before + 1);
        }
        wire.flushed();
        assert_eq!(wakes.0.load(Ordering::Relaxed), 3, "nobody waits for this one");
    }

    #[tokio::test]
    async fn bytes_pass_and_flushes_are_counted() {
        let (ours, mut theirs) = tokio::io::duplex(64);
        let (mut watched, wire) = Watched::new(ours);
        let before = wire.flushes();
        let has_left =
            || std::future::poll_fn(|context| Poll::Ready(wire.has_flushed_since(before, context)));
        watched.write_all(b"rows").await.unwrap();
        assert!(!has_left().await);
        watched.flush().await.unwrap();
        assert!(has_left().await);
        theirs.write_all(b"more").await.unwrap();
        drop(theirs);
        let mut read = Vec::new();
        watched.read_to_end(&mut read).await.unwrap();
        assert_eq!(read, b"more");
    }
}
