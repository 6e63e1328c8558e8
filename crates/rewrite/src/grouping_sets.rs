//! ROLLUP, CUBE and GROUPING SETS: keys that are left out of a row show their type's default, as ClickHouse has it.
//!
//! DataFusion leaves them NULL; outside of aggregates every key is therefore filled, unless `group_by_use_nulls` is set.

use std::ops::ControlFlow;

use sql::dialect::{call, name_of, number};
use sql::reader::head::ident;
use sql::{Result, SqlError};
use sqlparser::ast::{
    BinaryOperator, Expr, GroupByExpr, GroupByWithModifier, Ident, OrderBy, OrderByKind, Select, SelectItem,
    Value, VisitMut, VisitorMut, visit_expressions, visit_expressions_mut,
};

use crate::lower::{nested, operation};
use aggregates::naming;
use planner::words::FILLED;

/// The name of the function that tells the left out keys of a row.
pub(crate) const GROUPING: &str = "grouping";

/// The keys of GROUP BY as one expression of sets, when there are sets. Keys are still as written.
pub(crate) fn sets(keys: Vec<Expr>, modifiers: &[GroupByWithModifier]) -> Result<(Vec<Expr>, bool)> {
    let is_set = |key: &Expr| matches!(key, Expr::Rollup(_) | Expr::Cube(_) | Expr::GroupingSets(_));
    let written = keys.iter().filter(|key| is_set(key)).count();
    if written > 0 && (keys.len() > 1 || !modifiers.is_empty()) {
        return Err(SqlError::not_implemented("GROUPING SETS, ROLLUP or CUBE beside other keys"));
    }
    let each = |keys: Vec<Expr>| keys.into_iter().map(|key| vec![key]).collect::<Vec<_>>();
    Ok(match modifiers {
        [] => (keys, written > 0),
        [GroupByWithModifier::Rollup] => (vec![Expr::Rollup(each(keys))], true),
        [GroupByWithModifier::Cube] => (vec![Expr::Cube(each(keys))], true),
        [GroupByWithModifier::GroupingSets(sets)] if keys.is_empty() => (vec![sets.clone()], true),
        [modifier, ..] => return Err(SqlError::not_implemented(format!("{modifier} here"))),
    })
}

/// `grouping` of so many keys with a bit for each that is there, not for each that is left out.
pub(crate) fn present(left_out: Expr, keys: usize) -> Expr {
    let all = u32::try_from(keys).ok().and_then(|keys| 1_u64.checked_shl(keys)).unwrap_or(0);
    call("bitXor", vec![left_out, number(all.wrapping_sub(1).to_string())])
}

/// HAVING of ROLLUP and CUBE, whose total is no row where there are no rows; that of GROUPING SETS is one.
pub(crate) fn of_rows(keys: &GroupByExpr, having: Option<Expr>) -> Option<Expr> {
    let GroupByExpr::Expressions(keys, _) = keys else { return having };
    if !keys.iter().any(|key| matches!(key, Expr::Rollup(_) | Expr::Cube(_))) {
        return having;
    }
    let any = operation(call("count", vec![]), BinaryOperator::Gt, number("0"));
    match having {
        Some(having) => Some(operation(nested(having), BinaryOperator::And, any)),
        None => Some(any),
    }
}

/// Rewrites the keys inside of sets.
pub(crate) fn lowered(set: Expr, mut key: impl FnMut(Expr) -> Result<Expr>) -> Result<Expr> {
    Ok(match set {
        Expr::Rollup(sets) => Expr::Rollup(different(each(sets, &mut key)?)),
        Expr::Cube(sets) => Expr::Cube(different(each(sets, &mut key)?)),
        Expr::GroupingSets(sets) => Expr::GroupingSets(each(sets, &mut key)?),
        other => key(other)?,
    })
}

fn each(sets: Vec<Vec<Expr>>, key: &mut impl FnMut(Expr) -> Result<Expr>) -> Result<Vec<Vec<Expr>>> {
    let mut lowered = vec![];
    for set in sets {
        lowered.push(set.into_iter().map(&mut *key).collect::<Result<Vec<_>>>()?);
    }
    Ok(lowered)
}

/// The keys of ROLLUP and CUBE, each of them once: what stands there a second time groups nothing more.
fn different(sets: Vec<Vec<Expr>>) -> Vec<Vec<Expr>> {
    let are_one = |key: &Expr, other: &Expr| same(bare(key), bare(other));
    let mut kept: Vec<Vec<Expr>> = Vec::with_capacity(sets.len());
    for set in sets {
        let mut keys: Vec<Expr> = Vec::with_capacity(set.len());
        for key in set {
            if !keys.iter().any(|known| are_one(known, &key)) {
                keys.push(key);
            }
        }
        let is_it = |known: &Vec<Expr>| {
            known.len() == keys.len() && known.iter().zip(&keys).all(|(known, key)| are_one(known, key))
        };
        if !kept.iter().any(is_it) {
            kept.push(keys);
        }
    }
    kept
}

/// The keys of all sets.
pub(crate) fn keys_of(keys: &[Expr]) -> Vec<Expr> {
    let of = |key: &Expr| match key {
        Expr::Rollup(sets) | Expr::Cube(sets) | Expr::GroupingSets(sets) => sets.concat(),
        other => vec![other.clone()],
    };
    let mut all: Vec<Expr> = keys.iter().flat_map(of).collect();
    for key in &mut all {
        *key = bare(key).clone();
    }
    all.retain(
        |key| !matches!(key, Expr::Value(value) if matches!(value.value, Value::SingleQuotedString(_))),
    );
    all
}

