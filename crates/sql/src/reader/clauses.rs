//! ClickHouse's clauses that sqlparser's grammar has no place for, carried through it in others' clothes.
//!
//! `ARRAY JOIN a, b AS x` becomes `ARRAY JOIN (SELECT a, b AS x)`; `ANY LEFT JOIN t ON c` becomes
//! `ASOF JOIN t MATCH_CONDITION ('ANY LEFT') ON c`, and `ALL LEFT JOIN` `LEFT OUTER JOIN`; `LIMIT n BY k` and `LIMIT n WITH TIES` become the last keys of
//! ORDER BY; `STEP s STALENESS r` of WITH FILL becomes `STEP _staleness(s, r)`. Invariant: what is not understood is left as it is, so that the grammar stumbles over it.

use sqlparser::ast::Expr;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

use crate::dialect::{name_of, plain_args, text_of};
use crate::reader::clause_ends::{JOINING, ended};
use crate::reader::explained;
use crate::reader::finals::with_finals;
use crate::reader::parameter_lists::with_parentheses;
use crate::reader::stars::{self, end_of};
use crate::reader::tokens::is_word;

/// Stands behind the keys of ORDER BY for `LIMIT n BY key, ..`: takes n, the rows to skip, the keys.
pub const LIMIT_BY: &str = "_limitBy";

/// Begins a count that is a text within a mark.
pub const COUNT_MARK: char = '\u{1}';
/// Stands there for `LIMIT n WITH TIES`: takes n and the rows to skip.
pub const WITH_TIES: &str = "_withTies";
/// Stands there for WITH FILL of a key: takes the key's place among the keys, FROM, TO, STEP and STALENESS, each maybe NULL.
pub const FILL: &str = "_fill";
/// Stands for STEP of WITH FILL where it has STALENESS: takes STEP, which is NULL where there is none, and STALENESS.
pub const STALENESS: &str = "_staleness";
/// Stands there for INTERPOLATE of a column: takes the column and its value; without them it means all columns.
pub const INTERPOLATE: &str = "_interpolate";

/// Stands for ORDER BY ALL: every column of the result.
pub const ORDER_BY_ALL: &str = "_orderByAll";

/// Stands around the columns of USING where ON is put in its place.
pub const USING: &str = "_using";

/// Stands for the condition of an ASOF JOIN: takes its inequality, and what only the left side is asked.
pub const ASOF: &str = "_asof";

/// How many partners a row finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strictness {
    /// The nearest one of those with equal keys.
    Asof,
    /// One of those with equal keys.
    Any,
    /// One, and rows without one go.
    Semi,
    /// None: rows with one go.
    Anti,
}

/// Whose rows a join keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// All of the left.
    Left,
    /// All of the right.
    Right,
    /// Those that found a partner.
    Inner,
    /// All of both.
    Full,
}

impl Strictness {
    /// Reads `ANY LEFT`.
    pub fn parse(text: &str) -> Option<(Strictness, Side)> {
        let (strictness, side) = text.split_once(' ')?;
        let strictness = match strictness {
            "ASOF" => Strictness::Asof,
            "ANY" => Strictness::Any,
            "SEMI" => Strictness::Semi,
            "ANTI" => Strictness::Anti,
            _ => return None,
        };
        let side = match side {
            "LEFT" => Side::Left,
            "RIGHT" => Side::Right,
            "INNER" => Side::Inner,
            "FULL" => Side::Full,
            _ => return None,
        };
        Some((strictness, side))
    }
}

/// STEP and STALENESS of WITH FILL that has STALENESS, from what stands for its STEP.
pub fn stale_step(step: &Expr) -> Option<(Expr, Expr)> {
    let Expr::Function(function) = step else { return None };
    match <[Expr; 2]>::try_from(plain_args(function)) {
        Ok([step, stale]) if name_of(function) == STALENESS => Some((step, stale)),
        _ => None,
    }
}

/// The text in which a join's strictness travels through the grammar.
pub fn word_of(condition: &Expr) -> Option<&str> {
    text_of(condition)
}

