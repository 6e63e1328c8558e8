//! Which materialized view needs a column of the table whose INSERTs it sees.
//!
//! Invariant: by name alone, wherever the view's SELECT says it: a column of another table of that name counts, too.

use std::ops::ControlFlow;

use boundary::error::Error;
use datafusion::sql::sqlparser::ast::{Expr, visit_expressions};
use model::TableDef;

use crate::context::execution::Execution;
use crate::resolve::materialized::views_of;

/// The name of a view that reads the column.
pub(crate) fn reader_of(
    execution: &Execution,
    def: &TableDef,
    column: &str,
) -> Result<Option<String>, Error> {
    for view in views_of(execution, def) {
        let query = sql::parse_query(view.def.engine_arguments.text())?;
        let is_named = visit_expressions(&query, |expr| {
            let found = match expr {
                Expr::Identifier(name) => name.value == column,
                Expr::CompoundIdentifier(parts) => parts.iter().any(|part| part.value == column),
                _ => false,
            };
            if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if is_named.is_break() {
            return Ok(Some(execution.snapshot.state().table_name(view.def.id)));
        }
    }
    Ok(None)
}
