//! The columns of a CREATE TABLE.
//!
//! Invariant: names are distinct, every column has a type, one at least is stored. Must not know: engines, keys.

use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use model::{ColumnDef, ColumnId, ColumnType, ErrorCode};
use sql::ColumnSpec;

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::context::session_state::statement_state;
use tables::row_expr::type_of;

fn is_null(expression: &sql::Expr) -> bool {
    matches!(expression, sql::Expr::Value(value) if value.value.to_string() == "NULL")
}

fn may_be_null(column_type: &ColumnType) -> bool {
    !matches!(column_type, ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Tuple(_))
}

/// Columns as they are stored, numbered in their order.
pub(crate) fn columns_of(
    services: &Services,
    execution: &Execution,
    specs: &[ColumnSpec],
) -> Result<Vec<ColumnDef>, Error> {
    let mut columns: Vec<ColumnDef> = Vec::with_capacity(specs.len());
    for (index, spec) in specs.iter().enumerate() {
        if columns.iter().any(|column| column.name.as_ref() == spec.name) {
            let message = format!("column {} is given more than once", spec.name);
            return Err(Error::new(ErrorKind::BadInput, ErrorCode::ILLEGAL_COLUMN, message));
        }
        let column_type = match (&spec.column_type, &spec.default) {
            (Some(ColumnType::Nothing), _) | (None, None) => {
                let message = format!("column {} needs a type", spec.name);
                return Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message));
            }
            // DEFAULT NULL is a value of a type that has it.
            (Some(column_type), Some((_, expression))) if is_null(expression) && may_be_null(column_type) => {
                column_type.clone().nullable()
            }
            (Some(column_type), _) => column_type.clone(),
            // Its default says it, below.
            (None, Some(_)) => ColumnType::Nothing,
        };
        if spec.codec.is_some() {
            execution.warn(format!("CODEC of column {} is kept and has no effect", spec.name));
        }
        columns.push(ColumnDef {
            id: ColumnId(u32::try_from(index + 1).unwrap_or(u32::MAX)),
            name: spec.name.as_str().into(),
            column_type,
            default: None,
            comment: spec.comment.as_str().into(),
            codec: spec.codec.as_deref().map(Arc::from),
            combined_by: spec.combined_by.clone(),
        });
    }
    if columns.is_empty() {
        return Err(Error::new(
            ErrorKind::BadInput,
            ErrorCode::BAD_ARGUMENTS,
            "a table needs at least one column",
        ));
    }
    // Defaults may name any column, so they are stored once all ids are known.
    for index in 0..specs.len() {
        if let Some((kind, expression)) = &specs[index].default {
            let text = sql::stored_expr(expression, &columns)?;
            if columns[index].column_type == ColumnType::Nothing {
                columns[index].column_type =
                    type_of(&statement_state(services, execution)?, &columns, index, &text)?;
            }
            columns[index].default = Some((*kind, text.into()));
        }
    }
    if !columns.iter().any(ColumnDef::is_stored) {
        let message = "a table needs a column that is stored: ALIAS and EPHEMERAL ones are not";
        return Err(Error::new(ErrorKind::BadInput, ErrorCode::EMPTY_LIST_OF_COLUMNS_PASSED, message));
    }
    Ok(columns)
}
