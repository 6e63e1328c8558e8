//! A cursor over the tokens of one statement: our own recursive descent on top of sqlparser's expression grammar.
//!
//! Invariant: a failed `word`, `symbol` or `words` consumes nothing; every error says where it is and what was
//! expected there.

use std::ops::Range;

use model::ErrorCode;
use model::column_type::quoted;
use sqlparser::ast::{Expr, Function, Ident, Query};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

use crate::dialect::DIALECT;
use crate::dialect::types::TYPE_PROBLEM;
use crate::reader::clause_ends::mark_inner_aliases;
use crate::reader::clauses::carried;
use crate::reader::keys::key_of;
use crate::reader::tokens::{for_query, is_word, offset_of, place, refused_join, tokenize};
use crate::statement::{SettingChange, SettingText, TableName};
use lexer::depth::{Measure, measure};
use lexer::error::{Result, SqlError};

/// Deepest nesting of expressions and subqueries, of which one bracket makes up to three.
const NESTING_MAX: usize = 320;

pub(crate) struct Head<'a> {
    /// The text the tokens' positions refer to.
    text: &'a str,
    /// What to add to a position to get an offset in the text given to `parse`.
    base: usize,
    pub(crate) measure: Measure,
    pub(crate) parser: Parser<'static>,
    /// Clauses accepted without effect.
    pub(crate) warnings: Vec<String>,
}

/// A parser over the tokens of one query or expression.
fn parser_over(tokens: Vec<TokenWithSpan>) -> Result<Parser<'static>> {
    let mut tokens = for_query(tokens, carried)?;
    mark_inner_aliases(&mut tokens);
    Ok(Parser::new(&DIALECT).with_recursion_limit(NESTING_MAX).with_tokens_with_locations(tokens))
}

impl<'a> Head<'a> {
    /// Reading fails at once when the tokens show something that is refused.
    pub(crate) fn new(text: &'a str, base: usize, tokens: Vec<TokenWithSpan>) -> Result<Self> {
        let join = |(join, location)| SqlError::not_implemented(join).at(base + offset_of(text, location));
        let measure = measure(&tokens)?;
        match refused_join(&tokens).map(join) {
            Some(error) => Err(error),
            None => Ok(Self { text, base, measure, parser: parser_over(tokens)?, warnings: vec![] }),
        }
    }

    /// Reads a query up to its end.
    pub(crate) fn query(&mut self) -> Result<Box<Query>> {
        self.parser.parse_query().map_err(|e| self.failed(e))
    }

    pub(crate) fn token(&self) -> &Token {
        &self.parser.peek_token_ref().token
    }

    pub(crate) fn token_after(&self, count: usize) -> &Token {
        &self.parser.peek_nth_token_ref(count).token
    }

    pub(crate) fn advance(&mut self) {
        self.parser.advance_token();
    }

    /// Byte offset, in this statement's text, of the next token.
    pub(crate) fn offset(&self) -> usize {
        offset_of(self.text, self.parser.peek_token_ref().span.start)
    }

    /// Byte offset behind the token that was read last: the next one may stand behind a clause that was cut off.
    pub(crate) fn offset_behind(&self) -> usize {
        offset_of(self.text, self.parser.get_current_token().span.end)
    }

