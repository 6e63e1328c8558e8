//! The configuration file of `gristmill server --config FILE`.
//!
//! ```toml
//! path = "/var/lib/gristmill"
//! listen = ["0.0.0.0:8123"]
//! host_names = ["db.example.com"]    # what else requests of this machine may ask for than it and its addresses
//! metrics_users = ["prometheus"]     # who may read /metrics; anybody unless given
//! memory_bytes = 8_000_000_000
//! uncompressed_cache_size = 1_000_000_000   # a fifth of the memory unless given
//! orphans_lifetime = 604_800   # seconds a file that no record names is kept in lost/ (7 days unless given), or in a shared root (a day)
//! scrub_interval = 604_800   # seconds after which a part is read again to see whether it is damaged; 0 is never
//! [tls]
//! listen = "0.0.0.0:8443"
//! certificate = "server.pem"
//! key = "server.key"
//! [users.default]
//! verifier = "pbkdf2-sha256$.."      # `gristmill password-verifier` prints it
//! readonly = 1
//! sees_all = true                    # statements of other users; without it only who may write does
//! database = "web"
//! [limits]
//! statements = 50
//! [shared]                           # instead of path: a root that other servers use, too
//! url = "s3://bucket/prefix"
//! cache_path = "/var/cache/gristmill"
//! cache_bytes = 100_000_000_000      # half of what is free there unless given
//! endpoint = "http://minio:9000"     # AWS_ENDPOINT_URL unless given
//! region = "eu-central-1"            # AWS_REGION unless given; keys come from the environment
//! [cluster]                          # servers of one shared root work for each other
//! listen = "0.0.0.0:9500"
//! address = "10.0.0.7:9500"          # where the others reach it; the machine's name unless given
//! secret = "..."                     # the same for all; the variable GRISTMILL_SECRET goes before it
//! certificate = "node.pem"           # TLS: with key and authority, or without all three
//! key = "node.key"
//! authority = "ca.pem"               # who signed the certificates of all
//! ```
//! Invariant: as of `configuration`: what is not understood is an error that names the key and never a value.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use engine::{Collection, PeerConfig, RootPlace, TlsFiles};
use model::saturating::usize_of;
use server::{Limits, TlsConfig, User, Verifier};
use toml_edit::{Item, TableLike};

use crate::configuration::{document, named_collections};

/// What the file says.
#[derive(Debug, Default)]
pub(crate) struct ServerFile {
    pub path: Option<PathBuf>,
    pub shared: Option<RootPlace>,
    pub cache_path: Option<PathBuf>,
    pub peers: PeerConfig,
    pub listen: Vec<SocketAddr>,
    pub memory_bytes: Option<u64>,
    pub uncompressed_cache_bytes: Option<u64>,
    pub orphans_lifetime_ms: Option<u64>,
    pub scrub_interval: Option<Duration>,
    pub display_name: Option<String>,
    pub allowed_origin: Option<String>,
    pub host_names: Vec<String>,
    pub metrics_users: Option<Vec<String>>,
    pub allowed_hosts: Option<Vec<String>>,
    pub user_files: Option<PathBuf>,
    pub tls: Option<TlsConfig>,
    pub users: Vec<User>,
    pub limits: Limits,
    pub named_collections: BTreeMap<String, Collection>,
}

