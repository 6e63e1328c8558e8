//! Why one value does not convert; turned into words only when an error is reported.
//!
//! Invariant: creating a `Problem` allocates nothing, so conversions to NULL of bad input stay fast.

use model::{ColumnType, ErrorCode};
use thiserror::Error;

use crate::error::FunctionError;

/// A value that could not be converted.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{message}")]
pub struct CastError {
    /// ClickHouse's error number.
    pub code: ErrorCode,
    /// Row of the column, from 0.
    pub row: usize,
    /// The value as text.
    pub value: String,
    pub to: ColumnType,
    pub message: String,
}

impl From<CastError> for FunctionError {
    fn from(error: CastError) -> Self {
        FunctionError::new(error.code, error.message)
    }
}

/// What is wrong with a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Problem {
    /// Unreadable from this byte on; 0 means from the start.
    Syntax(usize),
    Empty,
    NoDigits,
    ManySigns,
    NegativeUnsigned,
    /// The number does not fit; only where wrapping is not allowed.
    OutOfRange,
    NotFinite,
    NotFloat,
    Date,
    DateTime(&'static str),
    Uuid,
    Ipv4,
    Ipv6,
    /// An IPv6 address that stands for no IPv4 one.
    NotMapped,
    Bool,
    BoolEmpty,
    EnumName,
    EnumNumber,
    EnumRange,
    DecimalOverflow,
    DecimalDigits,
    TooLong,
    Null,
    Quote,
    Closing(char),
    Opening(char),
    Elements,
}

impl Problem {
    pub(crate) fn code(self) -> ErrorCode {
        match self {
            Problem::Syntax(_) => ErrorCode::CANNOT_PARSE_TEXT,
            Problem::Empty => ErrorCode::ATTEMPT_TO_READ_AFTER_EOF,
            Problem::NoDigits | Problem::ManySigns | Problem::NegativeUnsigned | Problem::NotFloat => {
                ErrorCode::CANNOT_PARSE_NUMBER
            }
            Problem::OutOfRange => ErrorCode::VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE,
            Problem::NotFinite | Problem::Null | Problem::NotMapped => ErrorCode::CANNOT_CONVERT_TYPE,
            Problem::EnumRange => ErrorCode::CANNOT_CONVERT_TYPE,
            Problem::Date => ErrorCode::CANNOT_PARSE_DATE,
            Problem::DateTime(_) => ErrorCode::CANNOT_PARSE_DATETIME,
            Problem::Uuid => ErrorCode::CANNOT_PARSE_UUID,
            Problem::Ipv4 => ErrorCode::CANNOT_PARSE_IPV4,
            Problem::Ipv6 => ErrorCode::CANNOT_PARSE_IPV6,
            Problem::Bool | Problem::BoolEmpty => ErrorCode::CANNOT_PARSE_BOOL,
            Problem::EnumName | Problem::EnumNumber => ErrorCode::UNKNOWN_ELEMENT_OF_ENUM,
            Problem::DecimalOverflow => ErrorCode::DECIMAL_OVERFLOW,
            Problem::DecimalDigits => ErrorCode::ARGUMENT_OUT_OF_BOUND,
            Problem::TooLong => ErrorCode::TOO_LARGE_STRING_SIZE,
            Problem::Quote => ErrorCode::CANNOT_PARSE_QUOTED_STRING,
            Problem::Opening('[') => ErrorCode::CANNOT_READ_ARRAY_FROM_TEXT,
            Problem::Closing(_) | Problem::Opening(_) => ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED,
            Problem::Elements => ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED,
        }
    }

    /// The error for the value in row `row`.
    pub(crate) fn into_error(self, row: usize, value: &str, to: &ColumnType) -> CastError {
        let message = self.message(value, to);
        CastError { code: self.code(), row, value: value.to_owned(), to: to.clone(), message }
    }

    fn message(self, value: &str, to: &ColumnType) -> String {
        match self {
            Problem::Syntax(0) => {
                format!("cannot parse string '{value}' as {to}: syntax error at begin of string")
            }
            Problem::Syntax(at) => {
                let parsed = value.get(..at).unwrap_or(value);
                format!(
                    "cannot parse string '{value}' as {to}: syntax error at position {at} (parsed just '{parsed}')"
                )
            }
            Problem::Empty => {
                format!(
                    "attempt to read after eof: cannot parse {to} from String, because value is too short"
                )
            }
            Problem::NoDigits => format!("cannot parse number without any digits: '{value}' as {to}"),
            Problem::ManySigns => {
                format!("cannot parse number with multiple sign (+/-) characters: '{value}' as {to}")
            }
            Problem::NegativeUnsigned => {
                format!("unsigned type must not contain '-' symbol: '{value}' as {to}")
            }
            Problem::OutOfRange => format!("value {value} is out of range of type {to}"),
            Problem::NotFinite => "unexpected inf or nan to integer conversion".to_owned(),
            Problem::NotFloat => format!("cannot read floating point value here: {value}"),
            Problem::Date => format!(
                "cannot parse date '{value}' as {to}: expected a date in the YYYY-MM-DD or YYYYMMDD format"
            ),
            Problem::DateTime(what) => format!("cannot read {to} from '{value}': {what}"),
            Problem::Uuid => format!("cannot parse uuid {value}"),
            Problem::Ipv4 => format!("cannot parse IPv4 {value}"),
            Problem::Ipv6 => format!("cannot parse IPv6 {value}"),
            Problem::NotMapped => format!("IPv6 {value} is not in the IPv4 mapping block"),
            Problem::Bool => format!(
                "cannot parse boolean value here: '{value}', should be one of True/False/T/F/Y/N/Yes/No/On/Off/\
                 Enable/Disable/Enabled/Disabled/1/0"
            ),
            Problem::BoolEmpty => "expected boolean value but get EOF".to_owned(),
            Problem::EnumName => format!("unknown element '{value}' for enum {to}"),
            Problem::EnumNumber | Problem::EnumRange => format!("unexpected value {value} in enum {to}"),
            Problem::DecimalOverflow => format!("decimal convert overflow: {value} as {to}"),
            Problem::DecimalDigits => format!("decimal value is too big: {value} as {to}"),
            Problem::TooLong => format!("string too long for type {to}"),
            Problem::Null => format!("cannot convert NULL to the non-nullable type {to}"),
            Problem::Quote => format!("cannot parse quoted string: expected opening quote ''' in {value}"),
            Problem::Closing(closing) => {
                format!("cannot parse input: expected '{closing}' at end of {value}")
            }
            Problem::Opening(opening) => {
                format!("cannot read {to} from text, expected '{opening}' at the start of '{value}'")
            }
            Problem::Elements => format!("{value} has another number of elements than {to}"),
        }
    }
}
