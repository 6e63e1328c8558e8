//! A server elsewhere, spoken to over HTTP: a statement goes out, an [`Answer`] comes back.
//!
//! Every statement is one POST in one session of the server, so that SET, USE and temporary tables last. Rows come as
//! RowBinaryWithNamesAndTypes, the one format that says every type exactly and has its header before the first row, also
//! when there is none: they are drawn here by the writers of `local`. Bytes of a format the statement names are not
//! looked at. Invariant: no password is in an error or in what `Debug` prints; a statement nobody waits for any more is
//! killed by its id. Must not know: terminals, formats other than the one asked for.

mod fault;
mod tail;
mod rows;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use engine::{BodyStream, Error, ErrorCode, ErrorKind, FormatKind, Outcome, QueryProgress, Request};
use formats::FormatSettings;
use futures::{StreamExt, TryStreamExt};
use host::random::Random;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Body, Client, Response, Url};
use tokio::time::{MissedTickBehavior, interval, sleep};

use tail::Tail;

/// How rows are asked for, unless the statement names a format.
const ROWS: FormatKind = FormatKind::RowBinaryWithNamesAndTypes;
/// A statement longer than this goes into the body; addresses have limits.
const ADDRESS_BYTES_MAX: usize = 8 << 10;
/// How often the server is asked how far a statement is.
const LOOK: Duration = Duration::from_millis(500);
/// How often it is looked whether somebody gave a statement up.
const CANCEL_LOOK: Duration = Duration::from_millis(50);
/// Seconds after which the server may forget the session of somebody who went to lunch.
const SESSION_SECONDS: u32 = 3600;
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

const USER: HeaderName = HeaderName::from_static("x-clickhouse-user");
const KEY: HeaderName = HeaderName::from_static("x-clickhouse-key");
const FORMAT: HeaderName = HeaderName::from_static("x-clickhouse-format");
const SUMMARY: HeaderName = HeaderName::from_static("x-clickhouse-summary");
/// Once for each warning.
const WARNING: HeaderName = HeaderName::from_static("x-gristmill-warning");
const EXCEPTION_TAG: HeaderName = HeaderName::from_static("x-clickhouse-exception-tag");

/// Where the server is and who asks.
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) secure: bool,
    pub(crate) user: String,
    pub(crate) password: Option<String>,
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({}@{}:{})", self.user, self.host, self.port)
    }
}

/// What a statement answered.
pub(crate) enum Answer {
    Rows(Box<Outcome>),
    /// The statement named its format: these are its bytes.
    Bytes(BodyStream),
}

/// One session of a server.
#[derive(Clone)]
pub(crate) struct Remote {
    client: Client,
    url: Url,
    session: String,
    random: Arc<dyn Random>,
}

impl Remote {
    pub(crate) fn new(address: &Address, random: &Arc<dyn Random>) -> Result<Remote, Error> {
        let scheme = if address.secure { "https" } else { "http" };
        // A bare IPv6 address has colons of its own.
        let host = match address.host.contains(':') && !address.host.starts_with('[') {
            true => format!("[{}]", address.host),
            false => address.host.clone(),
        };
        let url = Url::parse(&format!("{scheme}://{host}:{}/", address.port)).map_err(|problem| {
            Error::new(
                ErrorKind::BadInput,
                ErrorCode::BAD_ARGUMENTS,
                format!("host \"{}\" is not one: {problem}", address.host),
            )
        })?;
        let mut headers = HeaderMap::new();
        headers.insert(USER, header("the user's name", &address.user)?);
        if let Some(password) = &address.password {
            let mut key = header("the password", password)?;
            key.set_sensitive(true);
            headers.insert(KEY, key);
        }
        let client = Client::builder()
            .default_headers(headers)
            .connect_timeout(CONNECT_PATIENCE)
            // Who the password is for was said on the command line, not by a server.
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(|problem| fault::of_network("a client could not be made", &problem))?;
        let session = id(random);
        Ok(Remote { client, url, session, random: Arc::clone(random) })
    }

