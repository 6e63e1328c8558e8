//! A request that asks for a statement: who asks, in which session, what text and data, and how the answer is wanted.
//!
//! Invariant: nothing of a request is ignored: a parameter that is not ours is a setting, and the engine refuses those it
//! does not know. Credentials are checked before a byte of the body is read.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::coding::CLICKHOUSE_REVISION;
use engine::{Caller, Error, ErrorCode, ErrorKind, Request};
use futures::StreamExt;
use http::{HeaderMap, Method, header, request};
use hyper::body::Incoming;

use crate::door::Door;
use crate::door::config::User;
use crate::door::gate::Seat;
use crate::door::sessions::{Lease, Wish, new_session};
use crate::door::turns::taking_turns;
use crate::door::users::{Credentials, refused};
use crate::http::answer::{Job, Wanted};
use crate::http::arrival::{Arrival, TextMemory, arrival};
use crate::http::encoding::{accepted, decoded};
use crate::http::form;
use crate::http::guests::announced;
use crate::http::head::{Head, checked_id};
use crate::http::incoming::{Patience, bytes_of};
use crate::http::parameters::Parameters;

/// Parameters of the door; all others are settings.
const OURS: [&str; 20] = [
    "query",
    "query_id",
    "database",
    "default_format",
    "user",
    "password",
    "session_id",
    "session_timeout",
    "session_check",
    "close_session",
    "compress",
    "decompress",
    "client_protocol_version",
    "wait_end_of_query",
    "buffer_size",
    "enable_http_compression",
    "stacktrace",
    "quota_key",
    "role",
    "readonly",
];

/// ClickHouse's time of a session that does not say.
const SESSION_SECONDS: u64 = 60;
/// Bytes held back before the head is sent, so that an error in them still has a status.
const HELD_BYTES: usize = 1 << 20;

/// First words of statements that change nothing.
const READING: [&str; 9] =
    ["select", "with", "show", "describe", "desc", "exists", "explain", "check", "from"];

/// The user a request belongs to.
///
/// # Errors
/// It belongs to nobody.
pub(crate) async fn user_of(
    door: &Door,
    from: IpAddr,
    headers: &HeaderMap,
    parameters: &Parameters,
) -> Result<Arc<User>, Error> {
    let given = credentials(headers, parameters)?;
    let user = door.users.authenticated(from, &given).await;
    user.inspect_err(|_| door.metrics.logins_refused.add(1))
}

/// What a request says about its sender, in one of three ways.
fn credentials(headers: &HeaderMap, parameters: &Parameters) -> Result<Credentials, Error> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (key_user, key) = (header("x-clickhouse-user"), header("x-clickhouse-key"));
    let basic = headers.get(header::AUTHORIZATION);
    let by_url = parameters.get("user").is_some() || parameters.get("password").is_some();
    let ways = [key_user.is_some() || key.is_some(), basic.is_some(), by_url];
    if ways.iter().filter(|way| **way).count() > 1 {
        let message = "Invalid authentication: credentials come in more than one way";
        return Err(Error::new(ErrorKind::Denied, ErrorCode::AUTHENTICATION_FAILED, message).with_hint(
            "send X-ClickHouse-User and -Key, or Authorization, or user and password, but not two of them",
        ));
    }
    let unnamed = || "default".to_owned();
    if let Some(value) = basic {
        let pair = value.to_str().ok().and_then(|text| {
            let (scheme, token) = text.trim().split_once(' ')?;
            scheme.eq_ignore_ascii_case("basic").then_some(token.trim())
        });
        let pair = pair.and_then(|token| String::from_utf8(STANDARD.decode(token).ok()?).ok());
        let Some((user, password)) = pair.as_deref().and_then(|pair| pair.split_once(':')) else {
            return Err(Error::new(
                ErrorKind::Denied,
                ErrorCode::AUTHENTICATION_FAILED,
                "Invalid authentication: Authorization is not Basic",
            ));
        };
        let user = if user.is_empty() { unnamed() } else { user.to_owned() };
        return Ok(Credentials { user, password: password.to_owned() });
    }
    let by =
        |in_url: &str, in_header: Option<String>| parameters.get(in_url).map(str::to_owned).or(in_header);
    let user = by("user", key_user).filter(|user| !user.is_empty()).unwrap_or_else(unnamed);
    if user.len() > 512 {
        return Err(refused("user"));
    }
    Ok(Credentials { user, password: by("password", key).unwrap_or_default() })
}

