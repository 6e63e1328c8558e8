//! DISTINCT ON, and DISTINCT beside ORDER BY of what is no item: as rows for each value of keys. And what counts them.

use sql::Result;
use sql::dialect::{call, number, text};
use sql::reader::clauses::{LIMIT_BY, ORDER_BY_ALL};
use sql::reader::head::ident;
use sqlparser::ast::{
    Distinct, DuplicateTreatment, Expr, Function, FunctionArguments, Ident, ObjectName, OrderBy, OrderByExpr,
    OrderByKind, OrderByOptions, Select,
};

use crate::manner::Manner;
use crate::order::{order_key, position};
use planner::words::DISTINCT_BY;

/// `DISTINCT ON (a, b)` is `LIMIT 1 BY a, b`.
pub(crate) fn with_distinct_on(select: &mut Select, order: Option<OrderBy>) -> Result<Option<OrderBy>> {
    let keys = match select.distinct.take() {
        Some(Distinct::On(keys)) => keys,
        other => {
            select.distinct = other;
            return Ok(order);
        }
    };
    let mut args = vec![number("1"), number("0")];
    args.extend(keys);
    let mut order = match order {
        Some(OrderBy { kind: OrderByKind::All(options), interpolate }) => {
            let keys = vec![order_key(call(ORDER_BY_ALL, vec![text("")]), options)];
            OrderBy { kind: OrderByKind::Expressions(keys), interpolate }
        }
        Some(order) => order,
        None => OrderBy { kind: OrderByKind::Expressions(vec![]), interpolate: None },
    };
    push_key(&mut order, call(LIMIT_BY, args));
    Ok(Some(order))
}

pub(crate) fn push_key(order: &mut OrderBy, mark: Expr) {
    if let OrderByKind::Expressions(keys) = &mut order.kind {
        keys.push(order_key(mark, OrderByOptions { asc: None, nulls_first: None }));
    }
}

/// DISTINCT comes before ORDER BY, whose keys need not be among the items: then a row of each is sorted.
pub(crate) fn distinct_first(order: &OrderBy, outputs: &[&str]) -> Option<Expr> {
    let OrderByKind::Expressions(keys) = &order.kind else { return None };
    let outputs = || outputs.iter().map(|output| Expr::Identifier(ident(output)));
    let is_item =
        |key: &OrderByExpr| position(&key.expr).is_some() || outputs().any(|output| output == key.expr);
    (!keys.iter().all(is_item)).then(|| call(DISTINCT_BY, outputs().collect()))
}

/// `count(DISTINCT x)` and `countDistinct(x)` by another aggregate than the exact one.
pub(crate) fn counted_by(name: &str, function: &Function, manner: &Manner) -> Option<Function> {
    let count = manner.count_distinct?;
    let is_distinct = matches!(
        &function.args,
        FunctionArguments::List(list) if list.duplicate_treatment == Some(DuplicateTreatment::Distinct)
    );
    let suffix = match (name.to_ascii_lowercase().as_str(), is_distinct) {
        ("count", true) | ("countdistinct", false) => "",
        ("countif", true) | ("countifdistinct", false) => "If",
        ("countdistinctif", false) if manner.counts_distinct_if => "If",
        _ => return None,
    };
    let mut other = function.clone();
    other.name = ObjectName::from(vec![Ident::with_quote('`', format!("{count}{suffix}"))]);
    if let FunctionArguments::List(list) = &mut other.args {
        list.duplicate_treatment = None;
    }
    Some(other)
}
