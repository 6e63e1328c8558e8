//! The side of a call that asks: connections to peers, and what they say.
//!
//! Invariant: a peer that says nothing for [`SILENCE_MAX`] counts as gone; nothing is asked of one that is reached over an open
//! network without TLS if it may not be read there, which whoever asks finds out by [`Peers::is_private`]. Must not know: what is
//! asked for.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt;
use parking_lot::Mutex;
use prost::Message;
use tokio::sync::mpsc;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status, Streaming};
use tonic_prost::ProstCodec;

use crate::calls::{COMMIT_PATH, MESSAGE_BYTES_MAX, WORK_PATH};
use crate::error::PeerError;
use crate::identity::Identity;
use crate::listener::{CALL_WINDOW_BYTES, KEEP_ALIVE, WINDOW_BYTES, with_causes};
use crate::messages::{CommitAnswer, CommitRequest, FromWorker, Order, Report, ToWorker, Units, WorkOrder};
use crate::secret::{HEADER, prove};

const CONNECT_MAX: Duration = Duration::from_secs(2);
/// Connecting, and the first answer.
const BEGIN_MAX: Duration = Duration::from_secs(5);
/// A commit waits for two records of the peer at most; whoever hears nothing commits by itself.
const COMMIT_MAX: Duration = Duration::from_secs(5);
/// A worker says each second that it lives.
const SILENCE_MAX: Duration = Duration::from_secs(5);
/// So long a peer that was lost is not asked to read: it may be stopped, and each question would wait for its silence.
const AVOIDED: Duration = Duration::from_secs(10);
/// Answers on their way to a worker, who asks one question at a time.
const ORDERS_MAX: usize = 8;

/// Another server, and where it is reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Peer {
    pub id: u128,
    /// `host:port`.
    pub address: String,
}

/// See the module.
#[derive(Debug)]
pub struct Peers {
    me: Identity,
    channels: Mutex<BTreeMap<String, Channel>>,
    /// Until when peers that were lost are not asked to read, by their addresses.
    avoided: Mutex<BTreeMap<String, Duration>>,
}

/// A peer at work.
#[derive(Debug)]
pub struct Worker {
    peer: Peer,
    orders: mpsc::Sender<ToWorker>,
    reports: Streaming<FromWorker>,
}

impl Peers {
    pub fn new(me: Identity) -> Peers {
        Peers { me, channels: Mutex::default(), avoided: Mutex::default() }
    }

    /// A peer was lost: what would wait for it again had better do without for a while.
    pub fn avoid(&self, peer: &Peer) {
        self.avoided.lock().insert(peer.address.clone(), self.me.clock.monotonic() + AVOIDED);
    }

    /// Whether a peer was lost a moment ago.
    pub fn is_avoided(&self, peer: &Peer) -> bool {
        let now = self.me.clock.monotonic();
        let mut avoided = self.avoided.lock();
        avoided.retain(|_, until| *until > now);
        avoided.contains_key(&peer.address)
    }

    /// [`Identity::is_private`].
    pub fn is_private(&self, peer: &Peer) -> bool {
        self.me.is_private(&peer.address)
    }

    /// Asks a peer to help with a load. Called on the `io` pool, where the connection lives on.
    ///
    /// # Errors
    /// It cannot be reached, or does not want.
    pub async fn begin(&self, peer: &Peer, order: WorkOrder) -> Result<Worker, PeerError> {
        let begun = tokio::time::timeout(BEGIN_MAX, self.begin_work(peer, order)).await;
        begun.unwrap_or_else(|_| Err(unreachable(peer, "no answer in time".to_owned())))
    }

    async fn begin_work(&self, peer: &Peer, order: WorkOrder) -> Result<Worker, PeerError> {
        let channel = self.channel(peer)?;
        let first = ToWorker { order: Some(Order::Begin(order)) };
        let proof = prove(&self.me, peer.id, WORK_PATH, &first.encode_to_vec());
        let proof = proof.parse().map_err(|_| unreachable(peer, "its id is no text".to_owned()))?;
        let (orders, sent) = mpsc::channel(ORDERS_MAX);
        let sent = futures::stream::unfold(sent, |mut sent| async move { Some((sent.recv().await?, sent)) });
        let sent = futures::stream::once(async move { first }).chain(sent);
        let mut request = Request::new(sent);
        request.metadata_mut().insert(HEADER, proof);
        let mut grpc = tonic::client::Grpc::new(channel);
        grpc.ready().await.map_err(|error| unreachable(peer, with_causes(&error)))?;
        let path = http::uri::PathAndQuery::from_static(WORK_PATH);
        let codec = ProstCodec::<ToWorker, FromWorker>::default();
        let answer = grpc.streaming(request, path, codec).await.map_err(|status| refused(peer, &status))?;
        Ok(Worker { peer: peer.clone(), orders, reports: answer.into_inner() })
    }

