//! `SELECT *, a + 1 ORDER BY ALL`: which columns a `*` has is known to the planner alone, and it orders by columns.
//!
//! Invariant: such a SELECT stands inside of one that has its columns and nothing else; names and rows stay. Must not know: columns.

use sqlparser::ast::{OrderByKind, Query, Select, SelectItem, SetExpr};

/// The query with its SELECT inside of another, if it is one of these.
pub(super) fn enclosed(mut query: Query) -> Query {
    let is_all = query.order_by.as_ref().is_some_and(|order| matches!(order.kind, OrderByKind::All(_)));
    match query.body.as_ref() {
        SetExpr::Select(select) if is_all && mixes(select) => {}
        _ => return query,
    }
    let Ok(outer) = sql::parse_query("SELECT * FROM (SELECT 1) AS _all") else { return query };
    let inner = std::mem::replace(&mut query.body, outer.body);
    if let SetExpr::Select(outer) = query.body.as_mut()
        && let Some(from) = outer.from.first_mut()
        && let sqlparser::ast::TableFactor::Derived { subquery, .. } = &mut from.relation
    {
        subquery.body = inner;
    }
    query
}

/// Whether a `*` stands beside what has to be computed.
fn mixes(select: &Select) -> bool {
    let is_star =
        |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
    let stars = select.projection.iter().filter(|item| is_star(item)).count();
    stars > 0 && stars < select.projection.len()
}
