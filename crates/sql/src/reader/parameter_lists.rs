//! `f(x, y -> x + y, ..)` as `f((x, y) -> x + y, ..)`: every name before an arrow is a parameter, as in ClickHouse.
//!
//! Invariant: an arrow behind one name, or behind names in parentheses, stays. Must not know: what functions take.

use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The tokens with parentheses around names that stand before an arrow.
pub(super) fn with_parentheses(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is = |at: usize, wanted: &Token| tokens.get(at).is_some_and(|token| token.token == *wanted);
    let is_name = |at: usize| tokens.get(at).is_some_and(|token| matches!(token.token, Token::Word(_)));
    let mut lists: Vec<(usize, usize)> = vec![];
    for arrow in (2..tokens.len()).filter(|at| is(*at, &Token::Arrow)) {
        let mut first = arrow - 1;
        while first >= 2 && is_name(first) && is(first - 1, &Token::Comma) && is_name(first - 2) {
            first -= 2;
        }
        let opens_call = first >= 2 && is(first - 1, &Token::LParen);
        let is_called = opens_call && (is_name(first - 2) || is(first - 2, &Token::RParen));
        if first + 1 < arrow && is_called {
            lists.push((first, arrow));
        }
    }
    if lists.is_empty() {
        return tokens;
    }
    let mut out = Vec::with_capacity(tokens.len() + 2 * lists.len());
    let mut lists = lists.into_iter().peekable();
    for (at, token) in tokens.iter().enumerate() {
        let paren = |paren: Token| TokenWithSpan { token: paren, span: token.span };
        if let Some((first, arrow)) = lists.peek().copied() {
            if at == first {
                out.push(paren(Token::LParen));
            }
            if at == arrow {
                out.push(paren(Token::RParen));
                lists.next();
            }
        }
        out.push(token.clone());
    }
    out
}
