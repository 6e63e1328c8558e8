//! ClickHouse's query -> the query DataFusion plans, with the same rows, types and labels.
//!
//! Aliases are replaced where ClickHouse sees them, functions get the names the planner knows them by, result columns
//! get ClickHouse's labels, calls of table functions become tables. Types are the planner's business (`functions`).
//! Invariant: `guard` ran first.
//!
//! An alias is visible in the whole SELECT and wins over a column of its name, but for two cases, where the column is
//! meant: inside its own definition, and in WHERE or inside an aggregate when its definition aggregates.

mod aliases;
mod calls;
mod lower;
mod select;
mod source;

use sqlparser::ast::{self, Expr};

use crate::error::Result;
use crate::guard::{guard, guard_expression};
use crate::rewrite::aliases::Scope;
use crate::statement::Query;
use crate::table_functions::TableFunctionCall;

/// What a rewrite may know of the session.
#[derive(Clone, Copy, Debug)]
pub struct RewriteContext<'a> {
    pub current_database: &'a str,
}

/// A query ready for DataFusion's planner.
#[derive(Clone, PartialEq, Debug)]
pub struct Prepared {
    pub ast: ast::Query,
    /// Calls that were replaced by tables.
    pub calls: Vec<TableFunctionCall>,
    /// Names of the result's columns. Shorter than the result when a `*` stands in the SELECT: then names come from
    /// the plan, through [`crate::display_name`].
    pub labels: Vec<String>,
}

/// Checks and rewrites a query.
pub fn prepare(query: &Query, _context: &RewriteContext<'_>) -> Result<Prepared> {
    guard(&query.ast)?;
    let mut rewriter = Rewriter::default();
    let labels = select::labels(&query.ast.body);
    let ast = rewriter.query(query.ast.as_ref().clone(), true)?;
    Ok(Prepared { ast, calls: rewriter.calls, labels })
}

/// Checks and rewrites an expression over plain columns: a default, a key, a condition.
pub fn prepare_expression(expr: &Expr) -> Result<Expr> {
    guard_expression(expr)?;
    Rewriter::default().value(expr.clone())
}

#[derive(Default)]
pub(crate) struct Rewriter {
    calls: Vec<TableFunctionCall>,
    scopes: Vec<Scope>,
}

#[cfg(test)]
mod tests;
