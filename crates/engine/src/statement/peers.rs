//! The port on which other servers of the root ask this one to work.
//!
//! Invariant: it is open once, and told to the others when it is; without it nothing of `cluster` runs. Must not know: what is asked.

use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use cluster::{Identity, Listener, PeerConfig, Peers};
use model::ErrorCode;

use crate::background::following;
use crate::context::database::Database;

use crate::statement::help::ForPeers;

impl Database {
    /// Opens the port, tells the others where, and may ask them from now on. It is closed with what is returned.
    ///
    /// # Errors
    /// The root is not shared, the address cannot be had, or the configuration is of no use.
    pub async fn listen_to_peers(&self, config: &PeerConfig) -> Result<Option<Listener>, Error> {
        let Some(address) = config.listen else { return Ok(None) };
        let services = &self.services;
        let Some(sharing) = &services.sharing else {
            return Err(wrong("a port for peers is for a shared root: give --shared URL"));
        };
        let host = &services.host;
        let parts = (Arc::clone(&host.clock), Arc::clone(&host.random));
        let me = Identity::new(sharing.member.id().0, config, parts, host.disk.as_ref());
        let me = me.map_err(|error| wrong(error.to_string()))?;
        let work = Arc::new(ForPeers::new(services));
        let listener = cluster::listen(me.clone(), address, work, services.runtimes.clone()).await;
        let listener = listener.map_err(|error| wrong(error.to_string()))?;
        let port = listener.address.port();
        let told = match config.address.as_deref() {
            Some(given) => reached_at(given, port)?,
            None if address.ip().is_unspecified() => format!("{}:{port}", services.host_name),
            None => listener.address.to_string(),
        };
        *sharing.peer.lock() = told;
        // Opened once: a second port would be another server.
        let _first = services.peers.set(Arc::new(Peers::new(me)));
        let telling = Arc::clone(services);
        let told = services.runtimes.spawn_blocking("beat", move || {
            telling.sharing.as_ref().map(|sharing| following::tell(&telling, sharing))
        });
        // The next beat says it.
        let _told = told.await;
        Ok(Some(listener))
    }
}

/// `host:port`, `host`, or `[address]:port`; a port that is 0 or not given is the one that was taken.
fn reached_at(given: &str, taken: u16) -> Result<String, Error> {
    let (host, port) = match given.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, port.parse::<u16>().ok()),
        None => (given, Some(0)),
        Some(_) => ("", None),
    };
    let known = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    match port {
        Some(port) if !host.is_empty() && host.chars().all(known) => {
            Ok(format!("{host}:{}", if port == 0 { taken } else { port }))
        }
        _ => Err(wrong(format!("\"{given}\" is no address for peers; give host:port, or [address]:port"))),
    }
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::BadInput, ErrorCode::INVALID_CONFIG_PARAMETER, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_host_and_a_port() {
        for (given, told) in [
            ("10.0.0.7:9500", Some("10.0.0.7:9500")),
            ("node-1.example.com", Some("node-1.example.com:77")),
            ("node:0", Some("node:77")),
            ("[::1]:9500", Some("[::1]:9500")),
            ("::1", None),
            ("h:99999", None),
            ("h:", None),
            (":9500", None),
            ("h\nworks false:1", None),
        ] {
            assert_eq!(reached_at(given, 77).ok().as_deref(), told, "{given:?}");
        }
    }
}
