//! The grammar of statements; one file per family.
//!
//! Recursive: EXPLAIN INSERT .. SELECT holds an INSERT, which holds a query.
//! Invariant: `statement` consumes a whole statement or fails. Must not know: how a statement is carried out.

mod access;
pub(crate) mod collection;
pub(crate) mod kept;
pub(crate) mod ttl;
pub(crate) mod column;
pub(crate) mod query;
pub(crate) mod refresh;
pub(crate) mod view;
pub(crate) mod dictionary;
pub(crate) mod detach;
pub(crate) mod function;
mod kill;
pub(crate) mod admin;
pub(crate) mod mutation;
pub(crate) mod parts;
mod engine;
pub(crate) mod create;
pub(crate) mod alter;
pub(crate) mod insert;
pub(crate) mod load;
pub(crate) mod show;

use crate::reader::head::Head;
use crate::statement::Statement;
use lexer::error::Result;

/// Reads one statement that is not an INSERT.
pub(crate) fn statement(head: &mut Head<'_>) -> Result<Statement> {
    if query::starts(head) {
        return query::query(head).map(Statement::Query);
    }
    access::deny(head)?;
    if head.word("CREATE") {
        return create::create(head);
    }
    if head.words(&["ALTER", "TABLE"]) {
        return alter::table(head);
    }
    if head.word("EXPLAIN") {
        return query::explain(head);
    }
    if head.word("DESCRIBE") || head.word("DESC") {
        return query::describe(head);
    }
    if head.word("RESUME") {
        return load::resume(head);
    }
    if head.word("CANCEL") {
        return load::cancel(head);
    }
    admin::statement(head)
}
