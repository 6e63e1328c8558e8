//! The codes with which names of types are refused.
//!
//! Invariant: ClickHouse's for the same text. Must not know: how a name is read.

use super::{ENUM_RANGE, SHORTER, TypeNameError};
use crate::error_code::ErrorCode;

impl TypeNameError {
    /// ClickHouse's code of the same refusal.
    pub fn code(&self) -> ErrorCode {
        match self {
            TypeNameError::Arguments { type_name, expected } => match type_name.as_str() {
                "DateTime64" | "Decimal" => ErrorCode::ARGUMENT_OUT_OF_BOUND,
                "FixedString" if *expected == SHORTER => ErrorCode::ARGUMENT_OUT_OF_BOUND,
                "FixedString" => ErrorCode::UNEXPECTED_AST_STRUCTURE,
                "Enum" => ErrorCode::SYNTAX_ERROR,
                "Nullable" | "LowCardinality" => ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                "Map" => ErrorCode::BAD_ARGUMENTS,
                _ => ErrorCode::UNKNOWN_TYPE,
            },
            TypeNameError::Syntax { problem, .. } => match *problem {
                ENUM_RANGE => ErrorCode::ARGUMENT_OUT_OF_BOUND,
                problem if problem.starts_with("expected (") || problem.starts_with("expected , and") => {
                    ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH
                }
                _ => ErrorCode::UNKNOWN_TYPE,
            },
            TypeNameError::Unknown(_) => ErrorCode::UNKNOWN_TYPE,
        }
    }
}
