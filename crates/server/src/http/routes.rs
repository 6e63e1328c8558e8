//! Which answer a request gets: statements, or one of the small pages beside them.
//!
//! Invariant: every request is answered; what nobody asked for is 404 and names what there is.

use std::net::IpAddr;
use std::sync::Arc;

use engine::{Error, ErrorCode, ErrorKind};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use tokio::sync::oneshot;

use crate::door::Door;
use crate::door::metrics::Exposition;
use crate::http::answer::{Job, run};
use crate::http::body::Body;
use crate::http::failure::{status_of, text_of};
use crate::http::head::{Ended, Head};
use crate::http::parameters::Parameters;
use crate::http::statement::{Asked, query_id, user_of};

const PLAY: &str = include_str!("play.html");
/// The page runs its own script and style, and talks to this server alone.
const PLAY_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'";
const TEXT: &str = "text/plain; charset=UTF-8";
/// Characters of a statement in a line of the log.
const LOGGED_CHARACTERS_MAX: usize = 1000;

/// Answers one request.
pub(crate) async fn answer(door: Arc<Door>, from: IpAddr, request: Request<Incoming>) -> Response<Body> {
    let origin = request.headers().get(header::ORIGIN).cloned();
    let mut response = match (request.method(), request.uri().path()) {
        // Whoever watches whether the server lives may call it anything.
        (_, path)
            if path != "/ping"
                && path != "/replicas_status"
                && let Err(refused) = named(&door, from, &request) =>
        {
            page(StatusCode::FORBIDDEN, TEXT, text_of(&refused))
        }
        (&Method::OPTIONS, _) => options(&door, origin.is_some()),
        (&Method::GET | &Method::HEAD, "/ping") => page(StatusCode::OK, TEXT, "Ok.\n"),
        // There is one copy of everything, and it is up to date.
        (&Method::GET | &Method::HEAD, "/replicas_status") => page(StatusCode::OK, TEXT, "Ok.\n"),
        (&Method::GET | &Method::HEAD, "/play") => play(),
        (&Method::GET | &Method::HEAD, "/metrics") => metrics(&door, from, &request).await,
        (&Method::GET | &Method::HEAD, "/") if request.uri().query().is_none_or(str::is_empty) => {
            page(StatusCode::OK, TEXT, "Ok.\n")
        }
        (&Method::GET | &Method::HEAD | &Method::POST | &Method::PUT, "/" | "/query")
            if door.config.allowed_origin.is_none() && of_another_page(request.headers()) =>
        {
            let message = "a browser asks for a page of another origin";
            let refused = Error::new(ErrorKind::Denied, ErrorCode::ACCESS_DENIED, message)
                .with_hint("allowed_origin in the configuration file names pages that may ask");
            door.database.note_answered(&refused, "", "");
            page(StatusCode::FORBIDDEN, TEXT, text_of(&refused))
        }
        // PUT is how `curl -T` sends a file: a body as any other.
        (&Method::GET | &Method::HEAD | &Method::POST | &Method::PUT, "/" | "/query") => {
            statement(&door, from, request).await
        }
        (&Method::GET | &Method::HEAD | &Method::POST | &Method::PUT, path) => {
            let there_is = "There is /, /ping, /replicas_status, /play and /metrics.";
            page(
                StatusCode::NOT_FOUND,
                TEXT,
                format!("There is no handle {}. {there_is}\n", path.escape_debug()),
            )
        }
        (method, _) => {
            let text = format!("Method {} is not allowed.\n", method.as_str().escape_debug());
            let mut response = page(StatusCode::METHOD_NOT_ALLOWED, TEXT, text);
            let allowed = HeaderValue::from_static("GET, HEAD, POST, PUT, OPTIONS");
            response.headers_mut().insert(header::ALLOW, allowed);
            response
        }
    };
    if origin.is_some()
        && let Some(allowed) = &door.config.allowed_origin
        && let Ok(value) = HeaderValue::from_str(allowed)
    {
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, value);
        let shown = "X-ClickHouse-Query-Id, X-ClickHouse-Summary, X-ClickHouse-Server-Display-Name, X-ClickHouse-Format, \
                     X-ClickHouse-Timezone, X-ClickHouse-Exception-Code, X-ClickHouse-Exception-Tag, X-Gristmill-Warning, \
                     X-Gristmill-Seq";
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(shown));
    }
    response
}

