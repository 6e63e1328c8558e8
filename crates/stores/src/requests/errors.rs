//! Errors of the object store client turned into ours.
//!
//! The client hands on a server's answer only as text, so status, S3 code and request id are read from there.
//! Invariant: kind and message depend on what the server said, never on which request said it.

use std::error::Error as StdError;
use std::ops::Range;

use crate::error::{SourceError, SourceErrorKind, StoreAnswer};
use crate::xml::first_text;

/// Longest piece of a foreign text in our message.
const FOREIGN_TEXT_MAX: usize = 400;

/// An error of reading `shown` (`bucket/key` or a path).
pub(crate) fn read_error(error: &object_store::Error, shown: &str, range: Option<Range<u64>>) -> SourceError {
    if let Some(ours) = SourceError::find(error) {
        return ours.clone().with_file(shown);
    }
    let answer = answer_of(error);
    let bucket = shown.split('/').next().unwrap_or(shown);
    let built = match (error, answer.s3_code.as_deref(), answer.http_status) {
        (_, Some("NoSuchBucket" | "ContainerNotFound"), _) => no_bucket(bucket),
        (_, Some(code), _) if refusal(code).is_some() => refused(shown, code),
        (object_store::Error::NotFound { .. }, ..) | (_, _, Some(404)) => {
            SourceError::new(SourceErrorKind::NotFound, format!("key \"{shown}\" does not exist"))
        }
        (object_store::Error::Precondition { .. }, ..) | (_, _, Some(412)) => SourceError::new(
            SourceErrorKind::Changed,
            format!("\"{shown}\" was replaced while it was being read: its ETag changed"),
        ),
        _ if denied(error, &answer) => no_access(shown),
        _ => unavailable(error, &answer, &format!("reading \"{shown}\"")),
    };
    let built = built.with_file(shown).with_answer(answer);
    match range {
        Some(range) => built.with_range(range),
        None => built,
    }
}

/// An error of listing `prefix` in a bucket.
pub(crate) fn store_error(error: &object_store::Error, bucket: &str, prefix: &str) -> SourceError {
    if let Some(ours) = SourceError::find(error) {
        return ours.clone();
    }
    let answer = answer_of(error);
    let built = match (answer.s3_code.as_deref(), answer.http_status) {
        (Some("NoSuchBucket" | "ContainerNotFound"), _) | (None, Some(404)) => no_bucket(bucket),
        (Some(code), _) if refusal(code).is_some() => refused(&format!("{bucket}/{prefix}"), code),
        _ if denied(error, &answer) => no_access(&format!("{bucket}/{prefix}")),
        _ => unavailable(error, &answer, &format!("listing \"{bucket}/{prefix}\"")),
    };
    built.with_answer(answer)
}

/// An error of writing `shown` (`bucket/key`).
pub(crate) fn write_error(error: &object_store::Error, shown: &str) -> SourceError {
    let answer = answer_of(error);
    let bucket = shown.split('/').next().unwrap_or(shown);
    let built = match (error, answer.s3_code.as_deref(), answer.http_status) {
        (_, Some("NoSuchBucket" | "ContainerNotFound"), _) => no_bucket(bucket),
        (_, Some(code), _) if refusal(code).is_some() => refused(shown, code),
        (_, Some("NoSuchUpload"), _) | (object_store::Error::NotFound { .. }, ..) | (_, _, Some(404)) => {
            SourceError::new(SourceErrorKind::NotFound, format!("the upload of \"{shown}\" does not exist"))
        }
        (object_store::Error::AlreadyExists { .. }, ..) | (_, _, Some(409 | 412)) => {
            SourceError::new(SourceErrorKind::Exists, format!("object \"{shown}\" already exists"))
        }
        (object_store::Error::NotImplemented { .. }, ..) => {
            SourceError::unsupported(format!("the store cannot write \"{shown}\" this way"))
        }
        _ if denied(error, &answer) => {
            SourceError::new(SourceErrorKind::Denied, format!("writing \"{shown}\" was denied"))
                .with_hint("give credentials that may write to the bucket")
        }
        _ => unavailable(error, &answer, &format!("writing \"{shown}\"")),
    };
    built.with_file(shown).with_answer(answer)
}

