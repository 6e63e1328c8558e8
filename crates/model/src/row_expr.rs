//! Expressions over rows as storage sees them: a batch in, an array out.
//!
//! Invariant: an expression is deterministic and row-wise, so a stored key can be computed again from stored rows.
//! Must not know: SQL. `engine` compiles expressions; sort keys, partition keys, defaults and TTLs arrive as these.

use std::fmt::Debug;

use arrow::array::{ArrayRef, RecordBatch};
use thiserror::Error;

use crate::column_type::ColumnType;
use crate::ids::ColumnId;

/// How the result moves when the one source column grows; what key pruning may rely on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Monotonicity {
    /// Never falls; may stay equal (`toDate(t)`).
    Increasing,
    /// Never rises (`-x`).
    Decreasing,
}

#[derive(Debug, Error)]
#[error("cannot compute {expression}: {message}")]
pub struct RowExprError {
    pub expression: String,
    pub message: String,
}

/// A deterministic expression over one row.
pub trait RowExpr: Send + Sync + Debug {
    /// As many values as `rows` has rows. `rows` has the table's columns, found by field id.
    fn evaluate(&self, rows: &RecordBatch) -> Result<ArrayRef, RowExprError>;

    /// Type of the result.
    fn column_type(&self) -> &ColumnType;

    /// The columns it reads, each once.
    fn columns(&self) -> &[ColumnId];

    /// The column, if the expression is a plain column.
    fn as_column(&self) -> Option<ColumnId>;

    /// Known only for expressions over exactly one column.
    fn monotonicity(&self) -> Option<Monotonicity>;

    /// The text a person wrote, for errors and system tables.
    fn text(&self) -> &str;
}
