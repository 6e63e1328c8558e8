//! Tuples of nothing and of one element, written with parentheses.
//!
//! Invariant: a list of several elements consumes nothing.

use sqlparser::ast::{Expr, LambdaFunction, LambdaSyntax, OneOrManyWithParens};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use super::{Parsed, call};

/// `()` and `(a,)`, tuples of nothing and of one, and `() -> x`, which the rest of the grammar does not know.
pub(super) fn tuple_of_few(parser: &mut Parser<'_>) -> Option<Parsed> {
    /// How many tokens are looked through for the end of a tuple of one element.
    const TOKENS_MAX: usize = 64;
    if parser.peek_nth_token_ref(1).token == Token::RParen {
        parser.advance_token();
        parser.advance_token();
        if parser.consume_token(&Token::Arrow) {
            let lambda = |body| LambdaFunction {
                params: OneOrManyWithParens::Many(Vec::new()),
                body: Box::new(body),
                syntax: LambdaSyntax::Arrow,
            };
            return Some(parser.parse_expr().map(lambda).map(Expr::Lambda));
        }
        return Some(Ok(call("tuple", vec![])));
    }
    let (mut depth, mut is_comma) = (0_usize, false);
    for at in 0..TOKENS_MAX {
        match &parser.peek_nth_token_ref(at).token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RBracket => depth = depth.saturating_sub(1),
            Token::RParen if depth == 1 => break,
            Token::RParen => depth = depth.saturating_sub(1),
            // A comma that another element stands behind.
            Token::Comma if depth == 1 && parser.peek_nth_token_ref(at + 1).token != Token::RParen => {
                return None;
            }
            Token::EOF | Token::SemiColon => return None,
            _ => {}
        }
        is_comma = depth == 1 && parser.peek_nth_token_ref(at).token == Token::Comma;
    }
    if !is_comma {
        return None;
    }
    parser.advance_token();
    let element = parser.parse_expr();
    Some(element.and_then(|element| {
        parser.expect_token(&Token::Comma)?;
        parser.expect_token(&Token::RParen)?;
        Ok(call("tuple", vec![element]))
    }))
}
