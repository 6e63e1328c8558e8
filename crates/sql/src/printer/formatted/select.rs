//! Recursive: queries, a clause a line, as ClickHouse lays them out.
//!
//! Invariant: `WITH 1 AS x`, which is carried as a query of its own, is what it was. Must not know: what a query is for.

use sqlparser::ast::{
    Cte, CteAsMaterialized, Distinct, ExceptSelectItem, Expr, GroupByExpr, GroupByWithModifier, Ident,
    NamedWindowDefinition, NamedWindowExpr, Query, Select, SelectFlavor, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, SetOperator, SetQuantifier, WildcardAdditionalOptions, With,
};

use super::calls::window;
use super::expression::{self, expression, key};
use super::order::order_and_limit;
use super::page::{Layout, Page};
use super::tables::{from, object};
use crate::reader::tokens::WITH_EXPRESSION;

pub(super) fn query(page: &mut Page, query: &Query) {
    body(page, &query.body, query.with.as_ref());
    order_and_limit(page, query);
}

/// `(`, the query on lines of its own, `)`.
pub(super) fn subquery(page: &mut Page, query: &Query) {
    query_inside(page, query);
}

pub(super) fn query_inside(page: &mut Page, query: &Query) {
    group(page, |page| self::query(page, query));
}

fn group(page: &mut Page, written: impl FnOnce(&mut Page)) {
    page.push("(");
    page.inside(|page| {
        page.edge();
        written(page);
    });
    page.edge();
    page.push(")");
}

fn with(page: &mut Page, with: &With) {
    page.push(if with.recursive { "WITH RECURSIVE" } else { "WITH" });
    page.inside(|page| {
        for (at, table) in with.cte_tables.iter().enumerate() {
            if at > 0 {
                page.push(",");
            }
            page.line();
            cte(page, table);
        }
    });
}

fn cte(page: &mut Page, cte: &Cte) {
    if let Some(named) = with_expression(cte) {
        expression(page, named);
        if cte.alias.name.value.starts_with(WITH_EXPRESSION) {
            return;
        }
        page.push(" AS ");
        return page.name(&cte.alias.name.value);
    }
    page.name(&cte.alias.name.value);
    if !cte.alias.columns.is_empty() {
        page.push("(");
        page.separated(&cte.alias.columns, |page, column| page.name(&column.name.value));
        page.push(")");
    }
    page.push(match &cte.materialized {
        Some(CteAsMaterialized::Materialized) => " AS MATERIALIZED",
        Some(CteAsMaterialized::NotMaterialized) => " AS NOT MATERIALIZED",
        None => " AS",
    });
    page.line();
    subquery(page, &cte.query);
}

/// The expression of `WITH expression AS name`.
fn with_expression(cte: &Cte) -> Option<&Expr> {
    let SetExpr::Select(select) = cte.query.body.as_ref() else { return None };
    match select.projection.as_slice() {
        [SelectItem::ExprWithAlias { expr, alias }] if alias.value == WITH_EXPRESSION => Some(expr),
        _ => None,
    }
}

/// `with` belongs to the first of the SELECTs.
fn body(page: &mut Page, body: &SetExpr, with: Option<&With>) {
    if matches!(body, SetExpr::SetOperation { .. }) {
        return operation(page, body, with);
    }
    if let Some(with) = with {
        self::with(page, with);
        page.line();
    }
    match body {
        SetExpr::Select(select) => self::select(page, select),
        SetExpr::Query(inner) => query(page, inner),
        other => page.push(&other.to_string()),
    }
}

type Operator = (SetOperator, SetQuantifier);

/// A chain of set operations with what stands before each operand. INTERSECT binds more than the others, which go from
/// the left, so a chain without parentheses reads as it was. Walks along its left side.
fn chain<'a>(
    body: &'a SetExpr,
    as_tree: bool,
    before: Option<Operator>,
    out: &mut Vec<(Option<Operator>, &'a SetExpr)>,
) {
    let (mut operands, mut rest) = (vec![], body);
    let mut last = None;
    while let SetExpr::SetOperation { op, set_quantifier, left, right } = rest {
        // In a tree only UNION has more than two operands.
        if as_tree && last.is_some_and(|last| last != *op || last != SetOperator::Union) {
            break;
        }
        last = Some(*op);
        operands.push(((*op, *set_quantifier), right.as_ref()));
        rest = left;
    }
    out.push((before, rest));
    for (operator, operand) in operands.into_iter().rev() {
        match operand {
            SetExpr::SetOperation { .. } if !as_tree => chain(operand, as_tree, Some(operator), out),
            operand => out.push((Some(operator), operand)),
        }
    }
}

