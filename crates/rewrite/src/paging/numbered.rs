//! `SELECT rowNumberInAllBlocks() .. ORDER BY k`: ClickHouse computes behind ORDER BY, LIMIT and OFFSET what no key needs, and so counts the
//! rows in the order of the keys, from 0 behind an OFFSET.
//!
//! Invariant: where a key names the number, or rows are taken away by LIMIT BY or DISTINCT, it stays the place in which rows
//! come. Must not know: how the function is planned.

use std::ops::ControlFlow;

use sql::dialect::{call, name_of, number};
use sql::printer::label::label;
use sql::reader::clauses::{LIMIT_BY, WITH_TIES};
use sql::reader::head::ident;
use sqlparser::ast::{
    BinaryOperator, Expr, LimitClause, OrderBy, OrderByExpr, OrderByKind, Query, SelectItem, SetExpr, Value,
    WindowSpec, WindowType, visit_expressions, visit_expressions_mut,
};

/// The function whose calls count the rows that they were asked for.
const ROW_NUMBERS: &str = "rowNumberInAllBlocks";
/// Makes rows of one: it is not computed among those that are counted.
const ARRAY_JOIN: &str = "arrayJoin";

/// The query with the numbers of its rows in the order of its keys.
pub(super) fn numbered(mut query: Query) -> Query {
    let Some(skipped) = skipped(query.limit_clause.as_ref()) else { return query };
    let SetExpr::Select(select) = query.body.as_mut() else { return query };
    let Some(keys) = keys(query.order_by.as_ref(), &select.projection) else { return query };
    let counts = |item: &SelectItem| written(item).is_some_and(|expr| names(expr, ROW_NUMBERS));
    if select.distinct.is_some() || !select.projection.iter().any(counts) {
        return query;
    }
    let numbers = row_numbers(keys, skipped);
    for item in &mut select.projection {
        if !counts(item) {
            continue;
        }
        if let SelectItem::UnnamedExpr(expr) = item {
            let alias = ident(&label(expr));
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
        }
        if let SelectItem::ExprWithAlias { expr, .. } = item {
            let _ = visit_expressions_mut(expr, |expr| {
                if is_call(expr, ROW_NUMBERS) {
                    *expr = numbers.clone();
                }
                ControlFlow::<()>::Continue(())
            });
        }
    }
    query
}

/// How many rows OFFSET takes away; `None` where it is no number that is written there.
fn skipped(limit: Option<&LimitClause>) -> Option<Expr> {
    let offset = match limit {
        None => None,
        Some(LimitClause::LimitOffset { offset, limit_by, .. }) => {
            if !limit_by.is_empty() {
                return None;
            }
            offset.as_ref().map(|offset| &offset.value)
        }
        Some(LimitClause::OffsetCommaLimit { offset, .. }) => Some(offset),
    };
    match offset {
        None => Some(number("0")),
        Some(Expr::Value(value)) => match &value.value {
            Value::Number(digits, _) if digits.bytes().all(|byte| byte.is_ascii_digit()) => offset.cloned(),
            _ => None,
        },
        Some(_) => None,
    }
}

/// The keys of ORDER BY, where none of them needs the number of a row, and a row is not made into several.
fn keys(order: Option<&OrderBy>, items: &[SelectItem]) -> Option<Vec<OrderByExpr>> {
    let OrderByKind::Expressions(keys) = &order?.kind else { return None };
    let mut sorted = vec![];
    for key in keys {
        if is_call(&key.expr, WITH_TIES) {
            continue;
        }
        let expr = in_place(&key.expr, items)?;
        let odd = [ROW_NUMBERS, ARRAY_JOIN, LIMIT_BY].into_iter().any(|name| names(&expr, name));
        if odd || key.with_fill.is_some() || names_number(&expr, items) {
            return None;
        }
        sorted.push(OrderByExpr { expr, ..key.clone() });
    }
    let makes_rows = |item: &SelectItem| written(item).is_some_and(|expr| names(expr, ARRAY_JOIN));
    (!sorted.is_empty() && !items.iter().any(makes_rows)).then_some(sorted)
}

/// The expression that a key by position stands for.
fn in_place(key: &Expr, items: &[SelectItem]) -> Option<Expr> {
    let Expr::Value(value) = key else { return Some(key.clone()) };
    let Value::Number(digits, _) = &value.value else { return None };
    let place: usize = digits.parse().ok()?;
    written(items.get(place.checked_sub(1)?)?).cloned()
}

/// Whether an alias in a key stands for something with the number of a row.
fn names_number(key: &Expr, items: &[SelectItem]) -> bool {
    let counting = |name: &str| {
        items.iter().any(|item| match item {
            SelectItem::ExprWithAlias { expr, alias } => alias.value == name && names(expr, ROW_NUMBERS),
            _ => false,
        })
    };
    visit_expressions(key, |expr| match expr {
        Expr::Identifier(name) if counting(&name.value) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    })
    .is_break()
}

fn written(item: &SelectItem) -> Option<&Expr> {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    }
}

fn is_call(expr: &Expr, name: &str) -> bool {
    matches!(expr, Expr::Function(function) if function.over.is_none() && name_of(function) == name)
}

fn names(expr: &Expr, name: &str) -> bool {
    visit_expressions(expr, |expr| match is_call(expr, name) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    })
    .is_break()
}

/// The place of a row in the order of the keys, from 0 behind the rows that are skipped; those are not shown.
fn row_numbers(order_by: Vec<OrderByExpr>, skipped: Expr) -> Expr {
    let spec = WindowSpec { window_name: None, partition_by: vec![], order_by, window_frame: None };
    let mut place = call("row_number", vec![]);
    if let Expr::Function(function) = &mut place {
        function.over = Some(WindowType::WindowSpec(spec));
    }
    let minus = |left: Expr, right: Expr| Expr::BinaryOp {
        left: Box::new(left),
        op: BinaryOperator::Minus,
        right: Box::new(right),
    };
    let from_zero = Expr::Nested(Box::new(minus(minus(place, number("1")), skipped)));
    call("toUInt64", vec![from_zero])
}
