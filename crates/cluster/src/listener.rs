//! The port that peers call.
//!
//! Its connections are served on the `io` pool, where nothing computes: who works hard must not fall silent. Invariant: it accepts
//! nothing after it was stopped. Must not know: what the calls do.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use host::Runtimes;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;

use crate::admission::connections;
use crate::calls::{Calls, Shared};
use crate::error::PeerError;
use crate::identity::Identity;
use crate::worker::PeerWork;

/// A silent connection is asked whether it lives.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(5);
/// What may be on its way in one call: rows are many, and the way may be long.
pub(crate) const CALL_WINDOW_BYTES: u32 = 2 << 20;
/// Calls at a time over one connection.
const CALLS_MAX: u32 = 64;
/// What may be on its way over one connection: calls that nobody listens to hold up no other.
pub(crate) const WINDOW_BYTES: u32 = CALLS_MAX * CALL_WINDOW_BYTES;

/// An open port.
#[derive(Debug)]
pub struct Listener {
    pub address: SocketAddr,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

impl Listener {
    /// Accepts nothing more; calls that run are cut.
    pub fn stop(&self) {
        self.stop.cancel();
        self.serving.abort();
    }
}

/// Opens the port; `work` does what is asked for.
///
/// # Errors
/// The address cannot be had, or the certificate is of no use.
pub async fn listen(
    me: Identity,
    address: SocketAddr,
    work: Arc<dyn PeerWork>,
    runtimes: Runtimes,
) -> Result<Listener, PeerError> {
    let failed = |why: &dyn std::fmt::Display| {
        PeerError::Configuration(format!("the port for peers, {address}, cannot be opened: {why}"))
    };
    let bound = tokio::net::TcpListener::bind(address).await.map_err(|error| failed(&error))?;
    let taken = bound.local_addr().map_err(|error| failed(&error))?;
    let incoming = connections(bound);
    let mut server = Server::builder()
        .http2_keepalive_interval(Some(KEEP_ALIVE))
        .http2_keepalive_timeout(Some(KEEP_ALIVE))
        .initial_stream_window_size(CALL_WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .max_concurrent_streams(Some(CALLS_MAX));
    if let Some(tls) = me.server_tls.clone() {
        server = server.tls_config(tls).map_err(|error| failed(&with_causes(&error)))?;
    }
    let calls = Calls(Arc::new(Shared::new(me, work, runtimes.clone())));
    let stop = CancellationToken::new();
    let stopped = stop.clone().cancelled_owned();
    let serving = runtimes.spawn_io("peers", async move {
        // A connection that breaks is its own; the port ends with the process.
        let _ended = server.serve_with_incoming_shutdown(calls, incoming, stopped).await;
    });
    Ok(Listener { address: taken, stop, serving })
}

/// The library says "transport error" and keeps the reason below it.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(below) = cause {
        let said = below.to_string();
        if !text.ends_with(&said) {
            text = format!("{text}: {said}");
        }
        cause = below.source();
    }
    text
}
