//! Materialized views: which INSERTs they see, what they make of the rows, and where these go.
//!
//! Invariant: a view knows both tables by their names, as its SELECT does; whoever has such a name is it. Must not know: how
//! rows are written.

use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use catalog::TableState;
use datafusion::sql::sqlparser::ast::{Expr, Ident, ObjectName, Query, SelectItem, SetExpr, TableFactor};
use model::{ColumnDef, ErrorCode, TableDef, TableEngine, TableId};
use sql::{NAME_DIVIDER, TableName, VIEW_FROM, VIEW_OWN, VIEW_TO};

use crate::context::execution::{Execution, Rewritten};
use tables::virtual_columns::parts_of;

/// The views that see INSERTs into a table.
pub(crate) fn views_of(execution: &Execution, def: &TableDef) -> Vec<Arc<TableState>> {
    if matches!(execution.rewritten, Some(Rewritten::Filling)) {
        return Vec::new();
    }
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
    format!("{database}{NAME_DIVIDER}{table}")
}

/// Where the rows of a view go.
pub(crate) fn destination_of(view: &TableDef) -> Result<TableName, Error> {
    match view.kept_text(VIEW_TO).and_then(|text| text.split_once(NAME_DIVIDER)) {
        Some((database, table)) => Ok(TableName::new(Some(database), table)),
        None => Err(Error::internal(format!("view \"{}\" has no table", view.name))),
    }
}

/// The table that a view has of its own, if it is still there.
pub(crate) fn own_table_of(execution: &Execution, view: &TableDef) -> Option<TableId> {
    let known = view.kept_text(VIEW_OWN)?;
    let id = execution.stored_table(&destination_of(view).ok()?).ok()?.def.id;
    (id.to_string() == known).then_some(id)
}

/// The rows of a view: those of the table that they went to.
pub(crate) fn rows_of(view: &TableDef) -> Result<Query, Error> {
    let table = destination_of(view)?;
    let mut query = sql::parse_query("SELECT column FROM database.table")?;
    let SetExpr::Select(select) = query.body.as_mut() else {
        return Err(Error::internal("a SELECT was read as something else"));
    };
    // Names are put in as they are: not all of them read back from text.
    let ident = |name: &str| Ident::with_quote('`', name);
    let column = |column: &ColumnDef| SelectItem::UnnamedExpr(Expr::Identifier(ident(&column.name)));
    select.projection = view.columns.iter().map(column).collect();
    if let Some(TableFactor::Table { name, .. }) = select.from.first_mut().map(|from| &mut from.relation) {
        let database = table.database.as_deref().unwrap_or_default();
        *name = ObjectName::from(vec![ident(database), ident(&table.table)]);
    }
    Ok(query)
}

/// The table whose INSERTs a SELECT sees: the leftmost of those it reads.
pub(crate) fn source_of(query: &Query) -> Result<TableName, Error> {
    leftmost(query, &[], false)
}

/// `around` are the items of WITH that the query may name.
fn leftmost(query: &Query, around: &[(&str, &Query)], is_inside: bool) -> Result<TableName, Error> {
    let refused = || {
        let message = "a materialized view must read from a table: the leftmost of its SELECT";
        Error::new(ErrorKind::Unsupported, ErrorCode::NOT_IMPLEMENTED, message)
    };
    let items = query.with.iter().flat_map(|with| &with.cte_tables);
    let items = items.map(|item| (item.alias.name.value.as_str(), item.query.as_ref()));
    let known: Vec<(&str, &Query)> = around.iter().copied().chain(items).collect();
    let mut body = query.body.as_ref();
    // Of a UNION inside its first SELECT says it; one of the whole is none that sees an INSERT.
    while let (SetExpr::SetOperation { left, .. }, true) = (body, is_inside) {
        body = left.as_ref();
    }
    let SetExpr::Select(select) = body else { return Err(refused()) };
    match select.from.first().map(|from| &from.relation) {
        Some(TableFactor::Table { name, args: None, .. }) => {
            let (database, table) = parts_of(name);
            let item = known.iter().rposition(|(item, _)| database.is_none() && *item == table);
            match item {
                // It knows the items before it.
                Some(at) => leftmost(known[at].1, &known[..at], true),
                None => Ok(TableName::new(database, table)),
            }
        }
        Some(TableFactor::Derived { subquery, .. }) => leftmost(subquery, &known, true),
        _ => Err(refused()),
    }
}

/// Refuses to make a view of tables that take rows in another way than by INSERT; a target of the view's own is none yet, and
/// what is refreshed has no source.
pub(crate) fn check_source(
    execution: &Execution,
    source: Option<&TableName>,
    target: Option<&TableName>,
) -> Result<(), Error> {
    let takes = |engine: TableEngine| {
        engine.keeps_parts() || matches!(engine, TableEngine::Memory | TableEngine::Null)
    };
    if let (Some(target), Some(source)) = (target, source)
        && execution.resolve(target) == execution.resolve(source)
    {
        let message = format!("a materialized view that fills the table it reads, {source}");
        return Err(Error::new(ErrorKind::BadInput, ErrorCode::TOO_DEEP_RECURSION, message));
    }
    for (name, is_target) in [(source, false), (target, true)] {
        let Some(name) = name else { continue };
        let def = &execution.stored_table(name)?.def;
        // Rows that go to another table's name are that table's.
        let passes_on = is_target && def.engine.names_another();
        if !(takes(def.engine) || passes_on) {
            let what = format!("a materialized view with table {name} of engine {}", def.engine_name());
            return Err(Error::unsupported(what));
        }
    }
    Ok(())
}
