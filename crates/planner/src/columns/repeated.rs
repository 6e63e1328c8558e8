//! Stars that repeat columns: `SELECT *, *`, `SELECT *, t.*`, and inside of another query `SELECT *, a`. A plan has no two columns
//! of one name, so that each has to be an item of its own, which gets a name of its own. And a `*` over tables joined with USING
//! that leaves out or replaces columns: the columns of USING are of no table, so that no table's star has them.
//!
//! Invariant: a SELECT whose stars repeat or change nothing that can be seen in its text is left alone. Must not know: how it is
//! found out which columns there are.

use sql::tables::joins::constraint_of;
use sqlparser::ast::{
    Expr, JoinConstraint, Select, SelectItem, SelectItemQualifiedWildcardKind, WildcardAdditionalOptions,
};

use super::matchers::Columns;

/// What an item of a SELECT gives.
pub(super) enum Star<'a> {
    /// `*`, or `t.*` with the table's name; without these columns.
    Of(Option<String>, Vec<&'a str>),
    /// One of which it cannot be told.
    Changed,
    /// No star.
    None,
}

pub(super) fn star_of(item: &SelectItem) -> Star<'_> {
    let (table, options) = match item {
        SelectItem::Wildcard(options) => (None, options),
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
            match name.0.last().and_then(|part| part.as_ident()) {
                Some(table) => (Some(table.value.clone()), options),
                None => return Star::Changed,
            }
        }
        SelectItem::QualifiedWildcard(..) => return Star::Changed,
        _ => return Star::None,
    };
    left_out(options).map_or(Star::Changed, |names| Star::Of(table, names))
}

/// The columns that a star leaves out; `None` where it does more with them.
pub(super) fn left_out(options: &WildcardAdditionalOptions) -> Option<Vec<&str>> {
    let is_plain =
        options.opt_replace.is_none() && options.opt_rename.is_none() && options.opt_ilike.is_none();
    let except = options.opt_except.iter();
    let names =
        except.flat_map(|except| std::iter::once(&except.first_element).chain(&except.additional_elements));
    is_plain.then(|| names.map(|name| name.value.as_str()).collect())
}

/// Whether stars of a SELECT repeat columns. Of the result the names may be equal; of a query inside they may not.
pub(super) fn repeats(select: &Select, is_inside: bool) -> bool {
    let mut stars: Vec<Option<String>> = vec![];
    let mut excluded: Vec<&str> = vec![];
    for item in &select.projection {
        match star_of(item) {
            Star::Of(table, names) => {
                stars.push(table);
                excluded.extend(names);
            }
            Star::Changed => return false,
            Star::None => {}
        }
    }
    let any_plain = stars.contains(&None);
    let is_twice = stars.iter().enumerate().any(|(at, star)| stars[..at].contains(star));
    let is_repeated = is_twice || any_plain && stars.len() > 1;
    let names_one = |item: &SelectItem| named_column(item).is_some_and(|name| !excluded.contains(&name));
    let is_beside = is_inside && any_plain && select.projection.iter().any(names_one);
    (is_repeated || is_beside) && !joins_using(select)
}

/// Whether a `*` over tables joined with USING leaves out or replaces columns.
pub(super) fn changes_joined(select: &Select) -> bool {
    let changes = |item: &SelectItem| match item {
        SelectItem::Wildcard(options) => {
            let is_known = options.opt_rename.is_none() && options.opt_ilike.is_none();
            is_known && (options.opt_except.is_some() || options.opt_replace.is_some())
        }
        _ => false,
    };
    select.projection.iter().any(changes) && joins_using(select)
}

/// The columns that a `*` has without those that it leaves out, replaced where it says so; `None` where it does more with them.
pub(super) fn kept_of(
    columns: &Columns,
    options: &WildcardAdditionalOptions,
    aliases: &[String],
) -> Option<Vec<SelectItem>> {
    let mut options = options.clone();
    let replaced = options.opt_replace.take().map_or(vec![], |replace| replace.items);
    let left_out = left_out(&options)?;
    let kept = columns.of_table(None).filter(|at| !left_out.contains(&columns.0[*at].name.as_str()));
    let item = |at: usize| {
        let name = &columns.0[at].name;
        match replaced.iter().find(|element| element.column_name.value == *name) {
            Some(element) => {
                SelectItem::ExprWithAlias { expr: element.expr.clone(), alias: element.column_name.clone() }
            }
            None => SelectItem::UnnamedExpr(columns.column_beside(at, aliases)),
        }
    };
    Some(kept.map(item).collect())
}

/// The column that an item is, under its own name.
fn named_column(item: &SelectItem) -> Option<&str> {
    let (expr, alias) = match item {
        SelectItem::UnnamedExpr(expr) => (expr, None),
        SelectItem::ExprWithAlias { expr, alias } => (expr, Some(alias)),
        _ => return None,
    };
    let column = match expr {
        Expr::Identifier(name) => name,
        Expr::CompoundIdentifier(parts) => parts.last()?,
        _ => return None,
    };
    alias.is_none_or(|alias| alias.value == column.value).then_some(column.value.as_str())
}

/// The columns of USING are of no table.
pub(super) fn joins_using(select: &Select) -> bool {
    let joins = select.from.iter().flat_map(|from| &from.joins);
    let mut constraints = joins.filter_map(|join| constraint_of(&join.join_operator));
    constraints.any(|on| matches!(on, JoinConstraint::Using(_) | JoinConstraint::Natural))
}
