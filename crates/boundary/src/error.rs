//! The one error of the API boundary.
//!
//! Invariant: `kind` says what the caller can do, `code` is ClickHouse's, the message names the object, and no
//! secret is in it. Errors of our crates cross DataFusion boxed; `From<DataFusionError>` finds them again inside.

use std::fmt;

use datafusion::common::{DataFusionError, SchemaError};
use host::guarded;
use model::ErrorCode;
use physical::PhysicalError;
use thiserror::Error as ThisError;
use tokio::task::JoinError;

/// What the caller can do about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// The text is wrong: fix the statement.
    Syntax,
    /// A database, table, column, function, setting or file that does not exist: fix the name.
    UnknownObject,
    /// The object is there already.
    AlreadyExists,
    /// The statement or its data is wrong: fix it.
    BadInput,
    /// Understood, and not done by this version.
    Unsupported,
    /// Not allowed: other credentials.
    Denied,
    /// A limit was reached: raise it or ask for less.
    Limit,
    /// Something outside failed for now: try again.
    Unavailable,
    /// Another statement was faster: run it again.
    Conflict,
    /// The caller asked to stop.
    Cancelled,
    /// It may or may not have happened: look, or retry with a label.
    OutcomeUnknown,
    /// Stored bytes are damaged: restore them.
    Corruption,
    /// A defect of ours: report it.
    Internal,
}

/// See the module. Displays as `Code: 60. DB::Exception: table "default.t" does not exist. (UNKNOWN_TABLE)`.
#[derive(Clone, Debug, ThisError)]
pub struct Error {
    pub kind: ErrorKind,
    pub code: ErrorCode,
    pub message: String,
    /// What to do next, when there is something better to say than the message.
    pub hint: Option<String>,
}

impl Error {
    pub fn new(kind: ErrorKind, code: ErrorCode, message: impl Into<String>) -> Error {
        Error { kind, code, message: message.into(), hint: None }
    }

    pub fn internal(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Internal, ErrorCode::LOGICAL_ERROR, message)
    }

    /// A panic of a library or of ours, caught where it ends one statement.
    pub fn panicked(message: impl fmt::Display) -> Error {
        Error::internal(format!("the statement broke: a library or the database panicked: {message}"))
            .with_hint("it ended this statement alone; please report the statement and this message")
    }

    /// A task ended before its work: it panicked, or the database closes.
    pub fn ended_early(task: JoinError) -> Error {
        match guarded::panic_of(task) {
            Some(panic) => Error::panicked(panic),
            None => Error::new(ErrorKind::Unavailable, ErrorCode::ABORTED, "the database is shutting down"),
        }
    }

    pub fn cancelled() -> Error {
        Error::new(ErrorKind::Cancelled, ErrorCode::QUERY_WAS_CANCELLED, "the statement was cancelled")
    }

    pub fn unsupported(what: impl fmt::Display) -> Error {
        Error::new(ErrorKind::Unsupported, ErrorCode::NOT_IMPLEMENTED, format!("{what} is not supported"))
    }

    pub fn unknown_table(database: &str, table: &str) -> Error {
        Error::new(
            ErrorKind::UnknownObject,
            ErrorCode::UNKNOWN_TABLE,
            format!("table \"{database}.{table}\" does not exist"),
        )
    }

    pub fn unknown_database(database: &str) -> Error {
        Error::new(
            ErrorKind::UnknownObject,
            ErrorCode::UNKNOWN_DATABASE,
            format!("database \"{database}\" does not exist"),
        )
    }

    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }

    /// Adds where it happened, behind the message.
    #[must_use]
    pub fn in_context(mut self, context: &str) -> Error {
        self.message = format!("{}: {context}", self.message);
        self
    }

    /// ClickHouse's name of the code.
    pub fn name(&self) -> &'static str {
        self.code.name()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Code: {}. DB::Exception: {}.", self.code, self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, " {hint}.")?;
        }
        write!(f, " ({})", self.name())
    }
}

/// Sends one of our errors through DataFusion.
pub fn into_datafusion(error: impl Into<Error>) -> DataFusionError {
    DataFusionError::External(Box::new(error.into()))
}

