//! Errors as HTTP says them: a status, headers, and a body that clients take apart.
//!
//! Invariant: no text of an error reaches a header; the body is what ClickHouse would have sent, with our words.

use engine::Error;
use engine::boundary::coding::CLICKHOUSE_VERSION;
use http::StatusCode;

/// `Code: 60. DB::Exception: .. (UNKNOWN_TABLE) (version 25.8.1.1)` and a line end.
pub(crate) fn text_of(error: &Error) -> String {
    format!("{error} (version {CLICKHOUSE_VERSION})\n")
}

/// ClickHouse's status of an error, but for overload, which is 503 so that clients try again.
pub(crate) fn status_of(code: i32) -> StatusCode {
    match code {
        194 => StatusCode::UNAUTHORIZED,
        192 | 193 | 497 | 512 | 516 => StatusCode::FORBIDDEN,
        6 | 15 | 25 | 26 | 27 | 36 | 37 | 38 | 41 | 44 | 53 | 62 | 72 | 117 | 123 | 167 | 168 | 223 | 318
        | 321 | 374 | 376 | 427 | 441 | 675 | 676 => StatusCode::BAD_REQUEST,
        46 | 47 | 50 | 56 | 60 | 63 | 73 | 78 | 81 | 115 | 152 | 336 | 372 | 511 => StatusCode::NOT_FOUND,
        159 | 209 => StatusCode::REQUEST_TIMEOUT,
        229 => StatusCode::PAYLOAD_TOO_LARGE,
        48 => StatusCode::NOT_IMPLEMENTED,
        381 => StatusCode::LENGTH_REQUIRED,
        202 | 439 | 700 => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The last chunk of an answer that broke after its head was sent. `len` counts the message with its line end.
pub(crate) fn broken_off(error: &Error, tag: &str) -> Vec<u8> {
    let message = text_of(error);
    format!("\r\n__exception__\r\n{tag}\r\n{message}{} {tag}\r\n__exception__\r\n", message.len())
        .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_is_what_clients_look_for() {
        let error = Error::unknown_table("default", "t");
        let text = text_of(&error);
        assert!(
            text.starts_with("Code: 60. DB::Exception: ")
                && text.ends_with("(UNKNOWN_TABLE) (version 25.8.1.1)\n")
        );
        let broken = String::from_utf8(broken_off(&error, "abcdefghijklmnop")).unwrap();
        let pieces: Vec<&str> = broken.split("\r\n").collect();
        let [_, "__exception__", "abcdefghijklmnop", message, "__exception__", ""] = pieces[..] else {
            panic!("{broken}")
        };
        let (message, end) = message.rsplit_once('\n').unwrap();
        assert_eq!(end, format!("{} abcdefghijklmnop", message.len() + 1));
    }

    #[test]
    fn statuses_are_those_of_clickhouse() {
        for (code, status) in
            [(62, 400), (60, 404), (48, 501), (164, 500), (516, 403), (202, 503), (159, 408), (241, 500)]
        {
            assert_eq!(status_of(code).as_u16(), status, "{code}");
        }
    }
}
