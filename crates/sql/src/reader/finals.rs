//! `FROM t AS x FINAL` as `FROM t AS x WITH (FINAL)`: a hint of a table, which sqlparser's grammar has a place for.
//!
//! Invariant: only where tables stand, and only where no name can; `final` stays a name elsewhere. Must not know: which tables
//! there are.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::reader::tokens::is_word;

/// What stands in the hints of a table that is read with FINAL.
pub const FINAL: &str = "FINAL";

/// Begin a place where tables stand, until a clause or another SELECT.
const TABLES: &[&str] = &["FROM", "JOIN"];
/// End such a place, and may follow a table.
const CLAUSES: &[&str] = &[
    "WHERE",
    "PREWHERE",
    "GROUP",
    "ORDER",
    "HAVING",
    "LIMIT",
    "ON",
    "USING",
    "SETTINGS",
    "WINDOW",
    "QUALIFY",
    "WITH",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "OFFSET",
    "FORMAT",
    "INTO",
];
/// May follow a table beside those.
const JOINS: &[&str] = &[
    "JOIN", "LEFT", "RIGHT", "INNER", "FULL", "CROSS", "ANY", "ALL", "ASOF", "SEMI", "ANTI", "GLOBAL",
    "ARRAY", "SAMPLE", "FETCH", "PASTE",
];

fn is_any(token: Option<&TokenWithSpan>, words: &[&str]) -> bool {
    token.is_some_and(|token| words.iter().any(|word| is_word(&token.token, word)))
}

/// The tokens of a query, which have no space among them.
pub(super) fn with_finals(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_word(&token.token, FINAL)) {
        return tokens;
    }
    let mut out = Vec::with_capacity(tokens.len() + 4);
    // Of each parenthesis that is open whether tables stand there.
    let mut among_tables = vec![false];
    for (at, token) in tokens.iter().enumerate() {
        match &token.token {
            Token::LParen => among_tables.push(among_tables.last() == Some(&true)),
            Token::RParen if among_tables.len() > 1 => drop(among_tables.pop()),
            _ if is_any(Some(token), TABLES) => set_last(&mut among_tables, true),
            _ if is_any(Some(token), CLAUSES) || is_word(&token.token, "SELECT") => {
                set_last(&mut among_tables, false)
            }
            _ => {}
        }
        let follows_table = at.checked_sub(1).and_then(|before| tokens.get(before)).is_some_and(|before| {
            matches!(before.token, Token::Word(_) | Token::RParen)
                && !is_any(Some(before), TABLES)
                && !is_any(Some(before), &["AS"])
        });
        let ends_table = match tokens.get(at + 1).map(|next| &next.token) {
            None | Some(Token::EOF | Token::RParen | Token::Comma | Token::SemiColon) => true,
            Some(_) => [CLAUSES, JOINS].iter().any(|words| is_any(tokens.get(at + 1), words)),
        };
        let is_final = is_word(&token.token, FINAL) && among_tables.last() == Some(&true);
        if is_final && follows_table && ends_table {
            let put = |token| TokenWithSpan { token, span: tokens[at].span };
            out.push(put(Token::make_keyword("WITH")));
            out.push(put(Token::LParen));
            let mut word = token.clone();
            if let Token::Word(word) = &mut word.token {
                word.keyword = Keyword::NoKeyword;
            }
            out.push(word);
            out.push(put(Token::RParen));
        } else {
            out.push(token.clone());
        }
    }
    out
}

fn set_last(among_tables: &mut [bool], to: bool) {
    if let Some(last) = among_tables.last_mut() {
        *last = to;
    }
}