    /// The text from `start` to the next token, without the space around it.
    pub(crate) fn text_since(&self, start: usize) -> &'a str {
        self.text[start..self.offset().max(start)].trim()
    }

    /// What stands there, without the space around it.
    pub(crate) fn text_between(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default().trim()
    }

    /// Consumes everything up to the end; answers where it stood in the text given to `parse`.
    pub(crate) fn rest(&mut self) -> Range<usize> {
        let start = self.offset();
        let mut end = start;
        while !self.at_end() {
            end = offset_of(self.text, self.parser.peek_token_ref().span.end);
            self.advance();
        }
        self.base + start..self.base + end
    }

    /// "expected `what`" at the next token.
    pub(crate) fn expected(&self, what: &str) -> SqlError {
        let token = self.parser.peek_token_ref();
        let at = self.base + self.offset();
        if let Some(unset) = unset_name(&self.text[self.offset()..]) {
            return unset.at(at);
        }
        let found = match &token.token {
            Token::EOF => "end of query".to_owned(),
            other => format!("\"{other}\""),
        };
        let start = token.span.start;
        let where_ = if start.line == 0 { String::new() } else { format!(" {}", place(start)) };
        let message =
            format!("syntax error: failed at position {} ({found}){where_}: expected {what}", at + 1);
        SqlError::new(ErrorCode::SYNTAX_ERROR, message).at(at)
    }

    /// As [`Head::expected`], without the token that was found instead: where credentials stand it may be one.
    pub(crate) fn expected_silently(&self, what: &str) -> SqlError {
        let at = self.base + self.offset();
        let message = format!("syntax error: failed at position {}: expected {what}", at + 1);
        SqlError::new(ErrorCode::SYNTAX_ERROR, message).at(at)
    }

    /// Refuses the next token's clause by its name.
    pub(crate) fn refuse(&self, clause: &str) -> SqlError {
        refusal(clause).at(self.base + self.offset())
    }

    /// Turns sqlparser's error into ours.
    pub(crate) fn failed(&self, error: ParserError) -> SqlError {
        match error {
            ParserError::RecursionLimitExceeded => SqlError::new(
                ErrorCode::TOO_DEEP_RECURSION,
                format!("query is nested deeper than {NESTING_MAX} levels"),
            ),
            ParserError::TokenizerError(message) => {
                SqlError::new(ErrorCode::SYNTAX_ERROR, format!("syntax error: {message}"))
            }
            ParserError::ParserError(message) => self.failed_with(&message),
        }
    }

    fn failed_with(&self, message: &str) -> SqlError {
        if let Some(problem) = message.strip_prefix(TYPE_PROBLEM) {
            let (code, problem) = problem.split_once(' ').unwrap_or_default();
            let code = code.parse().map_or(ErrorCode::UNKNOWN_TYPE, ErrorCode::of);
            // `{name:Identifier}` where an expression stands.
            if problem == "unknown type \"Identifier\"" {
                let message = "a substitution that stands for a name is not set";
                return SqlError::new(ErrorCode::UNKNOWN_QUERY_PARAMETER, message)
                    .at(self.base + self.offset());
            }
            return SqlError::new(code, problem).at(self.base + self.offset());
        }
        let (what, line, column) = split_place(message);
        let location = Location::new(line, column);
        let at = self.base + if line == 0 { self.text.len() } else { offset_of(self.text, location) };
        if let Some(clause) = refused_clause(what) {
            return refusal(clause).at(at);
        }
        if let Some(unset) = self.text.get(at - self.base..).and_then(unset_name) {
            return unset.at(at);
        }
        let what = what.strip_prefix("Expected: ").unwrap_or(what);
        let message = match what.rsplit_once(", found: ") {
            Some((expected, found)) => {
                // In quotes: clients take the first bare word in brackets for the error's name.
                let found = if found == "EOF" { "end of query".to_owned() } else { format!("\"{found}\"") };
                let place = if line == 0 { String::new() } else { format!(" {}", place(location)) };
                format!("syntax error: failed at position {} ({found}){place}: expected {expected}", at + 1)
            }
            None => format!("syntax error: {what}"),
        };
        SqlError::new(ErrorCode::SYNTAX_ERROR, message).at(at)
    }

    /// Consumes the bare word, whatever its case.
    pub(crate) fn word(&mut self, wanted: &str) -> bool {
        let found = is_word(self.token(), wanted);
        if found {
            self.advance();
        }
        found
    }

    pub(crate) fn peek_word(&self, wanted: &str) -> bool {
        is_word(self.token(), wanted)
    }

    /// Consumes all the words or none.
    pub(crate) fn words(&mut self, wanted: &[&str]) -> bool {
        let found = wanted.iter().enumerate().all(|(i, word)| is_word(self.token_after(i), word));
        if found {
            wanted.iter().for_each(|_| self.advance());
        }
        found
    }

    pub(crate) fn expect_word(&mut self, wanted: &str) -> Result<()> {
        if self.word(wanted) { Ok(()) } else { Err(self.expected(wanted)) }
    }

    pub(crate) fn symbol(&mut self, wanted: &Token) -> bool {
        let found = self.token() == wanted;
        if found {
            self.advance();
        }
        found
    }

    pub(crate) fn expect_symbol(&mut self, wanted: &Token) -> Result<()> {
        if self.symbol(wanted) { Ok(()) } else { Err(self.expected(&wanted.to_string())) }
    }

    pub(crate) fn at_end(&self) -> bool {
        matches!(self.token(), Token::EOF | Token::SemiColon)
    }

    pub(crate) fn expect_end(&self) -> Result<()> {
        match self.token() {
            Token::EOF | Token::SemiColon => Ok(()),
            Token::Word(word) if word.quote_style.is_none() => Err(refused_word(&word.value)
                .map_or_else(|| self.expected("end of query"), |clause| self.refuse(clause))),
            _ => Err(self.expected("end of query")),
        }
    }

    /// A name, bare or quoted.
    pub(crate) fn name(&mut self, what: &str) -> Result<String> {
        match self.token() {
            Token::Word(word) => {
                let name = word.value.clone();
                self.advance();
                Ok(name)
            }
            _ => Err(self.expected(what)),
        }
    }

    /// A name of a column, which has points if it is a part of a Nested: `n.a`.
    pub(crate) fn column_name(&mut self) -> Result<String> {
        let mut name = self.name("a column name")?;
        while *self.token() == Token::Period && matches!(self.token_after(1), Token::Word(_)) {
            self.advance();
            name = format!("{name}.{}", self.name("a column name")?);
        }
        Ok(name)
    }

    pub(crate) fn text(&mut self, what: &str) -> Result<String> {
        match self.token() {
            Token::SingleQuotedString(text) => {
                let text = text.clone();
                self.advance();
                Ok(text)
            }
            _ => Err(self.expected(what)),
        }
    }

    pub(crate) fn table_name(&mut self) -> Result<TableName> {
        let first = self.name("a table name")?;
        if self.symbol(&Token::Period) {
            let table = self.name("a table name")?;
            return Ok(TableName { database: Some(first), table });
        }
        Ok(TableName { database: None, table: first })
    }

    pub(crate) fn expression(&mut self) -> Result<Expr> {
        self.parser.parse_expr().map_err(|e| self.failed(e))
    }

    /// The type of a column, and the function by which its values are combined.
    pub(crate) fn declared_type(&mut self) -> Result<(model::ColumnType, Option<std::sync::Arc<str>>)> {
        crate::dialect::types::read_declared_type(&mut self.parser).map_err(|e| self.failed(e))
    }

    /// A call such as `s3('..', 'CSV')`.
    pub(crate) fn function(&mut self) -> Result<Function> {
        match self.expression()? {
            Expr::Function(function) => Ok(function),
            _ => Err(self.expected("a table function")),
        }
    }

    /// `(a, b)`, `(a)`, `a` or `tuple()`: the expressions of a key.
    pub(crate) fn key(&mut self) -> Result<Vec<Expr>> {
        self.expression().map(key_of)
    }

    /// A list of names in parentheses.
    pub(crate) fn names(&mut self) -> Result<Vec<String>> {
        self.expect_symbol(&Token::LParen)?;
        let mut names = vec![];
        while !self.symbol(&Token::RParen) {
            if !names.is_empty() {
                self.expect_symbol(&Token::Comma)?;
                // A last comma says nothing, as in ClickHouse.
                if self.symbol(&Token::RParen) {
                    break;
                }
            }
            names.push(self.column_name()?);
        }
        Ok(names)
    }

    /// `a = 1, b = 'x'`.
    pub(crate) fn settings(&mut self) -> Result<Vec<SettingChange>> {
        let mut changes = vec![self.setting()?];
        while matches!(self.token(), Token::Comma)
            && matches!((self.token_after(1), self.token_after(2)), (Token::Word(_), Token::Eq))
        {
            self.advance();
            changes.push(self.setting()?);
        }
        Ok(changes)
    }

    /// `{'a': 'b', 'c': 'd'}`.
    pub(crate) fn pairs(&mut self) -> Result<Vec<(String, String)>> {
        let mut pairs = vec![];
        self.expect_symbol(&Token::LBrace)?;
        while !self.symbol(&Token::RBrace) {
            if !pairs.is_empty() {
                self.expect_symbol(&Token::Comma)?;
            }
            let key = self.quoted()?;
            self.expect_symbol(&Token::Colon)?;
            pairs.push((key, self.quoted()?));
        }
        Ok(pairs)
    }

    fn quoted(&mut self) -> Result<String> {
        let Token::SingleQuotedString(text) = self.token().clone() else {
            return Err(self.expected("a text in quotes"));
        };
        self.advance();
        Ok(text)
    }

    fn setting(&mut self) -> Result<SettingChange> {
        let name = self.name("a setting's name")?;
        self.expect_symbol(&Token::Eq)?;
        if *self.token() == Token::LBrace {
            let pair = |(key, value): (String, String)| format!("{}:{}", quoted(&key), quoted(&value));
            let pairs: Vec<String> = self.pairs()?.into_iter().map(pair).collect();
            return Ok(SettingChange {
                name,
                value: SettingText::Quoted(format!("{{{}}}", pairs.join(","))),
            });
        }
        let negative = self.symbol(&Token::Minus);
        let value = match self.token().clone() {
            Token::SingleQuotedString(text) if !negative => SettingText::Quoted(text),
            Token::Number(digits, _) => {
                let sign = if negative { "-" } else { "" };
                SettingText::Bare(format!("{sign}{}", digits.replace('_', "")))
            }
            Token::HexStringLiteral(digits) if !negative => match u64::from_str_radix(&digits, 16) {
                Ok(number) => SettingText::Bare(number.to_string()),
                Err(_) => return Err(self.expected("a literal")),
            },
            Token::Word(word) if !negative && word.quote_style.is_none() => {
                match word.value.to_ascii_lowercase().as_str() {
                    "default" => SettingText::Default,
                    _ => SettingText::Bare(word.value),
                }
            }
            _ => return Err(self.expected("a literal")),
        };
        self.advance();
        Ok(SettingChange { name, value })
    }

    /// `[ON CLUSTER name]`: the one cluster there is, `default`, is this node. Scripts name it by the macro that every server
    /// of a cluster has.
    pub(crate) fn on_cluster(&mut self) -> Result<()> {
        if self.words(&["ON", "CLUSTER"]) {
            let name = match self.token().clone() {
                Token::SingleQuotedString(name) => name,
                Token::Word(word) => word.value,
                _ => return Err(self.expected("a cluster's name")),
            };
            if name != "default" && name != "{cluster}" {
                return Err(self.refuse(&format!("ON CLUSTER {name}: the only cluster is default, which")));
            }
            self.advance();
            self.warnings.push(format!("ON CLUSTER {name} has no effect on a single node"));
        }
        Ok(())
    }

    /// SYNC and NO DELAY: our DROP is always immediate.
    pub(crate) fn sync(&mut self) {
        let _ = self.word("SYNC") || self.words(&["NO", "DELAY"]) || self.word("PERMANENTLY");
    }

    pub(crate) fn if_exists(&mut self) -> bool {
        self.words(&["IF", "EXISTS"])
    }

    pub(crate) fn if_not_exists(&mut self) -> bool {
        self.words(&["IF", "NOT", "EXISTS"])
    }
}

