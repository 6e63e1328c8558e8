//! A column's default as people are shown it.
//!
//! Invariant: names are those of the table's columns, not the stored ones.

use model::{ColumnDef, DefaultKind, TableDef};

/// (kind, expression) of a column's default as DESCRIBE shows them.
pub fn default_of(def: &TableDef, column: &ColumnDef) -> (String, String) {
    let Some((kind, text)) = &column.default else { return (String::new(), String::new()) };
    let kind = match kind {
        DefaultKind::Default => "DEFAULT",
        DefaultKind::Materialized => "MATERIALIZED",
        DefaultKind::Alias => "ALIAS",
        DefaultKind::Ephemeral => "EPHEMERAL",
    };
    (kind.to_owned(), sql::display_expression(text, def))
}
