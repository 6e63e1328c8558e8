//! Connections of the port: so many at a time, and none that says nothing.
//!
//! Invariant: strangers can take all places for connections, and nothing else of the process: neither its files nor its memory. Must
//! not know: what is said over a connection.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures::Stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;
use tonic::transport::server::{Connected, TcpConnectInfo};

/// Connections at a time; a peer needs one.
const CONNECTIONS_MAX: usize = 256;
/// Whoever connects speaks after so long.
const FIRST_BYTES_MAX: Duration = Duration::from_secs(10);
/// After an error of accepting, as when no file can be opened.
const AFTER_ERROR: Duration = Duration::from_millis(100);

/// Connections as they come.
pub(crate) fn connections(listener: TcpListener) -> impl Stream<Item = io::Result<Connection>> {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    futures::stream::unfold((listener, places), |(listener, places)| async move {
        // Never closed.
        let place = Arc::clone(&places).acquire_owned().await.ok()?;
        loop {
            if let Ok((stream, _)) = listener.accept().await
                && stream.set_nodelay(true).is_ok()
            {
                let silence = Some(Box::pin(tokio::time::sleep(FIRST_BYTES_MAX)));
                return Some((Ok(Connection { stream, silence, _place: place }), (listener, places)));
            }
            tokio::time::sleep(AFTER_ERROR).await;
        }
    })
}

/// One that has its place.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    /// Until its first bytes come.
    silence: Option<Pin<Box<Sleep>>>,
    _place: OwnedSemaphorePermit,
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(task, buffer);
        match (&mut self.silence, read) {
            (Some(silence), Poll::Pending) => {
                ready!(silence.as_mut().poll(task));
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
            (_, read) => {
                self.silence = None;
                read
            }
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, task: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(task, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(task)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(task)
    }
}

impl Connected for Connection {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> TcpConnectInfo {
        self.stream.connect_info()
    }
}
