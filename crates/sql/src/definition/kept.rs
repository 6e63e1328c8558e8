//! Clauses of a definition that have no effect: indexes, projections, SAMPLE BY.
//!
//! They are kept as text over names. Invariant: what is kept reads back, or was kept by an older version as it was
//! written. Must not know: rows.

use model::{ErrorCode, KeptClause, TableDef};
use sqlparser::ast::{Expr, GroupByExpr, OrderByKind, SetExpr};

use crate::grammar::kept::{index, index_text, projection, projection_text};
use crate::parser::parse_query;
use crate::printer::printed::printed;
use crate::reader::head::Head;
use crate::reader::keys::bare;
use crate::reader::tokens::tokenize;
use crate::statement::{ClausePlace, IndexClause, ProjectionClause};
use crate::table_text::stored_expr;
use lexer::error::{Result, SqlError};
use lexer::escape::quote_name;

pub const INDEX: &str = "INDEX";
pub const PROJECTION: &str = "PROJECTION";

/// The indexes of a table, in their order; those that cannot be read are left out.
pub fn indexes(def: &TableDef) -> impl Iterator<Item = IndexClause> {
    texts(def, INDEX).filter_map(|text| read(text, index).ok())
}

/// The projections of a table, as [`indexes`].
pub fn projections(def: &TableDef) -> impl Iterator<Item = ProjectionClause> {
    texts(def, PROJECTION).filter_map(|text| read(text, projection).ok())
}

/// The texts of a definition's clauses of this keyword.
pub fn texts<'a>(def: &'a TableDef, keyword: &'a str) -> impl Iterator<Item = &'a str> {
    def.kept.iter().filter(move |clause| *clause.keyword == *keyword).map(|clause| clause.text.as_ref())
}

