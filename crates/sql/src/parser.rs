//! Text -> statements. The entry point of the crate.
//!
//! Invariant: text that is not fully understood is an error; the data of an INSERT is never tokenized.
//! Must not know: catalogs, DataFusion.

use std::borrow::Cow;
use std::ops::Range;

use model::{ErrorCode, TableDef, TableEngine};
use sqlparser::ast::Query;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::grammar;
use crate::reader::clause_ends::JOINING;
use crate::reader::head::{Head, whole_expression};
use crate::reader::tokens::{is_word, tokenize};
use crate::settings::{SettingDef, SettingEffect, session_settings, table_settings};
use crate::statement::{
    ConstraintSpec, CreateTable, Outfile, Output, ParsedStatement, SettingChange, Statement, VIEW_SETTINGS,
};
use lexer::depth::Measure;
use lexer::error::{Result, SqlError};
use lexer::scan::{InsertBody, Piece, PieceKind, Scanner, insert_body, is_blank, statement_end};

/// Reads all statements of a text.
pub fn parse(text: &str) -> Result<Vec<ParsedStatement>> {
    let mut statements = vec![];
    let mut start = 0;
    while start < text.len() && !is_blank(&text[start..]) {
        let (length, closing) = statement_end(&text[start..], true).unwrap_or((text.len() - start, None));
        let range = start..start + length.max(1);
        if !is_blank(&text[range.clone()]) {
            let content_end = closing.map_or(range.end, |closing| start + closing);
            statements.push(parse_statement(text, range.clone(), content_end)?);
        }
        start = range.end;
    }
    Ok(statements)
}

/// Reads exactly one statement.
pub fn parse_one(text: &str) -> Result<ParsedStatement> {
    let mut statements = parse(text)?;
    match (statements.pop(), statements.is_empty()) {
        (Some(statement), true) => Ok(statement),
        (None, _) => Err(SqlError::new(ErrorCode::SYNTAX_ERROR, "empty query")),
        (Some(_), false) => Err(SqlError::new(ErrorCode::SYNTAX_ERROR, "multi-statements are not allowed")),
    }
}

/// One expression over columns, such as a key of a stored table.
pub fn parse_expression(text: &str) -> Result<sqlparser::ast::Expr> {
    whole_expression(text)
}

/// The pairs of a map of texts, `{'a': 'b'}`.
pub fn parse_pairs(text: &str) -> Result<Vec<(String, String)>> {
    let mut head = Head::new(text, 0, tokenize(text)?)?;
    let pairs = head.pairs()?;
    head.expect_end()?;
    Ok(pairs)
}

/// What stands behind CONSTRAINT in a definition.
pub fn parse_constraint(text: &str) -> Result<ConstraintSpec> {
    let mut head = Head::new(text, 0, tokenize(text)?)?;
    let measure = head.measure;
    measure.run(|| {
        let constraint = grammar::column::constraint(&mut head)?;
        head.expect_end()?;
        Ok(constraint)
    })
}

/// One bare query, without SETTINGS or FORMAT.
pub fn parse_query(text: &str) -> Result<Query> {
    Ok(measured_query(text)?.0)
}

/// As [`parse_query`], and how deep it is.
pub fn measured_query(text: &str) -> Result<(Query, Measure)> {
    let mut head = Head::new(text, 0, tokenize(text)?)?;
    let measure = head.measure;
    measure.run(|| {
        let query = grammar::query::query(&mut head)?;
        head.expect_end()?;
        Ok((*query.ast, measure))
    })
}

/// `content_end` is before the `;` that ends the statement.
fn parse_statement(text: &str, range: Range<usize>, content_end: usize) -> Result<ParsedStatement> {
    let first = |piece: &Piece| piece.kind != PieceKind::Symbol(b';');
    let Some(first) = Scanner::new(&text[..range.end], range.start).find(first) else {
        return Err(SqlError::new(ErrorCode::SYNTAX_ERROR, "empty query"));
    };
    let range = first.start..range.end;
    let source = &text[range.clone()];
    let first_word = &text[first.start..first.end];
    if first_word.eq_ignore_ascii_case("insert") {
        return insert(text, (range.start, range), content_end);
    }
    if first_word.eq_ignore_ascii_case("with")
        && let Some(at) = insert_behind_with(source)
    {
        return insert(text, (range.start + at, range), content_end);
    }
    let trimmed = source.trim_end().trim_end_matches(';');
    let end = range.start + trimmed.len();
    from_tokens(trimmed, range.start, |statement, output, warnings, measure| {
        let statement = statement.with_output(&output);
        Ok(ParsedStatement { statement, range: range.start..end, warnings, output, measure })
    })
}