/// A request taken apart, before its statement is read.
pub(crate) struct Asked<'a> {
    pub(crate) door: &'a Arc<Door>,
    pub(crate) from: IpAddr,
    pub(crate) parts: &'a request::Parts,
    pub(crate) parameters: Parameters,
}

/// The id of a request's statement: the client's, or a new one.
///
/// # Errors
/// It cannot stand in a header.
pub(crate) fn query_id(door: &Door, parameters: &Parameters) -> Result<String, Error> {
    match parameters.get("query_id").filter(|id| !id.is_empty()) {
        None => Ok(door.new_id()),
        Some(id) => checked_id("query_id", id).map(|()| id.to_owned()),
    }
}

impl Asked<'_> {
    /// What the list of running statements shows of the sender.
    fn caller(&self) -> Caller {
        Caller {
            // The port of a connection that carries many statements tells nobody anything.
            address: Some(SocketAddr::new(self.from, 0)),
            http_method: self.parts.method.to_string(),
            http_user_agent: self.header("user-agent").unwrap_or_default(),
            name: self.header("x-clickhouse-client-name").unwrap_or_default(),
        }
    }

    /// Everything up to the running of the statement.
    ///
    /// # Errors
    /// What is wrong with the request, in the order ClickHouse looks: sender, session, text.
    pub(crate) async fn job(mut self, body: Incoming, head: Head, query_id: String) -> Result<Job, Error> {
        let user = user_of(self.door, self.from, &self.parts.headers, &self.parameters).await?;
        let limits = &self.door.config.limits;
        let blocks = self.parameters.flag("decompress")?.unwrap_or(false);
        let counting = Arc::clone(self.door);
        let sent = bytes_of(body, self.from, self.patience()).inspect(move |chunk| {
            let bytes = chunk.as_ref().map_or(0, |chunk| chunk.len() as u64);
            counting.metrics.request_bytes.add(bytes);
        });
        let body = decoded(sent.boxed(), &self.codings()?, blocks)?;
        let mut form_memory = TextMemory::new(&self.door.texts, "a form", &self.door.bodies);
        let content_type = self.header("content-type").unwrap_or_default();
        let (body, files) = match form::boundary_of(&content_type) {
            None => (body, Vec::new()),
            Some(boundary) => {
                let parameters = &mut self.parameters;
                let files =
                    form::read(body, &boundary, limits.form_bytes, parameters, &mut form_memory).await?;
                (futures::stream::empty().boxed(), files)
            }
        };
        let guests = announced(files, &mut self.parameters)?;
        let lease = self.lease(&user)?;
        let wanted = self.wanted()?;
        let settings = self.settings(&user)?;
        let in_url = self.parameters.get("query").unwrap_or_default();
        let memory = TextMemory::new(&self.door.texts, "the text of a statement", &self.door.bodies);
        let Arrival { sql, memory, data } = arrival(in_url, body, limits.text_bytes, memory).await?;
        let place = self.door.gate.enter().await;
        let place = place.inspect_err(|_| self.door.metrics.queries_refused.add(1))?;
        let seat = Seat::new(&self.door.gate, place);
        let (clock, faults) = (&self.door.host.clock, &self.door.host.faults);
        let data = data.map(|data| taking_turns(data, Arc::clone(&seat), Arc::clone(clock), faults));
        let params = self
            .parameters
            .iter()
            .filter_map(|(name, value)| Some((name.strip_prefix("param_")?.to_owned(), value.to_owned())));
        let database = self.parameters.get("database").filter(|name| !name.is_empty()).map(str::to_owned);
        let database = database.or_else(|| self.header("x-clickhouse-database"));
        let request = Request {
            params: params.collect(),
            settings,
            database: database.filter(|name| !name.is_empty()),
            body: data,
            deadline: limits.statement_time,
            query_id: Some(query_id),
            user: user.name.clone(),
            client: self.caller(),
            sees_own_only: !user.sees_all,
            ..Request::new(sql)
        };
        let reads_only = self.is_reading() || reads(&request.sql);
        let (door, user) = (Arc::clone(self.door), user.name.clone());
        let texts = [memory, form_memory];
        Ok(Job { door, lease, guests, request, wanted, seat, texts, head, user, reads_only })
    }

    fn patience(&self) -> Patience {
        let (door, limits) = (self.door, &self.door.config.limits);
        Patience {
            silence: limits.body_silence,
            bytes_min: limits.body_bytes_min,
            bodies_max: limits.bodies_waiting,
            bodies: Arc::clone(&door.bodies),
            clock: Arc::clone(&door.host.clock),
            runtimes: door.runtimes.clone(),
        }
    }

    fn header(&self, name: &str) -> Option<String> {
        self.parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
    }

    /// GET and HEAD may change nothing.
    fn is_reading(&self) -> bool {
        matches!(self.parts.method, Method::GET | Method::HEAD)
    }

    fn codings(&self) -> Result<Vec<String>, Error> {
        let unread = || {
            Error::new(
                ErrorKind::BadInput,
                ErrorCode::UNKNOWN_COMPRESSION_METHOD,
                "Content-Encoding is no text",
            )
        };
        let mut codings = Vec::new();
        for value in self.parts.headers.get_all(header::CONTENT_ENCODING) {
            let value = value.to_str().map_err(|_| unread())?;
            codings.extend(value.split(',').map(|coding| coding.trim().to_owned()).filter(|c| !c.is_empty()));
        }
        Ok(codings)
    }

    fn lease(&self, user: &User) -> Result<Lease, Error> {
        let database = &self.door.database;
        let make = || {
            let session = new_session(database, user.readonly)?;
            if let Some(name) = &user.database {
                session.use_database(name)?;
            }
            Ok(session)
        };
        let Some(id) = self.parameters.get("session_id").filter(|id| !id.is_empty()) else {
            return Ok(Lease::unnamed(make()?));
        };
        checked_id("session_id", id)?;
        let most = self.door.config.limits.session_timeout.as_secs();
        let seconds = self.parameters.number("session_timeout")?.unwrap_or(SESSION_SECONDS.min(most));
        if seconds > most || seconds == 0 {
            let message = format!("session_timeout is {seconds} s, and may be 1 to {most}");
            return Err(Error::new(ErrorKind::BadInput, ErrorCode::INVALID_SESSION_TIMEOUT, message));
        }
        let wish = Wish {
            id: id.to_owned(),
            timeout: Duration::from_secs(seconds),
            check: self.parameters.flag("session_check")?.unwrap_or(false),
            close: self.parameters.flag("close_session")?.unwrap_or(false),
        };
        self.door.sessions.take(&user.name, &wish, make)
    }

    fn wanted(&self) -> Result<Wanted, Error> {
        let blocks = self.parameters.flag("compress")?.unwrap_or(false);
        let refuses = self.parameters.flag("enable_http_compression")? == Some(false);
        let offered = self.header("accept-encoding").filter(|_| !refuses && !blocks);
        let held = self.parameters.number("buffer_size")?;
        let held = held.map_or(HELD_BYTES, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let revision = self.parameters.number("client_protocol_version")?.unwrap_or(0);
        Ok(Wanted {
            blocks,
            coding: offered.as_deref().and_then(accepted),
            waits: self.parameters.flag("wait_end_of_query")?.unwrap_or(false),
            held_bytes: held.min(self.door.config.limits.held_bytes),
            native_revision: revision.min(CLICKHOUSE_REVISION),
        })
    }

    /// The settings of this request, those that bind it last.
    fn settings(&self, user: &User) -> Result<Vec<(String, String)>, Error> {
        for name in ["quota_key", "role"] {
            if self.parameters.get(name).is_some_and(|value| !value.is_empty()) {
                return Err(Error::unsupported(format!("parameter \"{name}\"")));
            }
        }
        let is_ours = |name: &str| OURS.contains(&name) || name.starts_with("param_");
        let mut settings: Vec<(String, String)> = self
            .parameters
            .iter()
            .filter(|(name, _)| !is_ours(name))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let asked = self.parameters.number("readonly")?;
        if user.readonly == 1 && (!settings.is_empty() || asked.is_some_and(|asked| asked != 1)) {
            let name = settings.first().map_or("readonly", |(name, _)| name.as_str());
            let message = format!("setting \"{}\" cannot be changed: readonly is set", name.escape_debug());
            return Err(Error::new(ErrorKind::Denied, ErrorCode::READONLY, message));
        }
        let wanted = self.header("x-clickhouse-format").filter(|name| !name.is_empty());
        let wanted = wanted.or_else(|| self.parameters.get("default_format").map(str::to_owned));
        settings
            .extend(wanted.filter(|name| !name.is_empty()).map(|name| ("default_format".to_owned(), name)));
        // The strictest counts: the user's, the method's, the request's.
        let readonly = match (user.readonly, asked) {
            (1, _) | (_, Some(1)) => 1,
            (2, _) | (_, Some(2)) => 2,
            _ if self.is_reading() => 2,
            _ => asked.unwrap_or(0),
        };
        if readonly > 0 {
            settings.push(("readonly".to_owned(), readonly.to_string()));
        }
        Ok(settings)
    }
}

