//! Columns of CREATE TABLE: name, type, default, codec, comment.

use model::{ConstraintKind, DefaultKind, ErrorCode};
use sqlparser::tokenizer::Token;

use crate::grammar::kept;
use crate::reader::head::{Head, whole_expression};
use crate::statement::{ColumnSpec, ConstraintSpec};
use lexer::codec_text::kept_codec;
use lexer::error::{Result, SqlError};

/// What stands in the parentheses of CREATE TABLE.
#[derive(Default)]
pub(crate) struct TableElements {
    pub(crate) columns: Vec<ColumnSpec>,
    /// INDEX, PROJECTION: keyword and text.
    pub(crate) kept: Vec<(String, String)>,
    /// The names of those: keyword and name.
    names: Vec<(String, String)>,
    pub(crate) constraints: Vec<ConstraintSpec>,
    pub(crate) primary_key: Option<Vec<sqlparser::ast::Expr>>,
}

/// Reads the parentheses with columns, indexes, projections and constraints.
pub(crate) fn elements(head: &mut Head<'_>) -> Result<TableElements> {
    head.expect_symbol(&Token::LParen)?;
    let mut elements = TableElements::default();
    loop {
        element(head, &mut elements)?;
        if head.symbol(&Token::RParen) {
            return Ok(elements);
        }
        head.expect_symbol(&Token::Comma)?;
        // A comma behind the last column is accepted, as ClickHouse accepts it.
        if head.symbol(&Token::RParen) {
            return Ok(elements);
        }
    }
}

fn element(head: &mut Head<'_>, elements: &mut TableElements) -> Result<()> {
    if head.peek_word("CONSTRAINT") && (word_behind(head, "CHECK") || word_behind(head, "ASSUME")) {
        head.advance();
        elements.constraints.push(constraint(head)?);
        return Ok(());
    }
    for keyword in ["INDEX", "PROJECTION"] {
        let names_it = matches!(head.token_after(1), Token::Word(_))
            && matches!(head.token_after(2), Token::Word(_) | Token::LParen);
        if head.peek_word(keyword) && names_it && !is_typed_column(head) {
            head.advance();
            return keep(head, keyword, elements);
        }
    }
    if head.words(&["PRIMARY", "KEY"]) {
        elements.primary_key = Some(head.key()?);
        return Ok(());
    }
    if head.words(&["FOREIGN", "KEY"]) {
        return Err(head.refuse("FOREIGN KEY"));
    }
    let (column, is_key) = column(head)?;
    if is_key {
        let name = sqlparser::ast::Expr::Identifier(crate::reader::head::ident(&column.name));
        elements.primary_key.get_or_insert_default().push(name);
    }
    elements.columns.push(column);
    Ok(())
}

/// Whether the word after the next token is this one.
fn word_behind(head: &Head<'_>, expected: &str) -> bool {
    matches!(head.token_after(2), Token::Word(word) if word.value.eq_ignore_ascii_case(expected))
}

/// Behind CONSTRAINT.
pub(crate) fn constraint(head: &mut Head<'_>) -> Result<ConstraintSpec> {
    let name = head.name("a constraint's name")?;
    let kind = if head.word("ASSUME") {
        let warning = format!("CONSTRAINT {name} ASSUME is kept in the definition and has no effect");
        head.warnings.push(warning);
        ConstraintKind::Assume
    } else {
        head.expect_word("CHECK")?;
        ConstraintKind::Check
    };
    Ok(ConstraintSpec { name, kind, expression: head.expression()? })
}

/// `index UInt8,` is a column although its name is a keyword.
fn is_typed_column(head: &Head<'_>) -> bool {
    match head.token_after(1) {
        Token::Word(word) => model::type_name::parse(&word.value).is_ok(),
        _ => false,
    }
}

/// Behind INDEX or PROJECTION; names are told apart.
fn keep(head: &mut Head<'_>, keyword: &str, elements: &mut TableElements) -> Result<()> {
    let (name, text, code) = match keyword {
        "INDEX" => {
            let index = kept::index(head)?;
            (index.name.clone(), kept::index_text(&index), ErrorCode::ILLEGAL_INDEX)
        }
        _ => {
            let projection = kept::projection(head)?;
            (projection.name.clone(), kept::projection_text(&projection), ErrorCode::ILLEGAL_PROJECTION)
        }
    };
    if elements.names.contains(&(keyword.to_owned(), name.clone())) {
        let message = format!("{} {name} is given twice", keyword.to_lowercase());
        return Err(SqlError::new(code, message));
    }
    kept::without_effect(head, keyword);
    elements.names.push((keyword.to_owned(), name));
    elements.kept.push((keyword.to_owned(), text));
    Ok(())
}

/// One column; true when it says PRIMARY KEY.
pub(crate) fn column(head: &mut Head<'_>) -> Result<(ColumnSpec, bool)> {
    let name = head.column_name()?;
    let clauses = ["DEFAULT", "MATERIALIZED", "ALIAS", "EPHEMERAL"];
    let starts_clause = clauses.iter().any(|word| head.peek_word(word));
    behind_name(head, name, starts_clause)
}

