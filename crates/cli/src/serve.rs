//! `gristmill server`: one database behind ClickHouse's HTTP interface, until it is asked to stop.
//!
//! Invariant: asked once to stop, it accepts nothing new, lets statements end, and exits with 0; asked twice, it exits at
//! once. SIGHUP lets it read the users of its configuration again, and nothing else. The log goes to standard error, a line
//! a statement; standard output says where the server listens.

use std::fmt;
use std::io::Read as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use engine::{Config, Database, Listener, PeerConfig, RootPlace};
use host::{Clock, Host, Runtimes};
use model::saturating::millis_of;
use server::{Server, ServerConfig, User, Verifier};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

use crate::allocator;
use crate::configuration::read_with;
use crate::failure::Failure;
use crate::serve_file::{ServerFile, parse};
use crate::terminal;

/// ClickHouse's port of HTTP.
const PORT: u16 = 8123;
/// How long files that nothing names stay in a shared root, unless the configuration says otherwise.
const SHARED_ORPHANS_MS: u64 = 86_400_000;

#[derive(Args, Debug)]
pub(crate) struct ServerArgs {
    /// Folder of the database; created when absent
    #[arg(long)]
    path: Option<PathBuf>,
    /// Instead of a folder: a root that other servers use, too, as s3://bucket/prefix or file:///folder
    #[arg(long, value_name = "URL", conflicts_with = "path")]
    shared: Option<String>,
    /// Folder for what this server keeps of the shared root; it may be deleted while the server is stopped
    #[arg(long, value_name = "DIR", conflicts_with = "path")]
    cache: Option<PathBuf>,
    /// TOML file with addresses, users, limits and named collections
    #[arg(long)]
    config: Option<PathBuf>,
    /// Address to listen on, again for more; port 0 takes a free one [default: 127.0.0.1:8123]
    #[arg(long)]
    listen: Vec<SocketAddr>,
    /// Address on which other servers of the shared root may ask this one to work
    #[arg(long, value_name = "ADDR", conflicts_with = "path")]
    peer_listen: Option<SocketAddr>,
    /// Where they reach it, unless it is that address [default: the machine's name for 0.0.0.0]
    #[arg(long, value_name = "HOST:PORT", requires = "peer_listen")]
    peer_address: Option<String>,
}

/// Holds the secret that the servers of a root share.
const SECRET: &str = "GRISTMILL_SECRET";

/// The command.
pub(crate) fn run(args: &ServerArgs, host: &Host, runtimes: &Runtimes) -> Result<(), Failure> {
    let file = args.config.as_deref().map(|path| read_with(path, parse)).transpose()?.unwrap_or_default();
    let shared = shared_root(args, &file)?;
    let path = match &shared {
        None => args.path.clone().or_else(|| file.path.clone()),
        Some(_) => args.cache.clone().or_else(|| file.cache_path.clone()),
    };
    let needed = match &shared {
        None => "the server needs a folder: --path DIR, or --shared URL with --cache DIR",
        Some(_) => "a server of a shared root needs a folder for what it keeps of it: --cache DIR",
    };
    let path = path.ok_or_else(|| Failure::new(needed))?;
    start_log(Arc::clone(&host.clock));
    allocator::fit_pages_to(file.memory_bytes.unwrap_or(u64::MAX));
    let defaults = Config::default();
    let orphans_ms = if shared.is_some() { SHARED_ORPHANS_MS } else { defaults.orphans_lifetime_ms };
    let scrub_interval = file.scrub_interval.map(millis_of);
    let database = Database::open(Config {
        root: Some(path.clone()),
        shared,
        memory_bytes_max: file.memory_bytes,
        uncompressed_cache_bytes: file.uncompressed_cache_bytes,
        scrub_interval_ms: scrub_interval.unwrap_or(defaults.scrub_interval_ms),
        allow_any_local_path: false,
        // Of a relative folder the files of `file()` would be looked for from the root of the machine.
        user_files: Some(std::path::absolute(
            file.user_files.clone().unwrap_or_else(|| path.join("user_files")),
        )?),
        allowed_hosts: file.allowed_hosts.clone(),
        faces_users: true,
        named_collections: file.named_collections.clone(),
        orphans_lifetime_ms: file.orphans_lifetime_ms.unwrap_or(orphans_ms),
        ..defaults
    })?;
    for notice in database.notices() {
        tracing::warn!(code = notice.code.map(|code| code.number()), "{}", notice.text);
    }
    // Before anybody may ask it to stop.
    let mut asked = runtimes.block_on(async { Asked::new() })?;
    let peers = runtimes.block_on(database.listen_to_peers(&peer_config(args, &file)))?;
    if let Some(listener) = &peers {
        terminal::line(&format!("peers are heard on {}", listener.address))?;
        tracing::info!(address = %listener.address, "peers are heard");
    }
    let config = server_config(args, file, path);
    let server = Server::start(config, Arc::clone(&database), host.clone(), runtimes.clone())?;
    database.listens_at(server.addresses());
    for address in server.addresses() {
        terminal::line(&format!("listening on {address}"))?;
        tracing::info!(%address, "listening");
    }
    runtimes.block_on(async {
        asked.stop(|| read_users_again(args, &server)).await;
        tracing::info!("stopping: waiting for statements");
        peers.iter().for_each(Listener::stop);
        tokio::select! {
            () = stop(server, database) => tracing::info!("stopped"),
            () = asked.stop(|| ()) => {
                tracing::warn!("stopped without waiting");
                std::process::exit(1);
            }
        }
    });
    Ok(())
}