/// Carries the clauses of all queries in these tokens, which have no space among them.
pub(crate) fn carried(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let tokens = explained::as_calls(tokens);
    let has =
        |words: &[&str]| tokens.iter().any(|token| words.iter().any(|word| is_word(&token.token, word)));
    let (joins, limits, stale) = (has(&["JOIN"]), has(&["LIMIT"]), has(&["STALENESS"]));
    let (quantified, applied) = (has(&["ANY", "ALL", "SOME"]), has(&["APPLY"]));
    let tokens = ended(with_finals(tokens));
    let tokens = if quantified { plain_calls(tokens) } else { tokens };
    let tokens = stars::as_arguments(with_parentheses(tokens));
    let tokens = if applied { stars::applied(tokens) } else { tokens };
    let tokens = if joins { strict_joins(array_joins(tokens)) } else { tokens };
    let tokens = if stale { with_staleness(tokens) } else { tokens };
    if limits { with_limits(&tokens) } else { tokens }
}

/// Words that end a key WITH FILL.
const BEHIND_FILL: &[&str] = &[
    "INTERPOLATE",
    "LIMIT",
    "OFFSET",
    "FETCH",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "SETTINGS",
    "FORMAT",
    "INTO",
];

/// `WITH FILL STEP 1 STALENESS 3` as `WITH FILL STEP _staleness(1, 3)`: the grammar has no STALENESS.
fn with_staleness(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut out = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let ends = |at: usize| tokens[at].token == Token::Comma || is_any(tokens.get(at), BEHIND_FILL);
        let is = |at: usize, word: &str| is_any(tokens.get(at), &[word]);
        let found = if is(at, "WITH") && is(at + 1, "FILL") {
            end_of(&tokens, at + 2, |at| ends(at) || is(at, "STALENESS"))
        } else {
            at
        };
        if !is(found, "STALENESS") || found == at {
            out.push(tokens[at].clone());
            at += 1;
            continue;
        }
        let span = tokens[found].span;
        let step = end_of(&tokens, at + 2, |at| at == found || is(at, "STEP"));
        let end = end_of(&tokens, found + 1, ends);
        out.extend_from_slice(&tokens[at..step]);
        let name = symbol(Token::make_word(STALENESS, Some('`')), span);
        out.extend([word("STEP", span), name, symbol(Token::LParen, span)]);
        match step == found {
            true => out.push(word("NULL", span)),
            false => out.extend_from_slice(&tokens[step + 1..found]),
        }
        out.push(symbol(Token::Comma, span));
        out.extend_from_slice(&tokens[found + 1..end]);
        out.push(symbol(Token::RParen, span));
        at = end;
    }
    out
}

fn word(text: &str, span: Span) -> TokenWithSpan {
    TokenWithSpan { token: Token::make_keyword(text), span }
}

fn symbol(token: Token, span: Span) -> TokenWithSpan {
    TokenWithSpan { token, span }
}

fn is_any(token: Option<&TokenWithSpan>, words: &[&str]) -> bool {
    token.is_some_and(|token| words.iter().any(|word| is_word(&token.token, word)))
}

/// `2 * any(x)`: behind an operator `any`, `all` and `some` begin a comparison with a query, or else are functions.
fn plain_calls(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    for at in 0..tokens.len() {
        let is_call = is_any(tokens.get(at), &["ANY", "ALL", "SOME"])
            && tokens.get(at + 1).is_some_and(|next| next.token == Token::LParen)
            && !is_any(tokens.get(at + 2), &["SELECT", "WITH", "FROM"])
            // `UNION ALL ((SELECT ..) ..)`.
            && !at.checked_sub(1).is_some_and(|before| is_any(tokens.get(before), JOINING));
        if let (true, Token::Word(word)) = (is_call, &mut tokens[at].token) {
            word.keyword = Keyword::NoKeyword;
        }
    }
    tokens
}

/// Words that end the list of ARRAY JOIN.
const BEHIND_ARRAYS: &[&str] = &[
    "PREWHERE",
    "WHERE",
    "GROUP",
    "HAVING",
    "ORDER",
    "LIMIT",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "SETTINGS",
    "WINDOW",
    "QUALIFY",
    "INTO",
    "OFFSET",
    "FETCH",
    "JOIN",
    "INNER",
    "FULL",
    "CROSS",
    "ASOF",
    "SEMI",
    "ANTI",
    "GLOBAL",
    "PASTE",
];

