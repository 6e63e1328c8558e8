//! A `*` where the grammar has none: among arguments and elements, as `COLUMNS('')`, and `t.*` as `COLUMNS('', t)`.
//!
//! Invariant: a `*` that is an item of a SELECT stays, unless APPLY is behind it; `count(*)` counts rows. Must not know:
//! which columns there are.

use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

use crate::reader::tokens::is_word;

fn is_any(token: Option<&TokenWithSpan>, words: &[&str]) -> bool {
    token.is_some_and(|token| words.iter().any(|word| is_word(&token.token, word)))
}

fn symbol(token: Token, span: Span) -> TokenWithSpan {
    TokenWithSpan { token, span }
}

/// Words before a parenthesis in which no `*` stands for columns.
const NOT_CALLED: &[&str] =
    &["COUNT", "IN", "AS", "VALUES", "OVER", "USING", "FROM", "JOIN", "ON", "EXCEPT", "REPLACE"];
/// Words before a bracket that opens an array, where others are the name of one.
const BEFORE_ARRAYS: &[&str] = &[
    "SELECT", "DISTINCT", "AND", "OR", "NOT", "IN", "WHERE", "HAVING", "WHEN", "THEN", "ELSE", "BY",
    "BETWEEN",
];

/// `f(*)`, `(*, 1)` and `[t.*]` with calls in the places of the stars.
pub(super) fn as_arguments(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| token.token == Token::Mul) {
        return tokens;
    }
    let mut out: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len() + 3);
    // Of each open bracket whether a `*` in it stands for columns.
    let mut open: Vec<bool> = vec![];
    for (at, token) in tokens.iter().enumerate() {
        match &token.token {
            Token::LParen => open.push(holds_expressions(&tokens, at)),
            Token::LBracket => open.push(opens_array(&tokens, at)),
            Token::RParen | Token::RBracket => drop(open.pop()),
            Token::Mul if open.last() == Some(&true) && ends_element(tokens.get(at + 1)) => {
                if let Some(table) = table_before(&tokens, at) {
                    out.truncate(out.len().saturating_sub(2));
                    out.extend(columns_of(table, token.span));
                    continue;
                }
                if begins_element(&tokens, at) {
                    out.extend(all_columns(token.span));
                    continue;
                }
            }
            _ => {}
        }
        out.push(token.clone());
    }
    out
}

/// Whether a parenthesis holds arguments or the elements of a tuple.
fn holds_expressions(tokens: &[TokenWithSpan], at: usize) -> bool {
    if is_any(tokens.get(at + 1), &["SELECT", "WITH", "FROM"]) {
        return false;
    }
    let Some(before) = at.checked_sub(1) else { return false };
    // `SELECT (*)` the grammar knows.
    let is_alone = tokens.get(at + 2).is_some_and(|token| token.token == Token::RParen);
    match &tokens[before].token {
        Token::Word(_) if is_any(tokens.get(before), &["SELECT", "DISTINCT"]) => !is_alone,
        Token::Word(_) => !is_any(tokens.get(before), NOT_CALLED) && !names_target(tokens, before),
        _ => true,
    }
}

/// Whether this is the table of an INSERT, which has a list of columns: `INTO t (*)`, `INTO db.t (*)`.
fn names_target(tokens: &[TokenWithSpan], mut at: usize) -> bool {
    while at >= 2 && tokens[at - 1].token == Token::Period {
        at -= 2;
    }
    at.checked_sub(1).is_some_and(|before| is_any(tokens.get(before), &["INTO", "TABLE"]))
}

fn opens_array(tokens: &[TokenWithSpan], at: usize) -> bool {
    match at.checked_sub(1).map(|before| &tokens[before].token) {
        Some(Token::Word(_)) => is_any(tokens.get(at - 1), BEFORE_ARRAYS),
        Some(Token::RParen | Token::RBracket) | None => false,
        Some(_) => true,
    }
}

fn begins_element(tokens: &[TokenWithSpan], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| &tokens[before].token);
    matches!(before, Some(Token::LParen | Token::LBracket | Token::Comma))
}