/// Reads the text of a file.
pub(crate) fn parse(text: &str) -> Result<ServerFile, String> {
    let mut file = ServerFile::default();
    for (key, item) in document(text)?.iter() {
        match key {
            "path" => file.path = Some(text_of(key, item)?.into()),
            "listen" => {
                let addresses = texts_of(key, item)?;
                file.listen = addresses.iter().map(|text| address(key, text)).collect::<Result<_, _>>()?;
            }
            "memory_bytes" => file.memory_bytes = Some(number_of(key, item)?),
            "uncompressed_cache_size" => file.uncompressed_cache_bytes = Some(number_of(key, item)?),
            "orphans_lifetime" => {
                file.orphans_lifetime_ms = Some(number_of(key, item)?.saturating_mul(1000));
            }
            "scrub_interval" => file.scrub_interval = Some(Duration::from_secs(number_of(key, item)?)),
            "display_name" => file.display_name = Some(visible(key, text_of(key, item)?)?),
            "allowed_origin" => file.allowed_origin = Some(visible(key, text_of(key, item)?)?),
            "host_names" => file.host_names = texts_of(key, item)?,
            "metrics_users" => file.metrics_users = Some(texts_of(key, item)?),
            "remote_url_allow_hosts" => file.allowed_hosts = Some(texts_of(key, item)?),
            "user_files" => file.user_files = Some(text_of(key, item)?.into()),
            "tls" => file.tls = Some(tls(table(key, item)?)?),
            "users" => {
                let users = table(key, item)?;
                file.users = users.iter().map(|(name, item)| user(name, item)).collect::<Result<_, _>>()?;
            }
            "shared" => {
                let shared = table(key, item)?;
                file.shared = Some(shared_root(shared)?);
                file.cache_path =
                    shared.get("cache_path").map(|item| path_of("shared.cache_path", item)).transpose()?;
            }
            "cluster" => file.peers = peers(table(key, item)?)?,
            "limits" => file.limits = limits(table(key, item)?)?,
            "named_collections" => file.named_collections = named_collections(item)?,
            _ => {
                return Err(format!(
                    "\"{key}\" is not known; there are path, listen, memory_bytes, uncompressed_cache_size, orphans_lifetime, scrub_interval, \
                     display_name, allowed_origin, host_names, metrics_users, remote_url_allow_hosts, user_files, shared, cluster, tls, users, limits and named_collections"
                ));
            }
        }
    }
    Ok(file)
}

fn shared_root(table: &dyn TableLike) -> Result<RootPlace, String> {
    known(table, "shared", &["url", "cache_path", "cache_bytes", "endpoint", "region"])?;
    let part = |key: &str| table.get(key).map(|item| text_of(&format!("shared.{key}"), item)).transpose();
    Ok(RootPlace {
        url: part("url")?.ok_or("\"shared\" has no \"url\"")?,
        endpoint: part("endpoint")?,
        region: part("region")?,
        cache_bytes: table
            .get("cache_bytes")
            .map(|item| number_of("shared.cache_bytes", item))
            .transpose()?,
    })
}

fn peers(table: &dyn TableLike) -> Result<PeerConfig, String> {
    known(table, "cluster", &["listen", "address", "secret", "certificate", "key", "authority"])?;
    let part = |key: &str| table.get(key).map(|item| text_of(&format!("cluster.{key}"), item)).transpose();
    let tls = match (part("certificate")?, part("key")?, part("authority")?) {
        (Some(certificate), Some(key), Some(authority)) => {
            Some(TlsFiles { certificate: certificate.into(), key: key.into(), authority: authority.into() })
        }
        (None, None, None) => None,
        _ => return Err("TLS of \"cluster\" needs \"certificate\", \"key\" and \"authority\"".to_owned()),
    };
    Ok(PeerConfig {
        listen: part("listen")?.map(|text| address("cluster.listen", &text)).transpose()?,
        address: part("address")?,
        secret: part("secret")?,
        tls,
    })
}

fn path_of(key: &str, item: &Item) -> Result<PathBuf, String> {
    Ok(text_of(key, item)?.into())
}

fn tls(table: &dyn TableLike) -> Result<TlsConfig, String> {
    known(table, "tls", &["listen", "certificate", "key"])?;
    let part = |key: &str| {
        let item = table.get(key).ok_or_else(|| format!("\"tls\" has no \"{key}\""))?;
        text_of(&format!("tls.{key}"), item)
    };
    Ok(TlsConfig {
        listen: address("tls.listen", &part("listen")?)?,
        certificate: part("certificate")?.into(),
        key: part("key")?.into(),
    })
}

