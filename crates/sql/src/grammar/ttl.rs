//! What is behind TTL of a table: expressions of when rows are too old, and what becomes of them.
//!
//! Invariant: an item that would make other rows than there were, and is not done here, is refused. Must not know: columns.

use model::ErrorCode;
use sqlparser::ast::Expr;
use sqlparser::tokenizer::Token;

use crate::grammar::kept::without_effect;
use crate::printer::formatted::formatted_expression;
use crate::reader::head::Head;
use crate::reader::tokens::is_word;
use lexer::error::{Result, SqlError};
use lexer::escape::quote_text;

/// One of the items behind TTL.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct TtlItem {
    pub expression: Expr,
    pub action: TtlAction,
}

/// What happens to a row when its time has come.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum TtlAction {
    /// The row is deleted, if the condition holds.
    Delete { condition: Option<Expr> },
    /// It moves: `DISK` or `VOLUME`, and its name.
    Move { to: &'static str, name: String },
    /// Its part gets another codec.
    Recompress { codec: Expr },
}

/// The one place that there is.
const DEFAULT_PLACE: &str = "default";

/// What an item of ALTER TABLE may begin with: a comma before it ends the TTL.
const COMMANDS: &[&str] =
    &["ADD", "DROP", "MODIFY", "RENAME", "COMMENT", "REMOVE", "RESET", "MATERIALIZE", "CLEAR"];

/// Behind TTL, with warnings about what has no effect; the text, as it is kept.
///
/// # Errors
/// GROUP BY, and places that are not there.
pub(crate) fn ttl(head: &mut Head<'_>) -> Result<String> {
    let items = items(head)?;
    for item in &items {
        match &item.action {
            TtlAction::Delete { .. } => {}
            TtlAction::Recompress { .. } => without_effect(head, "TTL .. RECOMPRESS"),
            TtlAction::Move { to, name } if name != DEFAULT_PLACE => {
                let message = format!("no such {} `{name}`", to.to_lowercase());
                return Err(SqlError::new(ErrorCode::BAD_TTL_EXPRESSION, message)
                    .with_hint(format!("all parts of a table are on the {} 'default'", to.to_lowercase())));
            }
            TtlAction::Move { .. } => {}
        }
    }
    Ok(formatted(&items))
}

/// The items as ClickHouse prints them.
pub(crate) fn formatted(items: &[TtlItem]) -> String {
    let shown = |item: &TtlItem| {
        let text = formatted_expression(&item.expression);
        match &item.action {
            TtlAction::Delete { condition: None } => text,
            TtlAction::Delete { condition: Some(condition) } => {
                format!("{text} WHERE {}", formatted_expression(condition))
            }
            TtlAction::Move { to, name } => format!("{text} TO {to} {}", quote_text(name)),
            TtlAction::Recompress { codec } => {
                let codec = formatted_expression(codec);
                let methods = codec.split_once('(').map_or(codec.as_str(), |(_, methods)| methods);
                format!("{text} RECOMPRESS CODEC({methods}")
            }
        }
    };
    items.iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// The items behind TTL, up to what is none.
pub(crate) fn items(head: &mut Head<'_>) -> Result<Vec<TtlItem>> {
    let mut items = vec![item(head)?];
    while *head.token() == Token::Comma && !COMMANDS.iter().any(|word| is_word(head.token_after(1), word)) {
        head.advance();
        items.push(item(head)?);
    }
    let without = |item: &&TtlItem| item.action == TtlAction::Delete { condition: None };
    if items.iter().filter(without).count() > 1 {
        let message = "more than one DELETE TTL expression without WHERE expression is not allowed";
        return Err(SqlError::new(ErrorCode::BAD_TTL_EXPRESSION, message));
    }
    Ok(items)
}

fn item(head: &mut Head<'_>) -> Result<TtlItem> {
    let expression = head.expression()?;
    let action = if head.word("TO") {
        let what = ["DISK", "VOLUME"].into_iter().find(|word| head.word(word));
        let Some(to) = what else { return Err(head.expected("DISK or VOLUME")) };
        TtlAction::Move { to, name: head.text("a name")? }
    } else if head.word("RECOMPRESS") {
        TtlAction::Recompress { codec: head.expression()? }
    } else if head.peek_word("GROUP") {
        return Err(head.refuse("TTL .. GROUP BY"));
    } else {
        // It is what a TTL does.
        head.word("DELETE");
        let condition = if head.word("WHERE") { Some(head.expression()?) } else { None };
        TtlAction::Delete { condition }
    };
    Ok(TtlItem { expression, action })
}
