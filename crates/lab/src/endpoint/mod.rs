//! An S3 endpoint in this process: buckets are folders, objects are files.
//!
//! The demo, the tests and the benchmarks read from it, so that nobody needs an account to try a bucket. It must not
//! know the database.

mod names;
mod listing;
mod body;
mod service;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use host::{Host, Runtimes};
use http::header::AUTHORIZATION;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::failure::Failure;
use service::Folders;

#[derive(Args, Debug)]
pub struct EndpointArgs {
    /// Folder whose folders are buckets; created when absent
    #[arg(long)]
    path: PathBuf,
    /// Port; 0 takes a free one
    #[arg(long, default_value_t = 9090)]
    port: u16,
    /// Address of this machine to listen on; one that others can reach needs keys
    #[arg(long, default_value_t = LOOPBACK)]
    address: IpAddr,
    /// With a secret key: only requests signed with this pair are served
    #[arg(long, requires = "secret_key")]
    access_key: Option<String>,
    #[arg(long, requires = "access_key")]
    secret_key: Option<String>,
    /// Buckets to create
    #[arg(long)]
    bucket: Vec<String>,
    /// Milliseconds to wait before every answer, as a distant store does
    #[arg(long, default_value_t = 0)]
    latency_ms: u64,
}

/// Access key and secret key.
#[derive(Clone, Debug)]
pub struct KeyPair {
    pub access: String,
    pub secret: String,
}

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// How to serve.
#[derive(Clone, Debug, Default)]
pub struct Serving {
    /// The loopback address unless given.
    pub address: Option<IpAddr>,
    /// 0 takes a free one.
    pub port: u16,
    /// Without a pair every request is served, signed or not.
    pub keys: Option<KeyPair>,
    /// Before every answer.
    pub latency: Duration,
}

/// A running endpoint; it stops when this is dropped.
#[derive(Debug)]
pub struct Endpoint {
    address: SocketAddr,
    _stop: watch::Sender<()>,
}

impl Endpoint {
    /// Serves `root` until dropped.
    ///
    /// # Errors
    /// The address cannot be had, or others can reach it and there are no keys.
    pub fn start(
        root: &Path,
        serving: Serving,
        host: &Host,
        runtimes: &Runtimes,
    ) -> Result<Endpoint, Failure> {
        let root = std::path::absolute(root)?;
        let folders = Folders::new(root, host.clone(), runtimes.clone())?;
        let mut builder = S3ServiceBuilder::new(folders);
        let Serving { address, port, keys, latency } = serving;
        let address = address.unwrap_or(LOOPBACK);
        let open = keys.is_none();
        if open && !address.is_loopback() {
            return Err(Failure::new(format!(
                "others can reach {address}: give --access-key and --secret-key"
            )));
        }
        if let Some(keys) = keys {
            builder.set_auth(SimpleAuth::from_single(keys.access, keys.secret));
        }
        let listener = std::net::TcpListener::bind((address, port))
            .map_err(|error| Failure::new(format!("port {port} of {address}: {error}")))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (stop, stopped) = watch::channel(());
        let _inside = runtimes.io().enter();
        let listener = TcpListener::from_std(listener)?;
        let door = Door { service: builder.build(), open, latency };
        runtimes.spawn_io("s3 listener", accept(listener, door, runtimes.clone(), stopped));
        Ok(Endpoint { address, _stop: stop })
    }

    /// `http://127.0.0.1:9090`
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// The command: serves until interrupted. Call from outside the runtimes.
pub fn run(args: &EndpointArgs, host: &Host, runtimes: &Runtimes) -> Result<(), Failure> {
    let keys = args.access_key.clone().zip(args.secret_key.clone());
    let keys = keys.map(|(access, secret)| KeyPair { access, secret });
    let latency = Duration::from_millis(args.latency_ms);
    let serving = Serving { address: Some(args.address), port: args.port, keys, latency };
    let endpoint = Endpoint::start(&args.path, serving, host, runtimes)?;
    for bucket in &args.bucket {
        host.disk.create_dir_all(&std::path::absolute(args.path.join(bucket))?)?;
    }
    crate::terminal::line(&format!("{} serves {}", endpoint.url(), args.path.display()))?;
    runtimes.block_on(tokio::signal::ctrl_c())?;
    Ok(())
}

/// The S3 service and whether it asks for signatures; how far away it seems.
#[derive(Clone)]
struct Door {
    service: S3Service,
    open: bool,
    latency: Duration,
}

async fn accept(listener: TcpListener, door: Door, runtimes: Runtimes, mut stopped: watch::Receiver<()>) {
    loop {
        let connection = tokio::select! {
            connection = listener.accept() => connection,
            _ = stopped.changed() => return,
        };
        // A connection that died before it was accepted is the client's affair.
        if let Ok((stream, _)) = connection {
            runtimes.spawn_io("s3 connection", serve(stream, door.clone(), stopped.clone()));
        }
    }
}

async fn serve(stream: TcpStream, door: Door, mut stopped: watch::Receiver<()>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let answer = service_fn(move |mut request: http::Request<hyper::body::Incoming>| {
        if door.open {
            // Nobody can check a signature whose secret is unknown; an open door does not ask for one.
            request.headers_mut().remove(AUTHORIZATION);
        }
        let (service, latency) = (door.service.clone(), door.latency);
        async move {
            if !latency.is_zero() {
                tokio::time::sleep(latency).await;
            }
            service.call(request.map(s3s::Body::from)).await
        }
    });
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), answer);
    tokio::select! {
        // How a connection ends is the client's affair; what it asked for has been answered.
        ended = connection => { let _ = ended; }
        _ = stopped.changed() => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests;
