//! INSERT: its head; `parser` found the body before anything was tokenized.

use std::ops::Range;

use model::ErrorCode;
use sqlparser::ast::Expr;
use sqlparser::tokenizer::Token;

use crate::grammar::admin::partition;
use crate::reader::head::Head;
use crate::statement::{Insert, InsertSource, InsertTarget, Partition, SettingChange, Statement};
use crate::tables::servers::written_table;
use lexer::error::{Result, SqlError};
use lexer::scan::may_be_label;

/// What stands before the body of an INSERT.
pub(crate) struct InsertHead {
    target: InsertTarget,
    partition_by: Option<Box<Expr>>,
    columns: Option<Vec<String>>,
    except: Vec<String>,
    overwrites: bool,
    partitions: Vec<Partition>,
    label: Option<String>,
    infile: Option<Infile>,
}

/// `FROM INFILE 'path' [COMPRESSION 'method'] [FORMAT name]`.
struct Infile {
    path: String,
    compression: Option<String>,
    format: Option<String>,
}

/// Reads a whole head; the tokens end where the body begins.
pub(crate) fn head(head: &mut Head<'_>) -> Result<(InsertHead, Vec<SettingChange>)> {
    head.expect_word("INSERT")?;
    let read = target(head)?;
    if !head.at_end() {
        return Err(head.expected("VALUES, FORMAT, SELECT, SETTINGS or a list of columns"));
    }
    Ok(read)
}

/// Behind the word INSERT: target, label, columns, SETTINGS.
pub(crate) fn target(head: &mut Head<'_>) -> Result<(InsertHead, Vec<SettingChange>)> {
    let overwrites = overwrites(head);
    head.word("INTO");
    head.word("TABLE");
    let target = if head.word("FUNCTION") {
        let function = head.function()?;
        match written_table(&function)? {
            Some(table) => InsertTarget::Table(table),
            None => InsertTarget::Function(Box::new(function)),
        }
    } else {
        InsertTarget::Table(head.table_name()?)
    };
    if overwrites && matches!(target, InsertTarget::Function(_)) {
        return Err(head.refuse("INSERT OVERWRITE of a function"));
    }
    let partitions = if overwrites { partitions(head)? } else { vec![] };
    let mut partition_by = None;
    if head.words(&["PARTITION", "BY"]) {
        if !matches!(target, InsertTarget::Function(_)) {
            return Err(head.refuse("PARTITION BY of INSERT into a table"));
        }
        partition_by = Some(Box::new(head.expression()?));
    }
    let mut listed = columns_if_any(head, &target)?;
    let label = label(head)?;
    if label.is_some() && listed.is_none() {
        listed = columns_if_any(head, &target)?;
    }
    let (columns, except) = match listed {
        Some(Listed::Names(names)) => (Some(names), vec![]),
        Some(Listed::AllBut(names)) => (None, names),
        None => (None, vec![]),
    };
    let mut settings = vec![];
    if head.word("SETTINGS") {
        settings = head.settings()?;
    }
    let mut infile = None;
    if head.words(&["FROM", "INFILE"]) {
        let path = head.text("a file name")?;
        let compression =
            if head.word("COMPRESSION") { Some(head.text("a compression method")?) } else { None };
        if head.word("SETTINGS") {
            settings.extend(head.settings()?);
        }
        let format = if head.word("FORMAT") { Some(head.name("a format's name")?) } else { None };
        if format.is_some() && head.word("SETTINGS") {
            settings.extend(head.settings()?);
        }
        infile = Some(Infile { path, compression, format });
    }
    Ok((
        InsertHead { target, partition_by, columns, except, overwrites, partitions, label, infile },
        settings,
    ))
}

/// `PARTITION (a, b)`, each as behind PARTITION of ALTER TABLE.
fn partitions(head: &mut Head<'_>) -> Result<Vec<Partition>> {
    let mut partitions = vec![];
    if head.word("PARTITION") {
        head.expect_symbol(&Token::LParen)?;
        while partitions.is_empty() || head.symbol(&Token::Comma) {
            partitions.push(partition(head)?);
        }
        head.expect_symbol(&Token::RParen)?;
    }
    Ok(partitions)
}

/// OVERWRITE, unless a table of that name is meant.
fn overwrites(head: &mut Head<'_>) -> bool {
    let is_name = match head.token_after(1) {
        Token::Word(word) => {
            let clauses = ["VALUES", "SELECT", "FORMAT", "SETTINGS", "WITH", "FROM"];
            word.quote_style.is_none() && clauses.iter().any(|clause| word.value.eq_ignore_ascii_case(clause))
        }
        _ => true,
    };
    !is_name && head.word("OVERWRITE")
}

