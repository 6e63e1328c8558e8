//! `system.parts`: live parts, and removed ones until their files are collected.

use boundary::error::Error;
use catalog::Snapshot;
use model::{PartDescriptor, SortOrder, TableDef};
use parts::PartStore;

use crate::resolve::system::SystemTable;
use ::tables::system_rows::rows::{Cell, RowBuilder};

pub(in crate::resolve::system) const TABLE: SystemTable = SystemTable {
    columns: &[
        ("partition", "String"),
        ("name", "String"),
        ("uuid", "String"),
        ("part_type", "String"),
        ("active", "UInt8"),
        ("rows", "UInt64"),
        ("bytes_on_disk", "UInt64"),
        ("data_compressed_bytes", "UInt64"),
        ("data_uncompressed_bytes", "UInt64"),
        ("modification_time", "DateTime('UTC')"),
        ("remove_time", "Nullable(DateTime('UTC'))"),
        ("partition_id", "String"),
        ("min_block_number", "UInt64"),
        ("max_block_number", "UInt64"),
        ("level", "UInt64"),
        ("data_version", "UInt64"),
        ("database", "String"),
        ("table", "String"),
        ("engine", "String"),
        ("path", "String"),
        ("hash_of_all_files", "String"),
        ("load_id", "String"),
        ("is_sorted", "UInt8"),
        ("adopted_columns", "Array(String)"),
        ("last_checked", "Nullable(DateTime('UTC'))"),
        ("is_broken", "UInt8"),
        ("exception", "String"),
    ],
    fill: |services, execution, rows| fill(&services.store, &execution.snapshot, rows),
};

fn fill(store: &PartStore, snapshot: &Snapshot, rows: &mut RowBuilder) -> Result<(), Error> {
    for database in snapshot.databases() {
        for table in snapshot.tables(database.id) {
            for part in table.parts() {
                push_part(store, rows, &database.name, &table.def, part, Cell::Null)?;
            }
            for removed in table.removed() {
                let removed_at = Cell::Time(removed.removed_ms);
                push_part(store, rows, &database.name, &table.def, &removed.descriptor, removed_at)?;
            }
        }
    }
    Ok(())
}

fn push_part(
    store: &PartStore,
    rows: &mut RowBuilder,
    database: &str,
    def: &TableDef,
    part: &PartDescriptor,
    removed_at: Cell,
) -> Result<(), Error> {
    let active = matches!(removed_at, Cell::Null);
    let (checked_ms, damage) = store.health().of(part);
    rows.push([
        part.partition.name().into(),
        part.name().into(),
        part.id.to_string().into(),
        "Parquet".into(),
        active.into(),
        part.rows.into(),
        part.bytes.into(),
        part.bytes.into(),
        part.bytes_uncompressed.into(),
        Cell::Time(part.created_ms),
        removed_at,
        part.partition.name().into(),
        part.blocks.min.into(),
        part.blocks.max.into(),
        part.level.into(),
        part.data_version.into(),
        database.into(),
        def.name.to_string().into(),
        "MergeTree".into(),
        store.path(part).display().to_string().into(),
        format!("{:016x}", part.checksum).into(),
        part.load.map(|load| load.to_string()).unwrap_or_default().into(),
        is_sorted(def, part).into(),
        adopted_columns(def, part).into(),
        checked_ms.map_or(Cell::Null, Cell::Time),
        damage.is_some().into(),
        damage.map_or_else(String::new, |damage| damage.to_string()).into(),
    ])
}

/// Whether the rows are in the table's order; a merge sorts the others.
fn is_sorted(def: &TableDef, part: &PartDescriptor) -> bool {
    def.order_by.is_empty() || part.sort_order == SortOrder::Key { version: def.sort_key_version }
}

/// Columns whose pages were copied out of a file.
fn adopted_columns(def: &TableDef, part: &PartDescriptor) -> Vec<String> {
    let adopted = def.columns.iter().filter(|column| part.adopted.contains(&column.id));
    adopted.map(|column| column.name.to_string()).collect()
}
