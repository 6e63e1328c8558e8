//! MODIFY ORDER BY: another sort key for the rows to come.
//!
//! Invariant: rows that are sorted by the old key are sorted by the new one, too, because what is added is a column that
//! all of them lack. Must not know: parts.

use std::sync::Arc;

use model::{TableDef, TableEngine};
use sql::key_text::forget_order;
use sql::table_text::{display_expression, stored_expr};
use sql::{Expr, Result, SqlError};

/// `added_from`: columns with this id or a greater one are added by the same statement.
pub(super) fn modify_order_by(def: &mut TableDef, key: &[Expr], added_from: u32) -> Result<()> {
    if def.engine == TableEngine::MergeTree && def.is_in_old_syntax() {
        let message = "MODIFY ORDER BY is not supported for tables of the deprecated syntax of MergeTree";
        return Err(SqlError::bad_arguments(message));
    }
    let columns: Vec<_> = def.stored_columns().cloned().collect();
    let next: Vec<Arc<str>> =
        key.iter().map(|part| stored_expr(part, &columns).map(Arc::from)).collect::<Result<_>>()?;
    let primary = usize::try_from(def.primary_key_len).unwrap_or(usize::MAX).min(def.order_by.len());
    if !next.starts_with(&def.order_by[..primary]) {
        return Err(SqlError::bad_arguments("the primary key must be a prefix of the sorting key"));
    }
    for part in next.iter().filter(|part| !def.order_by.contains(part)) {
        let named = |id: u32| part.contains(&format!("`#{id}`"));
        for column in def.columns.iter().filter(|column| named(column.id.0)) {
            if column.id.0 < added_from {
                let message = format!(
                    "existing column {} is used in the expression {} that was added to the sorting key: only columns \
                     that the same statement adds may be",
                    column.name,
                    display_expression(part, def)
                );
                return Err(SqlError::bad_arguments(message));
            }
            if column.default.is_some() {
                let message = format!(
                    "newly added column {} has a default, and so it cannot be added to the sorting key",
                    column.name
                );
                return Err(SqlError::bad_arguments(message));
            }
        }
    }
    forget_order(def);
    if next != def.order_by {
        def.order_by = next;
        def.sort_key_version = def
            .sort_key_version
            .checked_add(1)
            .ok_or_else(|| SqlError::bad_arguments("too many sorting keys"))?;
    }
    Ok(())
}