/// `message at Line: 3, Column: 7` -> message, 3, 7; zeros when there is no place.
fn split_place(message: &str) -> (&str, u64, u64) {
    let place = message.rfind(" at Line: ").and_then(|found| {
        let (line, column) = message[found + " at Line: ".len()..].split_once(", Column: ")?;
        Some((&message[..found], line.parse().ok()?, column.parse().ok()?))
    });
    place.unwrap_or((message, 0, 0))
}

/// `{name:Identifier}` that is still there: a value would have been put in its place before the text was read.
fn unset_name(text: &str) -> Option<SqlError> {
    let (name, rest) = text.strip_prefix('{')?.split_once(':')?;
    let is_name = name.trim().chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$');
    let stands_for_name = rest.trim_start().starts_with("Identifier");
    let message = || format!("substitution \"{}\" is not set", name.trim());
    (is_name && stands_for_name).then(|| SqlError::new(ErrorCode::UNKNOWN_QUERY_PARAMETER, message()))
}

/// Why a clause is refused, with ClickHouse's code.
fn refusal(clause: &str) -> SqlError {
    match clause {
        "FINAL" => SqlError::no_final("what stands here"),
        "SAMPLE" => sampling(),
        other => SqlError::not_implemented(other),
    }
}

/// Why SAMPLE is refused.
pub(crate) fn sampling() -> SqlError {
    let message = "no table here supports sampling: there is no SAMPLE BY";
    SqlError::new(ErrorCode::SAMPLING_NOT_SUPPORTED, message)
}