impl From<DataFusionError> for Error {
    fn from(error: DataFusionError) -> Error {
        if let Some(ours) = find_ours(&error) {
            return ours;
        }
        match error.find_root() {
            DataFusionError::SchemaError(schema, _) => from_schema_error(schema),
            DataFusionError::ResourcesExhausted(message) => {
                Error::new(ErrorKind::Limit, ErrorCode::MEMORY_LIMIT_EXCEEDED, message.clone())
                    .with_hint("raise max_memory_usage, or ask for less at once")
            }
            DataFusionError::NotImplemented(message) => not_implemented(message),
            DataFusionError::SQL(parser, _) => {
                Error::new(ErrorKind::Syntax, ErrorCode::SYNTAX_ERROR, parser.to_string())
            }
            DataFusionError::Plan(message) => from_plan_message(message),
            DataFusionError::ArrowError(arrow, _) => {
                Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, arrow.to_string())
            }
            DataFusionError::Execution(message) => from_plan_message(message),
            DataFusionError::ParquetError(parquet) => {
                Error::new(ErrorKind::Corruption, ErrorCode::INCORRECT_DATA, parquet.to_string())
            }
            DataFusionError::ObjectStore(store) => {
                Error::new(ErrorKind::Unavailable, ErrorCode::S3_ERROR, store.to_string())
            }
            DataFusionError::IoError(io) => {
                Error::new(ErrorKind::Unavailable, ErrorCode::UNKNOWN_EXCEPTION, io.to_string())
            }
            // Without the request to report it to DataFusion: most of these are ours.
            DataFusionError::Internal(message) => Error::internal(format!("Internal error: {message}")),
            other => Error::internal(other.to_string()),
        }
    }
}

/// Our own error anywhere in the chain of sources.
fn find_ours(error: &DataFusionError) -> Option<Error> {
    if let Some(source) = stores::SourceError::find(error) {
        return Some(source.clone().into());
    }
    let mut current: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(link) = current {
        if let Some(ours) = link.downcast_ref::<Error>() {
            return Some(ours.clone());
        }
        if let Some(node) = link.downcast_ref::<PhysicalError>() {
            return Some(node.into());
        }
        if let Some(function) = link.downcast_ref::<functions::FunctionError>() {
            return Some(function.clone().into());
        }
        if let Some(sql) = link.downcast_ref::<sql::SqlError>() {
            return Some(sql.clone().into());
        }
        current = link.source();
    }
    None
}

/// DataFusion prints the whole of its plan's expression, which says nothing to who wrote the statement.
fn not_implemented(message: &str) -> Error {
    let of = |message: &str| Error::new(ErrorKind::Unsupported, ErrorCode::NOT_IMPLEMENTED, message);
    let Some(expression) = message.strip_prefix("Physical plan does not support logical expression ") else {
        return of(message);
    };
    let subqueries = ["ScalarSubquery", "InSubquery", "Exists", "SetComparison", "OuterReferenceColumn"];
    if subqueries.iter().any(|kind| expression.starts_with(kind)) {
        return of("a subquery that names columns of the query around it is not supported in this place")
            .with_hint("write it as a JOIN, or compare by = in its WHERE");
    }
    if expression.starts_with("AggregateFunction") {
        return of("an aggregate function is not supported in this place")
            .with_hint("compute it in a subquery");
    }
    of("this expression is not supported in this place").with_hint("compute it in a subquery")
}

fn from_schema_error(error: &SchemaError) -> Error {
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => {
            let known = valid_fields.iter().map(|column| column.name.as_str());
            // Columns of our own are none that anybody may name.
            let known: Vec<&str> = known.filter(|name| !name.starts_with("_gristmill")).take(20).collect();
            let message = format!("unknown identifier {}", field.name);
            let unknown = Error::new(ErrorKind::UnknownObject, ErrorCode::UNKNOWN_IDENTIFIER, message);
            if known.is_empty() {
                unknown
            } else {
                unknown.with_hint(format!("known columns: {}", known.join(", ")))
            }
        }
        SchemaError::AmbiguousReference { field } => Error::new(
            ErrorKind::BadInput,
            ErrorCode::AMBIGUOUS_IDENTIFIER,
            format!("column {} is ambiguous", field.name),
        ),
        SchemaError::DuplicateQualifiedField { name, .. }
        | SchemaError::DuplicateUnqualifiedField { name } => Error::new(
            ErrorKind::BadInput,
            ErrorCode::DUPLICATE_COLUMN,
            format!("column {name} appears more than once"),
        ),
    }
}

