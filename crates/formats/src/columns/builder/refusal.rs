//! Which of ClickHouse's codes a value has that cannot be read: it depends on what stands there, and in which format.
//!
//! Invariant: nothing is read here, and nothing refused. Must not know: stores, rows.

use model::{ColumnType, ErrorCode};

use super::bare::{decimal, is_bare};
use crate::error::ValueError;
use crate::values::cell::{Cell, TextForm};
use model::calendar::date_text::date;
use model::value::print;
use scan::find::number_length;
use scan::{number, sum};

/// How the format of a cell reads values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Manner {
    /// Up to where a value of its type ends.
    Plain,
    /// A pattern found the cell, in which nothing may be left behind the value.
    Matched,
    /// The cell is all of the value: strings of JSONStrings, raw text.
    Whole,
    Csv,
    /// SQL literals.
    Quoted,
    /// SQL literals; what is none is an expression.
    Expression,
}

/// The error of a column that the data leave out and that takes no NULL.
pub(crate) fn omitted(column_type: &ColumnType) -> ValueError {
    let message = format!(
        "the data leave out a value of type {column_type}, which takes no NULL; \
         input_format_force_null_for_omitted_fields = 0 takes the default"
    );
    ValueError::new(ErrorCode::TYPE_MISMATCH, message)
}

/// The error with the code of what stands in the cell.
pub(super) fn coded(
    cell: Cell<'_>,
    column_type: &ColumnType,
    manner: Manner,
    error: ValueError,
) -> ValueError {
    let value_type = column_type.value_type();
    let code = match cell.form {
        _ if error.code == ErrorCode::CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN => None,
        // The value is one of its type's kind.
        _ if error.code == ErrorCode::ARGUMENT_OUT_OF_BOUND => {
            signs(cell.text, value_type).filter(|_| manner == Manner::Csv || is_bare(cell))
        }
        TextForm::Literal if manner == Manner::Expression => expression(cell.text, value_type),
        TextForm::Literal
            if manner == Manner::Quoted && error.code == ErrorCode::CANNOT_PARSE_QUOTED_STRING =>
        {
            Some(unquoted(cell.text, value_type))
        }
        _ if manner == Manner::Matched && value_type.is_integer() => Some(ErrorCode::INCORRECT_DATA),
        _ if is_bare(cell) => bare(cell.text, value_type)
            .or_else(|| signs(cell.text, value_type))
            .or_else(|| behind(cell.text, value_type, false)),
        TextForm::Raw | TextForm::JsonEscaped | TextForm::Empty if manner == Manner::Whole => {
            whole(cell.text, value_type)
        }
        TextForm::Raw if manner == Manner::Csv => {
            signs(cell.text, value_type).or_else(|| behind(cell.text, value_type, true))
        }
        TextForm::Raw | TextForm::CsvQuoted if manner != Manner::Matched => {
            behind(cell.text, value_type, manner == Manner::Csv)
        }
        _ => None,
    };
    match code {
        Some(code) => ValueError { code, ..error },
        None => error,
    }
}

/// A word is no field at all; of numbers, lists and truth values it depends on how the type is read.
fn unquoted(text: &[u8], value_type: &ColumnType) -> ErrorCode {
    use ColumnType as T;
    let is_word = !matches!(text, b"true" | b"false") && text.first().is_some_and(u8::is_ascii_alphabetic);
    match value_type {
        _ if is_word || text.starts_with(b"\"") => ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED,
        T::DateTime { .. } | T::DateTime64 { .. } => ErrorCode::CANNOT_PARSE_DATETIME,
        T::Date | T::Date32 | T::Ipv4 | T::Ipv6 => ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED,
        _ => ErrorCode::CANNOT_PARSE_QUOTED_STRING,
    }
}

