//! `FETCH FIRST n ROWS`, `TOP n`, and their WITH TIES, as the LIMIT they mean; what counts the rows that LIMIT leaves.
//!
//! Invariant: no FETCH and no TOP is left. Must not know: keys of LIMIT BY.

mod numbered;

use sql::dialect::{call, number};
use sql::reader::clauses::WITH_TIES;
use sql::{Result, SqlError};
use sqlparser::ast::{
    Expr, Fetch, LimitClause, Offset, OrderBy, OrderByKind, Query, Select, SetExpr, Top, TopQuantity,
};

use self::numbered::numbered;
use crate::distinct::push_key;

/// The query with a LIMIT in place of FETCH and TOP.
pub(crate) fn paged(query: Query) -> Result<Query> {
    Ok(numbered(limited(query)?))
}

fn limited(mut query: Query) -> Result<Query> {
    let counted = match query.fetch.take() {
        Some(Fetch { percent: true, .. }) => return Err(SqlError::not_implemented("FETCH with PERCENT")),
        Some(Fetch { with_ties, quantity, .. }) => Some((quantity.unwrap_or_else(|| number("1")), with_ties)),
        None => top(&mut query)?,
    };
    let Some((rows, with_ties)) = counted else { return Ok(query) };
    let offset = match query.limit_clause.take() {
        None => None,
        Some(LimitClause::LimitOffset { limit: None, offset, limit_by: _ }) => offset,
        Some(_) => return Err(SqlError::bad_arguments("LIMIT beside FETCH or TOP: write one of them")),
    };
    match with_ties {
        true => with_mark(&mut query, rows, offset)?,
        false => {
            query.limit_clause =
                Some(LimitClause::LimitOffset { limit: Some(rows), offset, limit_by: vec![] });
        }
    }
    Ok(query)
}

fn top(query: &mut Query) -> Result<Option<(Expr, bool)>> {
    let SetExpr::Select(select) = query.body.as_mut() else { return Ok(None) };
    let select: &mut Select = select;
    let Some(Top { with_ties, percent, quantity }) = select.top.take() else { return Ok(None) };
    if percent {
        return Err(SqlError::not_implemented("TOP with PERCENT"));
    }
    let rows = match quantity {
        Some(TopQuantity::Expr(rows)) => rows,
        Some(TopQuantity::Constant(rows)) => number(rows.to_string()),
        None => return Err(SqlError::bad_arguments("TOP needs a number of rows")),
    };
    Ok(Some((rows, with_ties)))
}

fn with_mark(query: &mut Query, rows: Expr, offset: Option<Offset>) -> Result<()> {
    let skip = offset.map_or_else(|| number("0"), |offset| offset.value);
    let order =
        query.order_by.get_or_insert(OrderBy { kind: OrderByKind::Expressions(vec![]), interpolate: None });
    if matches!(order.kind, OrderByKind::All(_)) {
        return Err(SqlError::not_implemented("WITH TIES together with ORDER BY ALL"));
    }
    push_key(order, call(WITH_TIES, vec![rows, skip]));
    Ok(())
}
