//! SELECT, EXPLAIN, DESCRIBE.

use sqlparser::ast;
use sqlparser::tokenizer::Token;

use crate::reader::head::Head;
use crate::reader::tokens::tokenize;
use crate::statement::{Described, Explain, ExplainKind, Query, Statement};
use crate::tables::files::call_files;
use crate::tables::servers::{is_about_servers, of_this_server};
use lexer::error::{Result, SqlError};

/// True before a SELECT in any of its forms.
pub(crate) fn starts(head: &Head<'_>) -> bool {
    let mut at = 0;
    while *head.token_after(at) == Token::LParen {
        at += 1;
    }
    let opens = |word: &str| crate::reader::tokens::is_word(head.token_after(at), word);
    opens("SELECT") || opens("WITH") || opens("FROM") || (at == 0 && opens("VALUES"))
}

/// Reads a query up to its end.
pub(crate) fn query(head: &mut Head<'_>) -> Result<Query> {
    let start = head.offset();
    let mut query = head.query()?;
    let written = head.text_since(start);
    call_files(&mut query, written);
    of_this_server(&mut query, written)?;
    Ok(Query::from(query))
}

/// Reads a query of our own making, such as the one that a SHOW stands for.
pub(crate) fn of_text(text: &str) -> Result<Query> {
    let mut head = Head::new(text, 0, tokenize(text)?)?;
    head.measure.run(|| {
        let query = query(&mut head)?;
        head.expect_end()?;
        Ok(query)
    })
}

const KINDS: &[(&str, ExplainKind)] = &[
    ("PLAN", ExplainKind::Plan),
    ("AST", ExplainKind::Ast),
    ("SYNTAX", ExplainKind::Syntax),
    ("PIPELINE", ExplainKind::Pipeline),
    ("ESTIMATE", ExplainKind::Estimate),
    ("ANALYZE", ExplainKind::Analyze),
    ("LOAD", ExplainKind::Load),
];

/// EXPLAIN as a table: its words, its options as they are written, and what it is about.
///
/// # Errors
/// There is no such EXPLAIN of a query, or its options cannot be read.
pub fn explain_of_query(words: &str, options: &str, query: ast::Query) -> Result<Explain> {
    let written = words.trim().to_ascii_uppercase();
    let word = written.strip_prefix("EXPLAIN").map(str::trim);
    let kind = match word {
        Some("") => Some(ExplainKind::Plan),
        // These run the query.
        Some("ANALYZE" | "LOAD") | None => None,
        Some(word) => KINDS.iter().find(|(known, _)| *known == word).map(|(_, kind)| *kind),
    };
    let kind = kind.ok_or_else(|| SqlError::not_implemented(format!("{written} inside a query")))?;
    let options = match options.trim() {
        "" => vec![],
        options => {
            let mut head = Head::new(options, 0, tokenize(options)?)?;
            let changes = head.settings()?;
            head.expect_end()?;
            changes
        }
    };
    let statement = Box::new(Statement::Query(Query::from(Box::new(query))));
    Ok(Explain { kind, options, statement, format: None })
}

/// Behind EXPLAIN.
pub(crate) fn explain(head: &mut Head<'_>) -> Result<Statement> {
    for refused in ["QUERY", "TABLE", "CURRENT"] {
        if head.peek_word(refused) {
            return Err(head.refuse(&format!("EXPLAIN {refused} ..")));
        }
    }
    let kind = KINDS.iter().find(|(word, _)| head.word(word)).map_or(ExplainKind::Plan, |(_, kind)| *kind);
    let options = match (head.token(), head.token_after(1)) {
        (Token::Word(_), Token::Eq) => head.settings()?,
        _ => vec![],
    };
    let statement = if head.word("INSERT") { explained_insert(head, kind)? } else { super::statement(head)? };
    Ok(Statement::Explain(Explain { kind, options, statement: Box::new(statement), format: None }))
}

/// Of INSERT only the form with a SELECT has a plan; ANALYZE runs the one with VALUES, too.
fn explained_insert(head: &mut Head<'_>, kind: ExplainKind) -> Result<Statement> {
    let (insert, settings) = super::insert::target(head)?;
    if !settings.is_empty() {
        return Err(head.refuse("SETTINGS before SELECT inside EXPLAIN"));
    }
    if kind == ExplainKind::Analyze && head.word("VALUES") {
        return super::insert::with_values(insert, head.rest());
    }
    if !starts(head) {
        return Err(head.expected("SELECT"));
    }
    let query = query(head)?;
    super::insert::with_query(insert, Statement::Query(query))
}

/// Behind DESCRIBE: `[TABLE] t`, `[TABLE] f(..)`, `[TABLE] (SELECT ..)`, `[TABLE] 'rows.csv'`.
pub(crate) fn describe(head: &mut Head<'_>) -> Result<Statement> {
    head.word("TABLE");
    if let Token::SingleQuotedString(name) = head.token() {
        let name = name.replace('\\', "\\\\").replace('\'', "\\'");
        let query = of_text(&format!("SELECT * FROM '{name}'"))?;
        head.advance();
        return Ok(Statement::Describe(Described::Query(query)));
    }
    // `values(..)` is the table function here.
    if starts(head) && !head.peek_word("VALUES") {
        return Ok(Statement::Describe(Described::Query(query(head)?)));
    }
    if *head.token_after(1) == Token::LParen {
        let start = head.offset();
        let function = head.function()?;
        if is_about_servers(&function) {
            let query =
                of_text(&format!("SELECT * FROM {}", head.text_between(start, head.offset_behind())))?;
            return Ok(Statement::Describe(Described::Query(query)));
        }
        return Ok(Statement::Describe(Described::Function(Box::new(function))));
    }
    Ok(Statement::Describe(Described::Table(head.table_name()?)))
}