/// Whether a browser sends this for a page that is not ours. Without asking first it sends simple requests, and the user
/// without a password is anybody on this machine.
fn of_another_page(headers: &HeaderMap) -> bool {
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(origin) = text(&header::ORIGIN) {
        let host = origin.split_once("://").map_or(origin, |(_, host)| host);
        return !text(&header::HOST).is_some_and(|ours| ours.eq_ignore_ascii_case(host));
    }
    text(&HeaderName::from_static("sec-fetch-site"))
        .is_some_and(|site| !matches!(site, "same-origin" | "none"))
}

fn page(status: StatusCode, content_type: &'static str, text: impl Into<bytes::Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::whole(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// A browser asks whether a page of another origin may ask.
fn options(door: &Door, by_browser: bool) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    if by_browser && door.config.allowed_origin.is_some() {
        for (name, value) in [
            (header::ACCESS_CONTROL_ALLOW_METHODS, "POST, GET, OPTIONS"),
            (
                header::ACCESS_CONTROL_ALLOW_HEADERS,
                "origin, x-requested-with, x-clickhouse-format, x-clickhouse-user, x-clickhouse-key, \
                 x-clickhouse-database, content-type, content-encoding, authorization",
            ),
            (header::ACCESS_CONTROL_MAX_AGE, "86400"),
        ] {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
    }
    response
}

fn play() -> Response<Body> {
    let mut response = page(StatusCode::OK, "text/html; charset=UTF-8", PLAY);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(PLAY_POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

/// Whether the request asks for this server.
fn named<B>(door: &Door, from: IpAddr, request: &Request<B>) -> Result<(), Error> {
    let checked = door.host_names.check(from, request.uri(), request.headers());
    checked.inspect_err(|refused| door.database.note_answered(refused, "", ""))
}

/// Whether the sender of a request may read the figures.
async fn may_measure<B>(door: &Door, from: IpAddr, request: &Request<B>) -> Result<(), Error> {
    let Some(allowed) = &door.config.metrics_users else { return Ok(()) };
    let parameters = Parameters::parse(request.uri().query().unwrap_or_default())?;
    let user = user_of(door, from, request.headers(), &parameters).await?;
    match allowed.contains(&user.name) {
        true => Ok(()),
        false => {
            let message = format!("user \"{}\" may not read /metrics", user.name.escape_debug());
            Err(Error::new(ErrorKind::Denied, ErrorCode::ACCESS_DENIED, message)
                .with_hint("metrics_users in the configuration file says who may"))
        }
    }
}

async fn metrics(door: &Door, from: IpAddr, request: &Request<Incoming>) -> Response<Body> {
    if let Err(error) = may_measure(door, from, request).await {
        door.database.note_answered(&error, "", "");
        let status = if error.code == ErrorCode::AUTHENTICATION_FAILED {
            StatusCode::UNAUTHORIZED
        } else {
            status_of(error.code)
        };
        let mut response = page(status, TEXT, text_of(&error));
        if status == StatusCode::UNAUTHORIZED {
            let wanted = HeaderValue::from_static("Basic realm=\"gristmill\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, wanted);
        }
        return response;
    }
    let mut out = Exposition::default();
    door.metrics.write(&mut out);
    out.gauge("queries_waiting", "Statements that wait for a place.", door.gate.waiting() as u64);
    out.gauge("connections_idle", "Connections that wait for a request.", door.connections.waiting() as u64);
    out.gauge("bodies_waiting", "Bodies that are waited for.", door.bodies.waiting() as u64);
    out.gauge("sessions", "Named sessions.", door.sessions.count() as u64);
    let figures = door.database.figures();
    for (name, help, value) in [
        ("statements_running", "Statements that run now.", figures.statements_running),
        ("tables", "Tables.", figures.tables),
        ("parts_active", "Parts that queries read.", figures.parts_active),
        ("rows", "Rows of all tables.", figures.rows),
        ("part_bytes", "Bytes of active parts.", figures.part_bytes),
        ("inline_bytes", "Bytes of rows that are in the log and in no part.", figures.inline_bytes),
        ("log_bytes", "Bytes of the log's files.", figures.log_bytes),
        ("memory_used_bytes", "Memory that statements and caches have.", figures.memory_used_bytes),
        ("memory_limit_bytes", "Memory that they may have together.", figures.memory_limit_bytes),
        ("memory_resident_bytes", "Memory of the process.", host::process::current_rss_bytes()),
    ] {
        out.gauge(name, help, value);
    }
    page(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", out.into_text())
}

/// Runs the statement of a request; the answer is here when its head is known.
async fn statement(door: &Arc<Door>, from: IpAddr, request: Request<Incoming>) -> Response<Body> {
    door.metrics.queries.add(1);
    let (parts, body) = request.into_parts();
    let parameters = Parameters::parse(parts.uri.query().unwrap_or_default());
    let (parameters, unread) = match parameters {
        Ok(parameters) => (parameters, None),
        Err(error) => (Parameters::default(), Some(error)),
    };
    let time_zone = parameters.get("session_timezone").filter(|zone| !zone.is_empty()).unwrap_or("UTC");
    let id = query_id(door, &parameters);
    let shown_id = id.as_ref().ok().cloned().unwrap_or_else(|| door.new_id());
    let head = Head::new(door, shown_id, time_zone.to_owned());
    let refused = Head::new(door, head.query_id().to_owned(), time_zone.to_owned());
    let asked = async {
        if let Some(error) = unread {
            return Err(error);
        }
        let id = id?;
        Asked { door, from, parts: &parts, parameters }.job(body, head, id).await
    };
    match asked.await {
        Ok(job) => ran(door, from, job).await,
        Err(error) => {
            let ended = Ended { error: Some(error.clone()), ..Ended::default() };
            door.database.note_answered(&error, refused.query_id(), "");
            log(door, (from, ""), &refused, "", &ended);
            refused.failure(&error)
        }
    }
}

async fn ran(door: &Arc<Door>, from: IpAddr, job: Job) -> Response<Body> {
    let (client, response) = oneshot::channel();
    let shown = engine::masked(&cut(&job.request.sql));
    let (progress, door) = (Arc::clone(&job.request.progress), Arc::clone(door));
    let user = job.user.clone();
    let logged = Head::new(&door, job.head.query_id().to_owned(), String::new()).since(job.head.started());
    let lost = Head::new(&door, job.head.query_id().to_owned(), "UTC".to_owned());
    let (lost_in, lost_user) = (Arc::clone(&door.database), user.clone());
    let runtimes = door.runtimes.clone();
    runtimes.spawn_cpu("http statement", async move {
        let ended = run(job, client).await;
        door.metrics.rows_read.add(progress.read_rows());
        door.metrics.rows_written.add(progress.written_rows());
        log(&door, (from, &user), &logged, &shown, &ended);
    });
    match response.await {
        Ok(response) => response,
        // The task panicked.
        Err(_) => {
            let error = Error::panicked("writing the answer");
            lost_in.note_answered(&error, lost.query_id(), &lost_user);
            lost.failure(&error)
        }
    }
}

/// The beginning of a statement, at a character's end.
fn cut(sql: &str) -> String {
    sql.chars().take(LOGGED_CHARACTERS_MAX).collect()
}

/// One line a statement.
fn log(door: &Door, (from, user): (IpAddr, &str), head: &Head, statement: &str, ended: &Ended) {
    let elapsed = door.host.clock.monotonic().saturating_sub(head.started());
    let ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
    let (query_id, rows, bytes) = (head.query_id(), ended.result_rows, ended.result_bytes);
    match &ended.error {
        None => tracing::info!(%from, user, query_id, ms, rows, bytes, statement, "statement"),
        Some(error) => {
            door.metrics.queries_failed.add(1);
            let code = error.code.number();
            tracing::warn!(%from, user, query_id, ms, rows, bytes, statement, code, %error, "statement failed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_other_origins_are_told_from_ours_and_from_programs() {
        for (headers, expected) in [
            (vec![], false),
            (vec![("host", "h:1")], false),
            (vec![("host", "h:1"), ("origin", "http://h:1")], false),
            (vec![("host", "h:1"), ("origin", "http://h:2")], true),
            (vec![("host", "h:1"), ("origin", "null")], true),
            (vec![("origin", "http://h:1")], true),
            (vec![("sec-fetch-site", "none")], false),
            (vec![("sec-fetch-site", "same-origin")], false),
            (vec![("sec-fetch-site", "cross-site")], true),
        ] {
            let read: HeaderMap = headers
                .iter()
                .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()))
                .collect();
            assert_eq!(of_another_page(&read), expected, "{headers:?}");
        }
    }
}
