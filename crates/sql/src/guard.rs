//! The whitelist over sqlparser's syntax tree: what is not named here is refused, so DataFusion never ignores it.
//!
//! Every node is destructured without `..`: a field added by a new sqlparser breaks the build, not a query.
//! Recursive: expressions hold calls, and calls hold expressions.
//! Invariant: a query that passes contains only nodes that `planner` turns into something with ClickHouse's meaning.

mod call;
mod expression;
mod source;

use model::ErrorCode;
use sqlparser::ast::{
    Distinct, Expr, Fetch, GroupByExpr, GroupByWithModifier, Interpolate, InterpolateExpr, LimitClause,
    NamedWindowExpr, OrderBy, OrderByExpr, OrderByKind, OrderByOptions, Query, Select, SelectFlavor,
    SelectItem, SelectItemQualifiedWildcardKind, SetExpr, SetOperator, SetQuantifier, Top, TopQuantity,
    Values, WildcardAdditionalOptions, With, WithFill,
};

use crate::guard::expression::{all, expression, some};
use lexer::error::{Result, SqlError};

/// Deepest nesting of expressions and subqueries; operator chains such as `a OR b OR c` count once. Tokens are counted
/// before (`depth`), more strictly.
const DEPTH_MAX: usize = 1000;

/// How deep the walk is.
#[derive(Clone, Copy)]
pub(crate) struct Depth(usize);

impl Depth {
    fn deeper(self) -> Result<Depth> {
        if self.0 >= DEPTH_MAX {
            let message = format!("query is nested deeper than {DEPTH_MAX} levels");
            return Err(SqlError::new(ErrorCode::TOO_DEEP_RECURSION, message));
        }
        Ok(Depth(self.0 + 1))
    }
}

/// Refuses a query with anything we would not carry out.
pub fn guard(checked: &Query) -> Result<()> {
    query(checked, Depth(0))
}

/// Refuses an expression outside of a query: defaults, keys, KILL conditions.
pub fn guard_expression(checked: &Expr) -> Result<()> {
    expression(checked, Depth(0))
}

pub(crate) fn refuse_if(present: bool, clause: &str) -> Result<()> {
    if present { Err(SqlError::not_implemented(clause)) } else { Ok(()) }
}

pub(crate) fn query(checked: &Query, depth: Depth) -> Result<()> {
    let depth = depth.deeper()?;
    let Query {
        with,
        body,
        order_by,
        limit_clause,
        fetch,
        locks,
        for_clause,
        settings,
        format_clause,
        pipe_operators,
    } = checked;
    if let Some(Fetch { with_ties: _, percent: _, quantity }) = fetch {
        some(quantity.as_ref(), depth)?;
    }
    refuse_if(!locks.is_empty() || for_clause.is_some(), "FOR")?;
    refuse_if(settings.is_some(), "SETTINGS inside a subquery")?;
    refuse_if(format_clause.is_some(), "FORMAT inside a subquery")?;
    refuse_if(!pipe_operators.is_empty(), "a pipe operator")?;
    if let Some(With { with_token: _, recursive, cte_tables }) = with {
        // The planner has recursive queries of its own.
        let _ = recursive;
        for table in cte_tables {
            source::common_table(table, depth)?;
        }
    }
    set_expression(body, depth)?;
    if let Some(clause) = order_by {
        order(clause, depth)?;
    }
    limit(limit_clause.as_ref(), depth)
}

fn order(checked: &OrderBy, depth: Depth) -> Result<()> {
    let OrderBy { kind, interpolate } = checked;
    if let Some(Interpolate { exprs: Some(items) }) = interpolate {
        for InterpolateExpr { column: _, expr } in items {
            some(expr.as_ref(), depth)?;
        }
    }
    match kind {
        OrderByKind::All(OrderByOptions { asc: _, nulls_first: _ }) => Ok(()),
        OrderByKind::Expressions(items) => items.iter().try_for_each(|item| {
            if let Some(WithFill { from, to, step }) = &item.with_fill {
                some(from.as_ref(), depth)?;
                some(to.as_ref(), depth)?;
                some(step.as_ref(), depth)?;
            }
            let OrderByExpr { expr, options: OrderByOptions { asc: _, nulls_first: _ }, with_fill: _ } = item;
            expression(expr, depth)
        }),
    }
}

