//! Statement text -> tokens that sqlparser's grammar can read.
//!
//! Literals are unescaped as ClickHouse does; `WITH expr AS name` becomes a marked CTE; `AS` inside an expression
//! becomes an operator; `GLOBAL` before IN goes; `12ab` is a word, `0b11` a number. Invariant: token positions stay
//! those of the text.

use std::borrow::Cow;

use model::ErrorCode;
use model::saturating::{u64_of, usize_of};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

use crate::dialect::DIALECT;
use lexer::constants::{self, Cut};
use lexer::error::{Result, SqlError};
use lexer::escape::{bytes_in_digits, unescape};
use lexer::joined::{join_bits, join_numbers};
use lexer::scan::{PieceKind, Scanner};

/// Name of the one column of a CTE that stands for `WITH expr AS name`; the name of one without a name begins so.
pub const WITH_EXPRESSION: &str = "\u{1}with";

/// Tokens of a statement, literals unescaped, nothing else changed.
pub(crate) fn tokenize(text: &str) -> Result<Vec<TokenWithSpan>> {
    let cut = constants::cut(text);
    match tokenize_cut(text, &cut)? {
        Some(tokens) => Ok(tokens),
        // The tokenizer sees the text in another way than who cut it.
        None => tokenize_cut(text, &constants::uncut(text)).map(Option::unwrap_or_default),
    }
}

/// `None`: not every list that was cut out has a token of its own.
fn tokenize_cut(text: &str, cut: &Cut<'_>) -> Result<Option<Vec<TokenWithSpan>>> {
    let readable = as_tokenized(&cut.text);
    let mut tokens =
        Tokenizer::new(&DIALECT, &readable).with_unescape(false).tokenize_with_location().map_err(|e| {
            let at = offset_of(text, e.location);
            SqlError::new(
                ErrorCode::SYNTAX_ERROR,
                format!("syntax error: {} {}", e.message, place(e.location)),
            )
            .at(at)
        })?;
    for token in &mut tokens {
        match &mut token.token {
            Token::SingleQuotedString(raw) => *raw = unescape(raw, '\''),
            Token::Word(word) => {
                if let Some(quote) = word.quote_style {
                    let raw = word.value.replace(&format!("\\{ESCAPED}"), &format!("\\{quote}"));
                    word.value = unescape(&raw, quote);
                }
            }
            // `$name` is a bare word.
            Token::Placeholder(word) if word.starts_with('$') => token.token = Token::make_word(word, None),
            Token::DollarQuotedString(heredoc) => {
                token.token = Token::SingleQuotedString(heredoc.value.clone());
            }
            // `0x30` is a number, and `x'30'`, which is longer, a text.
            Token::HexStringLiteral(digits)
                if token.span.end.column == token.span.start.column + u64_of(digits.len()) + 3 =>
            {
                let Some(bytes) = bytes_in_digits(digits, 16) else {
                    let message = format!("syntax error: x'{digits}' has other digits than hexadecimal ones");
                    let at = offset_of(text, token.span.start);
                    return Err(SqlError::new(ErrorCode::SYNTAX_ERROR, message).at(at));
                };
                token.token = Token::SingleQuotedString(bytes);
            }
            _ => {}
        }
    }
    Ok(cut.restore(&mut tokens).then(|| join_numbers(join_bits(tokens))))
}

/// Stands behind a backslash in a name for a quote, where the tokenizer would end it.
const ESCAPED: char = '\u{1c}';

/// The text as the tokenizer reads it, character by character: spaces for the comments that begin with `# `, `#!` or `//`, and
/// for quotes behind a backslash in names [`ESCAPED`].
fn as_tokenized(text: &str) -> Cow<'_, str> {
    if !["# ", "#!", "//", "\\`", "\\\""].iter().any(|mark| text.contains(mark)) {
        return Cow::Borrowed(text);
    }
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for piece in Scanner::new(text, 0) {
        spaced(&text[at..piece.start], &mut out);
        let written = &text[piece.start..piece.end];
        match piece.kind {
            PieceKind::QuotedName => with_escaped_quotes(written, &mut out),
            _ => out.push_str(written),
        }
        at = piece.end;
    }
    spaced(&text[at..], &mut out);
    Cow::Owned(out)
}

/// Copies a name in quotes.
fn with_escaped_quotes(written: &str, out: &mut String) {
    let mut chars = written.chars();
    let quote = chars.next();
    out.extend(quote);
    while let Some(c) = chars.next() {
        out.push(c);
        if c == '\\' {
            let next = chars.next();
            out.extend(next.map(|next| if Some(next) == quote { ESCAPED } else { next }));
        }
    }
}

