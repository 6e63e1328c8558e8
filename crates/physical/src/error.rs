//! Why a node of a plan cannot go on.
//!
//! It crosses DataFusion boxed; `engine` finds it inside and tells the caller what to do about it. Invariant: a `code` is
//! ClickHouse's, and errors of the crates below are carried whole. Must not know: how an error is shown.

use std::sync::Arc;

use datafusion::common::DataFusionError;
use functions::FunctionError;
use host::MemoryRefused;
use mergetree::TableError;
use model::{ErrorCode, PartDescriptor};
use parts::PartError;
use stores::SourceError;
use thiserror::Error;

/// See the module.
#[derive(Debug, Error)]
pub enum PhysicalError {
    /// The statement or its data is wrong: fix it.
    #[error("{message}")]
    BadInput { code: ErrorCode, message: String },
    /// Understood, and not done by this version.
    #[error("{0} is not supported")]
    Unsupported(String),
    /// A limit was reached; the hint says how to raise it.
    #[error("{message}")]
    Limit { code: ErrorCode, message: String, hint: &'static str },
    /// A defect of ours.
    #[error("{0}")]
    Internal(String),
    /// Nobody waits for the statement any more.
    #[error("the statement was stopped")]
    Stopped,
    #[error(transparent)]
    Memory(#[from] MemoryRefused),
    #[error(transparent)]
    Function(#[from] FunctionError),
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Of the rows that are in the log.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A part that is not what was written, or that cannot be read.
    #[error("table \"{table}\", part {}: {source}", .part.name())]
    Part { table: Arc<str>, part: Arc<PartDescriptor>, source: PartError },
}

impl PhysicalError {
    pub(crate) fn bad_input(code: ErrorCode, message: impl Into<String>) -> PhysicalError {
        PhysicalError::BadInput { code, message: message.into() }
    }

    pub(crate) fn unsupported(what: impl Into<String>) -> PhysicalError {
        PhysicalError::Unsupported(what.into())
    }

    pub(crate) fn limit(code: ErrorCode, message: impl Into<String>, hint: &'static str) -> PhysicalError {
        PhysicalError::Limit { code, message: message.into(), hint }
    }

    pub(crate) fn internal(message: impl Into<String>) -> PhysicalError {
        PhysicalError::Internal(message.into())
    }

    pub(crate) fn of_part(source: PartError, table: &Arc<str>, part: &Arc<PartDescriptor>) -> PhysicalError {
        PhysicalError::Part { table: Arc::clone(table), part: Arc::clone(part), source }
    }
}

/// Sends an error of ours through DataFusion.
pub(crate) fn into_datafusion(error: impl Into<PhysicalError>) -> DataFusionError {
    DataFusionError::External(Box::new(error.into()))
}
