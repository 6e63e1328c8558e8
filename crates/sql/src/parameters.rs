//! `{name:Type}` in a query that is read already: which there are, and a value in the place of each.
//!
//! Invariant: a parameter stands where an expression may. Must not know: where values come from; those that stand for names
//! are put into the text before it is read.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query, Visit, VisitMut, Visitor, VisitorMut};

use crate::dialect::{PARAMETER_FUNCTION, call, name_of, plain_args, text, text_of};

/// The name and the type of a parameter.
fn parameter(expr: &Expr) -> Option<(String, String)> {
    let Expr::Function(function) = expr else { return None };
    if name_of(function) != PARAMETER_FUNCTION {
        return None;
    }
    match plain_args(function).as_slice() {
        [name, column_type] => Some((text_of(name)?.to_owned(), text_of(column_type)?.to_owned())),
        _ => None,
    }
}

/// Whether a query has parameters.
pub fn has_parameters(query: &Query) -> bool {
    struct Finder;

    impl Visitor for Finder {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            if parameter(expr).is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    query.visit(&mut Finder).is_break()
}

/// Puts `CAST(value, 'type')` in the place of each parameter that has a value.
pub fn bind_parameters(query: &mut Query, value_of: impl Fn(&str) -> Option<Expr>) {
    replace(query, |name, column_type| Some(call("CAST", vec![value_of(name)?, text(column_type)])));
}

/// Puts the default of its type in the place of each parameter, so that the query has the types it will have.
pub fn default_parameters(query: &mut Query) {
    replace(query, |_, column_type| Some(call("defaultValueOfTypeName", vec![text(column_type)])));
}

fn replace(query: &mut Query, of: impl Fn(&str, &str) -> Option<Expr>) {
    struct Replacer<F>(F);

    impl<F: Fn(&str, &str) -> Option<Expr>> VisitorMut for Replacer<F> {
        type Break = ();

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if let Some(value) = parameter(expr).and_then(|(name, column_type)| (self.0)(&name, &column_type))
            {
                *expr = value;
            }
            ControlFlow::Continue(())
        }
    }
    // It never breaks off.
    let _ = VisitMut::visit(query, &mut Replacer(of));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_where_parameters_stood() {
        let mut query =
            crate::parse_query("SELECT a FROM t WHERE a = {k:UInt8} AND b = {$0:String}").unwrap();
        assert!(has_parameters(&query));
        bind_parameters(&mut query, |name| (name == "k").then(|| crate::dialect::number("2")));
        let shown = query.to_string();
        assert!(shown.contains("CAST`(2, 'UInt8')") && has_parameters(&query), "{shown}");
        default_parameters(&mut query);
        assert!(!has_parameters(&query));
    }
}