fn no_bucket(bucket: &str) -> SourceError {
    SourceError::new(SourceErrorKind::NotFound, format!("bucket \"{bucket}\" does not exist"))
}

fn no_access(shown: &str) -> SourceError {
    SourceError::new(SourceErrorKind::Denied, format!("access to \"{shown}\" was denied"))
        .with_hint("give other credentials, or NOSIGN for a public bucket")
}

/// What to do about credentials that a store names as the trouble, whatever status it says so with.
fn refusal(s3_code: &str) -> Option<&'static str> {
    match s3_code {
        "RequestTimeTooSkewed" | "RequestExpired" => Some(
            "the clock of this machine and the store's differ by more than the store bears: set the clock",
        ),
        "ExpiredToken" | "TokenRefreshRequired" => {
            Some("the session token has expired: give new credentials and run the statement again")
        }
        "InvalidToken" => {
            Some("the store does not know the session token: give the one of these credentials")
        }
        "InvalidAccessKeyId" | "XAdminUserNotFound" => Some(
            "the store does not know the access key id: give other credentials, or NOSIGN for a public bucket",
        ),
        "SignatureDoesNotMatch" => Some(
            "the secret key is not the one of this access key id: give other credentials, or NOSIGN for a public bucket",
        ),
        _ => None,
    }
}

fn refused(shown: &str, s3_code: &str) -> SourceError {
    SourceError::new(SourceErrorKind::Denied, format!("access to \"{shown}\" was denied"))
        .with_hint(refusal(s3_code).unwrap_or_default())
}

fn denied(error: &object_store::Error, answer: &StoreAnswer) -> bool {
    use object_store::Error::{PermissionDenied, Unauthenticated};
    matches!(error, PermissionDenied { .. } | Unauthenticated { .. })
        || matches!(answer.http_status, Some(401 | 403))
        || answer.s3_code.as_deref() == Some("AccessDenied")
}

fn unavailable(error: &object_store::Error, answer: &StoreAnswer, doing: &str) -> SourceError {
    let text = answer.message.clone().unwrap_or_else(|| without_client(&text_of(error)));
    let cut: String = text.chars().take(FOREIGN_TEXT_MAX).collect();
    let message = format!("{doing} failed: {cut}");
    SourceError::new(SourceErrorKind::Unavailable, message)
}

/// An error and what caused it, outermost first.
pub(crate) fn causes(error: &object_store::Error) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    let mut next: Option<&(dyn StdError + 'static)> = Some(error);
    std::iter::from_fn(move || {
        let now = next?;
        next = now.source();
        Some(now)
    })
}

/// Everything the client and the libraries below it say, each thing once.
fn text_of(error: &object_store::Error) -> String {
    let mut text = String::new();
    for said in causes(error).map(ToString::to_string) {
        if !text.contains(&said) {
            text.push_str(if text.is_empty() { "" } else { ": " });
            text.push_str(&said);
        }
    }
    text
}

/// What kept a request from arriving, in our words: libraries name neither the host nor what to do.
///
/// `text` is everything they say, `host` whom they should have reached, with its port.
pub(crate) fn no_connection(text: &str, host: &str) -> Option<String> {
    let says = |words: &str| text.contains(words);
    if says("dns error") || says("failed to lookup address") {
        return Some(format!("the host of \"{host}\" is not known to the name server"));
    }
    if says("InvalidContentType") || says("wrong version number") {
        return Some(format!("\"{host}\" does not speak TLS: write http:// instead of https://"));
    }
    if says("Connection refused") {
        return Some(format!("\"{host}\" refuses connections: nobody listens there"));
    }
    None
}

/// The text of an error without what the client wraps around it.
fn without_client(text: &str) -> String {
    let Some((asked, said)) = text.split_once(" - HTTP error: ") else { return text.to_owned() };
    let host = between(asked, "://", "/").unwrap_or_default();
    no_connection(said, host).unwrap_or_else(|| said.trim_start_matches("error sending request: ").to_owned())
}

