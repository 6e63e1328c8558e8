//! `_path`, `_file`, `_size`, `_time`, `_etag` in a query: offered where they are named, never part of `*`.
//!
//! Invariant: a query that names none of them sees tables exactly as wide as their files.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{ExcludeSelectItem, ObjectName};
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, ObjectNamePart, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr,
    TableFactor, Visit, VisitMut, Visitor, VisitorMut, WildcardAdditionalOptions,
};
use sources::VirtualColumn;

struct Used(Vec<VirtualColumn>);

impl Visitor for Used {
    type Break = ();

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        let name = match expression {
            Expr::Identifier(name) => Some(name),
            Expr::CompoundIdentifier(names) => names.last(),
            _ => None,
        };
        if let Some(column) = name.and_then(|name| VirtualColumn::by_name(&name.value))
            && !self.0.contains(&column)
        {
            self.0.push(column);
        }
        ControlFlow::Continue(())
    }
}

/// The virtual columns a query names.
pub(crate) fn used_in(query: &Query) -> Vec<VirtualColumn> {
    let mut used = Used(Vec::new());
    let _ = query.visit(&mut used);
    used.0
}

struct Hide<'a> {
    columns: &'a [VirtualColumn],
    schema: &'a str,
}

impl VisitorMut for Hide<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let SetExpr::Select(select) = query.body.as_mut() {
            self.hide_in(select);
        }
        ControlFlow::Continue(())
    }
}

impl Hide<'_> {
    fn hide_in(&self, select: &mut Select) {
        let reads_source = select.from.iter().any(|from| match &from.relation {
            TableFactor::Table { name, .. } => is_in_schema(name, self.schema),
            _ => false,
        });
        if !reads_source {
            return;
        }
        for item in &mut select.projection {
            match item {
                SelectItem::Wildcard(options) => self.exclude(options),
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(_), options) => {
                    self.exclude(options);
                }
                _ => {}
            }
        }
    }

    fn exclude(&self, options: &mut WildcardAdditionalOptions) {
        let name = |column: &VirtualColumn| ObjectName::from(vec![Ident::new(column.name())]);
        if options.opt_exclude.is_none() {
            options.opt_exclude = Some(ExcludeSelectItem::Multiple(self.columns.iter().map(name).collect()));
        }
    }
}

fn is_in_schema(name: &ObjectName, schema: &str) -> bool {
    let first = name.0.first().and_then(ObjectNamePart::as_ident);
    name.0.len() > 1 && first.is_some_and(|first| first.value == schema)
}

/// Takes virtual columns out of every `*` over a source in `schema`.
pub(crate) fn hide_from_wildcards(query: &mut Query, columns: &[VirtualColumn], schema: &str) {
    if !columns.is_empty() {
        let _ = query.visit(&mut Hide { columns, schema });
    }
}
