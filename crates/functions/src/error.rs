//! Errors of functions and casts, with ClickHouse's numbers.
//!
//! Invariant: `code` is the number ClickHouse reports for the same mistake, so that clients can rely on it.

use arrow::error::ArrowError;
use thiserror::Error;

/// A function refused its arguments, or one of the values.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{message}")]
pub struct FunctionError {
    /// ClickHouse's error number, one of [`codes`].
    pub code: u16,
    pub message: String,
}

/// ClickHouse's error numbers used by functions; [`name`](codes::name) spells them.
pub mod codes {
    macro_rules! codes {
        ($($name:ident = $number:literal,)*) => {
            $(#[doc = concat!("Error ", $number, ".")] pub const $name: u16 = $number;)*

            /// ClickHouse's word for a number of this module.
            pub fn name(code: u16) -> Option<&'static str> {
                match code {
                    $($number => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        };
    }

    codes! {
        UNKNOWN_TYPE = 50,
        CANNOT_PARSE_TEXT = 6,
        INCORRECT_NUMBER_OF_COLUMNS = 7,
        ATTEMPT_TO_READ_AFTER_EOF = 32,
        BAD_ARGUMENTS = 36,
        CANNOT_PARSE_DATE = 38,
        CANNOT_PARSE_DATETIME = 41,
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH = 42,
        ILLEGAL_TYPE_OF_ARGUMENT = 43,
        ILLEGAL_COLUMN = 44,
        UNKNOWN_FUNCTION = 46,
        NOT_IMPLEMENTED = 48,
        LOGICAL_ERROR = 49,
        TYPE_MISMATCH = 53,
        ARGUMENT_OUT_OF_BOUND = 69,
        CANNOT_CONVERT_TYPE = 70,
        CANNOT_PARSE_NUMBER = 72,
        CANNOT_READ_ARRAY_FROM_TEXT = 130,
        CANNOT_PARSE_ESCAPE_SEQUENCE = 25,
        CANNOT_PARSE_QUOTED_STRING = 26,
        CANNOT_PARSE_INPUT_ASSERTION_FAILED = 27,
        TOO_LARGE_STRING_SIZE = 131,
        TOO_SLOW = 160,
        TOO_DEEP_RECURSION = 306,
        TOO_BIG_AST = 168,
        MEMORY_LIMIT_EXCEEDED = 241,
        TOO_LARGE_ARRAY_SIZE = 128,
        ILLEGAL_DIVISION = 153,
        INCORRECT_DATA = 117,
        SIZES_OF_ARRAYS_DONT_MATCH = 190,
        NOT_FOUND_COLUMN_IN_BLOCK = 10,
        VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE = 321,
        CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN = 349,
        CANNOT_PARSE_UUID = 376,
        NO_COMMON_TYPE = 386,
        DECIMAL_OVERFLOW = 407,
        CANNOT_COMPILE_REGEXP = 427,
        INVALID_LIMIT_EXPRESSION = 440,
        CANNOT_PARSE_BOOL = 467,
        BAD_TYPE_OF_FIELD = 169,
        INVALID_JOIN_ON_EXPRESSION = 403,
        INVALID_WITH_FILL_EXPRESSION = 475,
        UNKNOWN_ELEMENT_OF_ENUM = 691,
        INDEX_OF_POSITIONAL_ARGUMENT_IS_OUT_OF_RANGE = 353,
        FUNCTION_THROW_IF_VALUE_IS_NON_ZERO = 395,
        ZERO_ARRAY_OR_TUPLE_INDEX = 135,
        PARAMETER_OUT_OF_BOUND = 12,
        CANNOT_PARSE_IPV4 = 675,
        CANNOT_PARSE_IPV6 = 676,
    }
}

impl FunctionError {
    pub fn new(code: u16, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// Wrong type of an argument.
    pub(crate) fn illegal_type(type_name: &dyn std::fmt::Display, function: &str) -> Self {
        let message = format!("illegal type {type_name} of argument of function {function}");
        Self::new(codes::ILLEGAL_TYPE_OF_ARGUMENT, message)
    }

    /// A value of the right type that the function does not accept.
    pub(crate) fn bad_argument(message: impl Into<String>) -> Self {
        Self::new(codes::BAD_ARGUMENTS, message)
    }
}

impl From<ArrowError> for FunctionError {
    fn from(error: ArrowError) -> Self {
        Self::new(codes::LOGICAL_ERROR, error.to_string())
    }
}