fn ends_element(next: Option<&TokenWithSpan>) -> bool {
    next.is_some_and(|next| matches!(next.token, Token::RParen | Token::RBracket | Token::Comma))
        || is_any(next, &["EXCEPT", "REPLACE", "APPLY"])
}

/// The table of `t.*` at the beginning of an element.
fn table_before(tokens: &[TokenWithSpan], at: usize) -> Option<&TokenWithSpan> {
    let name = at.checked_sub(2).filter(|_| tokens[at - 1].token == Token::Period)?;
    let is_name = matches!(tokens[name].token, Token::Word(_)) && begins_element(tokens, name);
    is_name.then(|| &tokens[name])
}

/// `* EXCEPT (a) APPLY f` as `COLUMNS('') EXCEPT (a) APPLY f`.
pub(super) fn applied(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut out = Vec::with_capacity(tokens.len());
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| tokens.get(before));
        let is_item = before.is_some_and(|before| before.token == Token::Comma)
            || is_any(before, &["SELECT", "DISTINCT"]);
        if token.token == Token::Mul && is_item && is_applied(&tokens, at + 1) {
            out.extend(all_columns(token.span));
        } else {
            out.push(token.clone());
        }
    }
    out
}

/// Whether APPLY is among what follows a star.
fn is_applied(tokens: &[TokenWithSpan], mut at: usize) -> bool {
    while is_any(tokens.get(at), &["EXCEPT", "REPLACE"]) {
        at += 1;
        let grouped = tokens.get(at).is_some_and(|token| token.token == Token::LParen);
        at = if grouped { end_of(tokens, at + 1, |_| false) + 1 } else { at + 1 };
    }
    is_any(tokens.get(at), &["APPLY"])
}

/// `COLUMNS('')`.
fn all_columns(span: Span) -> [TokenWithSpan; 4] {
    let pattern = symbol(Token::SingleQuotedString(String::new()), span);
    let name = symbol(Token::make_keyword("COLUMNS"), span);
    [name, symbol(Token::LParen, span), pattern, symbol(Token::RParen, span)]
}

/// `COLUMNS('', t)`.
fn columns_of(table: &TokenWithSpan, span: Span) -> impl Iterator<Item = TokenWithSpan> {
    let [name, opens, pattern, closes] = all_columns(span);
    [name, opens, pattern, symbol(Token::Comma, span), table.clone(), closes].into_iter()
}

/// Where what starts here ends: before a closing parenthesis that was not opened, or where `ends` says so at the top.
pub(super) fn end_of(tokens: &[TokenWithSpan], from: usize, ends: impl Fn(usize) -> bool) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        match &token.token {
            Token::RParen | Token::RBracket | Token::RBrace if depth == 0 => return at,
            Token::SemiColon | Token::EOF => return at,
            _ if depth == 0 && ends(at) => return at,
            Token::LParen | Token::LBracket | Token::LBrace => depth += 1,
            Token::RParen | Token::RBracket | Token::RBrace => depth -= 1,
            _ => {}
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    fn read(text: &str) -> String {
        crate::parse_query(text).map_or_else(|error| error.message, |query| query.to_string())
    }

    #[test]
    fn stars_among_elements_are_columns() {
        for (written, wanted) in [
            ("SELECT (*, 1) FROM t", "SELECT (`COLUMNS`(''), 1) FROM t"),
            ("SELECT [*] FROM t", "SELECT [`COLUMNS`('')] FROM t"),
            ("SELECT f(t.*, 1) FROM t", "SELECT f(`COLUMNS`('', t), 1) FROM t"),
            ("SELECT count(*), a * (b) FROM t", "SELECT count(*), a * (b) FROM t"),
            ("SELECT x FROM (SELECT a, *, b FROM t)", "SELECT x FROM (SELECT a, *, b FROM t)"),
        ] {
            assert_eq!(read(written), wanted, "{written}");
        }
    }
}