/// What stands in JSON without quotes.
fn bare(text: &[u8], value_type: &ColumnType) -> Option<ErrorCode> {
    use ColumnType as T;
    let is_of_digits = matches!(value_type, T::Bool | T::Enum8(_) | T::Enum16(_));
    let wrong = match text.first() {
        // Nothing but null begins so.
        Some(b'n') => true,
        Some(b't' | b'f') if *value_type == T::Bool || value_type.is_number() => true,
        Some(b'0' | b'1') if is_of_digits => text.len() > 1,
        Some(b'-') if matches!(value_type, T::Date | T::Date32) => {
            return Some(ErrorCode::CANNOT_PARSE_NUMBER);
        }
        Some(b'-')
            if is_of_digits && *value_type != T::Bool && !text.get(1).is_some_and(u8::is_ascii_digit) =>
        {
            return Some(ErrorCode::CANNOT_PARSE_NUMBER);
        }
        // A number of seconds ends in front of the first other byte.
        Some(b'0'..=b'9') if matches!(value_type, T::DateTime { .. } | T::DateTime64 { .. }) => {
            !text.iter().all(u8::is_ascii_digit)
        }
        _ => matches!(value_type, T::Date | T::Date32 | T::Uuid | T::Ipv4 | T::Ipv6),
    };
    wrong.then_some(ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED)
}

/// Signs that an integer does not have.
fn signs(text: &[u8], value_type: &ColumnType) -> Option<ErrorCode> {
    use ColumnType as T;
    let is_unsigned = matches!(value_type, T::UInt8 | T::UInt16 | T::UInt32 | T::UInt64);
    let is_whole = value_type.is_integer() || value_type.is_wide_integer();
    let wrong = match text {
        [b'-', ..] if is_unsigned => true,
        [b'-' | b'+', rest @ ..] => is_whole && !rest.first().is_some_and(u8::is_ascii_digit),
        _ => false,
    };
    wrong.then_some(ErrorCode::CANNOT_PARSE_NUMBER)
}

/// A value of the type stands there, with more behind it that is none. CSV has floats in single quotes, too.
fn behind(whole: &[u8], value_type: &ColumnType, is_csv: bool) -> Option<ErrorCode> {
    use ColumnType as T;
    let text = whole.strip_prefix(b"'").unwrap_or(whole);
    let wrong = match value_type {
        // What begins as `nan` does is read as it to the first other letter.
        T::Float32 | T::Float64 if whole.starts_with(b"'") && !is_csv => false,
        T::Float32 | T::Float64 => {
            matches!(text, [b'n' | b'N', ..]) || number::float::<f64>(&text[..number_length(text)]).is_ok()
        }
        T::Date | T::Date32 if text.len() > 10 => {
            date(&text[..10]).is_some() || text[..9].iter().all(u8::is_ascii_digit)
        }
        T::Date | T::Date32 => text.len() > 8 && text.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    wrong.then_some(ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED)
}

/// Behind what is read of a number there is more.
fn whole(text: &[u8], value_type: &ColumnType) -> Option<ErrorCode> {
    let is_float = matches!(value_type, ColumnType::Float32 | ColumnType::Float64);
    let more = match is_float {
        true => number::float::<f64>(&text[..number_length(text)]).is_ok(),
        false => value_type.is_number(),
    };
    let code = more.then_some(match text {
        [] => ErrorCode::ATTEMPT_TO_READ_AFTER_EOF,
        _ => ErrorCode::UNEXPECTED_DATA_AFTER_PARSED_VALUE,
    });
    signs(text, value_type).filter(|_| !text.starts_with(b"--")).or(code)
}

/// What an expression is that gives no value of the type.
fn expression(text: &[u8], value_type: &ColumnType) -> Option<ErrorCode> {
    use ColumnType as T;
    let is_nested = matches!(value_type, T::Array(_) | T::Map(..) | T::Tuple(_));
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let is_truth = text.eq_ignore_ascii_case(b"true") || text.eq_ignore_ascii_case(b"false");
    Some(match text {
        [b'\'', .., b'\''] if value_type.is_number() && !matches!(value_type, T::Float32 | T::Float64) => {
            ErrorCode::CANNOT_PARSE_TEXT
        }
        [b'\'', .., b'\''] => return None,
        [b'"', _, .., b'"'] => ErrorCode::UNKNOWN_IDENTIFIER,
        [b'[', inner @ .., b']'] if inner.contains(&b'"') => ErrorCode::UNKNOWN_IDENTIFIER,
        [b'[', inner @ .., b']'] => match inner.trim_ascii() {
            [] | [b'[' | b'n', ..] => ErrorCode::TYPE_MISMATCH,
            _ if is_nested => return None,
            _ => ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
        },
        [b'(', .., b')'] if !matches!(value_type, T::Tuple(_)) => ErrorCode::TYPE_MISMATCH,
        [b'(', .., b')'] => return None,
        huge if number::is_huge(huge)
            && !matches!(value_type, T::Float32 | T::Float64 | T::Decimal { .. }) =>
        {
            ErrorCode::SYNTAX_ERROR
        }
        literal if is_truth || number::float::<f64>(literal).is_ok() => match value_type {
            _ if is_nested => ErrorCode::TYPE_MISMATCH,
            T::Uuid => ErrorCode::NOT_IMPLEMENTED,
            _ if !literal.iter().any(u8::is_ascii_digit) => match value_type {
                T::Decimal { .. } | T::DateTime64 { .. } => ErrorCode::DECIMAL_OVERFLOW,
                T::Date | T::DateTime { .. } => ErrorCode::CANNOT_CONVERT_TYPE,
                _ if value_type.is_integer() => ErrorCode::CANNOT_CONVERT_TYPE,
                _ => return None,
            },
            _ => return None,
        },
        dotted if dotted.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.') && !dotted.is_empty() => {
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT
        }
        [b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'0'..=b'9', rest @ ..] if rest.iter().all(is_name) => {
            ErrorCode::UNKNOWN_IDENTIFIER
        }
        _ => ErrorCode::SYNTAX_ERROR,
    })
}

