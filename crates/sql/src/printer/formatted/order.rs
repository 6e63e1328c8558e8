//! Recursive: what stands behind the rows of a query: ORDER BY with its fillings, LIMIT BY, LIMIT, WITH TIES.
//!
//! Invariant: the marks that carry clauses behind the keys of ORDER BY are clauses again. Must not know: tables.

use sqlparser::ast::{
    Expr, Fetch, Function, Interpolate, LimitClause, OrderBy, OrderByExpr, OrderByKind, OrderByOptions,
    Query, Value, WithFill,
};

use super::expression::{self, expression};
use super::page::Page;
use crate::dialect::{name_of, plain_args};
use crate::reader::clauses::{LIMIT_BY, ORDER_BY_ALL, WITH_TIES, stale_step};
use lexer::escape::{always_quote_name, quote_text};

pub(super) fn order_and_limit(page: &mut Page, query: &Query) {
    let mut marks = vec![];
    if let Some(order) = &query.order_by {
        marks = order_by(page, order);
    }
    for mark in &marks {
        let args = plain_args(mark);
        let [rows, skip, keys @ ..] = args.as_slice() else { continue };
        page.line();
        limit(page, rows, Some(skip).filter(|skip| skip.to_string() != "0"));
        match name_of(mark) == LIMIT_BY {
            true => {
                page.push(" BY");
                page.listed(keys.iter(), expression);
            }
            false => {
                page.line();
                page.push(" WITH TIES");
            }
        }
    }
    match &query.limit_clause {
        None => {}
        Some(LimitClause::OffsetCommaLimit { offset, limit: rows }) => {
            page.line();
            limit(page, rows, Some(offset));
        }
        Some(LimitClause::LimitOffset { limit: rows, offset, .. }) => {
            let skip = offset.as_ref().map(|offset| &offset.value);
            match (rows, skip) {
                (Some(rows), skip) => {
                    page.line();
                    limit(page, rows, skip);
                }
                (None, Some(skip)) => {
                    page.line();
                    page.push("OFFSET ");
                    expression(page, skip);
                }
                (None, None) => {}
            }
        }
    }
    if let Some(Fetch { with_ties, quantity: Some(rows), .. }) = &query.fetch {
        page.push(" ROWS FETCH FIRST ");
        expression(page, rows);
        page.push(if *with_ties { " ROWS WITH TIES" } else { " ROWS ONLY" });
    }
}

fn limit(page: &mut Page, rows: &Expr, skip: Option<&Expr>) {
    page.push("LIMIT ");
    if let Some(skip) = skip {
        expression(page, skip);
        page.push(", ");
    }
    expression(page, rows);
}

/// Answers the marks among the keys.
fn order_by<'a>(page: &mut Page, order: &'a OrderBy) -> Vec<&'a Function> {
    let mut marks = vec![];
    match &order.kind {
        OrderByKind::All(options) => {
            page.line();
            page.push("ORDER BY ALL");
            direction(page, options);
        }
        OrderByKind::Expressions(keys) => {
            marks.extend(keys.iter().filter_map(mark));
            let keys: Vec<&OrderByExpr> = keys.iter().filter(|key| mark(key).is_none()).collect();
            if !keys.is_empty() {
                page.line();
                page.push("ORDER BY");
                page.listed(keys.into_iter(), order_key);
            }
        }
    }
    if let Some(Interpolate { exprs }) = &order.interpolate {
        page.line();
        page.push("INTERPOLATE");
        if let Some(exprs) = exprs {
            page.push(" (");
            page.separated(exprs, |page, one| {
                page.push(&always_quote_name(&one.column.value));
                page.push(" AS ");
                match &one.expr {
                    Some(expr) => expression(page, expr),
                    None => page.name(&one.column.value),
                }
            });
            page.push(")");
        }
    }
    marks
}

fn mark(key: &OrderByExpr) -> Option<&Function> {
    match &key.expr {
        Expr::Function(function) if [LIMIT_BY, WITH_TIES].contains(&name_of(function).as_str()) => {
            Some(function)
        }
        _ => None,
    }
}

fn order_key(page: &mut Page, key: &OrderByExpr) {
    if matches!(&key.expr, Expr::Function(function) if name_of(function) == ORDER_BY_ALL) {
        page.push("ALL");
        return direction(page, &key.options);
    }
    key_with(page, key, expression::key);
}

/// `a DESC NULLS FIRST COLLATE 'de' WITH FILL STEP 1`.
pub(super) fn key_with(page: &mut Page, key: &OrderByExpr, written: fn(&mut Page, &Expr)) {
    let (expr, collation) = match &key.expr {
        Expr::Collate { expr, collation } => (expr.as_ref(), Some(collation)),
        other => (other, None),
    };
    written(page, expr);
    direction(page, &key.options);
    if let Some(collation) = collation {
        page.push(&format!(" COLLATE {}", quote_text(collation.to_string().trim_matches('\''))));
    }
    let Some(WithFill { from, to, step }) = &key.with_fill else { return };
    page.push(" WITH FILL");
    let stale = step.as_ref().and_then(stale_step);
    let (step, stale) = match stale {
        Some((step, stale)) => (Some(step).filter(|step| !is_null(step)), Some(stale)),
        None => (step.clone(), None),
    };
    for (word, bound) in [(" FROM ", from), (" TO ", to), (" STEP ", &step), (" STALENESS ", &stale)] {
        if let Some(bound) = bound {
            page.push(word);
            expression(page, bound);
        }
    }
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if value.value == Value::Null)
}

fn direction(page: &mut Page, options: &OrderByOptions) {
    page.push(if options.asc == Some(false) { " DESC" } else { " ASC" });
    match options.nulls_first {
        Some(true) => page.push(" NULLS FIRST"),
        Some(false) => page.push(" NULLS LAST"),
        None => {}
    }
}
