//! Connections: accepted up to a limit, served one request after the other, ended gracefully.
//!
//! Above the limit, and when the machine gives the process no more files, a new connection takes the place of the one that
//! has waited longest for its client's next request, or for the rest of one; so many idle ones keep nobody out.
//! Invariant: a connection that is silent, slow with its headers, or above the limit costs no thread, and one whose statement
//! runs is not ended for another. After `stop` nothing new is accepted; what runs has its time to end, then it is cut.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use engine::{Database, Error, ErrorCode, ErrorKind};
use host::{Host, Runtimes};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_rustls::TlsAcceptor;

use crate::door::Door;
use crate::door::config::{Limits, ServerConfig, User};
use crate::door::lobby::Stay;
use crate::door::tls::acceptor;
use crate::door::wire::Watched;
use crate::http::body::Busy;
use crate::http::routes::answer;

/// After an error of the machine, such as too many open files, there is a pause instead of a loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Bytes of an answer that wait in the machine beside those on their way: enough that a fast client never waits.
#[cfg(target_os = "linux")]
const UNSENT_BYTES_MAX: u32 = 64 << 10;
/// Connections that wait to be accepted, as far as the machine's own limit lets them; ClickHouse's default. What comes when it
/// is full tries again after a second.
const QUEUE: i32 = 4096;
/// One that has to go for another has so long to send what it still holds back.
const PACKING: Duration = Duration::from_millis(100);
/// Of the files a process may have open one in so many, and so many at least, are for the database.
const FILES_SHARE: usize = 4;
const FILES_MIN: usize = 32;
/// ENFILE and EMFILE.
const TOO_MANY_FILES: [i32; 2] = [23, 24];
/// There are so many connections, however few files there may be.
const CONNECTIONS_MIN: usize = 4;
/// Places that are kept free for new connections, as long as others wait: one in so many, and so many at the most.
const SPARE_SHARE: usize = 8;
const SPARE_MAX: usize = 64;
/// How often sessions whose time is over are looked for.
const SWEEP: Duration = Duration::from_secs(5);

/// A running server.
pub struct Server {
    door: Arc<Door>,
    addresses: Vec<SocketAddr>,
    stop: watch::Sender<bool>,
    cut: watch::Sender<bool>,
    open: Arc<Semaphore>,
    connections_max: usize,
}

impl Server {
    /// Listens and serves. Call from outside the runtimes' tasks.
    ///
    /// # Errors
    /// An address cannot be had, a certificate not be read, or an open server would have no password.
    pub fn start(
        mut config: ServerConfig,
        database: Arc<Database>,
        host: Host,
        runtimes: Runtimes,
    ) -> Result<Server, Error> {
        let tls = config.tls.as_ref().map(|tls| acceptor(tls, host.disk.as_ref())).transpose()?;
        empty_spool(&config, &host)?;
        let (stop, stopped) = watch::channel(false);
        let (cut, is_cut) = watch::channel(false);
        let connections_max = connections_max(config.limits.connections, host::process::open_files_max());
        // Neither half bodies nor the idle connections of one address may be all there are.
        let half = (connections_max / 2).max(1);
        let limits = &mut config.limits;
        limits.bodies_waiting = limits.bodies_waiting.min(half);
        limits.idle_per_address = limits.idle_per_address.min(half);
        let open = Arc::new(Semaphore::new(connections_max));
        let plain = config.listen.iter().map(|address| (*address, None));
        let secure = config.tls.iter().map(|tls_config| (tls_config.listen, tls.clone()));
        let doors: Vec<(SocketAddr, Option<TlsAcceptor>)> = plain.chain(secure).collect();
        let door = Door::new(database, host, runtimes.clone(), config);
        let _inside = runtimes.io().enter();
        let mut addresses = Vec::new();
        let mut listeners = Vec::new();
        for (address, tls) in doors {
            let listener = bound(address)?;
            addresses.push(listener.local_addr()?);
            listeners.push((listener, tls));
        }
        for (listener, tls) in listeners {
            let listening = Listening {
                door: Arc::clone(&door),
                tls,
                open: Arc::clone(&open),
                spare: (connections_max / SPARE_SHARE).min(SPARE_MAX),
                stopped: stopped.clone(),
                cut: is_cut.clone(),
            };
            runtimes.spawn_io("http listener", listening.accept(listener));
        }
        runtimes.spawn_io("http sessions", sweep(Arc::clone(&door), stopped));
        Ok(Server { door, addresses, stop, cut, open, connections_max })
    }

