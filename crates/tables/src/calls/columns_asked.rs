//! `hasColumnInTable('database', 'table', 'column')` becomes 1 or 0.
//!
//! Invariant: it is replaced after the labels of the result are known, so the column keeps the name of the call. Must not know:
//! where the columns of a table are kept.

use std::ops::ControlFlow;

use boundary::error::{Error, ErrorKind};
use datafusion::sql::sqlparser::ast::{Expr, Query, Value, visit_expressions_mut};
use model::ErrorCode;
use sql::dialect::{name_of, number, plain_args, text_of};

const HAS_COLUMN: &str = "hasColumnInTable";

/// The names of a table's columns, by its database and its name.
pub type ColumnsOf<'a> = &'a dyn Fn(&str, &str) -> Result<Vec<String>, Error>;

/// Puts answers where the query asks for columns.
///
/// # Errors
/// There is no such table, or an argument is no constant text.
pub fn with_answers(query: &mut Query, here: &str, columns: ColumnsOf<'_>) -> Result<(), Error> {
    let replaced = visit_expressions_mut(query, |expr| match answer(expr, here, columns) {
        Ok(None) => ControlFlow::Continue(()),
        Ok(Some(answer)) => {
            *expr = answer;
            ControlFlow::Continue(())
        }
        Err(error) => ControlFlow::Break(error),
    });
    match replaced {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

fn answer(expr: &Expr, here: &str, columns: ColumnsOf<'_>) -> Result<Option<Expr>, Error> {
    let Expr::Function(call) = expr else { return Ok(None) };
    if name_of(call) != HAS_COLUMN {
        return Ok(None);
    }
    let arguments = plain_args(call);
    let [database, table, column] = arguments.as_slice() else { return Ok(None) };
    if arguments.iter().any(is_null) {
        return Ok(Some(Expr::Value(Value::Null.into())));
    }
    let (database, table) = (constant("first", database, here)?, constant("second", table, here)?);
    let column = constant("third", column, here)?;
    if table.is_empty() {
        let message = format!("{HAS_COLUMN}: the name of the table is empty");
        return Err(Error::new(ErrorKind::BadInput, ErrorCode::UNKNOWN_TABLE, message));
    }
    let known = columns(database, table)?;
    Ok(Some(number(if known.iter().any(|name| name == column) { "1" } else { "0" })))
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if value.value == Value::Null)
}

fn constant<'a>(place: &str, expr: &'a Expr, here: &'a str) -> Result<&'a str, Error> {
    let is_here = |expr: &Expr| match expr {
        Expr::Function(call) => ["currentDatabase", "database"].contains(&name_of(call).as_str()),
        _ => false,
    };
    match expr {
        Expr::Nested(inner) => constant(place, inner, here),
        expr if is_here(expr) => Ok(here),
        expr => text_of(expr).ok_or_else(|| {
            let message = format!("{HAS_COLUMN}: the {place} argument must be a constant text");
            Error::new(ErrorKind::BadInput, ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message)
        }),
    }
}