/// Copies space and comments, those that the tokenizer does not know as space.
fn spaced(mut gap: &str, out: &mut String) {
    while let Some(first) = gap.chars().next() {
        let line = gap.find('\n').unwrap_or(gap.len());
        let taken = if gap.starts_with("/*") {
            // Nested comments were closed, or the scanner had stopped before them.
            gap.rfind("*/").map_or(gap.len(), |end| end + 2)
        } else if gap.starts_with("--") || gap.starts_with("//") || first == '#' {
            line
        } else {
            first.len_utf8()
        };
        let part = &gap[..taken];
        match first == '#' || part.starts_with("//") {
            true => out.extend(part.chars().map(|_| ' ')),
            false => out.push_str(part),
        }
        gap = &gap[taken..];
    }
}

/// `(line 1, col 8)`.
pub(crate) fn place(location: Location) -> String {
    format!("(line {}, col {})", location.line, location.column)
}

/// Byte offset of a token's position; the end of the text when there is none.
pub(crate) fn offset_of(text: &str, location: Location) -> usize {
    let Some(mut lines_left) = location.line.checked_sub(1) else { return text.len() };
    let mut offset = 0;
    while lines_left > 0 {
        match text[offset..].find('\n') {
            Some(found) => offset += found + 1,
            None => return text.len(),
        }
        lines_left -= 1;
    }
    let column = usize_of(location.column.saturating_sub(1));
    text[offset..].char_indices().nth(column).map_or(text.len(), |(found, _)| offset + found)
}

pub(crate) fn is_word(token: &Token, wanted: &str) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
}

fn is_space(token: &Token) -> bool {
    matches!(token, Token::Whitespace(_))
}

/// Words that start another expression.
const CLAUSES: &[&str] = &[
    "SELECT", "FROM", "WHERE", "HAVING", "ORDER", "GROUP", "LIMIT", "JOIN", "ON", "UNION", "SETTINGS",
    "VALUES", "DEFAULT",
];

/// Joins that the grammar takes for something else: name and place.
pub(crate) fn refused_join(tokens: &[TokenWithSpan]) -> Option<(&'static str, Location)> {
    let mut significant = tokens.iter().filter(|token| !is_space(&token.token)).peekable();
    while let Some(token) = significant.next() {
        let refused: [(&str, &[&str], &'static str); 4] = [
            ("PASTE", &["JOIN", "LEFT", "INNER"], "PASTE JOIN"),
            ("SEMI", &["FULL"], "SEMI FULL JOIN"),
            ("ANTI", &["FULL"], "ANTI FULL JOIN"),
            ("FULL", &["SEMI", "ANTI"], "a FULL JOIN that is SEMI or ANTI"),
        ];
        let next = significant.peek().map(|next| &next.token);
        let is_next = |words: &[&str]| next.is_some_and(|next| words.iter().any(|word| is_word(next, word)));
        let found = refused.iter().find(|(word, behind, _)| is_word(&token.token, word) && is_next(behind));
        if let Some((_, _, join)) = found {
            return Some((join, token.span.start));
        }
    }
    None
}

/// Prepares the tokens of a query for sqlparser's query grammar; `carried` is what `clauses` does to them.
/// Aliases inside of expressions are `clause_ends`'s to mark.
pub(crate) fn for_query(
    tokens: Vec<TokenWithSpan>,
    carried: impl Fn(Vec<TokenWithSpan>) -> Vec<TokenWithSpan>,
) -> Result<Vec<TokenWithSpan>> {
    let significant: Vec<TokenWithSpan> =
        tokens.into_iter().filter(|token| !is_space(&token.token)).collect();
    let significant = with_view_queries(carried(significant));
    let mut named = Named { out: Vec::with_capacity(significant.len()), depth: 0, items: 0 };
    named.expressions(&significant);
    let Named { mut out, items, .. } = named;
    if items > WITH_ITEMS_MAX {
        let message = format!(
            "AST is too big: its WITH lists have {items} items, at most {WITH_ITEMS_MAX} are read. Put constants into \
             arrays or tables"
        );
        return Err(SqlError::new(ErrorCode::TOO_BIG_AST, message));
    }
    drop_global(&mut out);
    drop_trailing_commas(&mut out);
    drop_commas_of_tuples(&mut out);
    Ok(with_using_lists(&out))
}

/// Whether the word is the name of a table function's call.
fn names_call(tokens: &[TokenWithSpan], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| &tokens[before].token);
    let reads = ["FROM", "JOIN", "DESCRIBE", "DESC", "TABLE", "FUNCTION"];
    before.is_some_and(|before| *before == Token::Comma || reads.iter().any(|word| is_word(before, word)))
        && tokens.get(at + 1).is_some_and(|token| token.token == Token::LParen)
}