fn user(name: &str, item: &Item) -> Result<User, String> {
    let key = format!("users.{name}");
    let table = table(&key, item)?;
    known(table, &key, &["verifier", "readonly", "database", "sees_all"])?;
    let verifier = match table.get("verifier") {
        None => None,
        Some(item) => {
            let read = Verifier::parse(&text_of(&format!("{key}.verifier"), item)?);
            Some(read.ok_or_else(|| {
                format!("\"{key}.verifier\" is no verifier; gristmill password-verifier prints one")
            })?)
        }
    };
    let readonly = match table.get("readonly") {
        None => 0,
        Some(item) => number_of(&format!("{key}.readonly"), item)?,
    };
    let readonly = u8::try_from(readonly).ok().filter(|readonly| *readonly <= 2);
    let readonly = readonly.ok_or_else(|| format!("\"{key}.readonly\" is 0, 1 or 2"))?;
    let database = table.get("database").map(|item| text_of(&format!("{key}.database"), item)).transpose()?;
    let sees_all = match table.get("sees_all") {
        None => readonly == 0,
        Some(item) => {
            item.as_bool().ok_or_else(|| format!("\"{key}.sees_all\" is neither true nor false"))?
        }
    };
    Ok(User { name: name.to_owned(), verifier, readonly, database, sees_all })
}

fn limits(table: &dyn TableLike) -> Result<Limits, String> {
    let mut limits = Limits::default();
    for (name, item) in table.iter() {
        let key = format!("limits.{name}");
        let number = number_of(&key, item)?;
        let count = usize_of(number).max(1);
        let seconds = Duration::from_secs(number);
        match name {
            // A semaphore's own limit is far above what a machine can have open.
            "connections" => limits.connections = count.min(1 << 20),
            "header_bytes" => limits.header_bytes = count.clamp(8 << 10, 16 << 20),
            "keep_alive_seconds" => limits.keep_alive = seconds.max(Duration::from_secs(1)),
            "idle_per_address" => limits.idle_per_address = count,
            "body_bytes_min" => limits.body_bytes_min = count,
            "bodies_waiting" => limits.bodies_waiting = count,
            "long_statements" => limits.long_statements = usize_of(number),
            "body_silence_seconds" => limits.body_silence = seconds.max(Duration::from_secs(1)),
            "statement_text_bytes" => limits.text_bytes = count,
            "form_bytes" => limits.form_bytes = count,
            "statements" => limits.statements = count.min(1 << 20),
            "statements_waiting" => limits.waiting = count,
            "wait_seconds" => limits.wait = seconds,
            "statement_seconds" => limits.statement_time = Some(seconds).filter(|time| !time.is_zero()),
            "sessions" => limits.sessions = count,
            "session_timeout_seconds" => limits.session_timeout = seconds.max(Duration::from_secs(1)),
            "held_bytes" => limits.held_bytes = count,
            "drain_seconds" => limits.drain = seconds,
            _ => {
                return Err(format!(
                    "\"{key}\" is not known; there are connections, idle_per_address, header_bytes, keep_alive_seconds, \
                     body_silence_seconds, body_bytes_min, bodies_waiting, statement_text_bytes, form_bytes, statements, \
                     long_statements, statements_waiting, wait_seconds, statement_seconds, sessions, session_timeout_seconds, held_bytes and drain_seconds"
                ));
            }
        }
    }
    Ok(limits)
}

fn table<'a>(key: &str, item: &'a Item) -> Result<&'a dyn TableLike, String> {
    item.as_table_like().ok_or_else(|| format!("\"{key}\" is not a table"))
}

fn known(table: &dyn TableLike, key: &str, names: &[&str]) -> Result<(), String> {
    match table.iter().find(|(name, _)| !names.contains(name)) {
        None => Ok(()),
        Some((name, _)) => Err(format!("\"{key}.{name}\" is not known; there are {}", names.join(", "))),
    }
}

fn text_of(key: &str, item: &Item) -> Result<String, String> {
    item.as_str().map(str::to_owned).ok_or_else(|| format!("\"{key}\" is not a text"))
}

fn texts_of(key: &str, item: &Item) -> Result<Vec<String>, String> {
    if let Some(text) = item.as_str() {
        return Ok(vec![text.to_owned()]);
    }
    let texts =
        item.as_array().and_then(|array| array.iter().map(|v| v.as_str().map(str::to_owned)).collect());
    texts.ok_or_else(|| format!("\"{key}\" is not a list of texts"))
}

