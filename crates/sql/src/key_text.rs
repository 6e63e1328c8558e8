//! The keys of a table as people see them: PARTITION BY, PRIMARY KEY and ORDER BY as they were written.
//!
//! A definition has the expressions of its keys; `(a)` and `tuple(a)` are the same key as `a`. How a key was written is kept
//! beside it where ClickHouse shows it otherwise. Invariant: what is kept plays no part in what the key is. Must not know: what the
//! expressions evaluate to.

use std::sync::Arc;

use model::table_def::stored_column_name;
use model::{ColumnDef, KeptClause, MergeMode, TableDef};
use sqlparser::ast::Expr;

use crate::parser::parse_expression;
use crate::printer::printed::printed;
use crate::reader::keys::{ORDER_BY, PARTITION_BY, PRIMARY_KEY};
use crate::table_text::{display_expression, stored_expr};
use lexer::error::Result;

/// Begins the keyword of a kept clause that says how a key was written.
pub const WRITTEN: &str = "WRITTEN ";

/// The clauses that keep how the keys of a new table were written.
///
/// # Errors
/// As those of [`stored_expr`].
pub fn kept_keys(keys: &[(&'static str, Expr)], columns: &[ColumnDef]) -> Result<Vec<KeptClause>> {
    let kept = |(clause, key): &(&'static str, Expr)| {
        let text = stored_expr(key, columns)?.into();
        Ok(KeptClause { keyword: format!("{WRITTEN}{clause}").into(), text })
    };
    keys.iter().map(kept).collect()
}

/// Forgets how the sorting key was written, because there is another one. The primary key stays what the sorting key was.
pub fn forget_order(def: &mut TableDef) {
    let is_order = |clause: &KeptClause| clause.keyword.strip_prefix(WRITTEN) == Some(ORDER_BY);
    let has_primary = def.kept.iter().any(|clause| clause.keyword.ends_with(PRIMARY_KEY));
    if has_primary {
        def.kept.retain(|clause| !is_order(clause));
    } else if let Some(clause) = def.kept.iter_mut().find(|clause| is_order(clause)) {
        clause.keyword = format!("{WRITTEN}{PRIMARY_KEY}").into();
    }
}

fn kept<'a>(def: &'a TableDef, clause: &str) -> Option<&'a str> {
    let found = def.kept.iter().find(|kept| kept.keyword.strip_prefix(WRITTEN) == Some(clause));
    found.map(|kept| kept.text.as_ref())
}

/// A key behind its clause: one expression as it is, several in parentheses, none as `tuple()`.
pub(crate) fn key_text(clause: &str, expressions: &[Arc<str>], def: &TableDef) -> String {
    if let Some(written) = kept(def, clause) {
        return display_expression(written, def);
    }
    let shown: Vec<String> = expressions.iter().map(|stored| display_expression(stored, def)).collect();
    match shown.as_slice() {
        [] => "tuple()".to_owned(),
        [one] => one.clone(),
        several => format!("({})", several.join(", ")),
    }
}

/// The primary key as far as it goes.
pub(crate) fn primary_of(def: &TableDef) -> &[Arc<str>] {
    &def.order_by[..def.order_by.len().min(usize::try_from(def.primary_key_len).unwrap_or(usize::MAX))]
}

/// Whether a clause for the partition is there.
pub(crate) fn is_partitioned(def: &TableDef) -> bool {
    !def.partition_by.is_empty() || kept(def, PARTITION_BY).is_some()
}

/// `system.tables.partition_key`.
pub fn partition_key(def: &TableDef) -> String {
    if is_partitioned(def) { key_text(PARTITION_BY, &def.partition_by, def) } else { String::new() }
}

/// `system.tables.sorting_key`: the expressions, and the version by which rows of a key are told apart.
pub fn sorting_key(def: &TableDef) -> String {
    let mut shown = listed(ORDER_BY, &def.order_by, def);
    let added = &sorted_by(def)[def.order_by.len()..];
    shown.extend(added.iter().map(|stored| display_expression(stored, def)));
    shown.join(", ")
}

/// `system.tables.primary_key`.
pub fn primary_key(def: &TableDef) -> String {
    let primary = primary_of(def);
    let is_whole = primary.len() == def.order_by.len() && kept(def, PRIMARY_KEY).is_none();
    let is_own = def.kept.iter().any(|clause| *clause.keyword == *PRIMARY_KEY);
    listed(if is_whole && !is_own { ORDER_BY } else { PRIMARY_KEY }, primary, def).join(", ")
}

/// ORDER BY, and the version by which rows of a key are told apart.
pub fn sorted_by(def: &TableDef) -> Vec<Arc<str>> {
    let mut key = def.order_by.clone();
    if let MergeMode::VersionedCollapsing { version, .. } = def.mode
        && !def.is_in_key(version)
    {
        key.push(format!("`{}`", stored_column_name(version)).into());
    }
    key
}

/// The expressions of a key as they were written, without the parentheses around all of them.
fn listed(clause: &str, expressions: &[Arc<str>], def: &TableDef) -> Vec<String> {
    let shown = |stored: &str| display_expression(stored, def);
    let Some(written) = kept(def, clause) else {
        return expressions.iter().map(|stored| shown(stored)).collect();
    };
    match parse_expression(written) {
        Ok(Expr::Tuple(parts)) => parts.iter().map(|part| shown(&printed(part))).collect(),
        Ok(Expr::Nested(inner)) if !matches!(*inner, Expr::Tuple(_)) => vec![shown(written)],
        _ => expressions.iter().map(|stored| shown(stored)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use model::{ColumnType, TableEngine, TableId};

    use super::*;
    use crate::reader::keys::{key_of, written};

    #[test]
    fn a_key_is_shown_as_it_was_written() {
        let columns =
            vec![ColumnDef::plain(1, "a", ColumnType::UInt8), ColumnDef::plain(2, "b", ColumnType::UInt8)];
        let shown = |text: &str| {
            let key = parse_expression(text).unwrap();
            let mut def =
                TableDef::plain(TableId::from_bytes([1; 16]), "t", TableEngine::MergeTree, columns.clone());
            let stored = |part: &Expr| Arc::from(stored_expr(part, &columns).unwrap());
            def.order_by = key_of(key.clone()).iter().map(stored).collect();
            def.primary_key_len = u32::MAX;
            let written: Vec<_> = written(ORDER_BY, &key).into_iter().collect();
            def.kept = kept_keys(&written, &columns).unwrap();
            (key_text(ORDER_BY, &def.order_by, &def), sorting_key(&def))
        };
        let same = |text: &str, key: &str| assert_eq!(shown(text), (text.to_owned(), key.to_owned()));
        same("a", "a");
        same("(a)", "(a)");
        same("(a, b)", "a, b");
        same("(a, (b))", "a, (b)");
        same("tuple(a)", "a");
        same("((a, b))", "a, b");
        assert_eq!(shown("((a))").0, "(a)");
        assert_eq!(shown("()").0, "tuple()");
    }
}
