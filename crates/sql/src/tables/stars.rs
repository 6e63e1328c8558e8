//! Columns of a derived table that `*` leaves out.
//!
//! Invariant: only what was made to be left out is. Must not know: what makes such tables.

use std::ops::ControlFlow;

use sqlparser::ast::{
    ExceptSelectItem, Query, Select, SelectItem, SetExpr, TableFactor, TableWithJoins, VisitMut, VisitorMut,
    WildcardAdditionalOptions,
};

use crate::reader::head::ident;

/// The name of the column that says that a query has columns to be left out: itself, and all behind it.
pub const LEFT_OUT: &str = "\u{1}left_out";

/// Takes them out of every `*` above.
pub fn leave_out_of_stars(query: &mut Query) {
    // It breaks off nowhere.
    let _ = query.visit(&mut Stars);
}

struct Stars;

impl VisitorMut for Stars {
    type Break = ();

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let mut names: Vec<String> = select.from.iter().flat_map(names_in).collect();
        names.dedup();
        for item in &mut select.projection {
            if let SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) = item {
                names.iter().for_each(|name| leave_out(options, name));
            }
        }
        ControlFlow::Continue(())
    }
}

fn names_in(from: &TableWithJoins) -> Vec<String> {
    let relations = std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation));
    relations.flat_map(names_of).collect()
}

fn names_of(relation: &TableFactor) -> Vec<String> {
    match relation {
        TableFactor::Derived { subquery, .. } => names_of_body(&subquery.body),
        TableFactor::NestedJoin { table_with_joins, .. } => names_in(table_with_joins),
        _ => Vec::new(),
    }
}

fn names_of_body(body: &SetExpr) -> Vec<String> {
    let select = match body {
        SetExpr::Select(select) => select,
        SetExpr::SetOperation { left, .. } => return names_of_body(left),
        SetExpr::Query(query) => return names_of_body(&query.body),
        _ => return Vec::new(),
    };
    let names = select.projection.iter().map(|item| match item {
        SelectItem::ExprWithAlias { alias, .. } => alias.value.clone(),
        _ => String::new(),
    });
    names.skip_while(|name| name != LEFT_OUT).collect()
}

fn leave_out(options: &mut WildcardAdditionalOptions, name: &str) {
    match &mut options.opt_except {
        Some(except) => except.additional_elements.push(ident(name)),
        None => {
            options.opt_except =
                Some(ExceptSelectItem { first_element: ident(name), additional_elements: vec![] });
        }
    }
}
