//! Errors as HTTP says them: a status, headers, and a body that clients take apart.
//!
//! Invariant: no text of an error reaches a header; the body is what ClickHouse would have sent, with our words.

use engine::coding::CLICKHOUSE_VERSION;
use engine::{Error, ErrorCode};
use http::StatusCode;

/// `Code: 60. DB::Exception: .. (UNKNOWN_TABLE) (version 25.8.1.1)` and a line end.
pub(crate) fn text_of(error: &Error) -> String {
    format!("{error} (version {CLICKHOUSE_VERSION})\n")
}

/// ClickHouse's status of an error, but for overload, which is 503 so that clients try again.
pub(crate) fn status_of(code: ErrorCode) -> StatusCode {
    use ErrorCode as Code;
    match code {
        Code::REQUIRED_PASSWORD => StatusCode::UNAUTHORIZED,
        Code::UNKNOWN_USER
        | Code::WRONG_PASSWORD
        | Code::ACCESS_DENIED
        | Code::SET_NON_GRANTED_ROLE
        | Code::AUTHENTICATION_FAILED => StatusCode::FORBIDDEN,
        Code::CANNOT_PARSE_TEXT
        | Code::DUPLICATE_COLUMN
        | Code::CANNOT_PARSE_ESCAPE_SEQUENCE
        | Code::CANNOT_PARSE_QUOTED_STRING
        | Code::CANNOT_PARSE_INPUT_ASSERTION_FAILED
        | Code::BAD_ARGUMENTS
        | Code::UNKNOWN_ELEMENT_IN_AST
        | Code::CANNOT_PARSE_DATE
        | Code::CANNOT_PARSE_DATETIME
        | Code::ILLEGAL_COLUMN
        | Code::TYPE_MISMATCH
        | Code::SYNTAX_ERROR
        | Code::CANNOT_PARSE_NUMBER
        | Code::INCORRECT_DATA
        | Code::UNKNOWN_TYPE_OF_AST_NODE
        | Code::TOO_DEEP_AST
        | Code::TOO_BIG_AST
        | Code::UNEXPECTED_AST_STRUCTURE
        | Code::INVALID_CONFIG_PARAMETER
        | Code::VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE
        | Code::INVALID_SESSION_TIMEOUT
        | Code::CANNOT_PARSE_UUID
        | Code::CANNOT_COMPILE_REGEXP
        | Code::CANNOT_PARSE_DOMAIN_VALUE_FROM_STRING
        | Code::CANNOT_PARSE_IPV4
        | Code::CANNOT_PARSE_IPV6 => StatusCode::BAD_REQUEST,
        Code::UNKNOWN_FUNCTION
        | Code::UNKNOWN_IDENTIFIER
        | Code::UNKNOWN_TYPE
        | Code::UNKNOWN_STORAGE
        | Code::UNKNOWN_TABLE
        | Code::UNKNOWN_AGGREGATE_FUNCTION
        | Code::UNKNOWN_FORMAT
        | Code::UNKNOWN_TYPE_OF_QUERY
        | Code::UNKNOWN_DATABASE
        | Code::UNKNOWN_SETTING
        | Code::UNKNOWN_DIRECTION_OF_SORTING
        | Code::UNKNOWN_DATABASE_ENGINE
        | Code::SESSION_NOT_FOUND
        | Code::UNKNOWN_ROLE => StatusCode::NOT_FOUND,
        Code::TIMEOUT_EXCEEDED | Code::SOCKET_TIMEOUT => StatusCode::REQUEST_TIMEOUT,
        Code::QUERY_IS_TOO_LARGE => StatusCode::PAYLOAD_TOO_LARGE,
        Code::NOT_IMPLEMENTED => StatusCode::NOT_IMPLEMENTED,
        Code::HTTP_LENGTH_REQUIRED => StatusCode::LENGTH_REQUIRED,
        Code::TOO_MANY_SIMULTANEOUS_QUERIES
        | Code::CANNOT_SCHEDULE_TASK
        | Code::USER_SESSION_LIMIT_EXCEEDED => StatusCode::SERVICE_UNAVAILABLE,
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
            assert_eq!(status_of(ErrorCode::of(code)).as_u16(), status, "{code}");
        }
    }
}
