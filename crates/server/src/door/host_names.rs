//! Under which names a server may be asked: what keeps web pages of other names away from it.
//!
//! A page whose own name is made to point at 127.0.0.1 ("DNS rebinding") is of the same origin as this server for its browser,
//! which lets it ask and read anything. What it cannot change is the name it asks for.
//! Invariant: a request from this machine, where anybody is the user without a password, names the machine, an address, or a
//! name of the configuration. Must not know: who asks.

use std::net::{IpAddr, Ipv6Addr};

use engine::{Error, ErrorCode, ErrorKind};
use http::uri::Authority;
use http::{HeaderMap, Uri, header};

/// See the module.
pub(crate) struct HostNames {
    /// In lower case, without a dot at the end. `*` is any, `*.x` what ends with `.x`.
    names: Vec<String>,
}

impl HostNames {
    pub(crate) fn new(machine: &str, configured: &[String]) -> HostNames {
        let names = std::iter::once(machine).chain(configured.iter().map(String::as_str));
        // As a refusal shows it, a name may have a port.
        let names = names.map(|name| plain(host_of(name).unwrap_or(name)));
        HostNames { names: names.filter(|name| !name.is_empty()).collect() }
    }

    /// Whether a request from there may have come for these names.
    ///
    /// # Errors
    /// It comes from this machine and for another name.
    pub(crate) fn check(&self, from: IpAddr, uri: &Uri, headers: &HeaderMap) -> Result<(), Error> {
        if !from.is_loopback() {
            // Only with a password anybody comes in from elsewhere, and a page does not know it.
            return Ok(());
        }
        // HTTP/1.0 needs none; browsers always send it.
        let asked = headers.get_all(header::HOST).iter().map(|value| value.to_str().unwrap_or("?"));
        match asked.chain(uri.authority().map(Authority::as_str)).find(|authority| !self.is_ours(authority)) {
            None => Ok(()),
            Some(other) => Err(refused(other)),
        }
    }

    fn is_ours(&self, authority: &str) -> bool {
        let Some(host) = host_of(authority) else { return false };
        let name = plain(host);
        let is_address = host.parse::<IpAddr>().is_ok()
            || host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).is_some_and(is_address_6);
        // Nobody can point these names elsewhere, nor another name at them.
        is_address
            || name == "localhost"
            || name.ends_with(".localhost")
            || self.names.iter().any(|ours| match ours.strip_prefix('*') {
                None => *ours == name,
                Some(end) => name.ends_with(end),
            })
    }
}

fn is_address_6(text: &str) -> bool {
    // Perhaps with a zone.
    text.split('%').next().is_some_and(|text| text.parse::<Ipv6Addr>().is_ok())
}

/// Names are the same in any case, and with a dot at the end.
fn plain(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

/// The host of `host`, `host:port`, `[::1]` or `[::1]:port`; `None`: it is none of these.
fn host_of(authority: &str) -> Option<&str> {
    let end = match authority.starts_with('[') {
        true => authority.find(']')? + 1,
        false => authority.find(':').unwrap_or(authority.len()),
    };
    let (host, port) = authority.split_at(end);
    let is_port = |port: &str| port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit());
    (!host.is_empty() && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))).then_some(host)
}

fn refused(authority: &str) -> Error {
    let shown: String = authority.chars().take(255).collect();
    let message = format!("this server is not asked for as \"{}\"", shown.escape_debug());
    Error::new(ErrorKind::Denied, ErrorCode::ACCESS_DENIED, message).with_hint(
        "use localhost or its address, or add the name to host_names in the configuration file; from this machine anybody is a \
         user without a password, and a web page must not be it",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_asked_for_by_its_names_and_addresses_alone() {
        let names = HostNames::new("Box", &["db.example.com:8123".to_owned(), "*.Lan.".to_owned()]);
        let here: IpAddr = "127.0.0.1".parse().unwrap();
        let check = |from: IpAddr, uri: &str, hosts: &[&str]| {
            let hosts = hosts.iter().map(|host| (header::HOST, host.parse().unwrap()));
            names.check(from, &uri.parse().unwrap(), &hosts.collect())
        };
        for (host, is_ours) in [
            ("localhost", true),
            ("LocalHost:8123", true),
            ("localhost.", true),
            ("localhost.:8123", true),
            ("x.localhost:8123", true),
            ("127.0.0.1:8123", true),
            ("127.0.0.1", true),
            ("192.168.1.5:8123", true),
            ("[::1]", true),
            ("[::1]:8123", true),
            ("[fe80::1%eth0]:8123", true),
            ("box", true),
            ("BOX:1", true),
            ("db.example.com", true),
            ("a.b.lan:80", true),
            ("evil.example", false),
            ("evil.example:8123", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("evillocalhost", false),
            ("x.db.example.com", false),
            ("lan", false),
            ("evillan", false),
            ("", false),
            (":8123", false),
            ("::1", false),
            ("localhost:x", false),
            ("localhost@evil.example", false),
            ("localhost evil.example", false),
            ("[evil]", false),
            ("[::1", false),
            ("[::1]evil", false),
        ] {
            let answer = check(here, "/", &[host]);
            assert_eq!(answer.is_ok(), is_ours, "{host}");
            assert!(
                answer.is_ok()
                    || answer.is_err_and(
                        |error| error.code.number() == 497 && error.to_string().contains("host_names")
                    )
            );
        }
        assert!(check(here, "/", &[]).is_ok(), "HTTP/1.0");
        assert!(check(here, "/", &["localhost", "evil.example"]).is_err());
        assert!(check(here, "http://evil.example/", &["localhost"]).is_err(), "the absolute form counts");
        assert!(check(here, "http://localhost:8123/", &["localhost:8123"]).is_ok());
        assert!(check("::1".parse().unwrap(), "/", &["evil.example"]).is_err());
        assert!(check("10.0.0.7".parse().unwrap(), "/", &["evil.example"]).is_ok(), "they need a password");
        assert!(
            HostNames::new("box", &["*".to_owned()])
                .check(here, &"/".parse().unwrap(), &HeaderMap::new())
                .is_ok()
        );
        assert!(HostNames::new("box", &["*".to_owned()]).is_ours("evil.example"));
    }
}