/// Of these only when they are no call.
const BEHIND_ARRAYS_UNLESS_CALLED: &[&str] = &["LEFT", "RIGHT", "ANY", "ALL", "ARRAY", "FORMAT"];

fn array_joins(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut out = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let found = is_any(tokens.get(at), &["ARRAY"]) && is_any(tokens.get(at + 1), &["JOIN"]);
        out.push(tokens[at].clone());
        at += 1;
        if !found {
            continue;
        }
        let span = tokens[at].span;
        out.push(tokens[at].clone());
        let ends = |at: usize| {
            is_any(tokens.get(at), BEHIND_ARRAYS)
                || is_any(tokens.get(at), BEHIND_ARRAYS_UNLESS_CALLED)
                    && tokens.get(at + 1).is_none_or(|next| next.token != Token::LParen)
        };
        let end = end_of(&tokens, at + 1, ends);
        out.extend([symbol(Token::LParen, span), word("SELECT", span)]);
        out.extend(array_joins(tokens[at + 1..end].to_vec()));
        out.push(symbol(Token::RParen, span));
        at = end;
    }
    out
}

/// Words that may stand before JOIN.
const BEFORE_JOIN: &[&str] =
    &["GLOBAL", "ANY", "ALL", "ASOF", "SEMI", "ANTI", "LEFT", "RIGHT", "INNER", "FULL", "OUTER"];

fn strict_joins(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut out = Vec::with_capacity(tokens.len());
    // Where a join's condition starts, and what is put before it.
    let mut conditions: Vec<(usize, String)> = vec![];
    let mut at = 0;
    while at < tokens.len() {
        if let Some(found) = conditions.iter().position(|(place, _)| *place == at) {
            let (span, text) = (tokens[at].span, conditions.swap_remove(found).1);
            out.extend([word("MATCH_CONDITION", span), symbol(Token::LParen, span)]);
            out.extend([symbol(Token::SingleQuotedString(text), span), symbol(Token::RParen, span)]);
        }
        let words = tokens[at..].iter().take_while(|token| is_any(Some(*token), BEFORE_JOIN)).count();
        let span = tokens[at].span;
        match strictness(&tokens, at, words) {
            Some(Strict::All(side)) => {
                let said = match side {
                    Some("INNER") | None => vec!["INNER"],
                    Some(side) => vec![side, "OUTER"],
                };
                out.extend(said.into_iter().map(|said| word(said, span)));
                out.push(tokens[at + words].clone());
                at += words + 1;
            }
            Some(Strict::Carried(text, condition)) => {
                conditions.push((condition, text));
                out.extend([word("ASOF", span), tokens[at + words].clone()]);
                at += words + 1;
            }
            None => {
                let is_join = words > 0 && is_any(tokens.get(at + words), &["JOIN"]);
                if !(is_join && is_any(tokens.get(at), &["INNER", "OUTER"])) {
                    out.push(tokens[at].clone());
                }
                at += 1;
            }
        }
    }
    out
}