/// On both sides of EXCEPT stand parentheses.
fn operation(page: &mut Page, all: &SetExpr, mut with: Option<&With>) {
    let mut operands = vec![];
    chain(all, page.layout.as_tree, None, &mut operands);
    let is_except = |at: usize| {
        let before = operands.get(at).and_then(|(before, _)| *before);
        before.is_some_and(|(operator, _)| matches!(operator, SetOperator::Except | SetOperator::Minus))
    };
    for (at, (before, operand)) in operands.iter().enumerate() {
        if let Some((operator, quantifier)) = before {
            page.line();
            page.push(match operator {
                SetOperator::Union => "UNION",
                SetOperator::Intersect => "INTERSECT",
                SetOperator::Except | SetOperator::Minus => "EXCEPT",
            });
            page.push(match quantifier {
                SetQuantifier::All => " ALL",
                SetQuantifier::Distinct => " DISTINCT",
                _ if page.layout.as_tree && is_distinct(page.layout, *operator) => " DISTINCT",
                _ if page.layout.as_tree => " ALL",
                _ => "",
            });
            page.line();
        }
        let is_bare = !page.layout.as_tree && !is_except(at) && !is_except(at + 1);
        let with = if page.layout.as_tree { with } else { with.take() };
        match (within(operand), with) {
            (inner @ SetExpr::Select(_), with) if is_bare => body(page, inner, with),
            (SetExpr::Query(own), Some(outer)) if page.layout.as_tree && own.with.is_some() => {
                group(page, |page| query(page, &joined(own, outer)));
            }
            (inner, with) => group(page, |page| body(page, inner, with)),
        }
    }
}

fn is_distinct(layout: Layout, operator: SetOperator) -> bool {
    let (intersect, except) = layout.distinct;
    if operator == SetOperator::Intersect { intersect } else { except && operator != SetOperator::Union }
}

/// The query with the items of an outer WITH behind its own, which hide those of their names.
fn joined(query: &Query, outer: &With) -> Query {
    let mut query = query.clone();
    if let Some(with) = &mut query.with {
        let name = |cte: &Cte| cte.alias.name.value.clone();
        let own: Vec<String> = with.cte_tables.iter().map(name).collect();
        with.cte_tables.extend(outer.cte_tables.iter().filter(|cte| !own.contains(&name(cte))).cloned());
        with.recursive |= outer.recursive;
    }
    query
}

/// What stands in the parentheses, where they say nothing.
fn within(body: &SetExpr) -> &SetExpr {
    match body {
        SetExpr::Query(query)
            if query.with.is_none()
                && query.order_by.is_none()
                && query.limit_clause.is_none()
                && query.fetch.is_none() =>
        {
            within(&query.body)
        }
        other => other,
    }
}

fn select(page: &mut Page, select: &Select) {
    page.push("SELECT");
    let limit_by = match &select.distinct {
        Some(Distinct::Distinct) => {
            page.push(" DISTINCT");
            None
        }
        Some(Distinct::On(keys)) => Some(keys),
        _ => None,
    };
    match select.flavor {
        SelectFlavor::FromFirstNoSelect => page.push(" *"),
        _ => page.listed(select.projection.iter().enumerate(), |page, (at, item)| match item {
            // Behind another item a lambda stands in parentheses.
            SelectItem::UnnamedExpr(Expr::Lambda(_)) if at > 0 && !page.layout.as_functions => {
                page.grouped(true, |page| select_item(page, item));
            }
            item => select_item(page, item),
        }),
    }
    if !select.from.is_empty() {
        page.line();
        from(page, &select.from);
    } else if page.layout.as_tree {
        page.line();
        page.push("FROM system.one");
    }
    condition(page, "PREWHERE", select.prewhere.as_ref());
    condition(page, "WHERE", select.selection.as_ref());
    group_by(page, &select.group_by);
    condition(page, "HAVING", select.having.as_ref());
    if !select.named_window.is_empty() {
        page.line();
        page.push("WINDOW");
        page.listed(select.named_window.iter(), |page, NamedWindowDefinition(name, spec)| {
            page.name(&name.value);
            page.push(" AS ");
            match spec {
                NamedWindowExpr::WindowSpec(spec) => window(page, spec, false),
                NamedWindowExpr::NamedWindow(other) => page.name(&other.value),
            }
        });
    }
    condition(page, "QUALIFY", select.qualify.as_ref());
    if let Some(keys) = limit_by {
        page.line();
        page.push("LIMIT 1 BY");
        page.listed(keys.iter(), expression);
    }
}