pub(super) fn read<T>(text: &str, grammar: impl FnOnce(&mut Head<'_>) -> Result<T>) -> Result<T> {
    let mut head = Head::new(text, 0, tokenize(text)?)?;
    let measure = head.measure;
    measure.run(|| {
        let read = grammar(&mut head)?;
        head.expect_end()?;
        Ok(read)
    })
}

/// Whether the columns that the clauses of a new table name are there.
///
/// # Errors
/// UNKNOWN_IDENTIFIER.
pub fn check_indexes(def: &TableDef) -> Result<()> {
    indexes(def).try_for_each(|index| stored_expr(&index.expression, &def.columns).map(drop))
}

/// ADD INDEX.
///
/// # Errors
/// There is one of this name, a column that it names is not there, or the index that it is to stand behind.
pub fn add_index(
    def: &mut TableDef,
    index: &IndexClause,
    if_not_exists: bool,
    place: Option<&ClausePlace>,
) -> Result<()> {
    if position(def, INDEX, &index.name).is_some() {
        let message = format!("cannot add index {}: index with this name already exists", index.name);
        return if if_not_exists { Ok(()) } else { Err(SqlError::new(ErrorCode::ILLEGAL_COLUMN, message)) };
    }
    stored_expr(&index.expression, &def.columns)?;
    let clause = KeptClause { keyword: INDEX.into(), text: index_text(index).into() };
    insert(def, clause, place)
}

/// ADD PROJECTION.
///
/// # Errors
/// There is one of this name, or the one that it is to stand behind is not there.
pub fn add_projection(
    def: &mut TableDef,
    projection: &ProjectionClause,
    if_not_exists: bool,
    place: Option<&ClausePlace>,
) -> Result<()> {
    if position(def, PROJECTION, &projection.name).is_some() {
        let message =
            format!("cannot add projection {}: projection with this name already exists", projection.name);
        let error = SqlError::new(ErrorCode::ILLEGAL_PROJECTION, message);
        return if if_not_exists { Ok(()) } else { Err(error) };
    }
    let clause = KeptClause { keyword: PROJECTION.into(), text: projection_text(projection).into() };
    insert(def, clause, place)
}

fn insert(def: &mut TableDef, clause: KeptClause, place: Option<&ClausePlace>) -> Result<()> {
    let at = match place {
        None => def.kept.len(),
        Some(ClausePlace::First) => 0,
        Some(ClausePlace::After(name)) => {
            let Some(at) = position(def, &clause.keyword, name) else {
                let what = clause.keyword.to_lowercase();
                let message = format!("wrong {what} name: cannot find {what} {name} to insert after");
                return Err(SqlError::bad_arguments(message));
            };
            at + 1
        }
    };
    def.kept.insert(at, clause);
    Ok(())
}

/// DROP of the clause of this name.
///
/// # Errors
/// There is none.
pub fn drop_named(def: &mut TableDef, keyword: &str, name: &str, if_exists: bool) -> Result<()> {
    match position(def, keyword, name) {
        Some(at) => {
            def.kept.remove(at);
            Ok(())
        }
        None if if_exists => Ok(()),
        None if keyword == PROJECTION => {
            let message = format!("there is no projection {name} in table \"{}\"", def.name);
            Err(SqlError::new(ErrorCode::NO_SUCH_PROJECTION_IN_TABLE, message))
        }
        None => {
            let message = format!("wrong index name: cannot find index {name} to drop");
            Err(SqlError::bad_arguments(message))
        }
    }
}

/// Where the clause of this name stands. What an older version kept as it was written begins with its name, too.
fn position(def: &TableDef, keyword: &str, name: &str) -> Option<usize> {
    let quoted = [quote_name(name), format!("`{name}`"), format!("\"{name}\"")];
    let begins = |text: &str, name: &str| {
        let rest = text.strip_prefix(name);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let is_it = |clause: &KeptClause| {
        *clause.keyword == *keyword && quoted.iter().any(|name| begins(&clause.text, name))
    };
    def.kept.iter().position(is_it)
}

/// What the table samples by; `None`: nothing any more.
///
/// # Errors
/// It is no part of the primary key.
pub fn set_sample_by(def: &mut TableDef, expression: Option<&Expr>) -> Result<()> {
    if let Some(expression) = expression {
        let stored = stored_expr(&bare(expression.clone()), &def.columns)?;
        let primary = usize::try_from(def.primary_key_len).unwrap_or(usize::MAX).min(def.order_by.len());
        if !def.order_by[..primary].iter().any(|key| **key == *stored) {
            let message = "the sampling expression must be present in the primary key";
            return Err(SqlError::bad_arguments(message));
        }
    }
    def.kept.retain(|clause| clause.keyword.as_ref() != "SAMPLE BY");
    if let Some(expression) = expression {
        let text = printed(expression).into();
        def.kept.insert(0, KeptClause { keyword: "SAMPLE BY".into(), text });
    }
    Ok(())
}

/// Keys of a projection: those of its GROUP BY, or else of its ORDER BY; and whether it aggregates.
pub fn projection_key(projection: &ProjectionClause) -> (Vec<String>, bool) {
    let Ok(query) = parse_query(&projection.query) else { return (Vec::new(), false) };
    let SetExpr::Select(select) = query.body.as_ref() else { return (Vec::new(), false) };
    if let GroupByExpr::Expressions(keys, _) = &select.group_by
        && !keys.is_empty()
    {
        return (keys.iter().map(ToString::to_string).collect(), true);
    }
    let order = query.order_by.as_ref().map(|order| &order.kind);
    let keys = match order {
        Some(OrderByKind::Expressions(keys)) => keys.iter().map(|key| key.expr.to_string()).collect(),
        _ => Vec::new(),
    };
    (keys, false)
}

/// The expression of an index, as `system.data_skipping_indices` shows it.
pub fn index_expression(index: &IndexClause) -> String {
    let shown = printed(&index.expression);
    match &index.expression {
        Expr::Tuple(_) => shown.trim_start_matches('(').trim_end_matches(')').to_owned(),
        _ => shown,
    }
}
