//! `system.parts`: live parts, and removed ones until their files are collected; rows of the log as what they will be.

use boundary::error::Error;
use catalog::Snapshot;
use model::{PartDescriptor, SortOrder, TableDef};
use parts::PartStore;

use super::in_log::{InLog, PART_TYPE, in_log};
use super::partitions::Partitions;
use super::rows::{Cell, Columns, RowBuilder};
use crate::stored::Tables;

/// The name of the only disk.
pub const DISK: &str = "default";

/// What the rows are made of.
pub struct Parts<'a> {
    pub store: &'a PartStore,
    pub snapshot: &'a Snapshot,
    pub tables: &'a Tables,
    pub now_ms: u64,
}

pub const COLUMNS: &Columns = &[
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
    ("disk_name", "String"),
    ("files", "UInt64"),
    ("path", "String"),
    ("hash_of_all_files", "String"),
    ("load_id", "String"),
    ("is_sorted", "UInt8"),
    ("adopted_columns", "Array(String)"),
    ("last_checked", "Nullable(DateTime('UTC'))"),
    ("is_broken", "UInt8"),
    ("exception", "String"),
    ("min_date", "Date"),
    ("max_date", "Date"),
    ("min_time", "DateTime"),
    ("max_time", "DateTime"),
];

pub fn fill(parts: &Parts<'_>, rows: &mut RowBuilder) -> Result<(), Error> {
    let (store, snapshot) = (parts.store, parts.snapshot);
    for database in snapshot.databases() {
        for table in snapshot.tables(database.id) {
            let partitions = Partitions::of(parts.tables, table)?;
            let names: (&str, &Partitions) = (&database.name, &partitions);
            for part in table.parts() {
                push_part(store, rows, names, &table.def, part, Cell::Null)?;
            }
            for part in in_log(parts.tables, table, &partitions)? {
                push_in_log(parts.now_ms, rows, names, &table.def, &part)?;
            }
            for removed in table.outdated() {
                let removed_at = Cell::Time(removed.removed_ms);
                push_part(store, rows, names, &table.def, &removed.descriptor, removed_at)?;
            }
        }
    }
    Ok(())
}

fn push_in_log(
    now_ms: u64,
    rows: &mut RowBuilder,
    (database, partitions): (&str, &Partitions),
    def: &TableDef,
    part: &InLog,
) -> Result<(), Error> {
    let [min_date, max_date, min_time, max_time] = part.span.cells();
    rows.push_some([
        ("partition", partitions.text(&part.partition).into()),
        ("name", part.name().into()),
        ("part_type", PART_TYPE.into()),
        ("active", true.into()),
        ("rows", part.rows.into()),
        ("bytes_on_disk", part.bytes.into()),
        ("data_compressed_bytes", part.bytes.into()),
        ("data_uncompressed_bytes", part.bytes.into()),
        ("modification_time", Cell::Time(now_ms)),
        ("partition_id", part.partition.name().into()),
        ("min_block_number", part.min_block.into()),
        ("max_block_number", part.max_block.into()),
        ("data_version", part.min_block.into()),
        ("database", database.into()),
        ("table", def.name.to_string().into()),
        ("engine", "MergeTree".into()),
        ("disk_name", DISK.into()),
        ("min_date", min_date),
        ("max_date", max_date),
        ("min_time", min_time),
        ("max_time", max_time),
    ])
}

fn push_part(
    store: &PartStore,
    rows: &mut RowBuilder,
    (database, partitions): (&str, &Partitions),
    def: &TableDef,
    part: &PartDescriptor,
    removed_at: Cell,
) -> Result<(), Error> {
    let active = matches!(removed_at, Cell::Null);
    let [min_date, max_date, min_time, max_time] = partitions.span_of_part(part).cells();
    let (checked_ms, damage) = store.health().of(part);
    rows.push([
        partitions.text(&part.partition).into(),
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
        // That of the first of its blocks, until a mutation has another.
        part.data_version.max(part.blocks.min).into(),
        database.into(),
        def.name.to_string().into(),
        "MergeTree".into(),
        DISK.into(),
        1_u64.into(),
        store.path(part).display().to_string().into(),
        format!("{:016x}", part.checksum).into(),
        part.load.map(|load| load.to_string()).unwrap_or_default().into(),
        is_sorted(def, part).into(),
        adopted_columns(def, part).into(),
        checked_ms.map_or(Cell::Null, Cell::Time),
        damage.is_some().into(),
        damage.map_or_else(String::new, |damage| damage.to_string()).into(),
        min_date,
        max_date,
        min_time,
        max_time,
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
