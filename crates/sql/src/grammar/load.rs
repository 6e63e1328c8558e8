//! RESUME LOAD, CANCEL LOAD, SHOW LOAD: loads by their label.
//!
//! Invariant: StarRocks' `WHERE LABEL = 'x'` and the bare `'x'` mean the same.

use sqlparser::tokenizer::Token;

use crate::grammar::admin::{count, filter};
use crate::reader::head::Head;
use crate::statement::{NameFilter, Show, Statement};
use lexer::error::Result;

/// `RESUME LOAD [FROM db] [WHERE LABEL =] 'label'`.
pub(crate) fn resume(head: &mut Head<'_>) -> Result<Statement> {
    let (database, label) = named(head)?;
    Ok(Statement::ResumeLoad { database, label })
}

/// `CANCEL LOAD [FROM db] [WHERE LABEL =] 'label'`.
pub(crate) fn cancel(head: &mut Head<'_>) -> Result<Statement> {
    let (database, label) = named(head)?;
    Ok(Statement::CancelLoad { database, label })
}

/// `SHOW LOAD [FROM db] [WHERE LABEL = 'x' | [WHERE LABEL] LIKE 'x'] [LIMIT n]`, behind LOAD.
pub(crate) fn show(head: &mut Head<'_>) -> Result<Statement> {
    let database = database(head)?;
    let label = if head.words(&["WHERE", "LABEL"]) && head.symbol(&Token::Eq) {
        exactly(&head.text("a label")?)
    } else {
        filter(head)?
    };
    let limit = if head.word("LIMIT") { Some(count(head)?) } else { None };
    Ok(Statement::Show(Show::Load { database, label, limit }))
}

fn named(head: &mut Head<'_>) -> Result<(Option<String>, String)> {
    head.expect_word("LOAD")?;
    let database = database(head)?;
    if head.word("WHERE") {
        head.expect_word("LABEL")?;
        head.expect_symbol(&Token::Eq)?;
    }
    let label = match head.token() {
        Token::SingleQuotedString(text) => text.clone(),
        Token::Number(digits, _) => digits.clone(),
        _ => return Ok((database, head.name("a label")?)),
    };
    head.advance();
    Ok((database, label))
}

fn database(head: &mut Head<'_>) -> Result<Option<String>> {
    if head.word("FROM") || head.word("IN") { head.name("a database name").map(Some) } else { Ok(None) }
}

/// A LIKE pattern of nothing but this text.
fn exactly(text: &str) -> NameFilter {
    let mut pattern = String::new();
    for c in text.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    NameFilter { pattern: Some(pattern), ..NameFilter::default() }
}
