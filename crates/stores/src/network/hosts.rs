//! Which hosts a statement may make this process talk to.
//!
//! Whoever can write a URL in a statement can otherwise reach what only this machine reaches: its own ports, and the
//! addresses clouds give credentials out at. Invariant: with users in front, a request goes only to an address that was
//! checked; names are checked, and so is every address a name resolves to. Must not know: clients, statements.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use model::ErrorCode;
use url::{Host, Url};

use crate::error::{Result, SourceError, SourceErrorKind};
use crate::keys::glob::Glob;

/// Names that mean this machine or a cloud's metadata service, whatever they resolve to.
const REFUSED_NAMES: &[&str] = &[
    "localhost",
    "localhost.localdomain",
    "ip6-localhost",
    "ip6-loopback",
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "metadata.azure.internal",
    "metadata.tencentyun.com",
    "instance-data",
    "instance-data.ec2.internal",
];

/// Addresses clouds answer questions about a machine at, outside the link-local range: Azure's wire server, Alibaba's
/// and Oracle's metadata.
const METADATA_V4: &[Ipv4Addr] =
    &[Ipv4Addr::new(168, 63, 129, 16), Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(192, 0, 0, 192)];

/// The same over IPv6: AWS's metadata and DNS, Google's metadata.
const METADATA_V6: &[Ipv6Addr] = &[
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x253),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
];

/// One line of `remote_url_allow_hosts`: a host, a host with a port, or a pattern with `*`.
#[derive(Clone, Debug)]
struct HostRule {
    text: String,
    pattern: Option<Glob>,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct HostFilter {
    /// `None`: any host.
    allowed: Option<Vec<HostRule>>,
    /// Others than the owner of the machine can write statements.
    faces_users: bool,
}

impl HostFilter {
    /// `allowed` is `remote_url_allow_hosts`: `host`, `host:port`, or with `*` for any run of characters.
    ///
    /// # Errors
    /// A line that can match no host.
    pub fn new(allowed: Option<Vec<String>>, faces_users: bool) -> Result<Self> {
        let rules = allowed.map(|lines| lines.iter().map(|line| rule(line)).collect::<Result<Vec<_>>>());
        Ok(HostFilter { allowed: rules.transpose()?, faces_users })
    }

    /// Whether others than the owner of the machine can write statements.
    pub fn faces_users(&self) -> bool {
        self.faces_users
    }

    /// Checks a URL before a request and on every redirect.
    ///
    /// # Errors
    /// Code 491, naming the host and what to do.
    pub fn check(&self, url: &Url) -> Result<()> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refused(&format!("scheme \"{}://\"", url.scheme()), "is not http or https"));
        }
        let Some(host) = url.host() else { return Err(refused("a URL", "has no host")) };
        let name = plain_name(&host.to_string());
        let with_port = url.port_or_known_default().map(|port| format!("{name}:{port}"));
        let names = [Some(name.clone()), with_port];
        let names = || names.iter().flatten().map(String::as_str);
        if self
            .allowed
            .as_ref()
            .is_some_and(|rules| !names().any(|name| rules.iter().any(|rule| rule.matches(name))))
        {
            return Err(refused(&format!("host \"{name}\""), "is not in the list of allowed hosts")
                .with_hint("the server's configuration lists them as remote_url_allow_hosts"));
        }
        if !self.faces_users || names().any(|name| self.names_exactly(name)) {
            return Ok(());
        }
        let is_refused = match host {
            Host::Ipv4(address) => is_refused(IpAddr::V4(address)),
            Host::Ipv6(address) => is_refused(IpAddr::V6(address)),
            Host::Domain(_) => REFUSED_NAMES.contains(&name.as_str()) || name.ends_with(".localhost"),
        };
        match is_refused {
            true => Err(own_machine(&name)),
            false => Ok(()),
        }
    }

    /// Checks an address that `host` resolved to: a name of somebody's own may point anywhere.
    ///
    /// # Errors
    /// As [`HostFilter::check`].
    pub fn check_address(&self, host: &str, address: IpAddr) -> Result<()> {
        if self.faces_users && is_refused(address) && !self.names_exactly(&plain_name(host)) {
            return Err(own_machine(host));
        }
        Ok(())
    }

    /// The operator wrote this very host, with or without a port: then it is meant.
    fn names_exactly(&self, name: &str) -> bool {
        let host = |rule: &HostRule| rule.text.rsplit_once(':').map(|(host, _)| host == name) == Some(true);
        let is_named = |rule: &HostRule| rule.pattern.is_none() && (rule.text == name || host(rule));
        self.allowed.as_ref().is_some_and(|rules| rules.iter().any(is_named))
    }
}

impl HostRule {
    fn matches(&self, name: &str) -> bool {
        match &self.pattern {
            Some(pattern) => pattern.matches(name),
            None => self.text == name,
        }
    }
}

fn rule(line: &str) -> Result<HostRule> {
    let text = plain_name(line.trim());
    if text.is_empty() || text.contains(['/', '@', '?', '{', ' ']) {
        return Err(SourceError::bad_arguments(format!(
            "\"{line}\" in remote_url_allow_hosts is no host; write host, host:port or a pattern such as *.example.com"
        )));
    }
    let pattern = text.contains('*').then(|| Glob::parse(&text));
    Ok(HostRule { text, pattern })
}

/// Lower case and without the dot that ends a full name: `Metadata.` is `metadata`.
fn plain_name(host: &str) -> String {
    host.trim_end_matches('.').to_ascii_lowercase()
}

fn refused(what: &str, why: &str) -> SourceError {
    SourceError::new(SourceErrorKind::Denied, format!("{what} {why}")).with_code(ErrorCode::UNACCEPTABLE_URL)
}

fn own_machine(host: &str) -> SourceError {
    refused(
        &format!("host \"{host}\""),
        "is this machine or a metadata service, which statements may not read",
    )
    .with_hint("an operator can allow the very host in remote_url_allow_hosts")
}

fn is_refused(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_refused_v4(v4),
        IpAddr::V6(v6) => {
            let is_link_local = v6.segments()[0] & 0xffc0 == 0xfe80;
            v6.is_loopback()
                || v6.is_unspecified()
                || v6.is_multicast()
                || is_link_local
                || METADATA_V6.contains(&v6)
                || inside(v6).is_some_and(is_refused_v4)
        }
    }
}

fn is_refused_v4(address: Ipv4Addr) -> bool {
    // All of 0.0.0.0/8 reaches this machine on Linux.
    address.octets()[0] == 0
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || METADATA_V4.contains(&address)
}

/// The IPv4 address that an IPv6 address stands for: mapped, compatible, translated (NAT64) and 6to4.
fn inside(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let s = address.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match s {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => Some(v4(high, low)),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x64, 0xff9b, 1, _, _, _, high, low] => Some(v4(high, low)),
        [0x2002, high, low, ..] => Some(v4(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
