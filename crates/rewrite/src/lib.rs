//! ClickHouse's query -> the query DataFusion plans, with the same rows, types and labels.
//!
//! Aliases are replaced where ClickHouse sees them, functions get the names the planner knows them by, result columns
//! get ClickHouse's labels, calls of table functions become tables. Types are the analyzer's business.
//! Recursive: it walks the syntax tree. Invariant: `guard` ran first.
//!
//! An alias is visible in the whole SELECT and wins over a column of its name, but for two cases, where the column is
//! meant: inside its own definition, and in WHERE or inside an aggregate when its definition aggregates.

mod weight;
mod manner;
mod access;
mod array_join;
mod aliases;
mod asked_tables;
mod calls;
mod distinct;
mod fill;
mod grouping_sets;
mod lambdas;
mod lower;
mod order;
mod paging;
mod qualifiers;
mod recursive;
mod shown;
mod select;
mod source;
mod totals;
mod tuple_set;
mod unions;
mod using_star;
mod windows;

pub use shown::resolved as shown_name;
use sql::guard::{guard, guard_expression};
use sql::{Query, Result, TableFunctionCall};
use sqlparser::ast::{self, Expr, SetQuantifier};

use crate::aliases::Scope;
pub use crate::manner::splits::under_settings;
pub use crate::manner::{JoinDefault, Manner};

/// What a rewrite may know of the session.
#[derive(Clone, Copy, Debug)]
pub struct RewriteContext<'a> {
    pub current_database: &'a str,
    pub manner: Manner,
    /// `ALL`, `DISTINCT` or nothing: what UNION without a word is.
    pub union_default_mode: &'a str,
    /// Elements that aliases and WITH items may add; 0 is as many as there ever may be.
    pub expanded_elements_max: u64,
}

/// A query ready for DataFusion's planner.
#[derive(Clone, PartialEq, Debug)]
pub struct Prepared {
    pub ast: ast::Query,
    /// Calls that were replaced by tables.
    pub calls: Vec<TableFunctionCall>,
    /// Computes the one row of WITH TOTALS.
    pub totals: Option<ast::Query>,
    /// Names of the result's columns, which [`crate::shown_name`] shows. Shorter than the result when a `*` stands in the SELECT: then names come from
    /// the plan, through [`sql::display_name`].
    pub labels: Vec<String>,
}

/// Checks and rewrites a query.
pub fn prepare(query: &Query, context: &RewriteContext<'_>) -> Result<Prepared> {
    guard(&query.ast)?;
    let union_default = match context.union_default_mode {
        "ALL" => Some(SetQuantifier::All),
        "DISTINCT" => Some(SetQuantifier::Distinct),
        _ => None,
    };
    let mut rewriter = Rewriter {
        database: context.current_database.to_owned(),
        manner: context.manner,
        union_default,
        weight: weight::Weight::of(context.expanded_elements_max),
        ..Rewriter::default()
    };
    let written = totals::without_star(&query.ast);
    let labels = shown::labels(&written.body);
    let mut ast = written.clone();
    qualifiers::by_alias(&mut ast, context.current_database);
    let ast = rewriter.query(ast, true)?;
    Ok(Prepared { ast, calls: rewriter.calls, totals: rewriter.totals, labels })
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
    /// The current database.
    database: String,
    manner: Manner,
    union_default: Option<SetQuantifier>,
    /// The next SELECT is the whole result, which alone can have totals.
    may_total: bool,
    totals_select: Option<ast::Select>,
    totals: Option<ast::Query>,
    weight: weight::Weight,
    /// Of the columns of the SELECT that was rewritten last their names in the plan and in the query, where these differ.
    renamed: Vec<(String, String)>,
    /// How many scalar subqueries and EXISTS the current expression is in.
    subqueries: usize,
    /// How many aliases the current expression stands in the place of, one in the other.
    replacing: usize,
    /// Parameters of the lambdas around the current expression.
    frames: Vec<lambdas::Frame>,
}

#[cfg(test)]
mod tests;