/// `WITH LABEL name`. A CTE may be called `label`, too; the scanner tells them apart by what follows.
fn label(head: &mut Head<'_>) -> Result<Option<String>> {
    let named = match head.token_after(2) {
        Token::SingleQuotedString(_) | Token::Number(..) => true,
        Token::Word(word) => word.quote_style.is_some() || may_be_label(&word.value),
        _ => false,
    };
    if !named || !head.words(&["WITH", "LABEL"]) {
        return Ok(None);
    }
    let name = match head.token() {
        Token::SingleQuotedString(text) => text.clone(),
        Token::Number(digits, _) => digits.clone(),
        _ => return head.name("a label").map(Some),
    };
    head.advance();
    Ok(Some(name))
}

/// A list of columns as written.
enum Listed {
    Names(Vec<String>),
    /// `(* EXCEPT (a, b))`; `(*)` is all but none.
    AllBut(Vec<String>),
}

fn columns_if_any(head: &mut Head<'_>, target: &InsertTarget) -> Result<Option<Listed>> {
    let listed = *head.token() == Token::LParen && !crate::grammar::query::starts(head);
    listed.then(|| columns(head, target)).transpose()
}

fn columns(head: &mut Head<'_>, target: &InsertTarget) -> Result<Listed> {
    if *head.token_after(1) == Token::Mul {
        head.advance();
        return all_but(head).map(Listed::AllBut);
    }
    if let (Token::Word(word), Token::Period, Token::Mul) =
        (head.token_after(1), head.token_after(2), head.token_after(3))
    {
        let is_own = matches!(target, InsertTarget::Table(name) if name.table == word.value);
        if !is_own {
            let message = format!("{}.* names no table that the INSERT writes", word.value);
            return Err(SqlError::new(ErrorCode::UNKNOWN_IDENTIFIER, message));
        }
        (0..3).for_each(|_| head.advance());
        return all_but(head).map(Listed::AllBut);
    }
    let names = head.names()?;
    if let Some(twice) = names.iter().enumerate().find(|(i, name)| names[..*i].contains(name)) {
        let message = format!("column \"{}\" is listed twice", twice.1);
        return Err(SqlError::new(ErrorCode::DUPLICATE_COLUMN, message));
    }
    if names.is_empty() { Err(head.expected("a column name")) } else { Ok(Listed::Names(names)) }
}

/// From the `*` on, behind which EXCEPT with one name or several may stand.
fn all_but(head: &mut Head<'_>) -> Result<Vec<String>> {
    head.advance();
    let mut names = vec![];
    if head.word("EXCEPT") {
        names = match head.token() {
            Token::LParen => head.names()?,
            _ => vec![head.column_name()?],
        };
    }
    head.expect_symbol(&Token::RParen)?;
    Ok(names)
}

fn finish(head: InsertHead, source: InsertSource) -> Statement {
    Statement::Insert(Box::new(Insert {
        target: head.target,
        partition_by: head.partition_by,
        columns: head.columns,
        except: head.except,
        overwrites: head.overwrites,
        partitions: head.partitions,
        label: head.label,
        source,
        settings: vec![],
    }))
}

fn no_infile(head: &InsertHead, body: &str) -> Result<()> {
    match head.infile {
        Some(_) => {
            Err(SqlError::new(ErrorCode::SYNTAX_ERROR, format!("syntax error: {body} after FROM INFILE")))
        }
        None => Ok(()),
    }
}

pub(crate) fn with_values(head: InsertHead, data: Range<usize>) -> Result<Statement> {
    no_infile(&head, "VALUES")?;
    Ok(finish(head, InsertSource::Values(data)))
}

pub(crate) fn with_format(head: InsertHead, name: String, data: Range<usize>) -> Result<Statement> {
    if name.eq_ignore_ascii_case("values") {
        return Ok(finish(head, InsertSource::Values(data)));
    }
    Ok(finish(head, InsertSource::Format { name, data }))
}

pub(crate) fn with_query(head: InsertHead, statement: Statement) -> Result<Statement> {
    no_infile(&head, "SELECT")?;
    match statement {
        Statement::Query(query) => Ok(finish(head, InsertSource::Select(query))),
        _ => Err(SqlError::new(ErrorCode::SYNTAX_ERROR, "syntax error: expected a SELECT in INSERT")),
    }
}

/// Nothing but a head: rows come from a file or not at all.
pub(crate) fn without_body(mut head: InsertHead) -> Result<Statement> {
    match head.infile.take() {
        Some(Infile { path, compression, format }) => {
            Ok(finish(head, InsertSource::Infile { path, compression, format }))
        }
        None => Err(SqlError::new(
            ErrorCode::SYNTAX_ERROR,
            "syntax error: expected VALUES, FORMAT or SELECT at the end of INSERT",
        )),
    }
}
