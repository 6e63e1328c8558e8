//! The head of an answer: status and headers.
//!
//! Invariant: a header's value is made of checked text; what a client wrote goes into one only if it is visible ASCII.

use std::sync::Arc;
use std::time::Duration;

use engine::{Error, ErrorCode, ErrorKind, FormatKind, QueryProgress};
use http::{HeaderName, HeaderValue, Response, StatusCode, header};

use crate::door::Door;
use crate::http::body::Body;
use crate::http::encoding::Encoding;
use crate::http::failure::{status_of, text_of};

const QUERY_ID: HeaderName = HeaderName::from_static("x-clickhouse-query-id");
const FORMAT: HeaderName = HeaderName::from_static("x-clickhouse-format");
const TIMEZONE: HeaderName = HeaderName::from_static("x-clickhouse-timezone");
const SUMMARY: HeaderName = HeaderName::from_static("x-clickhouse-summary");
const DISPLAY_NAME: HeaderName = HeaderName::from_static("x-clickhouse-server-display-name");
const EXCEPTION_CODE: HeaderName = HeaderName::from_static("x-clickhouse-exception-code");
const EXCEPTION_TAG: HeaderName = HeaderName::from_static("x-clickhouse-exception-tag");
/// Once for each warning; ClickHouse has none, and clients pass over headers that they do not know.
const WARNING: HeaderName = HeaderName::from_static("x-gristmill-warning");
/// The newest record of the log this server knows: what the statement did, and all it saw, is at or before it.
const SEQ: HeaderName = HeaderName::from_static("x-gristmill-seq");
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

/// Warnings that are sent, and characters of each: clients give up on heads of some kilobytes.
const WARNINGS_MAX: usize = 8;
const WARNING_CHARACTERS_MAX: usize = 256;

/// Characters of an id that a client may give.
const ID_CHARACTERS_MAX: usize = 512;

/// How a statement ended, as far as it has.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    pub(crate) result_rows: u64,
    pub(crate) result_bytes: u64,
    pub(crate) error: Option<Error>,
}

/// What is known of an answer before it is sent.
pub(crate) struct Head {
    door: Arc<Door>,
    query_id: String,
    time_zone: String,
    tag: String,
    format: Option<FormatKind>,
    coding: Option<&'static str>,
    /// How the text of an error is compressed: in blocks, or by one of HTTP's codings.
    of_errors: (bool, Option<&'static str>),
    warnings: Vec<String>,
    started: Duration,
}

/// An id that a client wrote, if it can stand in a header.
///
/// # Errors
/// It has characters that are not visible, or far too many of them.
pub(crate) fn checked_id(what: &str, id: &str) -> Result<(), Error> {
    let visible = id.chars().all(|c| c.is_ascii_graphic() || c == ' ');
    if visible && id.len() <= ID_CHARACTERS_MAX {
        return Ok(());
    }
    let message =
        format!("{what} has more than {ID_CHARACTERS_MAX} characters, or one that is not visible ASCII");
    Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message))
}

impl Head {
    pub(crate) fn new(door: &Arc<Door>, query_id: String, time_zone: String) -> Head {
        Head {
            query_id,
            time_zone,
            tag: door.new_tag(),
            format: None,
            coding: None,
            of_errors: (false, None),
            warnings: Vec::new(),
            started: door.host.clock.monotonic(),
            door: Arc::clone(door),
        }
    }

    /// Measured from another moment than now.
    #[must_use]
    pub(crate) fn since(mut self, started: Duration) -> Head {
        self.started = started;
        self
    }

    pub(crate) fn query_id(&self) -> &str {
        &self.query_id
    }

    /// When the request came.
    pub(crate) fn started(&self) -> Duration {
        self.started
    }

    /// What marks an error behind rows.
    pub(crate) fn tag(&self) -> &str {
        &self.tag
    }

    /// There are rows, in this format, compressed so.
    pub(crate) fn describe(&mut self, format: FormatKind, coding: Option<&'static str>) {
        (self.format, self.coding) = (Some(format), coding);
    }

    /// Errors come as the answer would have come, as from ClickHouse: its drivers read them so.
    pub(crate) fn compress_errors(&mut self, blocks: bool, coding: Option<&'static str>) {
        self.of_errors = (blocks, coding);
    }

    /// What the statement accepted and did not do.
    pub(crate) fn warn(&mut self, warnings: &[String]) {
        self.warnings = warnings.iter().take(WARNINGS_MAX).map(|warning| visible(warning)).collect();
    }

