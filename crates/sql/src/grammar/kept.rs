//! Clauses that are kept in a definition and have no effect: INDEX, PROJECTION.
//!
//! Invariant: what is kept reads back. Must not know: columns.

use model::ErrorCode;
use sqlparser::ast::Expr;
use sqlparser::tokenizer::Token;

use crate::printer::printed::printed;
use crate::reader::head::Head;
use crate::statement::{AlterCommand, ClausePlace, IndexClause, ProjectionClause};
use lexer::error::{Result, SqlError};
use lexer::escape::quote_name;

/// Those of ClickHouse.
const INDEX_TYPES: &[&str] = &[
    "minmax",
    "set",
    "bloom_filter",
    "tokenbf_v1",
    "ngrambf_v1",
    "sparse_grams",
    "text",
    "vector_similarity",
    "hypothesis",
];

/// Behind INDEX: `name expression TYPE type [GRANULARITY n]`.
pub(crate) fn index(head: &mut Head<'_>) -> Result<IndexClause> {
    let name = head.name("an index's name")?;
    let expression = head.expression()?;
    head.expect_word("TYPE")?;
    behind_type(head, name, expression)
}

/// As it is kept and shown, behind INDEX.
pub(crate) fn index_text(index: &IndexClause) -> String {
    let (name, expression) = (quote_name(&index.name), printed(&index.expression));
    format!("{name} {expression} TYPE {} GRANULARITY {}", index.index_type, index.granularity)
}

/// As it is kept and shown, behind PROJECTION.
pub(crate) fn projection_text(projection: &ProjectionClause) -> String {
    format!("{} ({})", quote_name(&projection.name), projection.query)
}

fn behind_type(head: &mut Head<'_>, name: String, expression: Expr) -> Result<IndexClause> {
    let start = head.offset();
    let type_name = head.name("an index's type")?;
    if *head.token() == Token::LParen {
        skip_parentheses(head)?;
    }
    let index_type = head.text_since(start).to_owned();
    if !INDEX_TYPES.iter().any(|known| known.eq_ignore_ascii_case(&type_name)) {
        let message = format!("unknown type \"{type_name}\" of index {name}");
        return Err(SqlError::new(ErrorCode::INCORRECT_QUERY, message)
            .with_hint(format!("types are {}", INDEX_TYPES.join(", "))));
    }
    let mut granularity =
        if type_name == "vector_similarity" || type_name == "text" { 100_000_000 } else { 1 };
    if head.word("GRANULARITY") {
        granularity = number(head)?;
    }
    Ok(IndexClause { name, expression, index_type, granularity })
}

fn number(head: &mut Head<'_>) -> Result<u64> {
    let Token::Number(digits, _) = head.token() else { return Err(head.expected("a number")) };
    let number = digits.parse().map_err(|_| head.expected("a number"))?;
    head.advance();
    Ok(number)
}

/// Behind CREATE INDEX: `[IF NOT EXISTS] name ON table (expressions) TYPE type`. The table stays for the caller.
pub(crate) fn create_index(head: &mut Head<'_>) -> Result<(crate::statement::TableName, AlterCommand)> {
    let if_not_exists = head.if_not_exists();
    let name = head.name("an index's name")?;
    head.expect_word("ON")?;
    let table = head.table_name()?;
    head.on_cluster()?;
    head.expect_symbol(&Token::LParen)?;
    let mut expressions = vec![];
    loop {
        expressions.push(head.expression()?);
        let _ = head.word("ASC") || head.word("DESC");
        if !head.symbol(&Token::Comma) {
            break;
        }
    }
    head.expect_symbol(&Token::RParen)?;
    if !head.word("TYPE") {
        let message = format!("CREATE INDEX {name} needs a TYPE");
        return Err(SqlError::new(ErrorCode::INCORRECT_QUERY, message));
    }
    let expression = match expressions.len() {
        1 => expressions.remove(0),
        _ => Expr::Tuple(expressions),
    };
    let index = behind_type(head, name, expression)?;
    without_effect(head, "INDEX");
    Ok((table, AlterCommand::AddIndex { index, if_not_exists, place: None }))
}

/// Behind PROJECTION: `name (SELECT ..)`.
pub(crate) fn projection(head: &mut Head<'_>) -> Result<ProjectionClause> {
    let name = head.name("a projection's name")?;
    let start = head.offset();
    if *head.token() != Token::LParen {
        return Err(head.expected("(SELECT ..)"));
    }
    skip_parentheses(head)?;
    let text = head.text_since(start);
    if head.word("WITH") {
        return Err(head.refuse("SETTINGS of a projection"));
    }
    let query = text[1..text.len() - 1].trim();
    let begins = |word: &str| query.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    if !begins("SELECT") && !begins("WITH") {
        return Err(head.expected("SELECT in a projection"));
    }
    Ok(ProjectionClause { name, query: query.to_owned() })
}

fn skip_parentheses(head: &mut Head<'_>) -> Result<()> {
    let mut depth = 0_usize;
    loop {
        match head.token() {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            Token::EOF => return Err(head.expected(")")),
            _ => {}
        }
        head.advance();
        if depth == 0 {
            return Ok(());
        }
    }
}

/// FIRST and AFTER.
pub(crate) fn place(head: &mut Head<'_>, what: &str) -> Result<Option<ClausePlace>> {
    if head.word("FIRST") {
        return Ok(Some(ClausePlace::First));
    }
    if head.word("AFTER") {
        return head.name(what).map(|name| Some(ClausePlace::After(name)));
    }
    Ok(None)
}

pub(crate) fn without_effect(head: &mut Head<'_>, keyword: &str) {
    let warning = format!("{keyword} is kept in the definition and has no effect");
    if !head.warnings.contains(&warning) {
        head.warnings.push(warning);
    }
}
