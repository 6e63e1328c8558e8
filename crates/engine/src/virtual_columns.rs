//! Columns that are no part of `*`: `_path`, `_file`, `_size`, `_time`, `_etag` of sources, partitions that a structure
//! leaves out, MATERIALIZED ones of tables.
//!
//! Invariant: a query that names no virtual column sees sources exactly as wide as their files.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{ExcludeSelectItem, ObjectName};
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, ObjectNamePart, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr,
    TableFactor, Visit, VisitMut, Visitor, VisitorMut, WildcardAdditionalOptions,
};
struct Used(BTreeSet<String>);

impl Visitor for Used {
    type Break = ();

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        let name = match expression {
            Expr::Identifier(name) => Some(name),
            Expr::CompoundIdentifier(names) => names.last(),
            _ => None,
        };
        self.0.extend(name.map(|name| name.value.clone()));
        ControlFlow::Continue(())
    }
}

/// Everything a query names that may be a column.
pub(crate) fn names_in(query: &Query) -> BTreeSet<String> {
    let mut used = Used(BTreeSet::new());
    let _ = query.visit(&mut used);
    used.0
}

/// Names the columns that `*` leaves out of a table.
struct Hide<F> {
    hidden_of: F,
}

impl<F: Fn(&ObjectName) -> Vec<String>> VisitorMut for Hide<F> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let SetExpr::Select(select) = query.body.as_mut() {
            self.hide_in(select);
        }
        ControlFlow::Continue(())
    }
}

impl<F: Fn(&ObjectName) -> Vec<String>> Hide<F> {
    fn hide_in(&self, select: &mut Select) {
        let tables = select.from.iter().filter_map(|from| match &from.relation {
            TableFactor::Table { name, .. } => Some(name),
            _ => None,
        });
        let hidden: Vec<String> = tables.flat_map(|name| (self.hidden_of)(name)).collect();
        if hidden.is_empty() {
            return;
        }
        for item in &mut select.projection {
            match item {
                SelectItem::Wildcard(options) => exclude(options, &hidden),
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(_), options) => {
                    exclude(options, &hidden);
                }
                _ => {}
            }
        }
    }
}

fn exclude(options: &mut WildcardAdditionalOptions, hidden: &[String]) {
    let name = |column: &String| ObjectName::from(vec![Ident::new(column)]);
    if options.opt_exclude.is_none() {
        options.opt_exclude = Some(ExcludeSelectItem::Multiple(hidden.iter().map(name).collect()));
    }
}

/// (database, table) of a name as written.
pub(crate) fn parts_of(name: &ObjectName) -> (Option<&str>, &str) {
    let mut words = name.0.iter().rev().filter_map(ObjectNamePart::as_ident);
    let table = words.next().map_or("", |word| word.value.as_str());
    (words.next().map(|word| word.value.as_str()), table)
}

/// Takes the columns that `hidden_of` names for a table out of every `*` over it.
pub(crate) fn hide_from_wildcards(query: &mut Query, hidden_of: impl Fn(&ObjectName) -> Vec<String>) {
    let _ = query.visit(&mut Hide { hidden_of });
}