    /// Runs a statement. `progress` of the request is kept up to date, and cancelling it kills the statement.
    pub(crate) async fn execute(&self, request: Request) -> Result<Answer, Error> {
        let query_id = request.query_id.unwrap_or_else(|| id(&self.random));
        let progress = Arc::clone(&request.progress);
        let mut running = Running { remote: self.clone(), query_id: query_id.clone(), is_over: false };
        let mut sent = Box::pin(self.send(request.sql, request.body, query_id.clone()));
        let mut watching = Box::pin(self.watch(&query_id, &progress));
        let response = tokio::select! {
            response = &mut sent => response,
            () = &mut watching => {
                running.kill().await;
                sent.await
            }
        };
        drop(watching);
        let response = response.inspect_err(|_| running.is_over = true)?;
        if let Some(summary) = response.headers().get(SUMMARY).and_then(|value| value.to_str().ok()) {
            observe(&progress, summary);
        }
        let format = response.headers().get(FORMAT).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let warnings = warnings_of(response.headers());
        let body = body_of(response, running);
        let settings = Arc::new(FormatSettings::default());
        let (schema, stream) = match format.as_deref() {
            None => {
                // A statement without an answer has an empty body, which is still waited for.
                body.try_for_each(|_| async { Ok(()) }).await?;
                rows::none()
            }
            Some(name) if name == ROWS.name() => rows::read(ROWS, body, &settings).await?,
            Some(_) => return Ok(Answer::Bytes(body)),
        };
        Ok(Answer::Rows(Box::new(Outcome {
            schema,
            stream,
            format: None,
            format_settings: settings,
            outfile: None,
            warnings,
            already_loaded: None,
            progress,
            query_id,
            account: None,
        })))
    }

    async fn send(&self, sql: String, body: Option<BodyStream>, query_id: String) -> Result<Response, Error> {
        let mut url = self.url.clone();
        let seconds = SESSION_SECONDS.to_string();
        url.query_pairs_mut()
            .append_pair("query_id", &query_id)
            .append_pair("session_id", &self.session)
            .append_pair("session_timeout", &seconds)
            .append_pair("default_format", ROWS.name());
        let body = match body {
            Some(data) if sql.len() <= ADDRESS_BYTES_MAX => {
                url.query_pairs_mut().append_pair("query", &sql);
                Body::wrap_stream(data)
            }
            // A statement this long has its rows in its text.
            _ => Body::from(sql),
        };
        self.post(url, body).await
    }

    async fn post(&self, url: Url, body: Body) -> Result<Response, Error> {
        let sent = self.client.post(url).body(body).send().await;
        let response = sent.map_err(|problem| fault::of_network(&self.name(), &problem))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let text = response.text().await.map_err(|problem| fault::of_network(&self.name(), &problem))?;
        Err(fault::parse(&text).unwrap_or_else(|| fault::of_status(&self.name(), status, &text)))
    }

    /// `server "host:port"`, for messages.
    fn name(&self) -> String {
        let port = self.url.port_or_known_default().unwrap_or_default();
        format!("server \"{}:{port}\"", self.url.host_str().unwrap_or_default())
    }

    /// A short statement about another one, outside the session, which is busy.
    async fn ask(&self, sql: &str) -> Result<String, Error> {
        let response = self.post(self.url.clone(), Body::from(sql.to_owned())).await?;
        response.text().await.map_err(|problem| fault::of_network(&self.name(), &problem))
    }

    /// Keeps `progress` up to date; ends when it was cancelled.
    async fn watch(&self, query_id: &str, progress: &QueryProgress) {
        let cancelled = async {
            while !progress.is_cancelled() {
                sleep(CANCEL_LOOK).await;
            }
        };
        let looking = async {
            let mut ticks = interval(LOOK);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            ticks.tick().await;
            while !progress.is_cancelled() {
                ticks.tick().await;
                let sql = format!(
                    "SELECT read_rows, read_bytes, total_rows_approx, written_rows FROM system.processes \
                     WHERE query_id = '{query_id}' FORMAT TabSeparated"
                );
                // Without an answer there is no progress to show, which is all.
                let line = self.ask(&sql).await.unwrap_or_default();
                if let [read, bytes, total, written] = numbers(&line)[..] {
                    progress.observe(read, bytes, total, written);
                }
            }
        };
        tokio::select! {
            () = cancelled => {}
            () = looking => {}
        }
    }
}

/// The numbers of a line of TabSeparated.
fn numbers(line: &str) -> Vec<u64> {
    line.trim_end().split('\t').filter_map(|number| number.parse().ok()).collect()
}