/// What MODIFY COLUMN says of a column; its type may be left out.
pub(crate) fn modified_column(head: &mut Head<'_>, name: String) -> Result<(ColumnSpec, bool)> {
    let clauses =
        ["DEFAULT", "MATERIALIZED", "ALIAS", "EPHEMERAL", "COMMENT", "CODEC", "TTL", "FIRST", "AFTER"];
    let starts_clause = clauses.iter().any(|word| head.peek_word(word));
    behind_name(head, name, starts_clause)
}

fn behind_name(head: &mut Head<'_>, name: String, starts_clause: bool) -> Result<(ColumnSpec, bool)> {
    let is_nested = head.peek_word("Nested") && *head.token_after(1) == Token::LParen;
    let (column_type, combined_by) = match starts_clause {
        true => (None, None),
        false => head.declared_type().map(|(column_type, function)| (Some(column_type), function))?,
    };
    let mut column = ColumnSpec {
        name,
        column_type,
        default: None,
        comment: String::new(),
        codec: None,
        ttl: None,
        combined_by,
        is_nested,
    };
    let mut is_key = false;
    loop {
        if head.words(&["NOT", "NULL"]) {
            check_modified(&column, false)?;
        } else if head.word("NULL") {
            check_modified(&column, true)?;
            column.column_type = column.column_type.map(model::ColumnType::nullable);
        } else if head.word("COMMENT") {
            column.comment = head.text("a comment")?;
        } else if head.peek_word("CODEC") {
            column.codec = Some(codec(head)?);
        } else if head.words(&["PRIMARY", "KEY"]) {
            is_key = true;
        } else if head.peek_word("TTL") {
            head.advance();
            column.ttl = Some(head.expression()?);
        } else if head.peek_word("STATISTICS") || head.peek_word("SETTINGS") || head.peek_word("COLLATE") {
            let clause = head.name("a clause")?;
            return Err(head.refuse(&format!("{} of a column", clause.to_uppercase())));
        } else if !default(head, &mut column)? {
            return Ok((column, is_key));
        }
    }
}

/// What NULL and NOT NULL may stand behind.
fn check_modified(column: &ColumnSpec, is_null: bool) -> Result<()> {
    use model::ColumnType::{Array, Map, Nullable};
    match &column.column_type {
        Some(Nullable(_)) => {
            let message =
                format!("column {}: NULL and NOT NULL do not stand behind a Nullable type", column.name);
            Err(SqlError::new(ErrorCode::ILLEGAL_SYNTAX_FOR_DATA_TYPE, message))
        }
        Some(inner @ (Array(_) | Map(..))) if is_null => {
            let message = format!("column {}: type {inner} cannot be inside of Nullable", column.name);
            Err(SqlError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message))
        }
        _ => Ok(()),
    }
}

fn default(head: &mut Head<'_>, column: &mut ColumnSpec) -> Result<bool> {
    let kinds = [
        ("DEFAULT", DefaultKind::Default),
        ("MATERIALIZED", DefaultKind::Materialized),
        ("ALIAS", DefaultKind::Alias),
        ("EPHEMERAL", DefaultKind::Ephemeral),
    ];
    let Some((word, kind)) = kinds.iter().find(|(word, _)| head.word(word)) else { return Ok(false) };
    if column.default.is_some() {
        return Err(head.expected(&format!("one default, found a second: {word}")));
    }
    let bare = matches!(head.token(), Token::Comma | Token::RParen) || head.peek_word("COMMENT");
    let expression = match kind {
        DefaultKind::Ephemeral if bare => {
            let Some(column_type) = &column.column_type else {
                return Err(head.expected("a type or an expression"));
            };
            // Read as one who writes it out would have it, because it is shown so.
            let name = lexer::escape::quote_text(&column_type.to_string());
            whole_expression(&format!("defaultValueOfTypeName({name})"))?
        }
        _ => head.expression()?,
    };
    column.default = Some((*kind, expression));
    Ok(true)
}

/// `CODEC(Delta, ZSTD(1))`, kept as text.
fn codec(head: &mut Head<'_>) -> Result<String> {
    head.advance();
    let start = head.offset();
    if *head.token() != Token::LParen {
        return Err(head.expected("("));
    }
    let (mut depth, mut end) = (0_usize, start);
    loop {
        match head.token() {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            Token::EOF => return Err(head.expected(")")),
            _ => {}
        }
        end = end.max(head.offset() + 1);
        head.advance();
        if depth == 0 {
            break;
        }
    }
    let warning = "CODEC is kept in the definition and has no effect: encodings are chosen from the data";
    if !head.warnings.iter().any(|known| known == warning) {
        head.warnings.push(warning.to_owned());
    }
    let written = head.text_between(start, end);
    kept_codec(written.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(written))
}
