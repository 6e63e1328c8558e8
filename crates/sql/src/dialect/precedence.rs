//! How tightly ClickHouse's operators bind where sqlparser's default differs.
//!
//! Invariant: `None` leaves the token to the default. Must not know: what the operators mean.

use sqlparser::dialect::{Dialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, Word};

use super::{DIALECT, INNER_ALIAS, is};

/// `a || b + 1` is `a || (b + 1)`, and `a || b = c` compares: below `+`, above all that compares and shifts.
const CONCATENATION: u8 = 25;

/// Of the next token.
pub(super) fn of_next(parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
    match &parser.peek_token_ref().token {
        // Below OR, above the end of the expression.
        Token::Placeholder(mark) if mark.starts_with('?') => Some(Ok(2)),
        Token::CustomBinaryOperator(operator) if operator == INNER_ALIAS => Some(Ok(1)),
        Token::Number(text, _) if text.starts_with('.') => {
            Some(Ok(DIALECT.prec_value(Precedence::DoubleColon)))
        }
        Token::Colon => Some(Ok(DIALECT.prec_unknown())),
        Token::StringConcat => Some(Ok(CONCATENATION)),
        // Behind DEFAULT it begins the next clause, and `x NOT NULL` is no expression.
        Token::Word(word) if is(word, "NOT") && is_null(parser) => Some(Ok(0)),
        // It ends the values of an UPDATE.
        Token::Word(word) if is(word, "IN") && names_partition(parser) => Some(Ok(0)),
        Token::Word(word) if is_modulo(word, parser) => Some(Ok(DIALECT.prec_value(Precedence::MulDivModOp))),
        _ => None,
    }
}

/// Whether the word behind the next is NULL.
fn is_null(parser: &Parser<'_>) -> bool {
    matches!(&parser.peek_nth_token_ref(1).token, Token::Word(word) if is(word, "NULL"))
}

/// `IN PARTITION 202401`; `IN partition` is a set of that name.
fn names_partition(parser: &Parser<'_>) -> bool {
    let token = |at| &parser.peek_nth_token_ref(at).token;
    let value = match token(2) {
        Token::Number(..) | Token::SingleQuotedString(_) | Token::LParen => true,
        Token::Minus => matches!(token(3), Token::Number(..)),
        Token::Word(word) => is(word, "ID") || *token(3) == Token::LParen,
        _ => false,
    };
    value && matches!(token(1), Token::Word(word) if is(word, "PARTITION"))
}

/// `a MOD b` is an operator; `a mod` at the end of an item is an alias, `mod(a, b)` a function.
fn is_modulo(word: &Word, parser: &Parser<'_>) -> bool {
    let operand = matches!(
        parser.peek_nth_token_ref(1).token,
        Token::Number(..) | Token::Word(Word { keyword: Keyword::NoKeyword, .. }) | Token::LParen
    );
    is(word, "MOD") && operand
}