    /// The answer of a statement that went well so far.
    pub(crate) fn response(
        &self,
        body: Body,
        progress: &QueryProgress,
        ended: &Ended,
        now: Duration,
    ) -> Response<Body> {
        let mut response = self.bare(body, StatusCode::OK);
        let headers = response.headers_mut();
        let content_type = self.format.map_or("text/plain; charset=UTF-8", FormatKind::content_type);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        if let Some(format) = self.format {
            headers.insert(FORMAT, HeaderValue::from_static(format.name()));
            put(headers, EXCEPTION_TAG, &self.tag);
        }
        if let Some(coding) = self.coding {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding));
            headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
        }
        let elapsed_ns = now.saturating_sub(self.started).as_nanos();
        let summary = format!(
            r#"{{"read_rows":"{}","read_bytes":"{}","written_rows":"{}","written_bytes":"{}","total_rows_to_read":"{}","result_rows":"{}","result_bytes":"{}","elapsed_ns":"{elapsed_ns}"}}"#,
            progress.read_rows(),
            progress.read_bytes(),
            progress.written_rows(),
            progress.written_bytes(),
            progress.total_rows_approx(),
            // For an INSERT ClickHouse counts what it wrote.
            if self.format.is_some() { ended.result_rows } else { progress.written_rows() },
            if self.format.is_some() { ended.result_bytes } else { progress.written_bytes() },
        );
        put(headers, SUMMARY, &summary);
        let warnings = self.warnings.iter().filter_map(|warning| HeaderValue::from_str(warning).ok());
        for warning in warnings {
            headers.append(WARNING, warning);
        }
        response
    }

    /// The answer of a statement that failed before anything was sent.
    pub(crate) fn failure(&self, error: &Error) -> Response<Body> {
        let text = text_of(error);
        let packed = self.packed(text.as_bytes());
        let coding = packed.as_ref().and_then(|(_, coding)| *coding);
        let body = packed.map_or_else(|| Body::whole(text), |(bytes, _)| Body::whole(bytes));
        let mut response = self.bare(body, status_of(error.code));
        let headers = response.headers_mut();
        if let Some(coding) = coding {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding));
            headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
        }
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=UTF-8"));
        headers.insert(EXCEPTION_CODE, HeaderValue::from(error.code.number()));
        response
    }

    /// The text as it was asked for, and HTTP's name for that; `None` where it stays as it is.
    fn packed(&self, text: &[u8]) -> Option<(Vec<u8>, Option<&'static str>)> {
        let (blocks, coding) = self.of_errors;
        let mut encoding = Encoding::new(blocks, coding).ok().filter(|encoding| !encoding.is_plain())?;
        let mut packed = Vec::new();
        let done = encoding.push(text, &mut packed).and_then(|()| encoding.finish(&mut packed));
        done.ok().map(|()| (packed, encoding.http_name()))
    }

    fn bare(&self, body: Body, status: StatusCode) -> Response<Body> {
        let mut response = Response::new(body);
        *response.status_mut() = status;
        let headers = response.headers_mut();
        put(headers, QUERY_ID, &self.query_id);
        put(headers, TIMEZONE, &self.time_zone);
        put(headers, DISPLAY_NAME, &self.door.config.display_name);
        put(headers, SEQ, &self.door.database.seq().to_string());
        put(headers, KEEP_ALIVE, &format!("timeout={}", self.door.config.limits.keep_alive.as_secs()));
        response
    }
}

/// A text that can stand in a header: cut, and other characters replaced.
fn visible(text: &str) -> String {
    let shown = |c: char| if c.is_ascii_graphic() || c == ' ' { c } else { '?' };
    text.chars().take(WARNING_CHARACTERS_MAX).map(shown).collect()
}

/// Adds a header whose value was checked; a value that cannot be one is left out.
fn put(headers: &mut http::HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_one_visible_line() {
        assert_eq!(visible("TTL has no effect\r\nSet-Cookie: é"), "TTL has no effect??Set-Cookie: ?");
        assert_eq!(visible(&"x".repeat(1000)).len(), WARNING_CHARACTERS_MAX);
    }

    #[test]
    fn ids_with_invisible_characters_are_refused() {
        for id in ["", "a", "3f-0b", "my query #1"] {
            assert!(checked_id("query_id", id).is_ok(), "{id}");
        }
        for id in ["a\r\nSet-Cookie: b", "a\n", "\0", "é", "\x7f", &"x".repeat(513)] {
            assert_eq!(checked_id("query_id", id).unwrap_err().code.number(), 36, "{id:?}");
        }
    }
}
