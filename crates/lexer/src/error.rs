//! What can be wrong with a statement, with ClickHouse's error code.
//!
//! Invariant: the code is the one ClickHouse answers with, so clients that branch on codes keep working.
//! Must not know: HTTP, exit codes, anything that shows an error.

use std::fmt;

use model::ErrorCode;
use thiserror::Error;

/// Why a statement is refused.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{message}")]
pub struct SqlError {
    pub code: ErrorCode,
    pub message: String,
    /// Byte offset in the text given to the parser, when one place is to blame.
    pub at: Option<usize>,
    /// What to do about it.
    pub hint: Option<String>,
}

pub type Result<T> = std::result::Result<T, SqlError>;

impl SqlError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), at: None, hint: None }
    }

    /// FINAL behind what has no rows that replace each other.
    pub fn no_final(what: &str) -> Self {
        let message = format!("{what} does not support FINAL: its rows are never replaced");
        Self::new(ErrorCode::ILLEGAL_FINAL, message).with_hint(
            "tables of Replacing-, Summing-, Aggregating-, Coalescing-, Collapsing- and VersionedCollapsingMergeTree do",
        )
    }

    /// Syntax or a feature that is understood and not done.
    pub fn not_implemented(what: impl fmt::Display) -> Self {
        Self::new(ErrorCode::NOT_IMPLEMENTED, format!("{what} is not supported"))
    }

    pub fn bad_arguments(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::BAD_ARGUMENTS, message)
    }

    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The same error, saying where it was met.
    pub fn in_context(self, context: &str) -> Self {
        Self { message: format!("{}: {context}", self.message), ..self }
    }

    pub fn at(mut self, offset: usize) -> Self {
        self.at.get_or_insert(offset);
        self
    }
}