fn condition(page: &mut Page, word: &str, condition: Option<&Expr>) {
    let Some(condition) = condition else { return };
    page.line();
    page.push(word);
    page.push(" ");
    expression(page, condition);
}

fn group_by(page: &mut Page, group_by: &GroupByExpr) {
    let (keys, modifiers) = match group_by {
        GroupByExpr::All(modifiers) => (None, modifiers),
        GroupByExpr::Expressions(keys, modifiers) => (Some(keys), modifiers),
    };
    if keys.is_some_and(Vec::is_empty) && modifiers.is_empty() {
        return;
    }
    page.line();
    page.push("GROUP BY");
    let mut words = vec![];
    let mut called = |page: &mut Page, sets: &[Vec<Expr>], word| {
        let keys: Vec<&Expr> = sets.iter().flatten().collect();
        page.listed(keys.into_iter(), expression);
        words.push(word);
    };
    match keys.map(Vec::as_slice) {
        None => page.push(" ALL"),
        Some([Expr::Rollup(sets)]) => called(page, sets, "WITH ROLLUP"),
        Some([Expr::Cube(sets)]) => called(page, sets, "WITH CUBE"),
        Some([Expr::GroupingSets(sets)]) => grouping_sets(page, sets),
        Some(keys) => page.listed(keys.iter(), key),
    }
    words.extend(modifiers.iter().map(|modifier| match modifier {
        GroupByWithModifier::Rollup => "WITH ROLLUP",
        GroupByWithModifier::Cube => "WITH CUBE",
        GroupByWithModifier::Totals => "WITH TOTALS",
        GroupByWithModifier::GroupingSets(_) => "",
    }));
    page.inside(|page| {
        for word in words {
            page.line();
            page.push(word);
        }
    });
}

fn grouping_sets(page: &mut Page, sets: &[Vec<Expr>]) {
    let several = sets.len() > 1;
    page.inside(|page| {
        page.line();
        page.push("GROUPING SETS (");
        page.inside(|page| {
            for (at, set) in sets.iter().enumerate() {
                match at {
                    0 if several => page.edge(),
                    0 => {}
                    _ => {
                        page.push(",");
                        page.line();
                    }
                }
                page.push("(");
                page.separated(set, expression);
                page.push(")");
            }
        });
        page.push(")");
    });
}

pub(super) fn select_item(page: &mut Page, item: &SelectItem) {
    match item {
        SelectItem::UnnamedExpr(expr) => expression::item(page, expr, false),
        SelectItem::ExprWithAlias { expr, alias } => {
            expression::item(page, expr, true);
            page.push(" AS ");
            page.name(&alias.value);
        }
        SelectItem::Wildcard(options) => {
            page.push("*");
            wildcard(page, options);
        }
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
            object(page, name);
            page.push(".*");
            wildcard(page, options);
        }
        other => page.push(&other.to_string()),
    }
}

fn wildcard(page: &mut Page, options: &WildcardAdditionalOptions) {
    if let Some(ExceptSelectItem { first_element, additional_elements }) = &options.opt_except {
        let names: Vec<&Ident> = std::iter::once(first_element).chain(additional_elements).collect();
        page.push(" EXCEPT ");
        page.grouped(names.len() > 1, |page| page.separated(names, |page, name| page.name(&name.value)));
    }
    if let Some(replace) = &options.opt_replace {
        page.push(" REPLACE (");
        page.separated(&replace.items, |page, item| {
            expression(page, &item.expr);
            page.push(" AS ");
            page.name(&item.column_name.value);
        });
        page.push(")");
    }
}
