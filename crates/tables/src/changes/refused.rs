//! What conditions and values of a mutation may not have: it would make other rows of the rows there are, or depend on which
//! part a row is in.
//!
//! Invariant: subqueries are as free as everywhere. Must not know: tables.

use std::ops::ControlFlow;

use boundary::error::{Error, ErrorKind};
use datafusion::sql::sqlparser::ast::{Expr, Query, Visit, Visitor};
use model::ErrorCode;
use sql::dialect::name_of;

/// Refuses arrayJoin and window functions outside of subqueries.
pub(super) fn check(expression: &Expr) -> Result<(), Error> {
    match expression.visit(&mut Outside { subqueries: 0 }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Outside {
    subqueries: usize,
}

impl Visitor for Outside {
    type Break = Error;

    fn pre_visit_query(&mut self, _query: &Query) -> ControlFlow<Error> {
        self.subqueries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &Query) -> ControlFlow<Error> {
        self.subqueries -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<Error> {
        let Expr::Function(call) = expression else { return ControlFlow::Continue(()) };
        if self.subqueries > 0 {
            return ControlFlow::Continue(());
        }
        let refused = |code, what: &str| {
            let message = format!("{what} in a condition or a value of a mutation");
            ControlFlow::Break(
                Error::new(ErrorKind::BadInput, code, message).with_hint("a subquery may have it"),
            )
        };
        if call.over.is_some() {
            return refused(ErrorCode::UNKNOWN_IDENTIFIER, "a window function");
        }
        match name_of(call).eq_ignore_ascii_case("arrayJoin") {
            true => refused(ErrorCode::UNEXPECTED_EXPRESSION, "arrayJoin"),
            false => ControlFlow::Continue(()),
        }
    }
}
