//! A table with ALIAS columns: they are computed from the others wherever a query names them.
//!
//! Invariant: a column of this kind is never stored, and costs nothing where it is not named; filters and projections
//! reach the table below as if its expression had been written out. Must not know: how the table below is read.

use std::sync::Arc;

use datafusion::catalog::{TableProvider, view::ViewTable};
use datafusion::common::{DFSchema, Result};
use datafusion::datasource::provider_as_source;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, ident};
use model::table_def::stored_column_name;
use model::{ColumnDef, DefaultKind, TableDef};

use crate::error::into_datafusion;
use crate::row_expr::logical;

/// Whether some column of the table is an ALIAS.
pub(crate) fn has_alias(def: &TableDef) -> bool {
    def.columns.iter().any(is_alias)
}

fn is_alias(column: &ColumnDef) -> bool {
    matches!(column.default, Some((DefaultKind::Alias, _)))
}

/// All columns of `def`; `stored` is the table with those that it stores.
pub(crate) fn with_aliases(
    state: &SessionState,
    def: &TableDef,
    stored: Arc<dyn TableProvider>,
) -> Result<Arc<dyn TableProvider>> {
    // Stored expressions know columns by their ids, which no ALTER changes.
    let by_id = |column: &ColumnDef| ident(column.name.as_ref()).alias(stored_column_name(column.id));
    let columns: Vec<Expr> = def.columns.iter().filter(|column| !is_alias(column)).map(by_id).collect();
    let mut plan =
        LogicalPlanBuilder::scan(def.name.as_ref(), provider_as_source(stored), None)?.project(columns)?;
    for column in def.columns.iter().filter(|column| is_alias(column)) {
        let Some((_, text)) = &column.default else { continue };
        let known: DFSchema = plan.schema().as_ref().clone();
        let value = cast_text(text, column);
        let value = logical(state, &known, &value).map_err(into_datafusion)?;
        let known = known.fields().iter().map(|field| ident(field.name().as_str()));
        plan = plan.project(known.chain([value.alias(stored_column_name(column.id))]).collect::<Vec<_>>())?;
    }
    let by_name = |column: &ColumnDef| ident(stored_column_name(column.id)).alias(column.name.as_ref());
    let plan = plan.project(def.columns.iter().map(by_name).collect::<Vec<_>>())?.build()?;
    Ok(Arc::new(ViewTable::new(plan, None)))
}

/// The expression in the column's type.
fn cast_text(text: &str, column: &ColumnDef) -> String {
    format!("CAST(({text}), {})", sql::escape::quote_text(&column.column_type.to_string()))
}
