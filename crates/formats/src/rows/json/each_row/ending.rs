//! Which of ClickHouse's codes an object has that the data end in.
//!
//! Invariant: nothing is read here. Must not know: columns.

use model::ErrorCode;

/// The code goes by what is missing: the end of the object, a value, a key, or what stands within a value.
pub(super) fn code(object: &[u8]) -> ErrorCode {
    let object = object.trim_ascii();
    let count = |wanted: u8| object.iter().filter(|byte| **byte == wanted).count();
    let (open, close) = (count(b'{'), count(b'}'));
    let is_in_list = count(b'[') > count(b']');
    let member = object.rsplit(|byte| matches!(byte, b',' | b'{')).next().unwrap_or_default();
    match object.last() {
        _ if !count(b'"').is_multiple_of(2) => ErrorCode::CANNOT_PARSE_QUOTED_STRING,
        // An end stands where it ends something else.
        _ if open <= close => ErrorCode::INCORRECT_DATA,
        _ if is_in_list || open > close + 1 => ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED,
        Some(b':') => ErrorCode::ATTEMPT_TO_READ_AFTER_EOF,
        Some(b',') => ErrorCode::CANNOT_PARSE_QUOTED_STRING,
        Some(b'{') => ErrorCode::CANNOT_READ_ALL_DATA,
        _ if !member.contains(&b':') => ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED,
        _ => ErrorCode::CANNOT_READ_ALL_DATA,
    }
}
