//! `system.tables`: tables of every database, system tables included.

use std::sync::Arc;

use catalog::TableState;
use model::TableEngine;

use super::rows::{Cell, RowBuilder};
use super::{NAMES, SystemTable};
use crate::context::StatementContext;
use crate::error::Error;
use crate::schemas_name::SYSTEM;
use crate::secrets::shown_engine;

pub(super) const TABLE: SystemTable = SystemTable {
    columns: &[
        ("database", "String"),
        ("name", "String"),
        ("uuid", "String"),
        ("engine", "String"),
        ("engine_full", "String"),
        ("create_table_query", "String"),
        ("partition_key", "String"),
        ("sorting_key", "String"),
        ("primary_key", "String"),
        ("total_rows", "Nullable(UInt64)"),
        ("total_bytes", "Nullable(UInt64)"),
        ("parts", "Nullable(UInt64)"),
        ("active_parts", "Nullable(UInt64)"),
        ("comment", "String"),
    ],
    fill,
};

fn fill(context: &StatementContext, rows: &mut RowBuilder) -> Result<(), Error> {
    for database in context.snapshot.databases() {
        for table in context.snapshot.tables(database.id) {
            push_table(context, rows, &database.name, table)?;
        }
    }
    for name in NAMES {
        rows.push([
            SYSTEM.into(),
            (*name).into(),
            "".into(),
            "System".into(),
            "".into(),
            "".into(),
            "".into(),
            "".into(),
            "".into(),
            Cell::Null,
            Cell::Null,
            Cell::Null,
            Cell::Null,
            "".into(),
        ])?;
    }
    Ok(())
}

fn push_table(
    context: &StatementContext,
    rows: &mut RowBuilder,
    database: &str,
    table: &Arc<TableState>,
) -> Result<(), Error> {
    let def = &table.def;
    let size = match def.engine {
        TableEngine::MergeTree => Some(merge_tree_size(table)),
        TableEngine::Memory => Some(context.database.memory_tables.size(def.id)),
        TableEngine::Null => Some((0, 0)),
        // Asking would mean a listing.
        _ => None,
    };
    let (total_rows, total_bytes) =
        size.map_or((Cell::Null, Cell::Null), |(rows, bytes)| (rows.into(), bytes.into()));
    let keys = |texts: &[Arc<str>]| {
        texts.iter().map(|text| sql::display_expression(text, def)).collect::<Vec<_>>().join(", ")
    };
    let primary = &def.order_by[..def.order_by.len().min(def.primary_key_len as usize)];
    let (live, removed) = (table.parts().count(), table.removed().count());
    rows.push([
        database.into(),
        def.name.to_string().into(),
        def.id.to_string().into(),
        sql::engine_name(def.engine).into(),
        shown_engine(def).into(),
        sql::show_create_table(def, database, &shown_engine(def)).into(),
        keys(&def.partition_by).into(),
        keys(&def.order_by).into(),
        keys(primary).into(),
        total_rows,
        total_bytes,
        (live + removed).into(),
        live.into(),
        def.comment.to_string().into(),
    ])
}

fn merge_tree_size(table: &TableState) -> (u64, u64) {
    let parts = table.parts().fold((0, 0), |(rows, bytes), part| (rows + part.rows, bytes + part.bytes));
    table
        .inline()
        .fold(parts, |(rows, bytes), inline| (rows + inline.rows, bytes + inline.bytes.len() as u64))
}
