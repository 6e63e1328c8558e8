//! WITH TOTALS: the same SELECT over all rows as one group, as a query of its own that the engine runs behind it.
//!
//! Keys show the default of their type there, as in ClickHouse. And HAVING where there are no groups.

use planner::words::SETTLED;
use sql::dialect::call;
use sql::reader::head::ident;
use sql::{Result, SqlError};
use sqlparser::ast::{
    BinaryOperator, Expr, GroupByExpr, GroupByWithModifier, Query, Select, SelectItem, SetExpr, TableFactor,
    Value, VisitMut, WildcardAdditionalOptions,
};

use crate::aliases::aggregates;
use crate::grouping_sets::{Filler, keys_of};
use crate::lower::{nested, operation};

/// What `SELECT * FROM (..)` around totals is: the query in it, whose totals are the result's then.
pub(crate) fn without_star(query: &Query) -> &Query {
    let mut inner = query;
    while let Some(next) = starred(inner) {
        inner = next;
    }
    if groups_with_totals(inner) { inner } else { query }
}

fn groups_with_totals(query: &Query) -> bool {
    let SetExpr::Select(select) = query.body.as_ref() else { return false };
    let (GroupByExpr::All(modifiers) | GroupByExpr::Expressions(_, modifiers)) = &select.group_by;
    modifiers.contains(&GroupByWithModifier::Totals)
}

/// The query in parentheses of one that is `SELECT * FROM (..)` and nothing else.
fn starred(query: &Query) -> Option<&Query> {
    let Query { with: None, order_by: None, limit_clause: None, fetch: None, body, .. } = query else {
        return None;
    };
    let SetExpr::Select(select) = body.as_ref() else { return None };
    let ([SelectItem::Wildcard(options)], [table]) = (select.projection.as_slice(), select.from.as_slice())
    else {
        return None;
    };
    let TableFactor::Derived { lateral: false, subquery, sample: None, alias } = &table.relation else {
        return None;
    };
    let is_plain = select.distinct.is_none()
        && *options == WildcardAdditionalOptions::default()
        && table.joins.is_empty()
        && alias.as_ref().is_none_or(|alias| alias.columns.is_empty())
        && [&select.prewhere, &select.selection, &select.having, &select.qualify]
            .iter()
            .all(|one| one.is_none())
        && matches!(&select.group_by, GroupByExpr::Expressions(keys, more) if keys.is_empty() && more.is_empty());
    is_plain.then_some(subquery.as_ref())
}

/// Takes WITH TOTALS off a GROUP BY; whether it was there.
pub(crate) fn take(group_by: &mut GroupByExpr) -> bool {
    let (GroupByExpr::All(modifiers) | GroupByExpr::Expressions(_, modifiers)) = group_by;
    let before = modifiers.len();
    modifiers.retain(|modifier| *modifier != GroupByWithModifier::Totals);
    modifiers.len() < before
}

/// HAVING of a SELECT that neither groups nor aggregates is a condition on its rows.
pub(crate) fn having_as_where(select: &mut Select) {
    let groups = !matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty());
    let of_item = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => aggregates(expr),
        _ => false,
    };
    if groups || select.projection.iter().any(of_item) || select.having.as_ref().is_none_or(aggregates) {
        return;
    }
    let (having, filter) = (select.having.take(), select.selection.take());
    select.selection = match (filter, having) {
        (Some(filter), Some(having)) => Some(operation(nested(filter), BinaryOperator::And, nested(having))),
        (one, other) => one.or(other),
    };
}

/// The SELECT of the totals of a rewritten one: of the groups that a HAVING lets pass that was written, or of all.
pub(crate) fn select_of(select: &Select, of_passing: bool) -> Result<Select> {
    if select.qualify.is_some() {
        return Err(SqlError::not_implemented("WITH TOTALS together with QUALIFY"));
    }
    let keys = match &select.group_by {
        GroupByExpr::Expressions(keys, _) => keys_of(keys),
        GroupByExpr::All(_) => return Err(SqlError::not_implemented("WITH TOTALS of GROUP BY ALL")),
    };
    let mut totals = select.clone();
    if totals.having.take().is_some() && of_passing {
        totals.selection = Some(of_passing_groups(select, &keys)?);
    }
    totals.group_by = GroupByExpr::Expressions(vec![], vec![]);
    // One row, also where nothing is counted that would make it one.
    totals.having = Some(rows_at_least("0"));
    totals.distinct = None;
    let mut filler = Filler { keys: &keys, filled: nothing_of, open: vec![] };
    for item in &mut totals.projection {
        if let SelectItem::UnnamedExpr(Expr::Identifier(name)) = item {
            let (expr, alias) = (Expr::Identifier(name.clone()), ident(&name.value));
            *item = SelectItem::ExprWithAlias { expr, alias };
        }
        if let SelectItem::ExprWithAlias { expr, .. } | SelectItem::UnnamedExpr(expr) = item {
            let _ = VisitMut::visit(expr, &mut filler);
        }
    }
    Ok(totals)
}

/// HAVING of so many rows.
pub(crate) fn rows_at_least(least: &str) -> Expr {
    let number = |number: &str| Expr::Value(Value::Number(number.to_owned(), false).into());
    operation(call("count", vec![number("1")]), BinaryOperator::GtEq, number(least))
}

/// WHERE of the totals: rows of the groups that HAVING lets pass.
fn of_passing_groups(select: &Select, keys: &[Expr]) -> Result<Expr> {
    let mut groups = select.clone();
    let key = match keys {
        [key] => key.clone(),
        several => call("tuple", several.to_vec()),
    };
    // A group of NULL is a group, and NULL is in no set. The key of a group of zeros has no sign, which rows of it may have.
    let text = call("toString", vec![call(SETTLED, vec![call("tuple", vec![key])])]);
    groups.projection = vec![SelectItem::ExprWithAlias { expr: text.clone(), alias: ident("group") }];
    groups.distinct = None;
    let mut subquery = sql::parse_query("SELECT 1")?;
    subquery.body = Box::new(SetExpr::Select(Box::new(groups)));
    let passes = Expr::InSubquery { expr: Box::new(text), subquery: Box::new(subquery), negated: false };
    Ok(match &select.selection {
        Some(selection) => operation(nested(selection.clone()), BinaryOperator::And, passes),
        None => passes,
    })
}

/// An aggregate of a key over no rows: the default of its type.
fn nothing_of(key: Expr) -> Expr {
    let never = Expr::Value(Value::Boolean(false).into());
    match call("any", vec![key]) {
        Expr::Function(mut function) => {
            function.filter = Some(Box::new(never));
            Expr::Function(function)
        }
        other => other,
    }
}