fn number_of(key: &str, item: &Item) -> Result<u64, String> {
    let number = item.as_integer().and_then(|number| u64::try_from(number).ok());
    number.ok_or_else(|| format!("\"{key}\" is not a whole number"))
}

fn address(key: &str, text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| format!("\"{key}\" is not an address with a port, such as 127.0.0.1:8123"))
}

/// It goes into headers.
fn visible(key: &str, text: String) -> Result<String, String> {
    match text.chars().all(|c| c.is_ascii_graphic() || c == ' ') {
        true => Ok(text),
        false => Err(format!("\"{key}\" has a character that is not visible ASCII")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_for_containers_is_one() {
        let file = parse(include_str!("../../../docs/deploy/server.toml")).unwrap();
        let shared = file.shared.unwrap();
        assert_eq!((shared.url.as_str(), file.cache_path), ("s3://demo/db", Some("/cache".into())));
        assert!(file.peers.listen.is_some() && file.users.iter().all(|user| user.verifier.is_some()));
    }

    #[test]
    fn everything_a_server_needs_is_read() {
        let file = parse(
            "path = 'p'\nlisten = ['127.0.0.1:1', '[::1]:2']\nmemory_bytes = 3\nhost_names = 'n'\nmetrics_users = ['m']\nuncompressed_cache_size = 1\norphans_lifetime = 60\nscrub_interval = 5\n[limits]\nstatements = 4\n\
             wait_seconds = 5\nbodies_waiting = 6\nlong_statements = 0\n[users.default]\n[users.ann]\nreadonly = 2\ndatabase = 'd'\n\
             verifier = 'pbkdf2-sha256$1000$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'\n\
             [users.eve]\nreadonly = 1\nsees_all = true\n[named_collections.c]\nurl = 'u'\n",
        )
        .unwrap();
        assert_eq!((file.path, file.listen.len(), file.memory_bytes), (Some("p".into()), 2, Some(3)));
        assert_eq!((file.uncompressed_cache_bytes, file.orphans_lifetime_ms), (Some(1), Some(60_000)));
        assert_eq!(file.scrub_interval, Some(Duration::from_secs(5)));
        assert_eq!((file.limits.statements, file.limits.wait), (4, Duration::from_secs(5)));
        assert_eq!((file.limits.bodies_waiting, file.limits.long_statements), (6, 0));
        let users: Vec<_> = file
            .users
            .iter()
            .map(|u| (u.name.as_str(), u.readonly, u.verifier.is_some(), u.sees_all))
            .collect();
        let expected = [("default", 0, false, true), ("ann", 2, true, false), ("eve", 1, false, true)];
        assert_eq!(users, expected);
        assert_eq!((file.host_names, file.metrics_users), (vec!["n".to_owned()], Some(vec!["m".to_owned()])));
        assert!(file.named_collections.contains_key("c"));
    }

    #[test]
    fn problems_name_keys_and_never_values() {
        for (text, problem) in [
            ("pahts = 's3cr3t'", "\"pahts\" is not known"),
            ("listen = 's3cr3t'", "\"listen\" is not an address"),
            ("[users.a]\nverifier = 's3cr3t'", "\"users.a.verifier\" is no verifier"),
            ("[users.a]\npassword = 's3cr3t'", "\"users.a.password\" is not known"),
            ("[users.a]\nreadonly = 3", "\"users.a.readonly\" is 0, 1 or 2"),
            ("[limits]\nstatements = 's3cr3t'", "\"limits.statements\" is not a whole number"),
            ("[users.a]\nsees_all = 1", "\"users.a.sees_all\" is neither true nor false"),
            ("[limits]\nspeed = 1", "\"limits.speed\" is not known"),
            ("[tls]\nlisten = '127.0.0.1:1'", "\"tls\" has no \"certificate\""),
            ("display_name = \"a\\r\\nb\"", "\"display_name\" has a character"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(problem) && !error.contains("s3cr3t"), "{text}: {error}");
        }
    }
}
