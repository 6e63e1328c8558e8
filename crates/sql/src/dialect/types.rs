//! Type names inside statements: tokens -> the text `model::type_name` reads.
//!
//! Invariant: what comes out is the canonical name of a type there is. Must not know: what a type is used for.

use std::sync::Arc;

use model::{ColumnType, type_name};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, Word};

use lexer::escape::quote_text;

fn is(word: &Word, wanted: &str) -> bool {
    word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted)
}

/// Reads a type's tokens and answers with the type's canonical name.
pub(crate) fn read_type(parser: &mut Parser<'_>) -> Result<String, ParserError> {
    let raw = read_type_text(parser)?;
    type_name::parse(&raw).map(|column_type| column_type.to_string()).map_err(bad_type)
}

fn bad_type(problem: type_name::TypeNameError) -> ParserError {
    ParserError::ParserError(format!("{TYPE_PROBLEM}{} {problem}", problem.code()))
}

/// Reads the type of a column, and the function of a `SimpleAggregateFunction`.
pub(crate) fn read_declared_type(
    parser: &mut Parser<'_>,
) -> Result<(ColumnType, Option<Arc<str>>), ParserError> {
    let raw = read_type_text(parser)?;
    type_name::parse_declared(&raw).map_err(bad_type)
}

/// Reads a type's tokens and answers with its name as ClickHouse repeats it: as written, with one space where one goes.
pub(crate) fn read_written_type(parser: &mut Parser<'_>) -> Result<String, ParserError> {
    let raw = read_type_text(parser)?;
    type_name::parse(&raw).map(|_| raw).map_err(bad_type)
}

/// Marks a parser error as a problem of a type name, not of the grammar around it; the number of its code comes next.
pub(crate) const TYPE_PROBLEM: &str = "type: ";

/// Words behind the first of a type name of SQL's; the type itself knows which belong together.
const LATER_TYPE_WORDS: [&str; 6] = ["PRECISION", "VARYING", "LARGE", "OBJECT", "SIGNED", "UNSIGNED"];

/// Appends the words that go on with the name of a type.
fn read_later_words(parser: &mut Parser<'_>, first: &Word, out: &mut String) {
    while let Token::Word(next) = &parser.peek_token_ref().token
        && (LATER_TYPE_WORDS.iter().any(|word| is(next, word))
            || is(first, "NATIONAL") && (is(next, "CHAR") || is(next, "CHARACTER")))
    {
        *out = format!("{out} {}", next.value);
        parser.advance_token();
    }
}

fn read_type_text(parser: &mut Parser<'_>) -> Result<String, ParserError> {
    let Token::Word(word) = parser.peek_token_ref().token.clone() else {
        return parser.expected_ref("a type", parser.peek_token_ref());
    };
    parser.advance_token();
    let mut out = word.value.clone();
    read_later_words(parser, &word, &mut out);
    if parser.peek_token_ref().token != Token::LParen {
        return Ok(out);
    }
    let mut depth = 0_usize;
    loop {
        let token = parser.next_token();
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            Token::EOF => return parser.expected("a closing parenthesis of the type", token),
            _ => {}
        }
        match &token.token {
            Token::SingleQuotedString(value) => out.push_str(&quote_text(value)),
            Token::Comma => out.push_str(", "),
            Token::Eq => out.push_str(" = "),
            Token::Word(word) if out.ends_with(|c: char| c.is_alphanumeric() || c == '`') => {
                out = format!("{out} {word}");
            }
            other => out = format!("{out}{other}"),
        }
        if depth == 0 {
            read_later_words(parser, &word, &mut out);
            return Ok(out);
        }
    }
}
