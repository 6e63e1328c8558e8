//! `system.columns`: columns of every table, system tables included.

use model::{DefaultKind, TableDef};

use super::rows::RowBuilder;
use super::{NAMES, SystemTable, columns_of};
use crate::context::StatementContext;
use crate::error::Error;
use crate::schemas_name::SYSTEM;

pub(super) const TABLE: SystemTable = SystemTable {
    columns: &[
        ("database", "String"),
        ("table", "String"),
        ("name", "String"),
        ("type", "String"),
        ("position", "UInt64"),
        ("default_kind", "String"),
        ("default_expression", "String"),
        ("comment", "String"),
        ("is_in_partition_key", "UInt8"),
        ("is_in_sorting_key", "UInt8"),
        ("is_in_primary_key", "UInt8"),
        ("compression_codec", "String"),
    ],
    fill,
};

/// (kind, expression) of a column's default as DESCRIBE shows them.
pub(crate) fn default_of(def: &TableDef, column: &model::ColumnDef) -> (String, String) {
    let Some((kind, text)) = &column.default else { return (String::new(), String::new()) };
    let kind = match kind {
        DefaultKind::Default => "DEFAULT",
        DefaultKind::Materialized => "MATERIALIZED",
        DefaultKind::Alias => "ALIAS",
        DefaultKind::Ephemeral => "EPHEMERAL",
    };
    (kind.to_owned(), sql::display_expression(text, def))
}

fn fill(context: &StatementContext, rows: &mut RowBuilder) -> Result<(), Error> {
    for database in context.snapshot.databases() {
        for table in context.snapshot.tables(database.id) {
            for (position, column) in table.def.columns.iter().enumerate() {
                push_column(rows, &database.name, &table.def, position, column)?;
            }
        }
    }
    for table in NAMES {
        for (position, (name, column_type)) in columns_of(table).into_iter().enumerate() {
            rows.push([
                SYSTEM.into(),
                (*table).into(),
                name.into(),
                column_type.to_string().into(),
                (position + 1).into(),
                "".into(),
                "".into(),
                "".into(),
                false.into(),
                false.into(),
                false.into(),
                "".into(),
            ])?;
        }
    }
    Ok(())
}

fn push_column(
    rows: &mut RowBuilder,
    database: &str,
    def: &TableDef,
    position: usize,
    column: &model::ColumnDef,
) -> Result<(), Error> {
    let used = format!("`{}`", model::table_def::stored_column_name(column.id));
    let uses = |texts: &[std::sync::Arc<str>]| texts.iter().any(|text| text.contains(&used));
    let primary = &def.order_by[..def.order_by.len().min(def.primary_key_len as usize)];
    let (default_kind, default_expression) = default_of(def, column);
    rows.push([
        database.into(),
        def.name.to_string().into(),
        column.name.to_string().into(),
        column.column_type.to_string().into(),
        (position + 1).into(),
        default_kind.into(),
        default_expression.into(),
        column.comment.to_string().into(),
        uses(&def.partition_by).into(),
        uses(&def.order_by).into(),
        uses(primary).into(),
        column.codec.as_deref().unwrap_or("").into(),
    ])
}