/// A key of a window's order.
pub(crate) fn order_item(checked: &OrderByExpr, depth: Depth) -> Result<()> {
    let OrderByExpr { expr, options, with_fill } = checked;
    let OrderByOptions { asc: _, nulls_first: _ } = options;
    refuse_if(with_fill.is_some(), "WITH FILL of a window's key")?;
    expression(expr, depth)
}

fn limit(checked: Option<&LimitClause>, depth: Depth) -> Result<()> {
    match checked {
        None => Ok(()),
        Some(LimitClause::LimitOffset { limit, offset, limit_by }) => {
            refuse_if(!limit_by.is_empty(), "LIMIT BY")?;
            some(limit.as_ref(), depth)?;
            offset.iter().try_for_each(|offset| {
                let sqlparser::ast::Offset { value, rows: _ } = offset;
                expression(value, depth)
            })
        }
        Some(LimitClause::OffsetCommaLimit { offset, limit }) => {
            expression(offset, depth)?;
            expression(limit, depth)
        }
    }
}

fn set_expression(checked: &SetExpr, depth: Depth) -> Result<()> {
    let depth = depth.deeper()?;
    match checked {
        SetExpr::Select(select) => self::select(select, depth),
        SetExpr::Query(query) => self::query(query, depth),
        // `IN table` is the only way to get here.
        SetExpr::Table(table) => {
            let sqlparser::ast::Table { table_name: _, schema_name: _ } = table.as_ref();
            Ok(())
        }
        SetExpr::SetOperation { .. } => {
            // A chain leans to the left.
            let mut left_most = checked;
            while let SetExpr::SetOperation { left, op, set_quantifier, right } = left_most {
                set_operation(*op, *set_quantifier)?;
                set_expression(right, depth)?;
                left_most = left;
            }
            set_expression(left_most, depth)
        }
        SetExpr::Values(Values { explicit_row, value_keyword: _, rows }) => {
            refuse_if(*explicit_row, "ROW")?;
            rows.iter().try_for_each(|row| all(&row.content, depth))
        }
        SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
            Err(SqlError::not_implemented("a statement inside a query"))
        }
    }
}

fn set_operation(op: SetOperator, quantifier: SetQuantifier) -> Result<()> {
    match (op, quantifier) {
        // Without a word the setting `union_default_mode` says what UNION is.
        (SetOperator::Union, SetQuantifier::None | SetQuantifier::All | SetQuantifier::Distinct) => Ok(()),
        (SetOperator::Intersect | SetOperator::Except, SetQuantifier::None | SetQuantifier::All) => Ok(()),
        (SetOperator::Intersect | SetOperator::Except, SetQuantifier::Distinct) => Ok(()),
        (op, quantifier) => Err(SqlError::not_implemented(format!("{op} {quantifier}"))),
    }
}

fn select(checked: &Select, depth: Depth) -> Result<()> {
    let Select {
        select_token: _,
        optimizer_hints,
        distinct,
        select_modifiers,
        top,
        top_before_distinct: _,
        projection,
        exclude,
        into,
        from,
        lateral_views,
        prewhere,
        selection,
        connect_by,
        group_by,
        cluster_by,
        distribute_by,
        sort_by,
        having,
        named_window,
        qualify,
        window_before_qualify: _,
        value_table_mode,
        flavor,
    } = checked;
    // A hint is a comment to ClickHouse as well.
    let _ = optimizer_hints;
    match distinct {
        None | Some(Distinct::All | Distinct::Distinct) => {}
        Some(Distinct::On(keys)) => all(keys, depth)?,
    }
    refuse_if(select_modifiers.is_some(), "a modifier of SELECT")?;
    if let Some(Top { with_ties: _, percent: _, quantity: Some(TopQuantity::Expr(rows)) }) = top {
        expression(rows, depth)?;
    }
    refuse_if(exclude.is_some(), "EXCLUDE")?;
    refuse_if(into.is_some(), "SELECT INTO")?;
    refuse_if(!lateral_views.is_empty(), "LATERAL VIEW")?;
    some(prewhere.as_ref(), depth)?;
    refuse_if(!connect_by.is_empty(), "CONNECT BY")?;
    refuse_if(!cluster_by.is_empty(), "CLUSTER BY")?;
    refuse_if(!distribute_by.is_empty(), "DISTRIBUTE BY")?;
    refuse_if(!sort_by.is_empty(), "SORT BY")?;
    refuse_if(value_table_mode.is_some(), "SELECT AS VALUE")?;
    match flavor {
        SelectFlavor::Standard | SelectFlavor::FromFirst | SelectFlavor::FromFirstNoSelect => {}
    }
    projection.iter().try_for_each(|item| self::item(item, depth))?;
    from.iter().try_for_each(|table| source::joined(table, depth))?;
    some(selection.as_ref(), depth)?;
    some(having.as_ref(), depth)?;
    some(qualify.as_ref(), depth)?;
    self::group_by(group_by, depth)?;
    refuse_if(
        having.is_some() && has_totals_of_sets(group_by),
        "WITH TOTALS together with HAVING and ROLLUP, CUBE or GROUPING SETS",
    )?;
    named_window.iter().try_for_each(|window| match &window.1 {
        NamedWindowExpr::NamedWindow(_) => Ok(()),
        NamedWindowExpr::WindowSpec(spec) => call::window(spec, depth),
    })
}