    /// Where it listens: the plain addresses, then the secure one.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// These are the users from now on. Statements that run already go on as whoever asked for them.
    pub fn replace_users(&self, users: &[User]) {
        self.door.users.replace(users);
    }

    /// Accepts nothing new, lets what runs end within the limit's time, then cuts it. Answers whether all ended.
    pub async fn stop(self) -> bool {
        let _ = self.stop.send(true);
        let connections = u32::try_from(self.connections_max).unwrap_or(u32::MAX);
        let all_closed = self.open.acquire_many(connections);
        let drained = tokio::time::timeout(self.door.config.limits.drain, all_closed).await.is_ok();
        let _ = self.cut.send(true);
        drained
    }
}

/// So many connections as are wanted and as leave files for the database.
fn connections_max(wanted: usize, files: Option<u64>) -> usize {
    let Some(files) = files.and_then(|files| usize::try_from(files).ok()) else { return wanted };
    let left = files.saturating_sub((files / FILES_SHARE).max(FILES_MIN)).max(CONNECTIONS_MIN);
    if left < wanted {
        tracing::info!(
            connections = left,
            files,
            "as many connections as the limit of open files (ulimit -n) leaves"
        );
    }
    wanted.min(left)
}

fn bound(address: SocketAddr) -> Result<TcpListener, Error> {
    let said = |error: io::Error| {
        Error::new(
            ErrorKind::Unavailable,
            ErrorCode::NETWORK_ERROR,
            format!("address {address} cannot be listened on: {error}"),
        )
    };
    let bound = || {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        // A server that starts again finds the connections of the one before, which are closing.
        #[cfg(not(windows))]
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        socket.listen(QUEUE)?;
        socket.set_nonblocking(true)?;
        TcpListener::from_std(socket.into())
    };
    bound().map_err(said)
}

/// What a crash left there serves nobody.
fn empty_spool(config: &ServerConfig, host: &Host) -> Result<(), Error> {
    if host.disk.exists(&config.spool)? {
        host.disk.remove_dir_all(&config.spool)?;
    }
    Ok(())
}

async fn sweep(door: Arc<Door>, mut stopped: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            _ = stopped.changed() => return,
            () = tokio::time::sleep(SWEEP) => door.sessions.sweep(),
        }
    }
}

/// One address that is listened on.
struct Listening {
    door: Arc<Door>,
    tls: Option<TlsAcceptor>,
    open: Arc<Semaphore>,
    /// See [`SPARE_SHARE`].
    spare: usize,
    stopped: watch::Receiver<bool>,
    cut: watch::Receiver<bool>,
}

