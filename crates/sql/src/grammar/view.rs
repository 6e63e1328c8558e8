//! CREATE VIEW and DROP VIEW.
//!
//! Invariant: what the SELECT of a view says is kept as it is; what a view would not do is refused.

use sqlparser::tokenizer::Token;

use crate::grammar::column::{TableElements, elements};
use crate::grammar::query;
use crate::grammar::refresh::refresh;
use crate::reader::head::Head;
use crate::statement::{ColumnSpec, CreateView, Materialized, Statement, TableName};
use lexer::error::Result;

/// Reads the engine and the keys of a table of the view's own.
pub(super) type OwnTable = fn(&mut Head<'_>, &TableName) -> Result<Materialized>;

/// Behind CREATE [OR REPLACE] [MATERIALIZED] VIEW; what is materialized may have a table of its own.
pub(crate) fn create(
    head: &mut Head<'_>,
    or_replace: bool,
    own_table: Option<OwnTable>,
) -> Result<Statement> {
    let is_materialized = own_table.is_some();
    let if_not_exists = head.if_not_exists();
    let name = head.table_name()?;
    if head.peek_word("UUID") {
        return Err(head.refuse("UUID of CREATE VIEW"));
    }
    head.on_cluster()?;
    security(head)?;
    for refused in ["REFRESH", "TO"] {
        if head.peek_word(refused) && !is_materialized {
            return Err(head.refuse(&format!("{refused} of CREATE VIEW")));
        }
    }
    let refresh = if head.word("REFRESH") { Some(refresh(head)?) } else { None };
    let to = if head.word("TO") { Some(head.table_name()?) } else { None };
    let mut columns = vec![];
    if *head.token() == Token::LParen && !query::starts(head) {
        columns =
            if names_only(head) { head.names()?.into_iter().map(of_name).collect() } else { typed(head)? };
    }
    let materialized = match (own_table, to) {
        (None, _) => None,
        (Some(_), Some(to)) => Some(Materialized::To(to)),
        (Some(own_table), None) => Some(own_table(head, &name)?),
    };
    let is_empty = refresh.is_some() && head.word("EMPTY");
    security(head)?;
    let mut comment = if head.word("COMMENT") { head.text("a comment")? } else { String::new() };
    security(head)?;
    head.expect_word("AS")?;
    let query = query::query(head)?;
    if head.word("COMMENT") {
        comment = head.text("a comment")?;
    }
    let view = CreateView {
        name,
        if_not_exists,
        or_replace,
        columns,
        query,
        comment,
        materialized,
        refresh,
        is_empty,
        settings: vec![],
    };
    Ok(Statement::CreateView(Box::new(view)))
}

/// DEFINER and SQL SECURITY: a view is read with the rights of who asks.
fn security(head: &mut Head<'_>) -> Result<()> {
    loop {
        if head.words(&["SQL", "SECURITY"]) {
            if head.word("INVOKER") {
                continue;
            }
            if !head.word("DEFINER") && !head.word("NONE") {
                return Err(head.expected("DEFINER, INVOKER or NONE"));
            }
            head.warnings
                .push("SQL SECURITY has no effect: a view is read with the rights of who asks".to_owned());
        } else if head.word("DEFINER") {
            head.symbol(&Token::Eq);
            if !matches!(head.token(), Token::SingleQuotedString(_)) {
                head.name("a user")?;
            } else {
                head.advance();
            }
        } else {
            return Ok(());
        }
    }
}

/// Behind DROP VIEW.
pub(crate) fn drop(head: &mut Head<'_>) -> Result<Statement> {
    let if_exists = head.if_exists();
    let mut views = vec![head.table_name()?];
    while head.symbol(&Token::Comma) {
        views.push(head.table_name()?);
    }
    head.on_cluster()?;
    head.sync();
    Ok(Statement::DropView { views, if_exists })
}

/// Whether a list of columns has names and nothing else: types are then those of the SELECT.
fn names_only(head: &Head<'_>) -> bool {
    matches!(head.token_after(1), Token::Word(_))
        && matches!(head.token_after(2), Token::Comma | Token::RParen)
}

fn of_name(name: String) -> ColumnSpec {
    ColumnSpec {
        name,
        column_type: None,
        default: None,
        comment: String::new(),
        codec: None,
        ttl: None,
        combined_by: None,
        is_nested: false,
    }
}

fn typed(head: &mut Head<'_>) -> Result<Vec<ColumnSpec>> {
    let TableElements { columns, kept, constraints, primary_key, .. } = elements(head)?;
    if !kept.is_empty() || !constraints.is_empty() || primary_key.is_some() {
        return Err(head.refuse("a key, an index or a constraint of a view"));
    }
    Ok(columns)
}