enum Strict {
    /// An ordinary join.
    All(Option<&'static str>),
    /// Strictness and side; where the condition starts.
    Carried(String, usize),
}

fn strictness(tokens: &[TokenWithSpan], at: usize, words: usize) -> Option<Strict> {
    if words == 0 || !is_any(tokens.get(at + words), &["JOIN"]) {
        return None;
    }
    let said = |word: &'static str| tokens[at..at + words].iter().any(|token| is_word(&token.token, word));
    let one = |words: &[&'static str]| words.iter().copied().find(|word| said(word));
    let strict = one(&["ASOF", "ANY", "SEMI", "ANTI", "ALL"])?;
    let side = one(&["LEFT", "RIGHT", "INNER", "FULL"]);
    if strict == "ALL" {
        return Some(Strict::All(side));
    }
    if strict == "ASOF" && side == Some("FULL") {
        return None;
    }
    let side = side.unwrap_or(if ["ANY", "ASOF"].contains(&strict) { "INNER" } else { "LEFT" });
    let from = at + words + 1;
    let condition = end_of(tokens, from, |at| is_any(tokens.get(at), &["ON", "USING"]));
    is_any(tokens.get(condition), &["ON", "USING"])
        .then(|| Strict::Carried(format!("{strict} {side}"), condition))
}

/// Words that end a count of LIMIT or the keys behind BY.
const BEHIND_LIMIT: &[&str] =
    &["OFFSET", "BY", "WITH", "LIMIT", "UNION", "EXCEPT", "INTERSECT", "SETTINGS", "FORMAT", "INTO", "FETCH"];

fn with_limits(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let mut out = Vec::with_capacity(tokens.len());
    // Of each open level whether ORDER BY was seen.
    let mut ordered = vec![false];
    let mut at = 0;
    while at < tokens.len() {
        let last = ordered.len() - 1;
        match &tokens[at].token {
            Token::LParen => ordered.push(false),
            Token::RParen if last > 0 => {
                ordered.pop();
            }
            token if is_word(token, "SELECT") => ordered[last] = false,
            token if is_word(token, "ORDER") && is_any(tokens.get(at + 1), &["BY"]) => ordered[last] = true,
            token if is_word(token, "LIMIT") => {
                if let Some((mark, end)) = mark(tokens, at) {
                    let span = tokens[at].span;
                    match ordered[last] {
                        true => {
                            all_as_key(&mut out);
                            out.push(symbol(Token::Comma, span));
                        }
                        false => out.extend([word("ORDER", span), word("BY", span)]),
                    }
                    ordered[last] = true;
                    out.extend(mark);
                    at = end;
                    continue;
                }
            }
            _ => {}
        }
        out.push(tokens[at].clone());
        at += 1;
    }
    out
}

/// `ORDER BY ALL` at the end as `ORDER BY _orderByAll()`: behind it the grammar has no further key.
fn all_as_key(out: &mut Vec<TokenWithSpan>) {
    let mut at = out.len();
    while at > 0 && is_any(out.get(at - 1), &["ASC", "DESC", "NULLS", "FIRST", "LAST"]) {
        at -= 1;
    }
    let is_all =
        at >= 3 && ["ORDER", "BY", "ALL"].iter().zip(at - 3..).all(|(word, at)| is_any(out.get(at), &[word]));
    if !is_all {
        return;
    }
    let span = out[at - 1].span;
    let name = symbol(Token::make_word(ORDER_BY_ALL, Some('`')), span);
    out.splice(at - 1..at, [name, symbol(Token::LParen, span), symbol(Token::RParen, span)]);
}

/// The call that stands for a LIMIT with BY or WITH TIES, and where that clause ends.
fn mark(tokens: &[TokenWithSpan], limit: usize) -> Option<(Vec<TokenWithSpan>, usize)> {
    let ends = |at: usize| tokens[at].token == Token::Comma || is_any(tokens.get(at), BEHIND_LIMIT);
    let span = tokens[limit].span;
    let first = limit + 1..end_of(tokens, limit + 1, ends);
    let mut at = first.end;
    let (mut fetch, mut skip) = (first.clone(), None);
    if tokens.get(at).is_some_and(|token| token.token == Token::Comma) {
        fetch = at + 1..end_of(tokens, at + 1, ends);
        at = fetch.end;
        skip = Some(first);
    } else if is_any(tokens.get(at), &["OFFSET"]) {
        let count = at + 1..end_of(tokens, at + 1, ends);
        at = count.end;
        skip = Some(count);
    }
    let (name, keys) = match tokens.get(at) {
        token if is_any(token, &["BY"]) => {
            let keys = at + 1..end_of(tokens, at + 1, |at| is_any(tokens.get(at), BEHIND_LIMIT));
            at = keys.end;
            (LIMIT_BY, Some(keys))
        }
        token if is_any(token, &["WITH"]) && is_any(tokens.get(at + 1), &["TIES"]) => {
            at += 2;
            (WITH_TIES, None)
        }
        _ => return None,
    };
    let mut call = vec![symbol(Token::make_word(name, Some('`')), span), symbol(Token::LParen, span)];
    call.extend_from_slice(&tokens[fetch]);
    call.push(symbol(Token::Comma, span));
    match skip {
        Some(skip) => call.extend_from_slice(&tokens[skip]),
        None => call.push(symbol(Token::Number("0".to_owned(), false), span)),
    }
    if let Some(keys) = keys {
        call.push(symbol(Token::Comma, span));
        call.extend_from_slice(&tokens[keys]);
    }
    call.push(symbol(Token::RParen, span));
    Some((call, at))
}
