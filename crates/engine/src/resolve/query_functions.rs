//! Table functions that are queries by themselves: those that need no table, and `merge(..)`.
//!
//! Invariant: what a call means is decided from its text and the statement's snapshot alone, without I/O.

use boundary::error::Error;
use datafusion::sql::sqlparser::ast;
use sql::WrittenCall;
use tables::calls::query_calls;

use crate::context::execution::Execution;
use crate::resolve::merged::{Merged, merged_query};

/// The query that a call is, if it is one. `names_tables`: the query asks for `_table` or `_database`.
pub(crate) fn query_of_call(
    execution: &Execution,
    call: &WrittenCall<'_>,
    names_tables: bool,
) -> Result<Option<ast::Query>, Error> {
    match call.name.eq_ignore_ascii_case("merge") {
        true => merge(execution, call, names_tables).map(Some),
        false => query_calls::query_of_call(call),
    }
}

/// `merge([database,] 'regular expression')`: rows of all tables whose names match, with all columns of any of them.
fn merge(execution: &Execution, call: &WrittenCall<'_>, names_tables: bool) -> Result<ast::Query, Error> {
    let merged = Merged::of(execution, &sql::written_call(call)?.arguments)?;
    merged_query(execution, &merged, None, names_tables)
}