/// What the summary of a finished statement says. Its numbers are texts.
fn observe(progress: &QueryProgress, summary: &str) {
    let figure = |name: &str| -> Option<u64> {
        let (_, behind) = summary.split_once(&format!("\"{name}\":\""))?;
        behind.split_once('"')?.0.parse().ok()
    };
    let [read, bytes, written] =
        ["read_rows", "read_bytes", "written_rows"].map(|name| figure(name).unwrap_or(0));
    progress.observe(read, bytes, 0, written);
}

/// The body in pieces, until its end or the error that stands in its place.
fn body_of(response: Response, running: Running) -> BodyStream {
    let tag = response.headers().get(EXCEPTION_TAG).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let tail = Tail::new(tag);
    let name = running.remote.name();
    let chunks =
        response.bytes_stream().map_err(move |problem| fault::of_network(&name, &problem)).fuse().boxed();
    let state = (chunks, tail, running);
    futures::stream::try_unfold(state, |(mut chunks, mut tail, mut running)| async move {
        loop {
            let Some(chunk) = chunks.next().await else {
                running.is_over = true;
                return match tail.finish()? {
                    rest if rest.is_empty() => Ok(None),
                    rest => Ok(Some((rest, (chunks, tail, running)))),
                };
            };
            let chunk = match chunk {
                Ok(chunk) => chunk,
                // Behind an error of the statement the server breaks the connection: the error says more.
                Err(broken) => {
                    running.end();
                    return Err(tail.finish().err().unwrap_or(broken));
                }
            };
            let ready = tail.push(&chunk);
            if !ready.is_empty() {
                return Ok(Some((ready, (chunks, tail, running))));
            }
        }
    })
    .boxed()
}

/// A statement on the server. Dropped before its end it is killed there.
struct Running {
    remote: Remote,
    query_id: String,
    is_over: bool,
}

impl Running {
    /// Nothing is left there to kill.
    fn end(mut self) {
        self.is_over = true;
    }

    async fn kill(&mut self) {
        self.is_over = true;
        let sql = format!("KILL QUERY WHERE query_id = '{}'", self.query_id);
        // The closed connection ends the statement too, where the server cannot be asked.
        let _ = self.remote.ask(&sql).await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let mut orphan = Running {
            remote: self.remote.clone(),
            query_id: std::mem::take(&mut self.query_id),
            is_over: true,
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { orphan.kill().await });
        }
    }
}

/// 32 hexadecimal digits that nobody else has.
fn id(random: &Arc<dyn Random>) -> String {
    host::random::uuid_bytes(random.as_ref()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What the server did not do as it was asked. Texts of servers are shown without what a terminal would obey.
fn warnings_of(headers: &HeaderMap) -> Vec<String> {
    let texts = headers.get_all(WARNING).iter().filter_map(|value| value.to_str().ok());
    texts.map(|text| text.replace(char::is_control, "?")).collect()
}

fn header(what: &str, value: &str) -> Result<HeaderValue, Error> {
    HeaderValue::from_bytes(value.as_bytes()).map_err(|_| {
        Error::new(
            ErrorKind::BadInput,
            ErrorCode::BAD_ARGUMENTS,
            format!("{what} has a character that no header can carry"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_where_they_stand() {
        assert_eq!(numbers("1\t2\t3\t4\n"), [1, 2, 3, 4]);
        assert!(numbers("").is_empty());
        let progress = QueryProgress::default();
        observe(&progress, r#"{"read_rows":"10","read_bytes":"80","written_rows":"7","written_bytes":"1"}"#);
        assert_eq!((progress.read_rows(), progress.read_bytes(), progress.written_rows()), (10, 80, 7));
        observe(&progress, "{}");
        assert_eq!(progress.read_rows(), 10);
    }

    #[test]
    fn an_address_never_shows_the_password() {
        let address = Address {
            host: "h".to_owned(),
            port: 1,
            secure: false,
            user: "u".to_owned(),
            password: Some("s3cr3t".to_owned()),
        };
        assert_eq!(format!("{address:?}"), "Address(u@h:1)");
        assert!(!format!("{:?}", header("the password", "s3cr3t\n").unwrap_err()).contains("s3cr3t"));
    }
}
