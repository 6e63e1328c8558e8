//! Clauses that ClickHouse ends where the grammar goes on, or begins where it has none: SELECTs with LIMIT before a UNION,
//! aliases behind WHERE, GROUP BY and ORDER BY, WITH TOTALS without GROUP BY, a table called `table`.
//!
//! Invariant: tokens have no space among them, and keep their positions. Must not know: what the clauses mean.

use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Word};

use crate::dialect::INNER_ALIAS;
use crate::reader::tokens::is_word;

fn is_any(token: Option<&TokenWithSpan>, words: &[&str]) -> bool {
    token.is_some_and(|token| words.iter().any(|word| is_word(&token.token, word)))
}

/// Tokens in which each of these clauses is one that the grammar has.
pub(crate) fn ended(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    with_totals(limited_arms(listed_arms(named_table(tokens))))
}

/// `FROM table` as a name: the grammar takes the word for another.
fn named_table(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    for at in 1..tokens.len() {
        let is_name = is_any(tokens.get(at), &["table"])
            && is_any(tokens.get(at - 1), &["FROM", "JOIN"])
            && !tokens.get(at + 1).is_some_and(|next| matches!(next.token, Token::LParen | Token::Period));
        if is_name {
            tokens[at].token = Token::make_word("table", Some('`'));
        }
    }
    tokens
}

/// Words that join SELECTs. EXCEPT may stand behind a `*`, too: it joins only behind a clause that ends a SELECT.
pub(crate) const JOINING: &[&str] = &["UNION", "EXCEPT", "INTERSECT"];

/// Clauses behind which a SELECT cannot go on with UNION in the grammar.
const ENDING: &[&str] = &["LIMIT", "ORDER", "OFFSET", "FETCH", "SETTINGS"];

/// `.. UNION ALL WITH .. SELECT ..` as `.. UNION ALL (WITH .. SELECT ..)`: a list begins a query to the grammar. What stands
/// behind the SELECT belongs to it, as in ClickHouse.
fn listed_arms(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is = |at: Option<usize>, words: &[&str]| at.is_some_and(|at| is_any(tokens.get(at), words));
    let begins = |at: usize| {
        let before = at.checked_sub(1);
        let joins = is(before, JOINING) || is(before, &["ALL", "DISTINCT"]) && is(at.checked_sub(2), JOINING);
        joins && is(Some(at), &["WITH"])
    };
    if !(0..tokens.len()).any(begins) {
        return tokens;
    }
    let mut out = Vec::with_capacity(tokens.len() + 4);
    // Of each open parenthesis whether an arm that began so is open in it.
    let mut open = vec![false];
    for (at, token) in tokens.iter().enumerate() {
        let last = open.len() - 1;
        let closes = match &token.token {
            Token::RParen | Token::RBracket | Token::SemiColon | Token::EOF => true,
            _ => is_any(Some(token), JOINING),
        };
        if closes && std::mem::take(&mut open[last]) {
            out.push(symbol(Token::RParen, token.span));
        }
        match &token.token {
            Token::LParen | Token::LBracket => open.push(false),
            Token::RParen | Token::RBracket if last > 0 => drop(open.pop()),
            _ if begins(at) => {
                out.push(symbol(Token::LParen, token.span));
                open[last] = true;
            }
            _ => {}
        }
        out.push(token.clone());
    }
    if let (Some(true), Some(token)) = (open.first(), tokens.last()) {
        out.push(symbol(Token::RParen, token.span));
    }
    out
}

/// One SELECT of a chain, or a parenthesis around other things.
#[derive(Default)]
struct Level {
    /// Where its SELECT begins in what is written so far.
    starts: Option<usize>,
    has_ended: bool,
}