    /// Asks a peer to commit rows. Called on the `io` pool.
    ///
    /// # Errors
    /// It cannot be reached, does not answer in time, or does not want; what became of the rows the log says.
    pub async fn commit(&self, peer: &Peer, request: CommitRequest) -> Result<CommitAnswer, PeerError> {
        let committed = tokio::time::timeout(COMMIT_MAX, self.ask_commit(peer, request)).await;
        committed.unwrap_or_else(|_| Err(unreachable(peer, "no answer in time".to_owned())))
    }

    async fn ask_commit(&self, peer: &Peer, asked: CommitRequest) -> Result<CommitAnswer, PeerError> {
        let channel = self.channel(peer)?;
        let proof = prove(&self.me, peer.id, COMMIT_PATH, &asked.encode_to_vec());
        let proof = proof.parse().map_err(|_| unreachable(peer, "its id is no text".to_owned()))?;
        let mut request = Request::new(asked);
        request.metadata_mut().insert(HEADER, proof);
        let mut grpc = tonic::client::Grpc::new(channel).max_decoding_message_size(MESSAGE_BYTES_MAX);
        grpc.ready().await.map_err(|error| unreachable(peer, with_causes(&error)))?;
        let path = http::uri::PathAndQuery::from_static(COMMIT_PATH);
        let codec = ProstCodec::<CommitRequest, CommitAnswer>::default();
        let answer = grpc.unary(request, path, codec).await.map_err(|status| refused(peer, &status))?;
        Ok(answer.into_inner())
    }

    /// A connection that broke is made anew by the channel itself.
    fn channel(&self, peer: &Peer) -> Result<Channel, PeerError> {
        let mut channels = self.channels.lock();
        if let Some(channel) = channels.get(&peer.address) {
            return Ok(channel.clone());
        }
        let scheme = if self.me.client_tls.is_some() { "https" } else { "http" };
        let wrong = |error: tonic::transport::Error| unreachable(peer, with_causes(&error));
        let mut endpoint = Endpoint::from_shared(format!("{scheme}://{}", peer.address))
            .map_err(wrong)?
            .connect_timeout(CONNECT_MAX)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE)
            .initial_stream_window_size(CALL_WINDOW_BYTES)
            .initial_connection_window_size(WINDOW_BYTES);
        if let Some(tls) = self.me.client_tls.clone() {
            endpoint = endpoint.tls_config(tls).map_err(wrong)?;
        }
        let channel = endpoint.connect_lazy();
        channels.insert(peer.address.clone(), channel.clone());
        Ok(channel)
    }
}

impl Worker {
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// What it says next; `None` when it has said that it ended.
    ///
    /// # Errors
    /// It is gone, or silent.
    pub async fn next(&mut self) -> Result<Option<Report>, PeerError> {
        let peer = self.peer.address.clone();
        let heard = tokio::time::timeout(SILENCE_MAX, self.reports.message()).await;
        match heard {
            Err(_) => Err(PeerError::Silent { peer, seconds: SILENCE_MAX.as_secs() }),
            Ok(Err(status)) => Err(PeerError::Gone { peer, why: said(&status) }),
            Ok(Ok(None)) => Ok(None),
            Ok(Ok(Some(message))) => match message.report {
                Some(report) => Ok(Some(report)),
                None => Err(PeerError::Gone { peer, why: "it says what is not understood".to_owned() }),
            },
        }
    }

    /// The answer to a question: units that are its own from now on, or none.
    ///
    /// # Errors
    /// It is gone.
    pub async fn give(&self, units: Vec<u32>) -> Result<(), PeerError> {
        let order = ToWorker { order: Some(Order::Units(Units { units })) };
        let gone = |_| PeerError::Gone { peer: self.peer.address.clone(), why: "it ended".to_owned() };
        self.orders.send(order).await.map_err(gone)
    }

    /// Nothing is left to do: it stages what it has, and ends. What it says until then is still heard.
    pub fn release(&mut self) {
        let (closed, _) = mpsc::channel(1);
        self.orders = closed;
    }
}

fn unreachable(peer: &Peer, why: String) -> PeerError {
    PeerError::Unreachable { peer: peer.address.clone(), why }
}

fn refused(peer: &Peer, status: &Status) -> PeerError {
    let name = peer.address.clone();
    match status.code() {
        Code::Unauthenticated | Code::PermissionDenied | Code::Unimplemented | Code::FailedPrecondition => {
            PeerError::Refused { peer: name, why: status.message().to_owned() }
        }
        _ => PeerError::Unreachable { peer: name, why: said(status) },
    }
}

/// What `Display` says of a status is for programmers.
fn said(status: &Status) -> String {
    status.message().to_owned()
}