/// A number or a truth value that stands in SQL without quotes, as text.
pub(super) fn as_text(cell: Cell<'_>) -> Option<Vec<u8>> {
    let literal = Some(cell.text).filter(|text| cell.form == TextForm::Literal && !text.starts_with(b"'"))?;
    let mut out = Vec::new();
    if literal.eq_ignore_ascii_case(b"true") || literal.eq_ignore_ascii_case(b"false") {
        return Some(literal.to_ascii_lowercase());
    }
    if let Some(digits) = decimal(cell) {
        return Some(digits);
    }
    if let Some(whole) = sum::whole(literal) {
        return Some(whole.to_string().into_bytes());
    }
    if let Ok(whole) = number::unsigned::<u64>(literal) {
        out.extend_from_slice(whole.to_string().as_bytes());
    } else {
        let value = number::float::<f64>(literal).ok().filter(|_| !number::is_huge(literal))?;
        print::float(value, value, &mut out);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_go_by_what_stands_there() {
        let code = |text: &str, form, of: &ColumnType, manner| {
            let error = ValueError::new(ErrorCode::LOGICAL_ERROR, "");
            let code = coded(Cell { text: text.as_bytes(), form }, of, manner, error).code;
            (code != ErrorCode::LOGICAL_ERROR).then_some(code)
        };
        let json = |text, of| code(text, TextForm::Json, &of, Manner::Plain);
        assert_eq!(json("nan", ColumnType::Float64), Some(ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED));
        assert_eq!(json("[1]", ColumnType::Uuid), Some(ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED));
        assert_eq!(json("-inf", ColumnType::Int32), Some(ErrorCode::CANNOT_PARSE_NUMBER));
        assert_eq!(json("\"x\"", ColumnType::Uuid), None);
        let values = |text, of| code(text, TextForm::Literal, &of, Manner::Expression);
        assert_eq!(values("abc", ColumnType::Int32), Some(ErrorCode::UNKNOWN_IDENTIFIER));
        assert_eq!(values("{}", ColumnType::Int32), Some(ErrorCode::SYNTAX_ERROR));
        assert_eq!(values("[]", ColumnType::Int32), Some(ErrorCode::TYPE_MISMATCH));
        let strings = |text, of| code(text, TextForm::Raw, &of, Manner::Whole);
        assert_eq!(strings("1a", ColumnType::Int32), Some(ErrorCode::UNEXPECTED_DATA_AFTER_PARSED_VALUE));
        assert_eq!(strings("abc", ColumnType::Float64), None);
    }

    #[test]
    fn literals_become_the_text_of_their_value() {
        let cell = |text: &'static str| Cell { text: text.as_bytes(), form: TextForm::Literal };
        let text = |literal| as_text(cell(literal)).map(|text| String::from_utf8(text).unwrap());
        assert_eq!(text("+1").as_deref(), Some("1"));
        assert_eq!(text("1.50").as_deref(), Some("1.5"));
        assert_eq!(text("TRUE").as_deref(), Some("true"));
        assert_eq!(text("abc"), None);
    }
}