/// Reads a statement and makes something of it where there is room for both.
fn from_tokens<T>(
    source: &str,
    base: usize,
    made: impl FnOnce(Statement, Output, Vec<String>, Measure) -> Result<T>,
) -> Result<T> {
    let mut tokens = tokenize(source)?;
    let mut output = cut_output(source, base, &mut tokens)?;
    let mut head = Head::new(source, base, tokens)?;
    head.measure.run(move || {
        let mut statement = grammar::statement(&mut head)?;
        head.expect_end()?;
        if let Statement::CreateTable(create) = &mut statement {
            output.settings.extend(settings_of_statement(create));
        }
        if let Statement::CreateView(view) = &mut statement {
            view.settings.clone_from(&output.settings);
            // What is run by the clock has no other settings.
            if view.refresh.is_none() && !refuse_view_settings(&view.settings)? {
                let warning = "SETTINGS of a view's SELECT have no effect: those of who reads it hold";
                head.warnings.push(warning.to_owned());
            }
        }
        made(statement, output, head.warnings, head.measure)
    })
}

/// Takes out of a table's SETTINGS those that no table has and a statement has.
fn settings_of_statement(create: &mut CreateTable) -> Vec<SettingChange> {
    // Tables outside obey settings of statements.
    if create.engine.is_some_and(TableEngine::is_external) {
        return Vec::new();
    }
    let is_of_statement = |change: &SettingChange| {
        table_settings().find(&change.name).is_err() && session_settings().get(&change.name).is_some()
    };
    let (taken, kept) = std::mem::take(&mut create.settings).into_iter().partition(is_of_statement);
    create.settings = kept;
    taken
}

/// Settings of a view's SELECT hold whenever it is read: those that change an answer are refused, but for one. Whether all
/// of them are obeyed.
fn refuse_view_settings(settings: &[SettingChange]) -> Result<bool> {
    const OBEYED: &str = "splitby_max_substrings_includes_remaining_string";
    const COSTS: &[&str] = &["max_threads", "max_execution_time", "max_memory_usage", "max_block_size"];
    let changes = |change: &&SettingChange| {
        let effect = session_settings().get(&change.name).map(|known| known.effect);
        let without_effect = matches!(effect, Some(SettingEffect::NoEffect | SettingEffect::Silent));
        !without_effect && !COSTS.contains(&change.name.as_str()) && change.name != OBEYED
    };
    match settings.iter().find(changes) {
        None => Ok(settings.iter().all(|change| change.name == OBEYED)),
        Some(change) => Err(SqlError::not_implemented(format!("setting {} in a view's SELECT", change.name))),
    }
}

/// The settings that a view remembers.
///
/// # Errors
/// The text of the clause cannot be read.
pub fn view_settings(view: &TableDef) -> Result<Vec<SettingChange>> {
    let Some(text) = view.kept_text(VIEW_SETTINGS) else { return Ok(vec![]) };
    let mut head = Head::new(text, 0, tokenize(text)?)?;
    let settings = head.settings()?;
    head.expect_end()?;
    Ok(settings)
}