/// DataFusion's planner reports these only as text.
fn from_plan_message(message: &str) -> Error {
    if message.contains("Invalid function") {
        return Error::new(
            ErrorKind::UnknownObject,
            ErrorCode::UNKNOWN_FUNCTION,
            message.replace("Invalid function", "unknown function"),
        );
    }
    if message.contains("must be in GROUP BY") || message.contains("must appear in the GROUP BY") {
        return Error::new(ErrorKind::BadInput, ErrorCode::NOT_AN_AGGREGATE, message);
    }
    if let Some(table) = message.strip_prefix("table '").and_then(|rest| rest.split('\'').next()) {
        let name = table.strip_prefix("gristmill.").unwrap_or(table);
        return Error::new(
            ErrorKind::UnknownObject,
            ErrorCode::UNKNOWN_TABLE,
            format!("table \"{name}\" does not exist"),
        );
    }
    let known = PLAN_CODES.iter().find(|(part, _)| message.contains(part));
    Error::new(ErrorKind::BadInput, known.map_or(ErrorCode::BAD_ARGUMENTS, |(_, code)| *code), message)
}

/// Parts of DataFusion's messages that say what ClickHouse has a code for.
const PLAN_CODES: &[(&str, ErrorCode)] = &[
    ("Expected LIMIT to be an integer", ErrorCode::INVALID_LIMIT_EXPRESSION),
    ("Expected OFFSET to be an integer", ErrorCode::INVALID_LIMIT_EXPRESSION),
    ("Invalid qualifier", ErrorCode::UNKNOWN_IDENTIFIER),
    ("LIMIT must be >= 0", ErrorCode::INVALID_LIMIT_EXPRESSION),
    ("subquery should only return one column", ErrorCode::NUMBER_OF_COLUMNS_DOESNT_MATCH),
    ("names given as column alias", ErrorCode::NUMBER_OF_COLUMNS_DOESNT_MATCH),
    ("queries have different number of columns", ErrorCode::UNION_ALL_RESULT_STRUCTURES_MISMATCH),
    ("Scalar subquery returned more than one row", ErrorCode::INCORRECT_RESULT_OF_SCALAR_SUBQUERY),
];

impl From<stores::SourceError> for Error {
    fn from(error: stores::SourceError) -> Error {
        use stores::SourceErrorKind as Kind;
        let kind = match error.kind() {
            Kind::BadArguments | Kind::BadValue | Kind::Corrupt | Kind::NoStructure => ErrorKind::BadInput,
            Kind::NotFound => ErrorKind::UnknownObject,
            Kind::Exists => ErrorKind::AlreadyExists,
            Kind::Denied => ErrorKind::Denied,
            Kind::Unavailable | Kind::Changed => ErrorKind::Unavailable,
            Kind::Unsupported => ErrorKind::Unsupported,
            Kind::Memory => ErrorKind::Limit,
            Kind::Broken => ErrorKind::Internal,
        };
        Error::new(kind, error.code(), error.to_string())
    }
}

impl From<functions::FunctionError> for Error {
    fn from(error: functions::FunctionError) -> Error {
        Error::new(ErrorKind::BadInput, error.code, error.message)
    }
}

impl From<sql::SqlError> for Error {
    fn from(error: sql::SqlError) -> Error {
        let kind = match error.code {
            ErrorCode::SYNTAX_ERROR => ErrorKind::Syntax,
            ErrorCode::NOT_IMPLEMENTED | ErrorCode::SUPPORT_IS_DISABLED => ErrorKind::Unsupported,
            ErrorCode::READONLY => ErrorKind::Denied,
            ErrorCode::UNKNOWN_FUNCTION
            | ErrorCode::UNKNOWN_IDENTIFIER
            | ErrorCode::UNKNOWN_SETTING
            | ErrorCode::UNKNOWN_TYPE
            | ErrorCode::NOT_FOUND_COLUMN_IN_BLOCK
            | ErrorCode::NO_SUCH_PROJECTION_IN_TABLE
            | ErrorCode::NO_SUCH_COLUMN_IN_TABLE => ErrorKind::UnknownObject,
            ErrorCode::DUPLICATE_COLUMN => ErrorKind::AlreadyExists,
            _ => ErrorKind::BadInput,
        };
        let message = match error.at {
            Some(at) => format!("{} (at byte {at})", error.message),
            None => error.message,
        };
        Error { hint: error.hint, ..Error::new(kind, error.code, message) }
    }
}

impl From<model::RowExprError> for Error {
    fn from(error: model::RowExprError) -> Error {
        Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, error.to_string())
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Error {
        match error.kind() {
            std::io::ErrorKind::StorageFull => {
                Error::new(ErrorKind::Limit, ErrorCode::NOT_ENOUGH_SPACE, error.to_string())
            }
            _ => Error::new(ErrorKind::Unavailable, ErrorCode::UNKNOWN_EXCEPTION, error.to_string()),
        }
    }
}