impl Listening {
    async fn accept(mut self, listener: TcpListener) {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = self.stopped.changed() => return,
            };
            match accepted {
                Ok((stream, from)) => {
                    let Some(place) = self.room_for(from.ip().to_canonical()).await else { return };
                    let connection = Connection {
                        stay: Arc::new(self.door.connections.enter(from.ip().to_canonical())),
                        door: Arc::clone(&self.door),
                        tls: self.tls.clone(),
                        from,
                        stopped: self.stopped.clone(),
                        cut: self.cut.clone(),
                    };
                    self.door.runtimes.spawn_io("http connection", async move {
                        connection.serve(stream).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    let is_of_files = error.raw_os_error().is_some_and(|code| TOO_MANY_FILES.contains(&code));
                    if !(is_of_files && self.door.connections.send_one_away(None)) {
                        tracing::warn!(%error, "a connection could not be accepted");
                    }
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// A place for one more connection, if need be that of the one that has waited longest. `None`: the server stops.
    async fn room_for(&mut self, from: IpAddr) -> Option<OwnedSemaphorePermit> {
        let (connections, idle_max) = (&self.door.connections, self.door.config.limits.idle_per_address);
        // Counting those of one address means looking at all.
        if !from.is_loopback() && connections.count() >= idle_max && connections.waiting_for(from) >= idle_max
        {
            connections.send_one_away(Some(from));
        }
        loop {
            if let Ok(place) = Arc::clone(&self.open).try_acquire_owned() {
                // Who is sent away takes a while to go: the next one finds a place already.
                if self.open.available_permits() < self.spare {
                    connections.send_one_away(None);
                }
                return Some(place);
            }
            // Bodies that are waited for keep their connections from waiting.
            if !connections.send_one_away(None) {
                self.door.bodies.send_one_away(None);
            }
            tokio::select! {
                place = Arc::clone(&self.open).acquire_owned() => return place.ok(),
                () = tokio::time::sleep(ACCEPT_PAUSE) => {}
                _ = self.stopped.changed() => return None,
            }
        }
    }
}

/// One connection and what may end it.
struct Connection {
    stay: Arc<Stay>,
    door: Arc<Door>,
    tls: Option<TlsAcceptor>,
    from: SocketAddr,
    stopped: watch::Receiver<bool>,
    cut: watch::Receiver<bool>,
}

impl Connection {
    async fn serve(mut self, stream: TcpStream) {
        let door = Arc::clone(&self.door);
        door.metrics.connections.add(1);
        door.metrics.connections_open.enter();
        // Without it small answers wait for the client's acknowledgement of the one before.
        let _ = stream.set_nodelay(true);
        keep_little_unsent(&stream);
        match self.tls.take() {
            None => self.speak(stream).await,
            Some(tls) => {
                // A handshake has the time of a request's headers.
                let shaken = tokio::select! {
                    shaken = tls.accept(stream) => shaken.ok(),
                    () = tokio::time::sleep(door.config.limits.keep_alive) => None,
                    () = self.stay.sent_away() => None,
                };
                if let Some(stream) = shaken {
                    self.speak(stream).await;
                }
            }
        }
        door.metrics.connections_open.leave();
    }

    async fn speak(mut self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let (door, from) = (Arc::clone(&self.door), self.from.ip().to_canonical());
        let (stream, wire) = Watched::new(stream);
        let stay = Arc::clone(&self.stay);
        let service = service_fn(move |request| {
            let (door, wire, busy) = (Arc::clone(&door), Arc::clone(&wire), Busy::new(&stay));
            async move {
                let answered = answer(door, from, request).await;
                Ok::<_, std::convert::Infallible>(answered.map(|body| body.on(&wire, busy)))
            }
        });
        let connection = protocol(&self.door.config.limits).serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let mut stopping = *self.stopped.borrow();
        if stopping {
            connection.as_mut().graceful_shutdown();
        }
        loop {
            tokio::select! {
                // How a connection ends is the client's affair; what it asked for has been answered.
                _ = connection.as_mut() => return,
                _ = self.stopped.changed(), if !stopping => {
                    stopping = true;
                    connection.as_mut().graceful_shutdown();
                }
                _ = self.cut.changed() => return,
                () = self.stay.sent_away() => {
                    // One that is idle closes at once; of a half request nothing more is waited for.
                    connection.as_mut().graceful_shutdown();
                    let packed = tokio::time::timeout(PACKING, connection.as_mut()).await;
                    if packed.is_ok() || self.stay.is_waiting() || self.stay.is_stalled() {
                        return;
                    }
                }
            }
        }
    }
}

/// Without this the machine takes megabytes of an answer that its client does not read, and they had to be computed.
fn keep_little_unsent(stream: &TcpStream) {
    // Elsewhere the machine's own limit counts.
    #[cfg(target_os = "linux")]
    let _ = socket2::SockRef::from(stream).set_tcp_notsent_lowat(UNSENT_BYTES_MAX);
    #[cfg(not(target_os = "linux"))]
    let _ = stream;
}

fn protocol(limits: &Limits) -> http1::Builder {
    let mut protocol = http1::Builder::new();
    protocol
        .timer(TokioTimer::new())
        .header_read_timeout(limits.keep_alive)
        .max_header_size(limits.header_bytes)
        .max_buf_size(limits.header_bytes.max(64 << 10));
    protocol
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_files_for_the_database() {
        for (files, expected) in
            [(None, 16_384), (Some(1 << 20), 16_384), (Some(1024), 768), (Some(64), 32), (Some(10), 4)]
        {
            assert_eq!(connections_max(16_384, files), expected, "{files:?}");
        }
    }
}
