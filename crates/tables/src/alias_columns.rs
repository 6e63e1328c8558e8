//! A table with ALIAS columns: they are computed from the others wherever a query names them.
//!
//! Invariant: a column of this kind is never stored, and no row is computed where it is not named; filters and projections
//! reach the table below as if its expression had been written out. Must not know: how the table below is read.

use std::sync::Arc;

use boundary::error::{Error, into_datafusion};
use datafusion::catalog::{TableProvider, view::ViewTable};
use datafusion::common::{DFSchema, Result as DataFusionResult};
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, ident};
use model::table_def::stored_column_name;
use model::{ColumnDef, DefaultKind, TableDef};

use crate::row_expr::logical;

/// Whether some column of the table is an ALIAS.
pub fn has_alias(def: &TableDef) -> bool {
    def.columns.iter().any(is_alias)
}

fn is_alias(column: &ColumnDef) -> bool {
    matches!(column.default, Some((DefaultKind::Alias, _)))
}

/// All columns of `def`; `stored` is the table with those that it stores.
pub fn with_aliases(
    state: &SessionState,
    def: &TableDef,
    stored: Arc<dyn TableProvider>,
) -> DataFusionResult<Arc<dyn TableProvider>> {
    // Stored expressions know columns by their ids, which no ALTER changes.
    let by_id = |column: &ColumnDef| ident(column.name.as_ref()).alias(stored_column_name(column.id));
    let columns: Vec<Expr> = def.stored_columns().map(by_id).collect();
    let mut plan =
        LogicalPlanBuilder::scan(def.name.as_ref(), provider_as_source(stored), None)?.project(columns)?;
    let mut waiting: Vec<&ColumnDef> = def.columns.iter().filter(|column| is_alias(column)).collect();
    while !waiting.is_empty() {
        let (known, mut later, mut wrong) = (waiting.len(), Vec::new(), None);
        for column in waiting {
            let schema: DFSchema = plan.schema().as_ref().clone();
            match alias(state, &schema, column) {
                Ok(value) => {
                    let fields = schema.fields().iter().map(|field| ident(field.name().as_str()));
                    plan = plan.project(fields.chain([value]).collect::<Vec<_>>())?;
                }
                // It may name one that comes later.
                Err(error) => {
                    wrong.get_or_insert(error.in_context(&format!("in ALIAS column {}", column.name)));
                    later.push(column);
                }
            }
        }
        match wrong {
            Some(error) if later.len() == known => return Err(into_datafusion(error)),
            _ => waiting = later,
        }
    }
    let by_name = |column: &ColumnDef| ident(stored_column_name(column.id)).alias(column.name.as_ref());
    // An EPHEMERAL column is one of INSERTs alone.
    let readable = def.columns.iter().filter(|column| column.is_stored() || is_alias(column));
    let plan = plan.project(readable.map(by_name).collect::<Vec<_>>())?.build()?;
    Ok(Arc::new(ViewTable::new(plan, None)))
}

/// The column's expression in its type.
pub fn alias(state: &SessionState, known: &DFSchema, column: &ColumnDef) -> Result<Expr, Error> {
    let text = column.default.as_ref().map_or("NULL", |(_, text)| text.as_ref());
    let text = format!("_CAST(({text}), {})", sql::escape::quote_text(&column.column_type.to_string()));
    Ok(logical(state, known, &text)?.alias(stored_column_name(column.id)))
}

/// Refuses ALIAS columns that cannot be computed.
pub fn check_aliases(state: &SessionState, def: &TableDef) -> Result<(), Error> {
    if has_alias(def) {
        let stored = MemTable::try_new(def.arrow_schema(), vec![vec![]])?;
        with_aliases(state, def, Arc::new(stored))?;
    }
    Ok(())
}