fn answer_of(error: &object_store::Error) -> StoreAnswer {
    let text = text_of(error);
    let xml = text.find('<').map_or("", |at| &text[at..]);
    let tag = |name: &str| first_text(xml, name);
    let from_text = between(&text, "non-2xx status code: ", " ").and_then(|status| status.parse().ok());
    let from_kind = match error {
        object_store::Error::NotFound { .. } => Some(404),
        object_store::Error::PermissionDenied { .. } => Some(403),
        object_store::Error::Unauthenticated { .. } => Some(401),
        object_store::Error::Precondition { .. } => Some(412),
        _ => None,
    };
    StoreAnswer {
        http_status: from_text.or(from_kind),
        s3_code: tag("Code"),
        request_id: tag("RequestId"),
        region: tag("Region"),
        message: tag("Message"),
    }
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let rest = &text[text.find(before)? + before.len()..];
    rest.find(after).map(|end| &rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> object_store::Error {
        object_store::Error::Generic { store: "S3", source: text.into() }
    }

    #[test]
    fn the_answer_is_read_from_the_text() {
        let told = error(
            "Error performing GET http://h/b/k in 1ms - Server returned non-2xx status code: 503 Service Unavailable: \
             <Error><Code>SlowDown</Code><Message>slow</Message><RequestId>r7</RequestId></Error>",
        );
        let read = read_error(&told, "b/k", Some(5..10));
        assert_eq!(read.kind(), SourceErrorKind::Unavailable);
        assert_eq!(
            read.to_string(),
            "reading \"b/k\" failed: slow (bytes 5-9, HTTP 503, S3 code SlowDown, request id r7)"
        );
    }

    #[test]
    fn who_was_not_reached_is_named() {
        let trouble = "HTTP error: error sending request: client error (Connect): ";
        for (url, said, expected) in [
            (
                "http://nowhere.invalid/b/k",
                "dns error: failed to lookup address information: Name or service not known",
                "the host of \"nowhere.invalid\" is not known to the name server",
            ),
            (
                "http://127.0.0.1:1/b/k",
                "tcp connect error: Connection refused (os error 111)",
                "\"127.0.0.1:1\" refuses connections: nobody listens there",
            ),
            (
                "https://h:9000/b/k",
                "received corrupt message of type InvalidContentType",
                "\"h:9000\" does not speak TLS: write http:// instead of https://",
            ),
            ("http://h/b/k", "reset by peer", "client error (Connect): reset by peer"),
        ] {
            let told = error(&format!("Error performing HEAD {url} in 1.1ms - {trouble}{said}"));
            let read = read_error(&told, "b/k", None);
            assert_eq!(read.to_string(), format!("reading \"b/k\" failed: {expected}"));
        }
    }

    #[test]
    fn kinds_follow_what_the_server_said() {
        let with = |code: &str, status: u16| {
            error(&format!("non-2xx status code: {status} X: <Error><Code>{code}</Code></Error>"))
        };
        for (code, status, kind, words) in [
            ("NoSuchBucket", 404, SourceErrorKind::NotFound, "bucket \"b\""),
            ("NoSuchKey", 404, SourceErrorKind::NotFound, "key \"b/k\""),
            ("AccessDenied", 403, SourceErrorKind::Denied, "denied"),
            ("SignatureDoesNotMatch", 403, SourceErrorKind::Denied, "secret key"),
            ("InvalidAccessKeyId", 403, SourceErrorKind::Denied, "NOSIGN"),
            ("XAdminUserNotFound", 404, SourceErrorKind::Denied, "access key id"),
            ("ExpiredToken", 400, SourceErrorKind::Denied, "has expired"),
            ("InvalidToken", 400, SourceErrorKind::Denied, "session token"),
            ("PreconditionFailed", 412, SourceErrorKind::Changed, "ETag changed"),
            ("InternalError", 500, SourceErrorKind::Unavailable, "failed"),
        ] {
            let read = read_error(&with(code, status), "b/k", None);
            assert_eq!(read.kind(), kind, "{code}");
            assert!(read.to_string().contains(words), "{read}");
            assert_eq!((read.http_status(), read.s3_code()), (Some(status), Some(code)));
            let written = write_error(&with(code, status), "b/k");
            assert!(kind != SourceErrorKind::Denied || written.kind() == kind, "{written}");
        }
        assert!(
            store_error(&with("NoSuchBucket", 404), "b", "p").to_string().contains("bucket \"b\" does not")
        );
    }
}
