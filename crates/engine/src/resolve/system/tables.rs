//! `system.tables`: tables of every database, those of the session, and tables made up from live state.

use std::sync::Arc;

use boundary::error::Error;
use boundary::secrets::redaction::shown_engine;
use catalog::{Snapshot, TableState};
use model::TableEngine;

use super::{SystemTable, names};
use crate::context::services::Services;
use ::tables::system_rows::derived_names;
use ::tables::system_rows::rows::{Cell, RowBuilder};
use tables::joined::hides_rows;
use tables::reserved::{INFORMATION_SCHEMA, SYSTEM};
use tables::temporary::{TemporaryTables, is_temporary};

pub(super) const TABLE: SystemTable = SystemTable {
    columns: &[
        ("database", "String"),
        ("name", "String"),
        ("uuid", "UUID"),
        ("engine", "String"),
        ("is_temporary", "UInt8"),
        ("data_paths", "Array(String)"),
        ("metadata_path", "String"),
        ("metadata_modification_time", "DateTime"),
        ("metadata_version", "Int32"),
        ("dependencies_database", "Array(String)"),
        ("dependencies_table", "Array(String)"),
        ("create_table_query", "String"),
        ("engine_full", "String"),
        ("as_select", "String"),
        ("partition_key", "String"),
        ("sorting_key", "String"),
        ("primary_key", "String"),
        ("sampling_key", "String"),
        ("storage_policy", "String"),
        ("total_rows", "Nullable(UInt64)"),
        ("total_bytes", "Nullable(UInt64)"),
        ("total_bytes_uncompressed", "Nullable(UInt64)"),
        ("parts", "Nullable(UInt64)"),
        ("active_parts", "Nullable(UInt64)"),
        ("total_marks", "Nullable(UInt64)"),
        ("lifetime_rows", "Nullable(UInt64)"),
        ("lifetime_bytes", "Nullable(UInt64)"),
        ("comment", "String"),
        ("has_own_data", "UInt8"),
        ("loading_dependencies_database", "Array(String)"),
        ("loading_dependencies_table", "Array(String)"),
        ("loading_dependent_database", "Array(String)"),
        ("loading_dependent_table", "Array(String)"),
    ],
    fill: |services, execution, rows| fill(services, &execution.snapshot, &execution.temporary, rows),
};

/// `system.detached_tables`.
pub(super) const DETACHED: SystemTable = SystemTable {
    columns: &[
        ("database", "String"),
        ("table", "String"),
        ("uuid", "UUID"),
        ("metadata_path", "String"),
        ("is_permanently", "UInt8"),
    ],
    fill: |_, execution, rows| {
        for database in execution.snapshot.databases() {
            for (table, detached) in execution.snapshot.state().detached_tables(database.id) {
                rows.push_some([
                    ("database", database.name.to_string().into()),
                    ("table", table.def.name.to_string().into()),
                    ("uuid", Cell::Uuid(*detached.id.as_bytes())),
                    ("is_permanently", detached.is_permanent.into()),
                ])?;
            }
        }
        Ok(())
    },
};

fn fill(
    services: &Services,
    snapshot: &Snapshot,
    temporary: &TemporaryTables,
    rows: &mut RowBuilder,
) -> Result<(), Error> {
    for database in snapshot.databases() {
        for table in snapshot.tables(database.id) {
            push_table(services, temporary, rows, &database.name, table)?;
        }
    }
    for table in temporary.all() {
        push_table(services, temporary, rows, "", &table)?;
    }
    for name in names() {
        push_derived(rows, SYSTEM, name, &format!("System{}", in_camel_case(name)))?;
    }
    for database in INFORMATION_SCHEMA {
        for name in derived_names::NAMES {
            push_derived(rows, database, name, "View")?;
        }
    }
    Ok(())
}

fn push_derived(rows: &mut RowBuilder, database: &str, name: &str, engine: &str) -> Result<(), Error> {
    rows.push_some([("database", database.into()), ("name", name.into()), ("engine", engine.into())])
}

fn in_camel_case(name: &str) -> String {
    let word = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    name.split('_').filter(|part| !part.is_empty()).map(word).collect()
}

const ON_ONE_LINE: sql::Layout = sql::Layout::ON_ONE_LINE;

fn push_table(
    services: &Services,
    temporary: &TemporaryTables,
    rows: &mut RowBuilder,
    database: &str,
    table: &Arc<TableState>,
) -> Result<(), Error> {
    let def = &table.def;
    let size = match def.engine {
        // Asking which of them there are would mean reading them.
        _ if hides_rows(def) => None,
        engine if engine.keeps_parts() => Some(merge_tree_size(table)),
        TableEngine::Memory => Some(services.memory_tables_of(temporary, def).size(def.id)),
        TableEngine::Null => Some((0, 0)),
        // Asking would mean a listing.
        _ => None,
    };
    let is_view = matches!(def.engine, TableEngine::View | TableEngine::MaterializedView);
    let (live, removed) = (table.parts().count(), table.outdated().count());
    let is_merge_tree = def.engine == TableEngine::MergeTree;
    let of_parts = |count: usize| if is_merge_tree { count.into() } else { Cell::Null };
    let engine = shown_engine(def);
    let statement = match is_temporary(def) {
        true => sql::show_create_temporary_table(def, &engine, ON_ONE_LINE),
        false => sql::show_create_table(def, database, &engine, ON_ONE_LINE),
    };
    let folder = services.catalog.root().join("data").join(def.id.to_string());
    let paths = if def.engine.keeps_parts() { vec![format!("{}/", folder.display())] } else { Vec::new() };
    rows.push_some([
        ("database", database.into()),
        ("name", def.name.to_string().into()),
        ("uuid", Cell::Uuid(*def.id.as_bytes())),
        ("engine", def.engine_name().into()),
        ("is_temporary", is_temporary(def).into()),
        ("data_paths", paths.into()),
        (
            "metadata_version",
            Cell::Int(i32::try_from(def.schema_version).unwrap_or(i32::MAX).saturating_sub(1)),
        ),
        ("create_table_query", statement.into()),
        ("engine_full", sql::storage_text(def, &engine).into()),
        ("as_select", if is_view { sql::shown_select(&engine, ON_ONE_LINE) } else { String::new() }.into()),
        ("partition_key", sql::partition_key(def).into()),
        ("sorting_key", sql::sorting_key(def).into()),
        ("primary_key", sql::primary_key(def).into()),
        ("sampling_key", sql::sampling_key(def).into()),
        ("storage_policy", if is_merge_tree { "default" } else { "" }.into()),
        ("total_rows", size.map(|(rows, _)| rows).into()),
        ("total_bytes", size.map(|(_, bytes)| bytes).into()),
        ("parts", of_parts(live + removed)),
        ("active_parts", of_parts(live)),
        ("comment", def.comment.to_string().into()),
        ("has_own_data", (!def.engine.is_external() && !def.engine.is_query()).into()),
    ])
}

/// (rows, bytes) of parts and of rows in the log.
pub(super) fn merge_tree_size(table: &TableState) -> (u64, u64) {
    let parts = table.parts().fold((0, 0), |(rows, bytes), part| (rows + part.rows, bytes + part.bytes));
    table
        .inline()
        .fold(parts, |(rows, bytes), inline| (rows + inline.rows, bytes + inline.bytes.len() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_of_system_tables_are_named_after_them() {
        assert_eq!(format!("System{}", in_camel_case("query_log")), "SystemQueryLog");
    }
}