/// `SELECT .. LIMIT 1 UNION ALL ..` as `(SELECT .. LIMIT 1) UNION ALL ..`.
fn limited_arms(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_any(Some(token), JOINING)) {
        return tokens;
    }
    let mut out: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len() + 4);
    let mut levels = vec![Level::default()];
    for (at, token) in tokens.iter().enumerate() {
        let is_nested = levels.len() > 1;
        let Some(level) = levels.last_mut() else { return tokens };
        match &token.token {
            Token::LParen | Token::LBracket => {
                out.push(token.clone());
                levels.push(Level::default());
                continue;
            }
            Token::RParen | Token::RBracket if is_nested => drop(levels.pop()),
            Token::RParen | Token::RBracket => {}
            _ if is_any(Some(token), &["SELECT", "WITH"]) && level.starts.is_none() => {
                level.starts = Some(out.len());
            }
            _ if is_any(Some(token), ENDING) && level.starts.is_some() && !is_call(&tokens, at) => {
                level.has_ended = true;
            }
            _ if level.has_ended && is_any(Some(token), JOINING) => {
                if let Some(start) = level.starts {
                    out.insert(start, symbol(Token::LParen, out[start].span));
                    out.push(symbol(Token::RParen, token.span));
                }
                *level = Level::default();
            }
            _ if is_any(Some(token), &["UNION", "INTERSECT"]) => *level = Level::default(),
            _ => {}
        }
        out.push(token.clone());
    }
    out
}

fn is_call(tokens: &[TokenWithSpan], at: usize) -> bool {
    tokens.get(at + 1).is_some_and(|next| next.token == Token::LParen)
        || at.checked_sub(1).is_some_and(|before| tokens[before].token == Token::Period)
}

fn symbol(token: Token, span: Span) -> TokenWithSpan {
    TokenWithSpan { token, span }
}

/// `SELECT count() FROM t WITH TOTALS` as `.. GROUP BY tuple() WITH TOTALS`.
fn with_totals(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_totals = |at: usize| is_any(tokens.get(at), &["WITH"]) && is_any(tokens.get(at + 1), &["TOTALS"]);
    if !(0..tokens.len()).any(is_totals) {
        return tokens;
    }
    let mut out = Vec::with_capacity(tokens.len() + 5);
    let mut groups = vec![false];
    for (at, token) in tokens.iter().enumerate() {
        let last = groups.len() - 1;
        match &token.token {
            Token::LParen => groups.push(false),
            Token::RParen if last > 0 => {
                groups.pop();
            }
            word if is_word(word, "SELECT") => groups[last] = false,
            word if is_word(word, "GROUP") => groups[last] = true,
            _ if is_totals(at) && !groups[last] => {
                out.extend(
                    ["GROUP", "BY", "tuple"].map(|word| symbol(Token::make_keyword(word), token.span)),
                );
                out.extend([Token::LParen, Token::RParen].map(|paren| symbol(paren, token.span)));
            }
            _ => {}
        }
        out.push(token.clone());
    }
    out
}

#[derive(Clone, Copy, PartialEq)]
enum Within {
    /// An expression or a call: `AS` names a part of it.
    Expression,
    /// A clause of keys or of a condition, where it does so, too.
    Clause,
    Other,
}

/// Clauses in which `AS` names an expression.
const NAMING: &[&str] = &["WHERE", "PREWHERE", "HAVING", "QUALIFY", "GROUP", "ORDER"];
/// Words that end them.
const NAMING_ENDS: &[&str] = &[
    "SELECT",
    "FROM",
    "JOIN",
    "ON",
    "USING",
    "LIMIT",
    "SETTINGS",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "WINDOW",
    "FORMAT",
    "INTO",
    "WITH",
    "ENGINE",
    "PARTITION",
    "PRIMARY",
    "SAMPLE",
    "TTL",
    "COMMENT",
];

