//! What names mean besides columns: `WITH expr AS name`, `SELECT expr AS name`, `(expr AS name)`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use model::ErrorCode;
use sql::dialect::name_of;
use sql::reader::tokens::WITH_EXPRESSION;
use sql::{Result, SqlError};
use sqlparser::ast::{
    Expr, Ident, ObjectName, OrderBy, Query, Select, SelectItem, SetExpr, Visit, Visitor, WindowSpec,
    visit_expressions_mut,
};

use crate::Rewriter;
use crate::array_join::Call;
use crate::shown::tables;
use crate::using_star::Joined;
use aggregates::naming;

/// Aliases of one SELECT, and where the rewrite is inside of it.
#[derive(Default)]
pub(crate) struct Scope {
    /// Seen by this query and the queries inside of it.
    with_expressions: BTreeMap<String, Expr>,
    /// Seen by this SELECT only.
    aliases: BTreeMap<String, Definition>,
    /// Aliases that are being replaced; inside their own definition they mean columns.
    active: Vec<String>,
    /// Depth of aggregate calls around the current expression.
    pub(crate) inside_aggregate: usize,
    /// In WHERE, which comes before aggregation.
    pub(crate) in_where: bool,
    /// In the keys of GROUP BY.
    pub(crate) in_keys: bool,
    pub(crate) array_joins: Vec<Call>,
    /// The tables that `*` stands for, where USING joins them.
    pub(crate) starred: Option<Vec<(ObjectName, Vec<Ident>)>>,
    /// The columns of USING, each with what has its value.
    pub(crate) using: Vec<Joined>,
    /// The names of the tables of its FROM.
    pub(crate) tables: Vec<String>,
    /// Columns that ORDER BY names with their tables.
    pub(crate) ordered: BTreeSet<String>,
    /// Whether an item of a query inside has another name in the plan, as ORDER BY names a column of its own name.
    pub(crate) is_renamed: bool,
    /// The windows of the SELECT, as written.
    pub(crate) windows: Vec<(String, WindowSpec)>,
    /// Columns that ARRAY JOIN makes, which no alias hides.
    joined: BTreeMap<String, Element>,
    /// Those of them that the SELECT lists under this alias.
    joined_aliases: Vec<String>,
    /// Aliases that `* REPLACE (expr AS name)` gives; inside the definition of one all of them mean columns.
    replaced: BTreeSet<String>,
}

/// A column of elements.
struct Element {
    /// It stands where its array stood.
    in_place: bool,
    /// The name that it has in the plan, beside a column of the table that may be called as it is.
    planned: String,
    /// Behind the list that makes it, where the name means it.
    is_seen: bool,
}

struct Definition {
    expr: Expr,
    aggregates: bool,
}

/// `x AS (SELECT expr AS <mark>)` of a WITH list stands for `expr AS x`.
pub(crate) fn with_expression(query: &Query) -> Option<&Expr> {
    let SetExpr::Select(select) = query.body.as_ref() else { return None };
    match select.projection.as_slice() {
        [SelectItem::ExprWithAlias { expr, alias }] if alias.value == WITH_EXPRESSION => Some(expr),
        _ => None,
    }
}

impl Scope {
    /// An item of WITH, and what is named inside of it.
    pub(crate) fn add_with(&mut self, name: &str, expr: Expr) {
        let _ = outside_subqueries(&expr, |part| {
            if let Expr::Named { expr, name } = part {
                self.with_expressions.insert(name.value.clone(), expr.as_ref().clone());
            }
            ControlFlow::Continue(())
        });
        self.with_expressions.insert(name.to_owned(), expr);
    }

