//! What columns are computed from: their defaults over all columns, ALIAS columns among them, and whether they can be.
//!
//! Invariant: a compiled default names stored columns only. A definition whose defaults need each other in a circle, or whose
//! constants do not fit their columns, is refused before it is durable. Must not know: who writes the rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, new_empty_array};
use arrow::datatypes::Schema;
use boundary::error::{Error, ErrorKind};
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::execution::SessionState;
use datafusion::logical_expr::Expr;
use functions::cast::{CastMode, cast_column};
use model::table_def::stored_column_name;
use model::type_arrow::to_data_type;
use model::{ColumnDef, ColumnId, ColumnType, DefaultKind, ErrorCode, RowExpr, TableDef};

use crate::alias_columns::alias;
use crate::row_expr::{all_columns, compiled, logical, used_columns};

/// Compiles the default of a column; also answers a function it asks about the statement, if it does.
pub fn compile_default(
    state: &SessionState,
    def: &TableDef,
    text: &str,
) -> Result<(Arc<dyn RowExpr>, Option<&'static str>), Error> {
    let all = all_columns(def)?;
    let expression = without_aliases(state, def, &all, logical(state, &all, text)?)?;
    compiled(state, def, text, expression)
}

/// The expression with what ALIAS columns are in their places.
fn without_aliases(
    state: &SessionState,
    def: &TableDef,
    all: &DFSchema,
    mut expression: Expr,
) -> Result<Expr, Error> {
    // One may name another, but none itself: each round leaves one of them behind.
    for _ in 0..=def.columns.len() {
        let named = expression.column_refs().into_iter().map(|column| column.name.clone());
        let named: BTreeSet<String> = named.collect();
        let is_meant = |column: &&ColumnDef| {
            matches!(column.default, Some((DefaultKind::Alias, _)))
                && named.contains(&stored_column_name(column.id))
        };
        let mut values: BTreeMap<String, Expr> = BTreeMap::new();
        for column in def.columns.iter().filter(is_meant) {
            values.insert(stored_column_name(column.id), alias(state, all, column)?);
        }
        if values.is_empty() {
            return Ok(expression);
        }
        let replaced = expression.transform(|node| match &node {
            Expr::Column(column) => match values.get(&column.name) {
                Some(value) => Ok(Transformed::yes(value.clone())),
                None => Ok(Transformed::no(node)),
            },
            _ => Ok(Transformed::no(node)),
        });
        expression = replaced?.data;
    }
    Err(in_a_circle(def, "an ALIAS column"))
}

fn in_a_circle(def: &TableDef, what: &str) -> Error {
    let message =
        format!("{what} of table {} is computed from itself, over its default or another's", def.name);
    Error::new(ErrorKind::BadInput, ErrorCode::CYCLIC_ALIASES, message)
        .with_hint("give one of the columns a default that names none of the others")
}

/// Refuses defaults that need each other, and constants that do not fit their columns.
pub fn check_defaults(state: &SessionState, def: &TableDef) -> Result<(), Error> {
    check_order(state, def)?;
    for column in &def.columns {
        if let Some((_, text)) = &column.default {
            fits(state, def, column, text)
                .map_err(|error| error.in_context(&format!("in the default of column {}", column.name)))?;
        }
    }
    Ok(())
}

/// Takes away the columns whose defaults need none of those that are left, as long as there are any.
fn check_order(state: &SessionState, def: &TableDef) -> Result<(), Error> {
    let all = all_columns(def)?;
    let mut needs: BTreeMap<ColumnId, BTreeSet<ColumnId>> = BTreeMap::new();
    for column in &def.columns {
        if let Some((_, text)) = &column.default {
            let named = used_columns(&logical(state, &all, text)?);
            needs.insert(column.id, named.into_iter().collect());
        }
    }
    loop {
        let waiting: BTreeSet<ColumnId> = needs.keys().copied().collect();
        needs.retain(|_, named| !named.is_disjoint(&waiting));
        if needs.len() == waiting.len() {
            break;
        }
    }
    let first = def.columns.iter().find(|column| needs.contains_key(&column.id));
    first.map_or(Ok(()), |column| Err(in_a_circle(def, &format!("column {}", column.name))))
}

/// Whether a default can become a value of its column: a constant itself, anything else by its type.
fn fits(state: &SessionState, def: &TableDef, column: &ColumnDef, text: &str) -> Result<(), Error> {
    let (default, asked) = compile_default(state, def, text)?;
    let from = default.column_type();
    let is_constant = default.columns().is_empty() && asked.is_none();
    let value = is_constant.then(|| constant(default.as_ref())).flatten();
    // NULL is the column's own default.
    if *from == ColumnType::Nothing || value.as_ref().is_some_and(|value| value.logical_null_count() > 0) {
        return Ok(());
    }
    let value = value.unwrap_or_else(|| new_empty_array(&to_data_type(from)));
    cast_column(&value, from, &column.column_type, CastMode::Strict)?;
    Ok(())
}

/// The value of a constant; `None` if it cannot be computed, which only a row that needs it has to know.
fn constant(default: &dyn RowExpr) -> Option<ArrayRef> {
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options).ok()?;
    default.evaluate(&row).ok()
}