/// Cuts SETTINGS, FORMAT and INTO OUTFILE off the end; they may come in any order. SETTINGS of the SELECTs inside are
/// the whole statement's, where those at its end win.
fn cut_output(source: &str, base: usize, tokens: &mut Vec<TokenWithSpan>) -> Result<Output> {
    let mut output = Output::default();
    while let Some(clause) = inner_settings(tokens) {
        let clause = tokens.splice(clause, []).collect();
        read_clause(source, base, clause, &mut output)?;
    }
    let mut names: Vec<&SettingChange> = vec![];
    for change in &output.settings {
        if names.iter().any(|known| known.name == change.name && known.value != change.value) {
            let message =
                format!("setting {} with several values in the SELECTs of one statement", change.name);
            return Err(SqlError::not_implemented(message));
        }
        names.push(change);
    }
    let inner = std::mem::take(&mut output.settings);
    let creates = starts_with(tokens, &["CREATE"]);
    let sets = starts_with(tokens, &["SET"]);
    while let Some(start) = last_clause(tokens) {
        let is_settings = is_word(&tokens[start].token, "SETTINGS");
        // SETTINGS before a SELECT, or without one, are the table's and not the statement's.
        if is_settings && creates && !selects(&tokens[..start]) || sets {
            break;
        }
        let clause = tokens.split_off(start);
        read_clause(source, base, clause, &mut output)?;
    }
    refuse_another(&inner, &output.settings)?;
    let outer = std::mem::replace(&mut output.settings, inner);
    output.settings.extend(outer);
    Ok(output)
}

/// What a SELECT inside of the statement sets must not have another value in all of it, if that changes answers.
fn refuse_another(inner: &[SettingChange], outer: &[SettingChange]) -> Result<()> {
    for change in inner {
        let decides = session_settings().get(&change.name).is_some_and(SettingDef::decides_rows);
        let of_all = outer.iter().rfind(|outer| outer.name == change.name);
        if decides && of_all.is_some_and(|outer| outer.value != change.value) {
            let message = format!("setting {} with another value in a SELECT inside", change.name);
            return Err(SqlError::not_implemented(message));
        }
    }
    Ok(())
}

fn starts_with(tokens: &[TokenWithSpan], words: &[&str]) -> bool {
    let mut significant = tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_)));
    words.iter().all(|word| significant.next().is_some_and(|token| is_word(&token.token, word)))
}

/// Whether a SELECT makes the rows of what is created. One in parentheses does if AS stands before them; that of a
/// projection or of a key is a clause.
fn selects(tokens: &[TokenWithSpan]) -> bool {
    // Of each open parenthesis whether what stands in it belongs to a clause.
    let mut open: Vec<bool> = vec![];
    let mut before: Option<&Token> = None;
    for token in tokens.iter().map(|token| &token.token) {
        match token {
            Token::Whitespace(_) => continue,
            Token::LParen | Token::LBracket | Token::LBrace => {
                let follows_as = before.is_some_and(|before| is_word(before, "AS"));
                let opens_select = matches!(before, Some(Token::LParen)) || follows_as;
                open.push(open.last().copied().unwrap_or(false) || !opens_select);
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                open.pop();
            }
            word if is_word(word, "SELECT") && !open.last().copied().unwrap_or(false) => return true,
            _ => {}
        }
        before = Some(token);
    }
    false
}

/// Where the last of the trailing clauses starts, if one stands at depth 0.
fn last_clause(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut found = None;
    let mut before: Option<&Token> = None;
    for (at, token) in tokens.iter().enumerate() {
        match &token.token {
            Token::Whitespace(_) => continue,
            Token::LParen | Token::LBracket | Token::LBrace => depth += 1,
            Token::RParen | Token::RBracket | Token::RBrace => depth = depth.saturating_sub(1),
            word if depth == 0 && before.is_some_and(ends_clause) => {
                let mut next = tokens[at + 1..].iter().filter(|t| !matches!(t.token, Token::Whitespace(_)));
                let (first, second) = (next.next().map(|t| &t.token), next.next().map(|t| &t.token));
                if opens_clause(word, first, second) {
                    found = Some(at);
                }
            }
            _ => {}
        }
        before = Some(named_as(before, &token.token));
    }
    found
}

