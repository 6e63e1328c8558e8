//! What a server is started with. Plain data.
//!
//! Invariant: every limit of the server is a field here, with its default. Must not know: files and their syntax.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::door::verifier::Verifier;

/// Configuration of one server.
#[derive(Debug)]
pub struct ServerConfig {
    /// Where plain HTTP is spoken.
    pub listen: Vec<SocketAddr>,
    /// Where HTTPS is spoken.
    pub tls: Option<TlsConfig>,
    pub users: Vec<User>,
    pub limits: Limits,
    /// `X-ClickHouse-Server-Display-Name`.
    pub display_name: String,
    /// Pages of other origins that may ask, `*` for any; `None`: browsers keep them out.
    pub allowed_origin: Option<String>,
    /// Names this server may be asked for, beside those of the machine: exact, `*.x`, or `*` for any.
    pub host_names: Vec<String>,
    /// Who may read `/metrics`; `None`: anybody.
    pub metrics_users: Option<Vec<String>>,
    /// Folder for results that wait for their end and are too large for memory.
    pub spool: PathBuf,
}

/// A certificate and where it is used.
#[derive(Clone, Debug)]
pub struct TlsConfig {
    pub listen: SocketAddr,
    /// PEM, the server's certificate first.
    pub certificate: PathBuf,
    /// PEM.
    pub key: PathBuf,
}

/// Who may ask.
#[derive(Clone, Debug)]
pub struct User {
    pub name: String,
    /// `None`: no password, and only connections from this machine.
    pub verifier: Option<Verifier>,
    /// ClickHouse's setting: 1 reads and changes no setting, 2 reads and may change settings.
    pub readonly: u8,
    /// Current database of new sessions.
    pub database: Option<String>,
    /// Statements of other users, what their errors said, and names of collections are shown.
    pub sees_all: bool,
}

impl User {
    /// The user everybody on this machine is without saying so.
    pub fn unnamed() -> User {
        User { name: "default".to_owned(), verifier: None, readonly: 0, database: None, sees_all: true }
    }
}

/// Every limit of a server.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Open connections, as far as the process may have so many files; above it who has been idle longest gives way.
    pub connections: usize,
    /// Idle connections and half requests of one address that is not this machine's; above it the longest gives way.
    pub idle_per_address: usize,
    /// Bytes of a request's first line and headers.
    pub header_bytes: usize,
    /// How long a connection may be silent between requests, and within the headers of one.
    pub keep_alive: Duration,
    /// How long a body is waited for until it has brought `body_bytes_min` more.
    pub body_silence: Duration,
    pub body_bytes_min: usize,
    /// Bodies that are waited for at one time; above it the longest is ended.
    pub bodies_waiting: usize,
    /// Bytes of a statement's text; data of an INSERT does not count.
    pub text_bytes: usize,
    /// Bytes of a multipart form.
    pub form_bytes: usize,
    /// Statements that compute at one time.
    pub statements: usize,
    /// Statements beside those that have computed for more than a second, while others wait.
    pub long_statements: usize,
    /// Statements that wait for that, and how long.
    pub waiting: usize,
    pub wait: Duration,
    /// Longest time of one statement; `None`: any.
    pub statement_time: Option<Duration>,
    /// Named sessions of all users.
    pub sessions: usize,
    /// Longest `session_timeout`.
    pub session_timeout: Duration,
    /// Bytes of a result that are held back in memory; more of one that waits for its end goes to the spool.
    pub held_bytes: usize,
    /// How long running statements may go on after the server was asked to stop.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 16_384,
            // A proxy's pool is a few hundred.
            idle_per_address: 1024,
            // A URL is 64 KiB at most; the rest is cookies and tokens.
            header_bytes: 128 << 10,
            keep_alive: Duration::from_secs(30),
            body_silence: Duration::from_secs(300),
            body_bytes_min: 1 << 10,
            bodies_waiting: 4096,
            text_bytes: 16 << 20,
            form_bytes: 32 << 20,
            statements: 100,
            long_statements: 400,
            waiting: 1000,
            wait: Duration::from_secs(10),
            statement_time: None,
            sessions: 10_000,
            session_timeout: Duration::from_secs(3600),
            held_bytes: 16 << 20,
            drain: Duration::from_secs(30),
        }
    }
}