/// Whether a statement changes nothing, as far as its first word tells.
fn reads(sql: &str) -> bool {
    let mut words = engine::lexemes(sql).filter(|word| *word != "(" && *word != ";");
    words.next().is_some_and(|word| READING.iter().any(|reading| word.eq_ignore_ascii_case(reading)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn credentials_come_in_one_of_three_ways() {
        for (given, url, expected) in [
            (headers(&[]), "", Some("default:")),
            (headers(&[("authorization", "Basic YTpiOmM=")]), "", Some("a:b:c")),
            (headers(&[("authorization", "basic OmI=")]), "", Some("default:b")),
            (headers(&[("x-clickhouse-user", "a"), ("x-clickhouse-key", "b")]), "", Some("a:b")),
            (headers(&[("x-clickhouse-key", "b")]), "", Some("default:b")),
            (headers(&[]), "user=a&password=b", Some("a:b")),
            (headers(&[]), "user=&password=b", Some("default:b")),
            (headers(&[("authorization", "Basic YTpi")]), "user=a", None),
            (headers(&[("authorization", "Basic YTpi"), ("x-clickhouse-user", "a")]), "", None),
            (headers(&[("authorization", "Bearer abc")]), "", None),
            (headers(&[("authorization", "Basic !")]), "", None),
        ] {
            let parameters = Parameters::parse(url).unwrap();
            let read = credentials(&given, &parameters);
            let read = read.map(|read| format!("{}:{}", read.user, read.password));
            assert_eq!(read.as_deref().ok(), expected, "{given:?} {url}");
            assert!(read.is_ok() || read.is_err_and(|error| error.code.number() == 516));
        }
    }

    #[test]
    fn first_words_tell_what_only_reads() {
        for (sql, expected) in [
            ("SELECT 1", true),
            ("-- comment\n((select 1))", true),
            ("with 1 as x select x", true),
            ("INSERT INTO t SELECT 1", false),
            ("SET a = 1", false),
            ("", false),
        ] {
            assert_eq!(reads(sql), expected, "{sql}");
        }
    }
}