/// Inside the parentheses of an expression or call, and in clauses of keys and conditions, `AS` becomes an operator.
pub(crate) fn mark_inner_aliases(tokens: &mut [TokenWithSpan]) {
    let (mut open, mut selects) = (vec![Within::Other], vec![false]);
    for at in 0..tokens.len() {
        let last = open.len() - 1;
        match &tokens[at].token {
            Token::LParen => {
                open.push(parens_at(tokens, at));
                selects.push(false);
            }
            Token::RParen if last > 0 => {
                open.pop();
                selects.pop();
            }
            word if is_word(word, "AS") && open[last] != Within::Other => {
                tokens[at].token = Token::CustomBinaryOperator(INNER_ALIAS.to_owned());
            }
            _ if open[last] == Within::Expression => {}
            word if is_word(word, "SELECT") => (open[last], selects[last]) = (Within::Other, true),
            _ if selects[last] && is_any(tokens.get(at), NAMING) => open[last] = Within::Clause,
            _ if is_any(tokens.get(at), NAMING_ENDS) => open[last] = Within::Other,
            _ => {}
        }
    }
}

/// Words before a parenthesis behind which `AS` keeps its meaning.
const NOT_EXPRESSIONS: &[&str] = &["CAST", "FROM", "JOIN", "REPLACE", "EXCEPT", "AS", "USING", "INTERPOLATE"];

fn parens_at(tokens: &[TokenWithSpan], at: usize) -> Within {
    if is_any(tokens.get(at + 1), &["SELECT", "WITH", "FROM"]) {
        return Within::Other;
    }
    match at.checked_sub(1).map(|before| &tokens[before].token) {
        Some(Token::Word(Word { value, quote_style: None, .. }))
            if NOT_EXPRESSIONS.iter().any(|word| word.eq_ignore_ascii_case(value)) =>
        {
            Within::Other
        }
        // A parenthesis that opens a statement, or another parenthesis at its start, holds a query.
        None => Within::Other,
        Some(_) => Within::Expression,
    }
}

#[cfg(test)]
mod tests {
    fn read(text: &str) -> String {
        crate::parse_query(text).map_or_else(|error| error.message, |query| query.to_string())
    }

    #[test]
    fn selects_with_limits_stand_before_unions() {
        for (written, wanted) in [
            ("SELECT 1 LIMIT 1 UNION ALL SELECT 2", "(SELECT 1 LIMIT 1) UNION ALL SELECT 2"),
            (
                "SELECT * FROM (SELECT 1 AS x ORDER BY x LIMIT 1 UNION ALL SELECT 2)",
                "SELECT * FROM ((SELECT 1 AS x ORDER BY x LIMIT 1) UNION ALL SELECT 2)",
            ),
            ("SELECT * EXCEPT (b) FROM t ORDER BY a", "SELECT * EXCEPT (b) FROM t ORDER BY a"),
            (
                "SELECT a FROM t UNION ALL SELECT b FROM u LIMIT 1",
                "SELECT a FROM t UNION ALL SELECT b FROM u LIMIT 1",
            ),
            (
                "SELECT 1 LIMIT 1 UNION ALL (SELECT 2 LIMIT 2 UNION ALL (SELECT 3))",
                "(SELECT 1 LIMIT 1) UNION ALL ((SELECT 2 LIMIT 2) UNION ALL (SELECT 3))",
            ),
            (
                "SELECT * FROM (SELECT 1 AS x UNION ALL WITH t AS (SELECT 2 AS x) SELECT x FROM t ORDER BY x) WHERE x",
                "SELECT * FROM (SELECT 1 AS x UNION ALL (WITH t AS (SELECT 2 AS x) SELECT x FROM t ORDER BY x)) WHERE x",
            ),
            ("SELECT a FROM table WHERE a", "SELECT a FROM `table` WHERE a"),
        ] {
            assert_eq!(read(written), wanted, "{written}");
        }
    }

    #[test]
    fn conditions_and_keys_have_aliases() {
        for text in [
            "SELECT 1 WHERE 1 AS x",
            "SELECT a FROM t GROUP BY a % 2 AS k WITH TOTALS ORDER BY k AS z DESC",
            "SELECT a FROM t AS u JOIN v AS w ON u.a = w.a WHERE (u.b AS c) > 1 AS d HAVING d",
        ] {
            assert!(crate::parse_query(text).is_ok(), "{text}: {}", read(text));
        }
    }
}
