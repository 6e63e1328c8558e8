//! Columns among the arguments of calls and the elements of tuples and arrays, where a matcher stands for them.
//!
//! Invariant: no matcher is left. One that stands where a list has no place chooses exactly one column. Must not know: which
//! columns there are.

use std::ops::ControlFlow;

use model::ErrorCode;
use sql::printer::label::label;
use sql::{Result, SqlError};
use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments, VisitMut, VisitorMut};

use super::matchers::{Columns, is_matcher, without_parentheses};

/// The expression with columns in the places of all matchers.
pub(super) fn spliced(mut expr: Expr, columns: &Columns) -> Result<Expr> {
    let in_lists = VisitMut::visit(&mut expr, &mut Splicing { columns, inside: 0 });
    let outcome = match in_lists {
        ControlFlow::Continue(()) => VisitMut::visit(&mut expr, &mut Single(columns)),
        broken => broken,
    };
    match outcome {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(expr),
    }
}

/// Puts one column in the place of each matcher that is no part of a list.
struct Single<'a>(&'a Columns);

impl VisitorMut for Single<'_> {
    type Break = SqlError;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
        if !is_matcher(expr) {
            return ControlFlow::Continue(());
        }
        let chosen = match self.0.chosen(expr) {
            Ok(chosen) => chosen,
            Err(error) => return ControlFlow::Break(error),
        };
        match <[_; 1]>::try_from(chosen) {
            Ok([(column, _)]) => {
                *expr = column;
                ControlFlow::Continue(())
            }
            Err(chosen) => {
                let message =
                    format!("{} chooses {} columns where one has a place", label(expr), chosen.len());
                let code = ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH;
                ControlFlow::Break(SqlError::new(code, message))
            }
        }
    }
}

/// Puts columns into lists, inner ones first.
struct Splicing<'a> {
    columns: &'a Columns,
    /// Matchers around the current expression.
    inside: usize,
}

impl Splicing<'_> {
    fn list(&self, parts: Vec<Expr>) -> Result<Vec<Expr>> {
        let mut done = vec![];
        for part in parts {
            let part = without_parentheses(part);
            match is_matcher(&part) {
                true => done.extend(self.columns.chosen(&part)?.into_iter().map(|(expr, _)| expr)),
                false => done.push(part),
            }
        }
        Ok(done)
    }

    fn arguments(&self, args: Vec<FunctionArg>) -> Result<Vec<FunctionArg>> {
        let mut done = vec![];
        for arg in args {
            match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => {
                    let parts = self.list(vec![expr])?.into_iter();
                    done.extend(parts.map(|part| FunctionArg::Unnamed(FunctionArgExpr::Expr(part))));
                }
                other => done.push(other),
            }
        }
        Ok(done)
    }

    fn splice(&self, expr: &mut Expr) -> Result<()> {
        match expr {
            Expr::Function(function) => {
                if let FunctionArguments::List(list) = &mut function.args {
                    list.args = self.arguments(std::mem::take(&mut list.args))?;
                }
            }
            Expr::Tuple(parts) => *parts = self.list(std::mem::take(parts))?,
            Expr::Array(array) => array.elem = self.list(std::mem::take(&mut array.elem))?,
            _ => {}
        }
        Ok(())
    }
}

impl VisitorMut for Splicing<'_> {
    type Break = SqlError;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
        self.inside += usize::from(is_matcher(expr));
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
        if is_matcher(expr) {
            self.inside = self.inside.saturating_sub(1);
            return ControlFlow::Continue(());
        }
        if self.inside > 0 {
            return ControlFlow::Continue(());
        }
        match self.splice(expr) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}