/// Turns `view(SELECT ..)` into `view((SELECT ..))`: an argument is an expression. `null(..)` gets a name that is no literal.
fn with_view_queries(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let opens = |at: usize| {
        let selects =
            |token: &TokenWithSpan| is_word(&token.token, "SELECT") || is_word(&token.token, "WITH");
        is_word(&tokens[at].token, "view")
            && names_call(&tokens, at)
            && tokens.get(at + 2).is_some_and(selects)
    };
    let mut out = Vec::with_capacity(tokens.len());
    let (mut depth, mut views) = (0_usize, Vec::new());
    for (at, token) in tokens.iter().enumerate() {
        if at > 0 && is_word(&token.token, "null") && names_call(&tokens, at) {
            // The grammar would read the literal.
            let named = Token::make_word("null", Some('`'));
            out.push(TokenWithSpan { token: named, span: token.span });
            continue;
        }
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => {
                if views.last() == Some(&depth) {
                    views.pop();
                    out.push(token.clone());
                }
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
        out.push(token.clone());
        if at > 0 && token.token == Token::LParen && opens(at - 1) {
            views.push(depth);
            out.push(token.clone());
        }
    }
    out
}

/// Where the statement stands that EXPLAIN or DESCRIBE is about: behind their own words and options.
fn explained_from(tokens: &[TokenWithSpan]) -> usize {
    let explains = |token: &TokenWithSpan| {
        ["EXPLAIN", "DESCRIBE", "DESC"].iter().any(|word| is_word(&token.token, word))
    };
    if !tokens.first().is_some_and(explains) {
        return 0;
    }
    let starts = |token: &TokenWithSpan| {
        ["SELECT", "WITH"].iter().any(|word| is_word(&token.token, word)) || token.token == Token::LParen
    };
    tokens.iter().position(starts).unwrap_or(0)
}

/// Deepest nesting of WITH lists inside WITH lists.
const WITH_DEPTH_MAX: usize = 32;
/// Items of all WITH lists: each is a query to the grammar, of ten kilobytes.
const WITH_ITEMS_MAX: usize = 5000;

/// Tokens whose WITH lists name queries only.
struct Named {
    out: Vec<TokenWithSpan>,
    depth: usize,
    items: usize,
}

impl Named {
    /// Turns `WITH expr AS name` into `WITH name AS (SELECT expr AS <mark>)`.
    fn expressions(&mut self, tokens: &[TokenWithSpan]) {
        self.depth += 1;
        let explained = explained_from(tokens);
        let mut at = 0;
        while at < tokens.len() {
            self.out.push(tokens[at].clone());
            let opens = at == 0
                || at == explained
                || matches!(tokens[at - 1].token, Token::LParen)
                || is_word(&tokens[at - 1].token, "AS");
            at += 1;
            let next = tokens.get(at).map(|token| &token.token);
            let is_list = opens && is_word(&tokens[at - 1].token, "WITH") && self.depth < WITH_DEPTH_MAX;
            if is_list && next.is_some_and(|next| !is_word(next, "RECURSIVE")) {
                at = self.list(tokens, at);
            }
        }
        self.depth -= 1;
    }

    /// Rewrites the items of one WITH list; answers where the list ends.
    fn list(&mut self, tokens: &[TokenWithSpan], from: usize) -> usize {
        let mut at = from;
        loop {
            let end = item_end(tokens, at);
            self.items += 1;
            self.item(&tokens[at..end]);
            match tokens.get(end) {
                Some(comma) if comma.token == Token::Comma => {
                    self.out.push(comma.clone());
                    at = end + 1;
                }
                _ => return end,
            }
        }
    }

    fn item(&mut self, item: &[TokenWithSpan]) {
        let is_cte =
            item.get(1).is_some_and(|second| is_word(&second.token, "AS") || second.token == Token::LParen)
                && item.iter().position(|token| is_word(&token.token, "AS")).is_some_and(|as_at| {
                    let opens = item.get(as_at + 1).is_some_and(|token| token.token == Token::LParen);
                    opens
                        && item
                            .get(as_at + 2)
                            .is_some_and(|t| is_word(&t.token, "SELECT") || is_word(&t.token, "WITH"))
                });
        if let ([expression @ .., as_word, name], false) = (item, is_cte)
            && is_word(&as_word.token, "AS")
            && matches!(name.token, Token::Word(_))
            && !expression.is_empty()
        {
            return self.expression(name.clone(), expression);
        }
        match item.last().filter(|_| !is_cte && !has_alias(item)) {
            Some(last) => {
                let unnamed = Token::make_word(&format!("{WITH_EXPRESSION}{}", self.items), Some('`'));
                self.expression(TokenWithSpan { token: unnamed, span: last.span }, item);
            }
            None => self.expressions(item),
        }
    }

    /// `name AS (SELECT expression AS <mark>)`.
    fn expression(&mut self, name: TokenWithSpan, expression: &[TokenWithSpan]) {
        let span = name.span;
        let at = |token: Token| TokenWithSpan { token, span };
        let [as_word, select] = ["AS", "SELECT"].map(|word| at(Token::make_keyword(word)));
        self.out.extend([name, as_word.clone(), at(Token::LParen), select]);
        self.expressions(expression);
        let mark = Token::make_word(WITH_EXPRESSION, Some('`'));
        self.out.extend([as_word, at(mark), at(Token::RParen)]);
    }
}

/// Whether an item of WITH has AS outside of all parentheses.
fn has_alias(item: &[TokenWithSpan]) -> bool {
    let mut depth = 0_usize;
    item.iter().any(|token| {
        match token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && is_word(&token.token, "AS")
    })
}

fn item_end(tokens: &[TokenWithSpan], from: usize) -> usize {
    let mut nesting = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        match &token.token {
            Token::LParen | Token::LBracket => nesting += 1,
            Token::RParen | Token::RBracket if nesting == 0 => return at,
            Token::RParen | Token::RBracket => nesting -= 1,
            Token::Comma if nesting == 0 => return at,
            word if nesting == 0 && (is_word(word, "SELECT") || is_word(word, "FROM")) => return at,
            _ => {}
        }
    }
    tokens.len()
}

