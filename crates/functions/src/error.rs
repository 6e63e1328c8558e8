//! Errors of functions and casts, with ClickHouse's codes.
//!
//! Invariant: `code` is the one ClickHouse reports for the same mistake, so that clients can rely on it.

use arrow::error::ArrowError;
use model::ErrorCode;
use thiserror::Error;

/// A function refused its arguments, or one of the values.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{message}")]
pub struct FunctionError {
    pub code: ErrorCode,
    pub message: String,
}

impl FunctionError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// Wrong type of an argument.
    pub fn illegal_type(type_name: &dyn std::fmt::Display, function: &str) -> Self {
        let message = format!("illegal type {type_name} of argument of function {function}");
        Self::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message)
    }

    /// A value of the right type that the function does not accept.
    pub(crate) fn bad_argument(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::BAD_ARGUMENTS, message)
    }
}

impl From<ArrowError> for FunctionError {
    fn from(error: ArrowError) -> Self {
        Self::new(ErrorCode::LOGICAL_ERROR, error.to_string())
    }
}