    /// Collects the aliases of a SELECT. Two meanings of one alias are an error.
    pub(crate) fn add_select(&mut self, select: &Select) -> Result<()> {
        self.tables = tables(select);
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { expr, alias } = item {
                self.add(&alias.value, expr)?;
            }
        }
        let mut inner = vec![];
        let _ = outside_subqueries(select, |expr| {
            if let Expr::Named { expr, name } = expr {
                inner.push((name.value.clone(), expr.as_ref().clone()));
            }
            ControlFlow::Continue(())
        });
        inner.iter().try_for_each(|(name, expr)| self.add(name, expr))?;
        select.projection.iter().try_for_each(|item| self.add_replaced(item))
    }

    /// What a `*` has in the place of a column, the whole SELECT means by the column's name.
    fn add_replaced(&mut self, item: &SelectItem) -> Result<()> {
        let (SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options)) = item else {
            return Ok(());
        };
        for element in options.opt_replace.iter().flat_map(|replace| &replace.items) {
            let name = &element.column_name.value;
            if !self.aliases.contains_key(name) {
                self.add(name, &element.expr)?;
                self.replaced.insert(name.clone());
            }
        }
        Ok(())
    }

    /// The names that `* REPLACE` gives.
    pub(crate) fn replaced(&self) -> Vec<String> {
        self.replaced.iter().cloned().collect()
    }

    /// Collects the aliases that keys of ORDER BY give.
    pub(crate) fn add_order(&mut self, order: &OrderBy) -> Result<()> {
        let mut named = vec![];
        let _ = outside_subqueries(order, |expr| {
            if let Expr::Named { expr, name } = expr {
                named.push((name.value.clone(), expr.as_ref().clone()));
            }
            ControlFlow::Continue(())
        });
        named.iter().try_for_each(|(name, expr)| self.add(name, expr))
    }

    fn add(&mut self, name: &str, expr: &Expr) -> Result<()> {
        // `a AS a` names nothing new.
        if matches!(expr, Expr::Identifier(column) if column.value == name) {
            return Ok(());
        }
        let aggregates = aggregates(expr);
        let known = self.aliases.insert(name.to_owned(), Definition { expr: expr.clone(), aggregates });
        match known {
            Some(known) if known.expr != *expr && bare(&known.expr) != bare(expr) => {
                let message = format!("different expressions with the same alias {name}");
                Err(SqlError::new(ErrorCode::MULTIPLE_EXPRESSIONS_FOR_ALIAS, message))
            }
            _ => Ok(()),
        }
    }

    /// The definition a bare name stands for here, if it is not a column's name.
    fn own(&self, name: &str) -> Option<&Expr> {
        if self.is_active(name) {
            return None;
        }
        let definition = self.aliases.get(name)?;
        let too_early = definition.aggregates && (self.in_where || self.inside_aggregate > 0);
        (!too_early).then_some(&definition.expr)
    }

    /// Says that ARRAY JOIN names an alias of the SELECT, which then is the element.
    pub(crate) fn add_joined_alias(&mut self, name: &str) {
        self.joined_aliases.push(name.to_owned());
    }

    pub(crate) fn has_alias(&self, name: &str) -> bool {
        self.own(name).is_some()
    }

    pub(crate) fn is_joined_alias(&self, name: &str) -> bool {
        self.joined_aliases.iter().any(|joined| joined == name)
    }

    /// Says that an ARRAY JOIN makes a column, which is not seen within its list; answers its name in the plan.
    pub(crate) fn add_joined(&mut self, name: &str, in_place: bool) -> String {
        // Parts of Nested are found by their whole names.
        let planned = if in_place || name.contains('.') { name.to_owned() } else { format!("\u{1}{name}") };
        let element = Element { in_place, planned: planned.clone(), is_seen: false };
        self.joined.insert(name.to_owned(), element);
        planned
    }

    pub(crate) fn see_joined(&mut self) {
        self.joined.values_mut().for_each(|element| element.is_seen = true);
    }

    /// The column of elements that a name means.
    pub(crate) fn joined_column(&self, name: &str) -> Option<&str> {
        self.joined.get(name).filter(|element| element.is_seen).map(|element| element.planned.as_str())
    }

    /// Columns of ARRAY JOIN that are no part of `*`.
    pub(crate) fn joined_beside(&self) -> impl Iterator<Item = &str> {
        self.joined.values().filter(|element| !element.in_place).map(|element| element.planned.as_str())
    }

    /// Inside of its own definition, or of another that stands beside it in the REPLACE of a `*`.
    fn is_active(&self, name: &str) -> bool {
        let in_star = self.replaced.contains(name);
        self.active.iter().any(|active| active == name || in_star && self.replaced.contains(active))
    }

    pub(crate) fn enter(&mut self, name: &str) {
        self.active.push(name.to_owned());
    }

    pub(crate) fn leave(&mut self) {
        self.active.pop();
    }
}

