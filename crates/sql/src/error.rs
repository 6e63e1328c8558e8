//! What can be wrong with a statement, with ClickHouse's error code.
//!
//! Invariant: the code is the one ClickHouse answers with, so clients that branch on codes keep working.
//! Must not know: HTTP, exit codes, anything that shows an error.

use std::fmt;

use thiserror::Error;

/// ClickHouse's name and number of an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorCode {
    CannotParseText,
    DuplicateColumn,
    NoSuchColumnInTable,
    CannotParseInput,
    BadArguments,
    ArgumentCount,
    TooFewArguments,
    EmptyListOfColumns,
    IllegalTypeOfArgument,
    UnknownFunction,
    UnknownIdentifier,
    NotImplemented,
    UnknownType,
    TypeMismatch,
    UnknownStorage,
    SyntaxError,
    UnknownFormat,
    UnknownSetting,
    Readonly,
    CyclicAliases,
    MultipleExpressionsForAlias,
    IllegalAggregation,
    TooDeepRecursion,
    TooBigAst,
    TooManyColumns,
    BadDatabaseForTemporaryTable,
    SupportIsDisabled,
    UnknownQueryParameter,
    ExpectedAllOrDistinct,
    ColumnCount,
    IllegalFinal,
    SamplingNotSupported,
}

impl ErrorCode {
    /// ClickHouse's number.
    pub fn number(self) -> u16 {
        self.number_and_name().0
    }

    /// ClickHouse's upper-case name.
    pub fn name(self) -> &'static str {
        self.number_and_name().1
    }

    fn number_and_name(self) -> (u16, &'static str) {
        match self {
            Self::CannotParseText => (6, "CANNOT_PARSE_TEXT"),
            Self::DuplicateColumn => (15, "DUPLICATE_COLUMN"),
            Self::NoSuchColumnInTable => (16, "NO_SUCH_COLUMN_IN_TABLE"),
            Self::CannotParseInput => (27, "CANNOT_PARSE_INPUT_ASSERTION_FAILED"),
            Self::BadArguments => (36, "BAD_ARGUMENTS"),
            Self::ArgumentCount => (42, "NUMBER_OF_ARGUMENTS_DOESNT_MATCH"),
            Self::TooFewArguments => (35, "TOO_FEW_ARGUMENTS_FOR_FUNCTION"),
            Self::EmptyListOfColumns => (51, "EMPTY_LIST_OF_COLUMNS_QUERIED"),
            Self::IllegalTypeOfArgument => (43, "ILLEGAL_TYPE_OF_ARGUMENT"),
            Self::UnknownFunction => (46, "UNKNOWN_FUNCTION"),
            Self::UnknownIdentifier => (47, "UNKNOWN_IDENTIFIER"),
            Self::NotImplemented => (48, "NOT_IMPLEMENTED"),
            Self::UnknownType => (50, "UNKNOWN_TYPE"),
            Self::TypeMismatch => (53, "TYPE_MISMATCH"),
            Self::UnknownStorage => (56, "UNKNOWN_STORAGE"),
            Self::SyntaxError => (62, "SYNTAX_ERROR"),
            Self::UnknownFormat => (73, "UNKNOWN_FORMAT"),
            Self::UnknownSetting => (115, "UNKNOWN_SETTING"),
            Self::Readonly => (164, "READONLY"),
            Self::CyclicAliases => (174, "CYCLIC_ALIASES"),
            Self::MultipleExpressionsForAlias => (179, "MULTIPLE_EXPRESSIONS_FOR_ALIAS"),
            Self::IllegalAggregation => (184, "ILLEGAL_AGGREGATION"),
            Self::TooBigAst => (168, "TOO_BIG_AST"),
            Self::TooManyColumns => (161, "TOO_MANY_COLUMNS"),
            Self::TooDeepRecursion => (306, "TOO_DEEP_RECURSION"),
            Self::BadDatabaseForTemporaryTable => (442, "BAD_DATABASE_FOR_TEMPORARY_TABLE"),
            Self::SupportIsDisabled => (344, "SUPPORT_IS_DISABLED"),
            Self::ColumnCount => (20, "NUMBER_OF_COLUMNS_DOESNT_MATCH"),
            Self::ExpectedAllOrDistinct => (558, "EXPECTED_ALL_OR_DISTINCT"),
            Self::IllegalFinal => (181, "ILLEGAL_FINAL"),
            Self::SamplingNotSupported => (141, "SAMPLING_NOT_SUPPORTED"),
            Self::UnknownQueryParameter => (456, "UNKNOWN_QUERY_PARAMETER"),
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a statement is refused.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{message}")]
pub struct SqlError {
    pub code: ErrorCode,
    pub message: String,
    /// Byte offset in the text given to the parser, when one place is to blame.
    pub at: Option<usize>,
}

pub type Result<T> = std::result::Result<T, SqlError>;

impl SqlError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), at: None }
    }

    /// Syntax or a feature that is understood and not done.
    pub fn not_implemented(what: impl fmt::Display) -> Self {
        Self::new(ErrorCode::NotImplemented, format!("{what} is not supported"))
    }

    pub fn bad_arguments(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::BadArguments, message)
    }

    pub fn at(mut self, offset: usize) -> Self {
        self.at.get_or_insert(offset);
        self
    }
}