/// The SETTINGS of the first SELECT in parentheses, or before UNION and its kind, that has them.
fn inner_settings(tokens: &[TokenWithSpan]) -> Option<Range<usize>> {
    let significant = |from: usize| {
        let rest = tokens.iter().enumerate().skip(from);
        rest.filter(|(_, token)| !matches!(token.token, Token::Whitespace(_)))
    };
    // Of each open parenthesis whether a SELECT stands in it.
    let mut selects: Vec<bool> = vec![false];
    let (mut found, mut depth): (Option<usize>, usize) = (None, 0);
    let mut before: Option<&Token> = None;
    for (at, token) in significant(0) {
        match &token.token {
            Token::LParen | Token::LBracket | Token::LBrace => selects.push(false),
            Token::RParen | Token::RBracket | Token::RBrace => {
                if let Some(start) = found.filter(|_| selects.len() == depth) {
                    return Some(start..at);
                }
                if selects.len() > 1 {
                    selects.pop();
                }
            }
            word if selects.len() == depth && JOINING.iter().any(|joining| is_word(word, joining)) => {
                if let Some(start) = found {
                    return Some(start..at);
                }
            }
            word if is_word(word, "SELECT") => {
                if let Some(last) = selects.last_mut() {
                    *last = true;
                }
            }
            word if found.is_none() && selects.last() == Some(&true) && before.is_some_and(ends_clause) => {
                let mut next = significant(at + 1).map(|(_, token)| &token.token);
                let (first, second) = (next.next(), next.next());
                if is_word(word, "SETTINGS") && opens_clause(word, first, second) {
                    (found, depth) = (Some(at), selects.len());
                }
            }
            _ => {}
        }
        before = Some(named_as(before, &token.token));
    }
    None
}

/// The token, or what is no word of the grammar: behind a point, as in `db.table`, stands a name.
fn named_as<'a>(before: Option<&Token>, token: &'a Token) -> &'a Token {
    if matches!(before, Some(Token::Period)) { &Token::RParen } else { token }
}

/// A token after which FORMAT or SETTINGS can not be a name.
fn ends_clause(before: &Token) -> bool {
    let names_follow = ["SELECT", "AS", "BY", "FROM", "JOIN", "TABLE", "SHOW", "EXISTS", "CHANGED"];
    !matches!(before, Token::Period | Token::Comma | Token::Eq)
        && !names_follow.iter().any(|word| is_word(before, word))
}

fn opens_clause(word: &Token, first: Option<&Token>, second: Option<&Token>) -> bool {
    let named = matches!(first, Some(Token::Word(_)));
    (is_word(word, "SETTINGS") && named && second == Some(&Token::Eq))
        || (is_word(word, "FORMAT")
            && named
            && !matches!(second, Some(Token::LParen | Token::Period | Token::Eq)))
        || (is_word(word, "INTO") && first.is_some_and(|first| is_word(first, "OUTFILE")))
}

fn read_clause(source: &str, base: usize, clause: Vec<TokenWithSpan>, output: &mut Output) -> Result<()> {
    let mut head = Head::new(source, base, clause)?;
    if head.word("SETTINGS") {
        // Clauses are cut from the end: what is read last was written first and wins, as in ClickHouse.
        output.settings.extend(head.settings()?);
    } else if head.word("FORMAT") {
        if output.format.is_some() {
            return Err(head.expected("only one FORMAT clause"));
        }
        output.format = Some(head.name("a format's name")?);
    } else {
        head.expect_word("INTO")?;
        head.expect_word("OUTFILE")?;
        output.outfile = Some(outfile(&mut head)?);
    }
    head.expect_end()
}

/// `INTO OUTFILE 'path' [APPEND | TRUNCATE] [AND STDOUT] [COMPRESSION 'method' [LEVEL n]]`, the words in ClickHouse's order.
fn outfile(head: &mut Head<'_>) -> Result<Outfile> {
    let path = head.text("a file name")?;
    let (append, truncate) = (head.word("APPEND"), head.word("TRUNCATE"));
    if truncate && (append || head.word("APPEND")) {
        let message = "INTO OUTFILE takes APPEND or TRUNCATE, not both";
        return Err(SqlError::new(ErrorCode::BAD_ARGUMENTS, message));
    }
    let and_stdout = head.words(&["AND", "STDOUT"]);
    let mut outfile = Outfile { path, truncate, append, and_stdout, compression: None, level: None };
    if head.word("COMPRESSION") {
        outfile.compression = Some(head.text("a compression method")?);
        if head.word("LEVEL") {
            let Token::Number(digits, _) = head.token() else {
                return Err(head.expected("a compression level"));
            };
            let level = digits.parse().map_err(|_| head.expected("a compression level"))?;
            outfile.level = Some(level);
            head.advance();
        }
    }
    Ok(outfile)
}