impl Rewriter {
    /// Rewrites what knows columns by the names that `* REPLACE` gives: FROM those of the tables, ORDER BY those of the result.
    pub(crate) fn beside_replaced<T>(
        &mut self,
        rewrite: impl FnOnce(&mut Rewriter) -> Result<T>,
    ) -> Result<T> {
        let replaced = self.scope().replaced();
        replaced.iter().for_each(|name| self.scope().enter(name));
        let done = rewrite(self);
        replaced.iter().for_each(|_| self.scope().leave());
        done
    }
}

/// What a name means: the innermost SELECT's aliases, then WITH lists from the inside out.
pub(crate) fn resolve<'a>(scopes: &'a [Scope], name: &str) -> Option<&'a Expr> {
    let innermost = scopes.last()?;
    if innermost.joined.contains_key(name) {
        return None;
    }
    if let Some(found) = innermost.own(name) {
        return Some(found);
    }
    if innermost.is_active(name) {
        return None;
    }
    scopes.iter().rev().find_map(|scope| scope.with_expressions.get(name))
}

/// The expression without parentheses: `(1, (1))` is `(1, 1)`.
fn bare(expr: &Expr) -> Expr {
    let mut bare = expr.clone();
    let _ = visit_expressions_mut(&mut bare, |expr| {
        if let Expr::Nested(inner) = expr {
            let inner = std::mem::replace(inner.as_mut(), Expr::Identifier(Ident::new("")));
            *expr = inner;
        }
        ControlFlow::<()>::Continue(())
    });
    bare
}

/// True when the expression calls an aggregate outside of subqueries and windows.
pub(crate) fn aggregates(expr: &Expr) -> bool {
    let is_aggregate = |expr: &Expr| match expr {
        Expr::Function(call) if call.over.is_none() && naming::aggregate(&name_of(call)).is_some() => {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    };
    outside_subqueries(expr, is_aggregate).is_break()
}

/// Whether GROUP BY ALL has it among its keys: what holds no aggregate and no window.
pub(crate) fn is_key(lowered: &Expr) -> bool {
    let has_window = |expr: &Expr| match expr {
        Expr::Function(call) if call.over.is_some() => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    !aggregates(lowered) && outside_subqueries(lowered, has_window).is_continue()
}

/// Whether a SELECT names a column so, alone or behind the table `one`, outside of subqueries.
pub(crate) fn names_column(select: &Select, name: &str) -> bool {
    let is_named = |expr: &Expr| match expr {
        Expr::Identifier(column) if column.value == name => ControlFlow::Break(()),
        // With its table before it.
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [.., table, column] if column.value == name && table.value == "one" => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        },
        _ => ControlFlow::Continue(()),
    };
    outside_subqueries(select, is_named).is_break()
}

/// Goes through the expressions in `tree`, but not through those of subqueries.
fn outside_subqueries(tree: &impl Visit, seen: impl FnMut(&Expr) -> ControlFlow<()>) -> ControlFlow<()> {
    tree.visit(&mut Outside { seen, depth: 0 })
}

struct Outside<F> {
    seen: F,
    /// Queries around the current expression.
    depth: usize,
}

impl<F: FnMut(&Expr) -> ControlFlow<()>> Visitor for Outside<F> {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if self.depth == 0 { (self.seen)(expr) } else { ControlFlow::Continue(()) }
    }
}
