//! DETACH and ATTACH of tables and views.
//!
//! Invariant: what would bring files of another server in is refused. Must not know: which tables there are.

use model::ErrorCode;
use sqlparser::tokenizer::Token;

use crate::reader::head::Head;
use crate::statement::Statement;
use lexer::error::{Result, SqlError};

/// Behind DETACH.
pub(crate) fn detach(head: &mut Head<'_>) -> Result<Statement> {
    let is_view = head.word("VIEW");
    if !is_view && !head.word("TABLE") && !head.word("DICTIONARY") {
        return Err(head.refuse("DETACH of anything but TABLE, VIEW and DICTIONARY"));
    }
    let if_exists = head.if_exists();
    let table = head.table_name()?;
    if *head.token() == Token::Comma {
        return Err(head.expected("one table"));
    }
    head.on_cluster()?;
    let is_permanent = head.word("PERMANENTLY");
    head.sync();
    Ok(Statement::Detach { table, if_exists, is_permanent, is_view })
}

/// Behind ATTACH.
pub(crate) fn attach(head: &mut Head<'_>) -> Result<Statement> {
    if !head.word("TABLE") && !head.word("DICTIONARY") {
        return Err(head.refuse("ATTACH of anything but TABLE and DICTIONARY"));
    }
    let if_not_exists = head.if_not_exists();
    let table = head.table_name()?;
    head.on_cluster()?;
    for refused in ["UUID", "FROM", "AS"] {
        if head.peek_word(refused) {
            return Err(head.refuse(&format!("ATTACH TABLE .. {refused}")));
        }
    }
    if !head.at_end() {
        let message = format!(
            "ATTACH TABLE with a definition: use ATTACH TABLE {table} for what was detached, or CREATE TABLE {table}"
        );
        return Err(SqlError::new(ErrorCode::INCORRECT_QUERY, message));
    }
    Ok(Statement::Attach { table, if_not_exists })
}
