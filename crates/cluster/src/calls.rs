//! The calls of the port as gRPC has them: which paths there are, and what comes before the work of one.
//!
//! Invariant: nothing is done before the proof of the call was checked against its first message, and whoever calls is known as a
//! server of the root. Must not know: what the work is.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use host::Runtimes;
use prost::Message;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::transport::server::TcpConnectInfo;
use tonic::{Code, Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;

use crate::identity::Identity;
use crate::messages::{CommitAnswer, CommitRequest, FromWorker, Order, ToWorker, WorkOrder};
use crate::secret::{HEADER, Proven, Seen, check};
use crate::worker::{PeerWork, begin};

/// Path of the call for help with a load.
pub const WORK_PATH: &str = "/gristmill.Peers/Work";

/// Path of the call for commits.
pub const COMMIT_PATH: &str = "/gristmill.Peers/Commit";

/// Whoever opened a call has said what it wants after so long.
const FIRST_MESSAGE_MAX: Duration = Duration::from_secs(10);
/// A statement comes in one message, and so do the records that answer a commit.
pub(crate) const MESSAGE_BYTES_MAX: usize = 16 << 20;
/// Calls whose first message is being read.
const READ_MAX: usize = 16;

/// What all calls share.
pub(crate) struct Shared {
    pub me: Identity,
    pub seen: Seen,
    pub work: Arc<dyn PeerWork>,
    pub runtimes: Runtimes,
    /// Places for first messages.
    reading: Arc<Semaphore>,
}

impl Shared {
    pub(crate) fn new(me: Identity, work: Arc<dyn PeerWork>, runtimes: Runtimes) -> Shared {
        Shared { me, seen: Seen::default(), work, runtimes, reading: Arc::new(Semaphore::new(READ_MAX)) }
    }

    /// Whether a call comes from a server of the root, before anything of it is read.
    ///
    /// # Errors
    /// Why nothing is done, in words that may be told to whoever calls.
    async fn admit(&self, headers: &http::HeaderMap, path: &str) -> Result<Proven, String> {
        let proof = headers.get(HEADER).and_then(|value| value.to_str().ok());
        let proven = check(&self.me, &self.seen, proof.ok_or("no proof of membership")?, path)?;
        match self.work.is_peer(proven.from).await {
            true => Ok(proven),
            false => Err(format!("{:032x} is no server of this root", proven.from)),
        }
    }
}

/// The service of the port.
#[derive(Clone)]
pub(crate) struct Calls(pub Arc<Shared>);

impl Service<http::Request<Body>> for Calls {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _task: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let shared = Arc::clone(&self.0);
        Box::pin(async move {
            let path = request.uri().path().to_owned();
            if path != WORK_PATH && path != COMMIT_PATH {
                return Ok(Status::new(Code::Unimplemented, "no such call").into_http());
            }
            let proven = match shared.admit(request.headers(), &path).await {
                Ok(proven) => proven,
                Err(why) => {
                    let from =
                        request.extensions().get::<TcpConnectInfo>().and_then(TcpConnectInfo::remote_addr);
                    let from = from.map_or_else(|| "somewhere".to_owned(), |at| at.to_string());
                    shared.work.refused(&from, &why);
                    return Ok(Status::new(Code::Unauthenticated, why).into_http());
                }
            };
            if path == WORK_PATH {
                let codec = ProstCodec::<FromWorker, ToWorker>::default();
                let mut grpc = tonic::server::Grpc::new(codec).max_decoding_message_size(MESSAGE_BYTES_MAX);
                return Ok(grpc.streaming(Work { shared, proven }, request).await);
            }
            // Never closed.
            let place = Arc::clone(&shared.reading).acquire_owned().await.ok();
            let codec = ProstCodec::<CommitAnswer, CommitRequest>::default();
            let mut grpc = tonic::server::Grpc::new(codec).max_decoding_message_size(MESSAGE_BYTES_MAX);
            Ok(grpc.unary(Commit { shared, proven, place }, request).await)
        })
    }
}

struct Work {
    shared: Arc<Shared>,
    proven: Proven,
}

impl Service<Request<Streaming<ToWorker>>> for Work {
    type Response = Response<BoxStream<'static, Result<FromWorker, Status>>>;
    type Error = Status;
    type Future = BoxFuture<'static, Result<Self::Response, Status>>;

    fn poll_ready(&mut self, _task: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Streaming<ToWorker>>) -> Self::Future {
        let (shared, proven) = (Arc::clone(&self.shared), self.proven.clone());
        Box::pin(async move {
            let mut orders = request.into_inner();
            let order = first_order(&shared, &proven, &mut orders).await;
            let order = order.map_err(|why| Status::new(Code::Unauthenticated, why))?;
            Ok(Response::new(begin((&shared.work, &shared.runtimes), order, orders)))
        })
    }
}

/// What a server of the root asks for.
async fn first_order(
    shared: &Shared,
    proven: &Proven,
    orders: &mut Streaming<ToWorker>,
) -> Result<WorkOrder, String> {
    // Never closed.
    let _place = shared.reading.acquire().await.ok();
    let first = tokio::time::timeout(FIRST_MESSAGE_MAX, orders.message()).await;
    let first = first.map_err(|_| "it does not say what it wants")?;
    let first = first.map_err(|status| format!("its message cannot be read: {}", status.message()))?;
    let first = first.ok_or("it does not say what it wants")?;
    match first {
        first if !proven.is_for(&first.encode_to_vec()) => Err(OTHER_MESSAGE.to_owned()),
        ToWorker { order: Some(Order::Begin(order)) } => Ok(order),
        _ => Err("it does not say what it wants".to_owned()),
    }
}

const OTHER_MESSAGE: &str = "its proof is for another message";

struct Commit {
    shared: Arc<Shared>,
    proven: Proven,
    /// Until the message is there.
    place: Option<OwnedSemaphorePermit>,
}

impl Service<Request<CommitRequest>> for Commit {
    type Response = Response<CommitAnswer>;
    type Error = Status;
    type Future = BoxFuture<'static, Result<Self::Response, Status>>;

    fn poll_ready(&mut self, _task: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<CommitRequest>) -> Self::Future {
        let (shared, proven) = (Arc::clone(&self.shared), self.proven.clone());
        drop(self.place.take());
        Box::pin(async move {
            let asked = request.into_inner();
            if !proven.is_for(&asked.encode_to_vec()) {
                return Err(Status::new(Code::Unauthenticated, OTHER_MESSAGE));
            }
            let answer = shared.work.commit(asked).await;
            answer.map(Response::new).map_err(|why| Status::new(Code::FailedPrecondition, why))
        })
    }
}
