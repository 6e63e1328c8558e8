//! `COLUMNS(..)` with EXCEPT, REPLACE and APPLY behind it, as nested calls.

use sqlparser::ast::Expr;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::{call, is};

/// The call of the matcher itself: a regular expression, or columns.
pub const COLUMNS: &str = "COLUMNS";
/// A matcher and what is applied to each of its columns.
pub const APPLY: &str = "\u{1}apply";
/// A matcher and the columns it leaves out.
pub const EXCEPT: &str = "\u{1}except";
/// A matcher, then in turns an expression and the column it stands for.
pub const REPLACE: &str = "\u{1}replace";

type Parsed = Result<Expr, ParserError>;

/// Stands before `COLUMNS (`.
pub(super) fn matcher(parser: &mut Parser<'_>) -> Parsed {
    parser.advance_token();
    let mut matcher = call(COLUMNS, listed(parser)?);
    loop {
        if word(parser, "APPLY") {
            let function = match parser.consume_token(&Token::LParen) {
                true => {
                    let function = parser.parse_expr()?;
                    parser.expect_token(&Token::RParen)?;
                    function
                }
                // With parameters, or a lambda: as it is printed.
                false if matches!(parser.peek_nth_token_ref(1).token, Token::LParen | Token::Arrow) => {
                    parser.parse_prefix()?
                }
                false => Expr::Identifier(parser.parse_identifier()?),
            };
            matcher = call(APPLY, vec![matcher, function]);
        } else if !starts_query(parser, 1) && word(parser, "EXCEPT") {
            word(parser, "STRICT");
            let mut args = vec![matcher];
            match parser.peek_token_ref().token {
                Token::LParen => args.extend(listed(parser)?),
                _ => args.push(Expr::Identifier(parser.parse_identifier()?)),
            }
            matcher = call(EXCEPT, args);
        } else if word(parser, "REPLACE") {
            word(parser, "STRICT");
            matcher = call(REPLACE, replaced(parser, matcher)?);
        } else {
            return Ok(matcher);
        }
    }
}

/// `EXCEPT SELECT` and `EXCEPT (SELECT` are set operations.
fn starts_query(parser: &Parser<'_>, at: usize) -> bool {
    let next = &parser.peek_nth_token_ref(at).token;
    let opens = |token: &Token| matches!(token, Token::Word(word) if is(word, "SELECT") || is(word, "WITH"));
    opens(next) || (*next == Token::LParen && opens(&parser.peek_nth_token_ref(at + 1).token))
}

fn word(parser: &mut Parser<'_>, wanted: &str) -> bool {
    let found = matches!(&parser.peek_token_ref().token, Token::Word(word) if is(word, wanted));
    if found {
        parser.advance_token();
    }
    found
}

fn listed(parser: &mut Parser<'_>) -> Result<Vec<Expr>, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let parts = parser.parse_comma_separated(Parser::parse_expr)?;
    parser.expect_token(&Token::RParen)?;
    Ok(parts)
}

/// `(expr AS name, ..)`.
fn replaced(parser: &mut Parser<'_>, matcher: Expr) -> Result<Vec<Expr>, ParserError> {
    let mut args = vec![matcher];
    parser.expect_token(&Token::LParen)?;
    loop {
        args.push(parser.parse_expr()?);
        parser.expect_keyword_is(Keyword::AS)?;
        args.push(Expr::Identifier(parser.parse_identifier()?));
        if !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    parser.expect_token(&Token::RParen)?;
    Ok(args)
}
