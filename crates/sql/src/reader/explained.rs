//! `(EXPLAIN .. SELECT ..)` in the place of a query, as the table function that it is to ClickHouse:
//! `(SELECT * FROM viewExplain('EXPLAIN ..', 'options', (SELECT ..)))`.
//!
//! Invariant: what is not understood is left as it is, so that the grammar stumbles over it. Must not know: what is explained,
//! and how.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::reader::tokens::is_word;

/// The table function: takes the words before the query, the options as they are written, and the query.
pub const VIEW_EXPLAIN: &str = "viewExplain";

/// What may stand behind EXPLAIN.
const KINDS: &[&[&str]] = &[
    &["PLAN"],
    &["AST"],
    &["SYNTAX"],
    &["PIPELINE"],
    &["ESTIMATE"],
    &["ANALYZE"],
    &["LOAD"],
    &["QUERY", "TREE"],
    &[],
];

/// The tokens with calls in the place of EXPLAIN in parentheses.
pub(super) fn as_calls(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().skip(1).any(|token| is_word(&token.token, "EXPLAIN")) {
        return tokens;
    }
    let mut out = Vec::with_capacity(tokens.len() + 16);
    // How deep the parentheses are, and where those of an EXPLAIN are closed.
    let (mut depth, mut explained) = (0_usize, Vec::new());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        out.push(token.clone());
        at += 1;
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => {
                if explained.last() == Some(&depth) {
                    explained.pop();
                    out.extend([token.clone(), token.clone()]);
                }
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
        if token.token == Token::LParen
            && let Some((words, options, query)) = words_at(&tokens, at)
        {
            let span = token.span;
            let given = [
                Token::make_keyword("SELECT"),
                Token::Mul,
                Token::make_keyword("FROM"),
                Token::make_word(VIEW_EXPLAIN, None),
                Token::LParen,
                Token::SingleQuotedString(words),
                Token::Comma,
                Token::SingleQuotedString(options),
                Token::Comma,
                Token::LParen,
            ];
            out.extend(given.into_iter().map(|token| TokenWithSpan { token, span }));
            explained.push(depth);
            at = query;
        }
    }
    out
}

/// The words from EXPLAIN on, the options behind them, and where the query begins.
fn words_at(tokens: &[TokenWithSpan], explain: usize) -> Option<(String, String, usize)> {
    let is = |at: usize, word: &str| tokens.get(at).is_some_and(|token| is_word(&token.token, word));
    if !is(explain, "EXPLAIN") {
        return None;
    }
    let begins = |kind: &&&[&str]| kind.iter().enumerate().all(|(at, word)| is(explain + 1 + at, word));
    let kind = KINDS.iter().find(begins)?;
    let (options, query) = options_at(tokens, explain + 1 + kind.len());
    let mut first = query;
    while tokens.get(first).is_some_and(|token| token.token == Token::LParen) {
        first += 1;
    }
    let words: Vec<&str> = std::iter::once("EXPLAIN").chain(kind.iter().copied()).collect();
    (is(first, "SELECT") || is(first, "WITH")).then(|| (words.join(" "), options, query))
}

/// `a = 1, b = 'x'` as text, and what stands behind it.
fn options_at(tokens: &[TokenWithSpan], mut at: usize) -> (String, usize) {
    let mut options = Vec::new();
    while let (Some(name), Some(equals), Some(value)) =
        (tokens.get(at), tokens.get(at + 1), tokens.get(at + 2))
        && matches!(name.token, Token::Word(_))
        && equals.token == Token::Eq
        && matches!(value.token, Token::Number(..) | Token::SingleQuotedString(_) | Token::Word(_))
    {
        options.push(format!("{} = {}", name.token, value.token));
        at += 3;
        match tokens.get(at) {
            Some(comma) if comma.token == Token::Comma => at += 1,
            _ => break,
        }
    }
    (options.join(", "), at)
}
