//! Who this server is to its peers, and by what they know each other.
//!
//! Invariant: without a secret a server is reached from its own machine alone. Must not know: what the calls are.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use host::{Clock, Disk, Random};
use tonic::transport::{Certificate, ClientTlsConfig, Identity as CertifiedKey, ServerTlsConfig};

use crate::error::PeerError;

/// What the command line and the configuration file say of the port.
#[derive(Clone, Default)]
pub struct PeerConfig {
    /// Where it listens; port 0 takes a free one.
    pub listen: Option<SocketAddr>,
    /// Where others reach it, `host:port`; that of `listen` unless given. A port of 0 becomes the one that was taken.
    pub address: Option<String>,
    /// Known to all servers of the root, and to nobody else.
    pub secret: Option<String>,
    pub tls: Option<TlsFiles>,
}

impl std::fmt::Debug for PeerConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PeerConfig({:?}, {:?}, tls {})", self.listen, self.address, self.tls.is_some())
    }
}

/// PEM files: the certificate of this server, its key, and who signed those of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
    pub authority: PathBuf,
}

/// See the module.
#[derive(Clone)]
pub struct Identity {
    pub(crate) id: u128,
    pub(crate) secret: Option<Arc<str>>,
    pub(crate) server_tls: Option<ServerTlsConfig>,
    pub(crate) client_tls: Option<ClientTlsConfig>,
    /// The store's: those of all servers agree.
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
}

/// Shorter ones can be guessed by whoever has heard a call.
const SECRET_BYTES_MIN: usize = 16;

impl Identity {
    /// `id` is the one in `nodes/`.
    ///
    /// # Errors
    /// The secret is too short, or missing where others than this machine could call; a file cannot be read.
    pub fn new(
        id: u128,
        config: &PeerConfig,
        (clock, random): (Arc<dyn Clock>, Arc<dyn Random>),
        disk: &dyn Disk,
    ) -> Result<Identity, PeerError> {
        let is_exposed = config.listen.is_some_and(|address| !address.ip().is_loopback());
        match &config.secret {
            None if is_exposed => {
                return Err(PeerError::Configuration(
                    "a port for peers that other machines can reach needs a secret: the variable GRISTMILL_SECRET, or \
                     cluster.secret of the configuration file, the same for all servers"
                        .to_owned(),
                ));
            }
            Some(secret) if secret.len() < SECRET_BYTES_MIN => {
                return Err(PeerError::Configuration(format!(
                    "the secret of the peers has fewer than {SECRET_BYTES_MIN} bytes"
                )));
            }
            _ => {}
        }
        let (server_tls, client_tls) = match &config.tls {
            None => (None, None),
            Some(files) => {
                let read = |path: &PathBuf| {
                    host::read_all(disk, path).map_err(|error| {
                        PeerError::Configuration(format!(
                            "file \"{}\" cannot be read: {error}",
                            path.display()
                        ))
                    })
                };
                let key = CertifiedKey::from_pem(read(&files.certificate)?, read(&files.key)?);
                let authority = Certificate::from_pem(read(&files.authority)?);
                let server = ServerTlsConfig::new().identity(key.clone()).client_ca_root(authority.clone());
                let client = ClientTlsConfig::new().identity(key).ca_certificate(authority);
                (Some(server), Some(client))
            }
        };
        let secret = config.secret.as_deref().map(Arc::from);
        Ok(Identity { id, secret, server_tls, client_tls, clock, random })
    }

    /// Whether what is said cannot be read on the way to a peer at this address.
    pub fn is_private(&self, address: &str) -> bool {
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let is_loopback = host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
        self.client_tls.is_some() || is_loopback || host == "localhost"
    }
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Identity({:032x})", self.id)
    }
}