/// What the command line, the environment and the file say of the port for peers, in this order.
fn peer_config(args: &ServerArgs, file: &ServerFile) -> PeerConfig {
    let of_file = file.peers.clone();
    PeerConfig {
        listen: args.peer_listen.or(of_file.listen),
        address: args.peer_address.clone().or(of_file.address),
        secret: std::env::var(SECRET).ok().filter(|secret| !secret.is_empty()).or(of_file.secret),
        tls: of_file.tls,
    }
}

/// What the command line says of a shared root, before what the file says.
fn shared_root(args: &ServerArgs, file: &ServerFile) -> Result<Option<RootPlace>, Failure> {
    let of_file = file.shared.clone().filter(|_| args.path.is_none());
    match (&args.shared, of_file) {
        (None, Some(_)) if file.path.is_some() => Err(Failure::new(
            "the configuration file names a folder (path) and a shared root ([shared]): one of them is enough",
        )),
        (None, of_file) => Ok(of_file),
        (Some(url), of_file) => {
            let of_file = of_file.unwrap_or_default();
            Ok(Some(RootPlace { url: url.clone(), ..of_file }))
        }
    }
}

async fn stop(server: Server, database: Arc<Database>) {
    if !server.stop().await {
        tracing::warn!("statements were cut: they had not ended in time");
    }
    if let Err(error) = database.settle().await {
        tracing::warn!(%error, "the log was not made into parts; the next start reads it again");
    }
    database.close().await;
}

fn server_config(args: &ServerArgs, file: ServerFile, path: PathBuf) -> ServerConfig {
    let mut listen = if args.listen.is_empty() { file.listen } else { args.listen.clone() };
    if listen.is_empty() && file.tls.is_none() {
        listen.push((Ipv4Addr::LOCALHOST, PORT).into());
    }
    ServerConfig {
        listen,
        tls: file.tls,
        users: users_of(file.users),
        limits: file.limits,
        display_name: file.display_name.unwrap_or_else(|| "localhost".to_owned()),
        allowed_origin: file.allowed_origin,
        host_names: file.host_names,
        metrics_users: file.metrics_users,
        spool: std::path::absolute(&path).unwrap_or(path).join("http"),
    }
}

/// Those of a file; of none, the one who is on this machine.
fn users_of(users: Vec<User>) -> Vec<User> {
    if users.is_empty() { vec![User::unnamed()] } else { users }
}

/// Lets those be the users whom the configuration file names now. A file that is wrong changes nothing.
fn read_users_again(args: &ServerArgs, server: &Server) {
    let Some(path) = args.config.as_deref() else {
        tracing::info!("asked to read the configuration again: the server was started without a file");
        return;
    };
    match read_with(path, parse) {
        Ok(file) => {
            let users = users_of(file.users);
            server.replace_users(&users);
            tracing::info!(users = users.len(), "the users of the configuration file were read again");
        }
        Err(failure) => tracing::warn!(%failure, "the users stay who they were"),
    }
}

/// SIGTERM and ctrl-C; SIGHUP asks for something else.
struct Asked {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Asked {
    fn new() -> Result<Asked, Failure> {
        Ok(Asked {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Until it is asked to stop; what SIGHUP asks for is done meanwhile.
    async fn stop(&mut self, read_again: impl Fn()) {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return,
                _ = self.interrupt.recv() => return,
                _ = self.hang_up.recv() => read_again(),
            }
        }
    }
}

/// Times of the log come from the host's clock, as all times do.
struct HostTime(Arc<dyn Clock>);

impl FormatTime for HostTime {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let ms = i64::try_from(self.0.now_ms()).unwrap_or(i64::MAX);
        match chrono::DateTime::from_timestamp_millis(ms) {
            Some(time) => write!(writer, "{}", time.format("%Y-%m-%dT%H:%M:%S%.3fZ")),
            None => Ok(()),
        }
    }
}

fn start_log(clock: Arc<dyn Clock>) {
    let log = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(false)
        .with_timer(HostTime(clock))
        .with_max_level(tracing::Level::INFO)
        .finish();
    // A log that is there already, as in a test, stays.
    let _ = tracing::subscriber::set_global_default(log);
}

/// Reads a password from standard input and prints its verifier.
pub(crate) fn print_verifier(host: &Host) -> Result<(), Failure> {
    let mut password = String::new();
    std::io::stdin().read_to_string(&mut password)?;
    let password = password.trim_end_matches(['\r', '\n']);
    if password.is_empty() {
        return Err(Failure::new("no password came on standard input"));
    }
    terminal::line(&Verifier::new(password, host.random.as_ref()).to_string())?;
    Ok(())
}