/// On one node `GLOBAL IN` is `IN`.
fn drop_global(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 0;
    while at + 1 < tokens.len() {
        let next = &tokens[at + 1].token;
        if is_word(&tokens[at].token, "GLOBAL") && (is_word(next, "IN") || is_word(next, "NOT")) {
            tokens.remove(at);
        }
        at += 1;
    }
}

fn is_clause(token: &Token) -> bool {
    CLAUSES.iter().any(|clause| is_word(token, clause))
}

/// The last item of a SELECT may have a comma behind it.
fn drop_trailing_commas(tokens: &mut Vec<TokenWithSpan>) {
    let only_items = tokens.iter().all(|t| is_word(&t.token, "SELECT") || !is_clause(&t.token));
    let mut at = 0;
    while at < tokens.len() {
        let ends = match tokens.get(at + 1) {
            Some(next) => is_word(&next.token, "FROM"),
            None => only_items,
        };
        if tokens[at].token == Token::Comma && ends {
            tokens.remove(at);
        }
        at += 1;
    }
}

/// Words that are no functions, beside those of clauses.
const BEFORE_TUPLES: &[&str] = &["IN", "BY", "AND", "OR", "NOT", "WHEN", "THEN", "ELSE"];

/// `(1, 2,)` as `(1, 2)`, where it is no call; `(1,)` is another tuple than `(1)`.
fn drop_commas_of_tuples(tokens: &mut Vec<TokenWithSpan>) {
    // Of each open parenthesis, whether a tuple may begin there, and its commas.
    let mut open: Vec<(bool, usize)> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at].token {
            Token::LParen => {
                let before = at.checked_sub(1).map(|before| &tokens[before].token);
                let is_call = match before {
                    Some(word @ Token::Word(_)) => {
                        !is_clause(word) && !BEFORE_TUPLES.iter().any(|before| is_word(word, before))
                    }
                    Some(Token::RParen | Token::RBracket) => true,
                    _ => false,
                };
                open.push((!is_call, 0));
            }
            // Commas in there are not the tuple's.
            Token::LBracket | Token::LBrace => open.push((false, 0)),
            Token::RParen | Token::RBracket | Token::RBrace => drop(open.pop()),
            Token::Comma => {
                let closes = tokens.get(at + 1).is_some_and(|next| next.token == Token::RParen);
                match open.last_mut() {
                    Some((true, commas)) if closes && *commas > 0 => {
                        tokens.remove(at);
                        continue;
                    }
                    Some((_, commas)) => *commas += 1,
                    None => {}
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// `USING a, b` as `USING (a, b)`.
fn with_using_lists(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let is_name = |at: usize| {
        let token = tokens.get(at).map(|token| &token.token);
        token.is_some_and(|token| matches!(token, Token::Word(_)) && !is_clause(token))
    };
    let mut out = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let before = at.checked_sub(1).map(|before| &tokens[before].token);
        let behind_table = matches!(before, Some(Token::Word(_) | Token::RParen));
        out.push(tokens[at].clone());
        at += 1;
        if !is_word(&tokens[at - 1].token, "USING") || !behind_table || !is_name(at) {
            continue;
        }
        let span = tokens[at - 1].span;
        out.push(TokenWithSpan { token: Token::LParen, span });
        out.push(tokens[at].clone());
        at += 1;
        while tokens.get(at).is_some_and(|token| token.token == Token::Comma) && is_name(at + 1) {
            out.extend_from_slice(&tokens[at..at + 2]);
            at += 2;
        }
        out.push(TokenWithSpan { token: Token::RParen, span });
    }
    out
}
