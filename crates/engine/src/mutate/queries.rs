//! The SELECTs of which a mutation is made, as text.
//!
//! Invariant: the rows of a part come back in its order, each once or not at all, with its stored columns in the table's
//! order, and behind them whether it matched if that is asked. Must not know: where the rows are.

use model::{ColumnDef, TableDef};
use physical::nodes::numbered_part::PART_OFFSET;
use sql::escape::{always_quote_name, quote_text};

use super::checked::Kind;

/// The names of what is read.
pub(crate) struct From<'a> {
    /// As it stands in FROM.
    pub source: &'a str,
    /// What its columns may be qualified with.
    pub name: &'a str,
    /// Whether it has the numbers of its rows.
    pub is_numbered: bool,
}

impl From<'_> {
    fn text(&self) -> String {
        format!("{} AS {}", self.source, always_quote_name(self.name))
    }

    fn order(&self) -> String {
        if self.is_numbered { format!(" ORDER BY {PART_OFFSET}") } else { String::new() }
    }
}

/// How many rows a change is about; `None` if that needs no look.
pub(crate) fn count(kind: &Kind, from: &From<'_>) -> Option<String> {
    match kind {
        Kind::Delete { condition } | Kind::Update { condition, .. } => {
            Some(format!("SELECT count() FROM {} WHERE ({condition})", from.text()))
        }
        Kind::Drop | Kind::Renew => None,
    }
}

/// The rows as they are to be.
pub(crate) fn rows(kind: &Kind, def: &TableDef, from: &From<'_>) -> String {
    let name = |column: &ColumnDef| always_quote_name(&column.name);
    let all = || def.stored_columns().map(name).collect::<Vec<_>>().join(", ");
    let (text, order) = (from.text(), from.order());
    match kind {
        Kind::Drop => format!("SELECT {} FROM {text} WHERE 0", all()),
        Kind::Renew => format!("SELECT {} FROM {text}{order}", all()),
        Kind::Delete { condition } => {
            format!("SELECT {} FROM {text} WHERE NOT {}{order}", all(), matched(condition))
        }
        Kind::Update { values, condition, .. } => {
            let value = |column: &ColumnDef| match values.iter().find(|(id, _)| *id == column.id) {
                None => name(column),
                Some((_, value)) => {
                    let wanted = quote_text(&column.column_type.to_string());
                    let (matched, old) = (matched(condition), name(column));
                    format!("CAST(if({matched}, CAST(({value}), {wanted}), {old}), {wanted})")
                }
            };
            let columns: Vec<String> = def.stored_columns().map(value).collect();
            format!("SELECT {}, {} FROM {text}{order}", columns.join(", "), matched(condition))
        }
    }
}

/// A condition that is NULL is none that holds.
fn matched(condition: &str) -> String {
    format!("ifNull(({condition}) != 0, 0)")
}