/// Where INSERT INTO stands behind a WITH list.
fn insert_behind_with(source: &str) -> Option<usize> {
    let (mut depth, mut insert) = (0_usize, None);
    for piece in Scanner::new(source, 0) {
        let word = &source[piece.start..piece.end];
        match piece.kind {
            PieceKind::Symbol(b'(' | b'[') => depth += 1,
            PieceKind::Symbol(b')' | b']') => depth = depth.saturating_sub(1),
            PieceKind::Word if insert.is_some() && word.eq_ignore_ascii_case("into") => return insert,
            PieceKind::Word if depth == 0 && word.eq_ignore_ascii_case("select") => return None,
            PieceKind::Word if depth == 0 && word.eq_ignore_ascii_case("insert") => {
                insert = Some(piece.start);
                continue;
            }
            _ => {}
        }
        insert = None;
    }
    None
}

/// The SELECT of an INSERT behind a WITH list, with the list before it and spaces in the place of what stood between.
fn with_list<'a>(list: &str, between: usize, query: &'a str) -> Result<Cow<'a, str>> {
    if list.is_empty() {
        return Ok(Cow::Borrowed(query));
    }
    if query.trim_start().get(..4).is_some_and(|word| word.eq_ignore_ascii_case("with")) {
        let message = "syntax error: only one WITH can be there, either before INSERT or before SELECT";
        return Err(SqlError::new(ErrorCode::SYNTAX_ERROR, message));
    }
    Ok(Cow::Owned(format!("{list}{}{query}", " ".repeat(between))))
}

/// INSERT: the head is tokenized, data is not. A WITH list may stand before it, which is the SELECT's.
fn insert(text: &str, (at, range): (usize, Range<usize>), content_end: usize) -> Result<ParsedStatement> {
    let (list, range, whole) = (&text[range.start..at], at..range.end, range);
    let source = &text[range.clone()];
    let Some(body) = insert_body(source, "insert".len()) else {
        // Something in the head is left open; the tokenizer says what.
        tokenize(source)?;
        return Err(SqlError::new(ErrorCode::SYNTAX_ERROR, "syntax error: insert ends inside a quote"));
    };
    let head_end = match body {
        InsertBody::Values { head, .. } | InsertBody::Format { head, .. } | InsertBody::Select { head } => {
            head
        }
        InsertBody::None => source.trim_end().trim_end_matches(';').len(),
    };
    let mut head = Head::new(&source[..head_end], range.start, tokenize(&source[..head_end])?)?;
    let mut measure = head.measure;
    let (insert, mut settings) = measure.run(|| grammar::insert::head(&mut head))?;
    let mut warnings = std::mem::take(&mut head.warnings);
    let mut output = Output::default();
    let (statement, end) = match body {
        InsertBody::Values { data, .. } => {
            // Behind the last row. The scan for the statement's end passed the rows; they are not scanned again.
            let end = content_end.max(range.start + data) - range.start;
            (grammar::insert::with_values(insert, range.start + data..range.start + end)?, end)
        }
        InsertBody::Format { name, data, .. } => {
            let name = source[name.0..name.1].to_owned();
            let data = range.start + data..range.end;
            (grammar::insert::with_format(insert, name, data)?, source.len())
        }
        InsertBody::Select { .. } => {
            let query = source[head_end..].trim_end().trim_end_matches(';');
            let read = with_list(list, head_end, query)?;
            let base = if list.is_empty() { range.start + head_end } else { whole.start };
            let statement = from_tokens(&read, base, |statement, outer, more, of_query| {
                warnings.extend(more);
                (output, measure) = (outer, measure.and(of_query));
                grammar::insert::with_query(insert, statement)
            })?;
            (statement, head_end + query.len())
        }
        InsertBody::None => (grammar::insert::without_body(insert)?, head_end),
    };
    settings.extend(output.settings);
    output.settings = settings;
    let statement = statement.with_output(&output);
    Ok(ParsedStatement { statement, range: whole.start..range.start + end, warnings, output, measure })
}

#[cfg(test)]
mod tests;