/// A clause we name when the grammar stumbles over its first word.
fn refused_clause(message: &str) -> Option<&'static str> {
    refused_word(message.rsplit_once(", found: ")?.1)
}

fn refused_word(word: &str) -> Option<&'static str> {
    let refused = [
        ("FINAL", "FINAL"),
        ("SAMPLE", "SAMPLE"),
        ("PREWHERE", "PREWHERE"),
        ("QUALIFY", "QUALIFY here"),
        ("TOTALS", "WITH TOTALS"),
        ("TIES", "WITH TIES"),
        ("ASOF", "ASOF JOIN"),
        ("ANY", "ANY JOIN"),
        ("APPLY", "APPLY"),
        ("PASTE", "PASTE JOIN"),
    ];
    refused.iter().find(|(keyword, _)| keyword.eq_ignore_ascii_case(word)).map(|(_, clause)| *clause)
}

/// One expression, and nothing behind it.
pub(crate) fn whole_expression(text: &str) -> Result<Expr> {
    let mut head = Head::new(text, 0, tokenize(text)?)?;
    head.measure.run(|| {
        let expression = head.expression()?;
        head.expect_end()?;
        Ok(expression)
    })
}

/// A bare identifier, as sqlparser holds it.
pub fn ident(name: &str) -> Ident {
    Ident::with_quote('`', name)
}
