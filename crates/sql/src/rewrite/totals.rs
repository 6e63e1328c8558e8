//! WITH TOTALS: the same SELECT over all rows as one group, as a query of its own that the engine runs behind it.
//!
//! Keys show the default of their type there, as in ClickHouse.

use sqlparser::ast::{Expr, GroupByExpr, GroupByWithModifier, Select, SelectItem, Value, VisitMut};

use crate::dialect::call;
use crate::error::{Result, SqlError};
use crate::head::ident;
use crate::rewrite::grouping_sets::Filler;

/// Takes WITH TOTALS off a GROUP BY; whether it was there.
pub(crate) fn take(group_by: &mut GroupByExpr) -> bool {
    let (GroupByExpr::All(modifiers) | GroupByExpr::Expressions(_, modifiers)) = group_by;
    let before = modifiers.len();
    modifiers.retain(|modifier| *modifier != GroupByWithModifier::Totals);
    modifiers.len() < before
}

/// The SELECT of the totals of a rewritten one.
pub(crate) fn select_of(select: &Select, is_whole: bool) -> Result<Select> {
    if !is_whole {
        return Err(SqlError::not_implemented("WITH TOTALS in a subquery or beside UNION"));
    }
    if select.having.is_some() || select.qualify.is_some() {
        return Err(SqlError::not_implemented("WITH TOTALS together with HAVING or QUALIFY"));
    }
    let keys = match &select.group_by {
        GroupByExpr::Expressions(keys, _) if !keys.is_empty() => keys.clone(),
        _ => return Err(SqlError::not_implemented("WITH TOTALS without a key of GROUP BY")),
    };
    let mut totals = select.clone();
    totals.group_by = GroupByExpr::Expressions(vec![], vec![]);
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
