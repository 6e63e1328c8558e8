//! What a server says when a statement fails, as our own error again.
//!
//! ```text
//! Code: 60. DB::Exception: table "default.t" does not exist. (UNKNOWN_TABLE) (version 25.8.1.1)
//! ```
//! Invariant: printed, the error reads as the server wrote it, without the version.

use std::error::Error as _;

use engine::{Error, ErrorCode, ErrorKind};
use reqwest::StatusCode;

/// Bytes shown of an answer that is none of ours.
const SHOWN_BYTES_MAX: usize = 300;

/// The error a text is, if it is one.
pub(super) fn parse(text: &str) -> Option<Error> {
    let (code, message) = text.trim().strip_prefix("Code: ")?.split_once(". ")?;
    let code = ErrorCode::of(code.parse().ok()?);
    let message = message.strip_prefix("DB::Exception: ").unwrap_or(message);
    let message = message.rfind(" (version ").map_or(message, |at| &message[..at]);
    // The name is printed from the code again.
    let message = match message.rsplit_once(" (") {
        Some((before, name)) if is_name(name) => before,
        _ => message,
    };
    let kind =
        if code == ErrorCode::QUERY_WAS_CANCELLED { ErrorKind::Cancelled } else { ErrorKind::BadInput };
    Some(Error::new(kind, code, message.strip_suffix('.').unwrap_or(message)))
}

/// `UNKNOWN_TABLE)`
fn is_name(text: &str) -> bool {
    let known = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    text.strip_suffix(')').is_some_and(|name| !name.is_empty() && name.chars().all(known))
}

/// An answer that says nothing of a statement: somebody else listens there, or stands between.
pub(super) fn of_status(server: &str, status: StatusCode, text: &str) -> Error {
    let shown: String = text.trim().chars().take(SHOWN_BYTES_MAX).collect();
    Error::new(
        ErrorKind::Unavailable,
        ErrorCode::NETWORK_ERROR,
        format!("{server} answered {status}: {shown}"),
    )
    .with_hint("look whether it is a database that listens there")
}

/// The connection could not be made, or broke.
pub(super) fn of_network(server: &str, problem: &reqwest::Error) -> Error {
    // The outermost error has the address with everything in it; what went wrong is the innermost.
    let mut cause: &dyn std::error::Error = problem;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let innermost = match problem.source() {
        Some(_) => cause.to_string(),
        None => "the answer could not be read".to_owned(),
    };
    let failed =
        Error::new(ErrorKind::Unavailable, ErrorCode::NETWORK_ERROR, format!("{server}: {innermost}"));
    if problem.is_connect() {
        failed.with_hint("look whether it runs, with --host and --port")
    } else {
        failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_reads_as_the_server_wrote_it() {
        for (said, code, shown) in [
            (
                "Code: 60. DB::Exception: table \"d.t\" does not exist. (UNKNOWN_TABLE) (version 25.8.1.1)\n",
                60,
                "Code: 60. DB::Exception: table \"d.t\" does not exist. (UNKNOWN_TABLE)",
            ),
            (
                "Code: 62. DB::Exception: near (x. y). Say it again. (SYNTAX_ERROR)",
                62,
                "Code: 62. DB::Exception: near (x. y). Say it again. (SYNTAX_ERROR)",
            ),
        ] {
            let error = parse(said).unwrap();
            assert_eq!((error.code.number(), error.to_string().as_str()), (code, shown));
        }
        assert_eq!(
            parse("Code: 394. DB::Exception: x. (QUERY_WAS_CANCELLED)").unwrap().kind,
            ErrorKind::Cancelled
        );
        for text in ["", "<html>", "Code: x. y", "Code: 5"] {
            assert!(parse(text).is_none(), "{text}");
        }
    }
}