fn group_by(checked: &GroupByExpr, depth: Depth) -> Result<()> {
    let modifiers = match checked {
        GroupByExpr::All(modifiers) => modifiers,
        GroupByExpr::Expressions(keys, modifiers) => {
            keys.iter().try_for_each(|key| group_key(key, depth))?;
            modifiers
        }
    };
    match modifiers.first() {
        None => Ok(()),
        // Inside of a subquery nobody sees them.
        Some(GroupByWithModifier::Totals) if modifiers.len() == 1 => Ok(()),
        Some(GroupByWithModifier::Rollup | GroupByWithModifier::Cube)
            if modifiers.len() == 2 && modifiers[1] == GroupByWithModifier::Totals =>
        {
            Ok(())
        }
        Some(GroupByWithModifier::Rollup | GroupByWithModifier::Cube) if modifiers.len() == 1 => Ok(()),
        Some(GroupByWithModifier::GroupingSets(sets)) if modifiers.len() == 1 => group_key(sets, depth),
        Some(_) => Err(SqlError::not_implemented("several modifiers of GROUP BY")),
    }
}

fn has_totals_of_sets(group_by: &GroupByExpr) -> bool {
    let is_set = |key: &Expr| matches!(key, Expr::Rollup(_) | Expr::Cube(_) | Expr::GroupingSets(_));
    let (modifiers, sets) = match group_by {
        GroupByExpr::All(modifiers) => (modifiers, false),
        GroupByExpr::Expressions(keys, modifiers) => (modifiers, keys.iter().any(is_set)),
    };
    modifiers.contains(&GroupByWithModifier::Totals) && (sets || modifiers.len() > 1)
}

fn group_key(checked: &Expr, depth: Depth) -> Result<()> {
    match checked {
        Expr::Rollup(sets) | Expr::Cube(sets) | Expr::GroupingSets(sets) => {
            sets.iter().try_for_each(|set| all(set, depth))
        }
        key => expression(key, depth),
    }
}

fn item(checked: &SelectItem, depth: Depth) -> Result<()> {
    match checked {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, alias: _ } => {
            expression(expr, depth)
        }
        SelectItem::ExprWithAliases { expr: _, aliases: _ } => {
            Err(SqlError::not_implemented("several aliases of one expression"))
        }
        SelectItem::QualifiedWildcard(kind, options) => {
            wildcard(options, depth)?;
            match kind {
                SelectItemQualifiedWildcardKind::ObjectName(_) => Ok(()),
                SelectItemQualifiedWildcardKind::Expr(_) => {
                    Err(SqlError::not_implemented("* of an expression"))
                }
            }
        }
        SelectItem::Wildcard(options) => wildcard(options, depth),
    }
}

fn wildcard(checked: &WildcardAdditionalOptions, depth: Depth) -> Result<()> {
    let WildcardAdditionalOptions {
        wildcard_token: _,
        opt_ilike,
        opt_exclude,
        opt_except: _,
        opt_replace,
        opt_rename,
        opt_alias,
    } = checked;
    refuse_if(opt_ilike.is_some(), "* ILIKE")?;
    refuse_if(opt_exclude.is_some(), "* EXCLUDE")?;
    refuse_if(opt_rename.is_some(), "* RENAME")?;
    refuse_if(opt_alias.is_some(), "an alias of *")?;
    let replaced = opt_replace.iter().flat_map(|replace| replace.items.iter());
    replaced.map(|item| &item.expr).try_for_each(|expr| expression(expr, depth))
}

#[cfg(test)]
mod tests;