/// A key without the parentheses that stand where an alias was: `a` and `(number % 2) AS a` are one key.
fn bare(key: &Expr) -> &Expr {
    match key {
        Expr::Nested(inner) => bare(inner),
        other => other,
    }
}

/// Whether both are one key: written alike, but for quotes, and but for the table of a column.
fn same(key: &Expr, expr: &Expr) -> bool {
    if let (Some(key), Some(expr)) = (parts_of(key), parts_of(expr)) {
        // One of them may do without the table.
        let shared = key.iter().rev().zip(expr.iter().rev()).all(|(a, b)| a.value == b.value);
        return shared && (key.len() == expr.len() || key.len() == 1 || expr.len() == 1);
    }
    std::mem::discriminant(key) == std::mem::discriminant(expr) && unquoted(key) == unquoted(expr)
}

fn parts_of(name: &Expr) -> Option<&[Ident]> {
    match name {
        Expr::Identifier(name) => Some(std::slice::from_ref(name)),
        Expr::CompoundIdentifier(parts) => Some(parts),
        _ => None,
    }
}

/// The expression without the quotes of its columns.
fn unquoted(expr: &Expr) -> Expr {
    let mut bare = expr.clone();
    let _ = visit_expressions_mut(&mut bare, |expr| {
        match expr {
            Expr::Identifier(name) => name.quote_style = None,
            Expr::CompoundIdentifier(parts) => parts.iter_mut().for_each(|part| part.quote_style = None),
            _ => {}
        }
        ControlFlow::<()>::Continue(())
    });
    bare
}

/// Fills the keys in everything that is computed behind the aggregation.
pub(crate) fn fill(select: &mut Select, order: Option<&mut OrderBy>, keys: &[Expr]) -> Result<()> {
    let is_star =
        |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
    if select.projection.iter().any(is_star) {
        return Err(SqlError::not_implemented("this form of * together with ROLLUP, CUBE or GROUPING SETS")
            .with_hint("name the columns, or write a plain *"));
    }
    let named = named_aggregates(&select.projection);
    let mut filler = Filler { keys, filled: |key| call(FILLED, vec![key]), open: vec![] };
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(Expr::Identifier(name)) = item {
            let (expr, alias) = (Expr::Identifier(name.clone()), ident(&name.value));
            *item = SelectItem::ExprWithAlias { expr, alias };
        }
        if let SelectItem::ExprWithAlias { expr, .. } | SelectItem::UnnamedExpr(expr) = item {
            let _ = VisitMut::visit(expr, &mut filler);
        }
    }
    for condition in select.having.iter_mut().chain(select.qualify.iter_mut()) {
        let _ = VisitMut::visit(condition, &mut filler);
    }
    let Some(OrderBy { kind: OrderByKind::Expressions(order), .. }) = order else { return Ok(()) };
    for key in order {
        // A bare name is a column of the result, which is filled already.
        if !matches!(key.expr, Expr::Identifier(_)) {
            name_aggregates(&mut key.expr, &named);
            let _ = VisitMut::visit(&mut key.expr, &mut filler);
        }
    }
    Ok(())
}

/// The aggregates that are columns of the result, with their names.
fn named_aggregates(projection: &[SelectItem]) -> Vec<(Expr, Ident)> {
    let named = |item: &SelectItem| match item {
        SelectItem::ExprWithAlias { expr: expr @ Expr::Function(function), alias }
            if function.over.is_none() && naming::aggregate(&name_of(function)).is_some() =>
        {
            Some((expr.clone(), alias.clone()))
        }
        _ => None,
    };
    projection.iter().filter_map(named).collect()
}

/// Puts the names of such aggregates into a key of ORDER BY. A filled key has the name that the key has in the aggregation: DataFusion
/// fetches the aggregates of an expression from there together with it, and would add those a second time that the result has.
fn name_aggregates(key: &mut Expr, named: &[(Expr, Ident)]) {
    let over_window = |expr: &Expr| match expr {
        Expr::Function(function) if function.over.is_some() => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    // A window is computed before the columns of the result have names.
    if visit_expressions(&*key, over_window).is_break() {
        return;
    }
    let _ = visit_expressions_mut(key, |expr| {
        if let Some((_, alias)) = named.iter().find(|(aggregate, _)| aggregate == &*expr) {
            *expr = Expr::Identifier(alias.clone());
        }
        ControlFlow::<()>::Continue(())
    });
}

/// What an expression that is being walked through is.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Open {
    Plain,
    /// Inside of it keys are columns of rows.
    Aggregate,
    Key,
}

pub(crate) struct Filler<'a> {
    pub(crate) keys: &'a [Expr],
    /// What stands for a key.
    pub(crate) filled: fn(Expr) -> Expr,
    pub(crate) open: Vec<Open>,
}

impl VisitorMut for Filler<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let closed = self.open.iter().any(|open| *open != Open::Plain);
        let is_aggregate = match expr {
            Expr::Function(function) => {
                let name = name_of(function);
                function.over.is_none() && (name == GROUPING || naming::aggregate(&name).is_some())
            }
            _ => false,
        };
        self.open.push(if !closed && self.keys.iter().any(|key| same(bare(key), bare(expr))) {
            Open::Key
        } else if !closed && is_aggregate {
            Open::Aggregate
        } else {
            Open::Plain
        });
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.open.pop() == Some(Open::Key) {
            let key = std::mem::replace(expr, Expr::Identifier(ident("")));
            *expr = (self.filled)(key);
        }
        ControlFlow::Continue(())
    }
}
