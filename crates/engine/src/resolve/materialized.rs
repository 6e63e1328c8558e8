//! Materialized views: which INSERTs they see, what they make of the rows, and where these go.
//!
//! Invariant: a view knows both tables by their names, as its SELECT does; whoever has such a name is it. Must not know: how
//! rows are written.

use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use catalog::TableState;
use datafusion::sql::sqlparser::ast::{Expr, Query, SetExpr, TableFactor};
use model::{ErrorCode, TableDef, TableEngine};
use sql::escape::{always_quote_name, quote_name};
use sql::{TableName, VIEW_FROM, VIEW_TO};

use crate::context::execution::Execution;
use crate::tables::virtual_columns::parts_of;

/// The views that see INSERTs into a table.
pub(crate) fn views_of(execution: &Execution, def: &TableDef) -> Vec<Arc<TableState>> {
    let state = execution.snapshot.state();
    let mut views = state.materialized_views().peekable();
    if views.peek().is_none() {
        return Vec::new();
    }
    let database = state.database_name(def.database);
    let name = named(&database, &def.name);
    let sees = |view: &&Arc<TableState>| view.def.kept_text(VIEW_FROM) == Some(name.as_str());
    // One that is detached sees nothing.
    let is_there = |view: &&Arc<TableState>| {
        state.table(view.def.database, &view.def.name).is_some_and(|found| found.def.id == view.def.id)
    };
    views.filter(sees).filter(is_there).cloned().collect()
}

/// A table's name as a view keeps it.
pub(crate) fn named(database: &str, table: &str) -> String {
    format!("{}.{}", quote_name(database), quote_name(table))
}

/// Where the rows of a view go.
pub(crate) fn destination_of(view: &TableDef) -> Result<TableName, Error> {
    let text = view.kept_text(VIEW_TO).unwrap_or_default();
    match sql::parse_expression(text) {
        Ok(Expr::CompoundIdentifier(names)) if names.len() == 2 => {
            Ok(TableName::new(Some(&names[0].value), &names[1].value))
        }
        _ => Err(Error::internal(format!("view \"{}\" has no table", view.name))),
    }
}

/// The rows of a view: those of the table that they went to.
pub(crate) fn rows_of(view: &TableDef) -> Result<Query, Error> {
    let columns: Vec<String> = view.columns.iter().map(|column| always_quote_name(&column.name)).collect();
    let table = destination_of(view)?;
    let source = named(table.database.as_deref().unwrap_or_default(), &table.table);
    Ok(sql::parse_query(&format!("SELECT {} FROM {source}", columns.join(", ")))?)
}

/// The table whose INSERTs a SELECT sees: the leftmost of those it reads.
pub(crate) fn source_of(query: &Query) -> Result<TableName, Error> {
    let refused = || {
        let message = "a materialized view must read from a table: the leftmost of its SELECT";
        Error::new(ErrorKind::Unsupported, ErrorCode::NOT_IMPLEMENTED, message)
    };
    let SetExpr::Select(select) = query.body.as_ref() else { return Err(refused()) };
    match select.from.first().map(|from| &from.relation) {
        Some(TableFactor::Table { name, args: None, .. }) => {
            let (database, table) = parts_of(name);
            let items = query.with.iter().flat_map(|with| &with.cte_tables);
            match items.into_iter().find(|item| database.is_none() && item.alias.name.value == table) {
                Some(item) => source_of(&item.query),
                None => Ok(TableName::new(database, table)),
            }
        }
        Some(TableFactor::Derived { subquery, .. }) => source_of(subquery),
        _ => Err(refused()),
    }
}

/// Refuses to make a view of tables that take rows in another way than by INSERT; a target of the view's own is none yet.
pub(crate) fn check_source(
    execution: &Execution,
    source: &TableName,
    target: Option<&TableName>,
) -> Result<(), Error> {
    let takes = |engine: TableEngine| {
        engine.keeps_parts() || matches!(engine, TableEngine::Memory | TableEngine::Null)
    };
    for name in [Some(source), target].into_iter().flatten() {
        let def = &execution.stored_table(name)?.def;
        if !takes(def.engine) {
            let what = format!("a materialized view with table {name} of engine {}", def.engine_name());
            return Err(Error::unsupported(what));
        }
    }
    Ok(())
}
