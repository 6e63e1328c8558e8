//! Columns that are called by a table's own name although the FROM gives it another one: `system.tables.name` of
//! `system.tables AS t`. ClickHouse takes both names, and drivers use it; the planner knows the new one alone. And `t.*` of
//! `FROM d.t`, of which it knows only `d.t.*`.
//!
//! Invariant: a name that is visible as it stands is not touched, and inner SELECTs come before outer ones.

use std::ops::ControlFlow;

use sql::reader::head::ident;
use sqlparser::ast::{
    Expr, Ident, ObjectName, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr,
    TableFactor, VisitMut, VisitorMut,
};

/// Writes every such column under the name that its table has.
pub(super) fn by_alias(query: &mut Query, current_database: &str) {
    let mut renaming = Renaming { current_database, scopes: Vec::new() };
    // It breaks off nowhere.
    let _ = VisitMut::visit(query, &mut renaming);
}

struct Renaming<'a> {
    current_database: &'a str,
    scopes: Vec<Scope>,
}

/// The tables of one SELECT.
#[derive(Default)]
struct Scope {
    visible: Vec<String>,
    /// Names without an alias, by their parts.
    whole: Vec<Vec<String>>,
    /// Names that an alias hides: the parts as written, and the alias.
    hidden: Vec<(Vec<String>, Ident)>,
}

impl Scope {
    fn of(select: &Select) -> Scope {
        let mut scope = Scope::default();
        for from in &select.from {
            scope.add(&from.relation);
            from.joins.iter().for_each(|join| scope.add(&join.relation));
        }
        scope
    }

    fn add(&mut self, relation: &TableFactor) {
        match relation {
            TableFactor::Table { name, alias, args: None, .. } => {
                let parts: Vec<String> =
                    name.0.iter().filter_map(|part| part.as_ident()).map(|part| part.value.clone()).collect();
                match alias {
                    Some(alias) => {
                        self.visible.push(alias.name.value.clone());
                        self.hidden.push((parts, alias.name.clone()));
                    }
                    None => {
                        self.visible.extend(parts.last().cloned());
                        self.whole.push(parts);
                    }
                }
            }
            TableFactor::Table { alias, .. } | TableFactor::Derived { alias, .. } => {
                self.visible.extend(alias.as_ref().map(|alias| alias.name.value.clone()));
            }
            TableFactor::NestedJoin { table_with_joins, .. } => {
                self.add(&table_with_joins.relation);
                table_with_joins.joins.iter().for_each(|join| self.add(&join.relation));
            }
            _ => {}
        }
    }
}

impl Renaming<'_> {
    /// The name by which the planner knows the table of `t.*`; `None` where it is written so.
    fn of_star(&self, scope: &Scope, written: &ObjectName) -> Option<ObjectName> {
        let parts: Vec<&str> =
            written.0.iter().filter_map(|part| part.as_ident()).map(|part| part.value.as_str()).collect();
        let (table, rest) = parts.split_last()?;
        let database = |name: &[String]| {
            name.iter().rev().nth(1).map_or_else(|| self.current_database.to_owned(), Clone::clone)
        };
        let is_of = |name: &[String]| {
            let is_same = name.last().is_some_and(|last| last == table);
            is_same && rest.last().is_none_or(|written| *written == database(name))
        };
        let is_written = |name: &Vec<String>| name.iter().map(String::as_str).eq(parts.iter().copied());
        if scope.whole.iter().any(is_written) {
            return None;
        }
        let (mut whole, mut hidden) = (
            scope.whole.iter().filter(|name| is_of(name)),
            scope.hidden.iter().filter(|(name, _)| is_of(name)),
        );
        let visible = scope.visible.iter().filter(|name| rest.is_empty() && name == table).count();
        match (whole.next(), whole.next(), visible) {
            (Some(name), None, ..=1) => {
                Some(ObjectName::from(name.iter().map(|part| ident(part)).collect::<Vec<Ident>>()))
            }
            (None, None, 0) => hidden.next().map(|(_, alias)| ObjectName::from(vec![alias.clone()])),
            _ => None,
        }
    }

    /// How many parts of a column's name are its table's, and the table's other name.
    fn found(&self, parts: &[Ident]) -> Option<(usize, &Ident)> {
        let [first, second, ..] = parts else { return None };
        for scope in self.scopes.iter().rev() {
            if scope.visible.contains(&first.value) {
                return None;
            }
            let is_of = |name: &[String]| {
                let database = name.iter().rev().nth(1).map_or(self.current_database, String::as_str);
                parts.len() > 2 && name.last() == Some(&second.value) && database == first.value
            };
            if scope.whole.iter().any(|name| is_of(name)) {
                return None;
            }
            for (name, alias) in &scope.hidden {
                if is_of(name) {
                    return Some((2, alias));
                }
                if name.last() == Some(&first.value) {
                    return Some((1, alias));
                }
            }
        }
        None
    }
}

impl VisitorMut for Renaming<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        // ORDER BY stands outside the SELECT it belongs to.
        self.scopes.push(match query.body.as_ref() {
            SetExpr::Select(select) => Scope::of(select),
            _ => Scope::default(),
        });
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let scope = Scope::of(select);
        for item in &mut select.projection {
            if let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) = item
                && let Some(known) = self.of_star(&scope, name)
            {
                *name = known;
            }
        }
        self.scopes.push(scope);
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<()> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expr
            && let Some((taken, alias)) = self.found(parts)
        {
            let alias = alias.clone();
            parts.splice(..taken, [alias]);
        }
        ControlFlow::Continue(())
    }
}
