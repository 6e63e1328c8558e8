//! `system.parts_columns`: live parts, a row for each column they store.
//!
//! Invariant: columns are those of the version of the table that the part was written with.

use model::{PartDescriptor, TableDef};
use parts::PartStore;

use super::in_log::{InLog, PART_TYPE, in_log};
use super::partitions::Partitions;
use super::parts::{DISK, Parts};
use super::rows::{Cell, Columns, RowBuilder};
use super::shown_default::default_of;
use boundary::error::Error;

pub const COLUMNS: &Columns = &[
    ("partition", "String"),
    ("name", "String"),
    ("part_name", "String"),
    ("uuid", "UUID"),
    ("part_type", "String"),
    ("active", "UInt8"),
    ("rows", "UInt64"),
    ("bytes_on_disk", "UInt64"),
    ("bytes", "UInt64"),
    ("modification_time", "DateTime('UTC')"),
    ("partition_id", "String"),
    ("min_block_number", "Int64"),
    ("max_block_number", "Int64"),
    ("level", "UInt32"),
    ("data_version", "UInt64"),
    ("database", "String"),
    ("table", "String"),
    ("engine", "String"),
    ("disk_name", "String"),
    ("path", "String"),
    ("column", "String"),
    ("type", "String"),
    ("column_position", "UInt64"),
    ("default_kind", "String"),
    ("default_expression", "String"),
    ("min_date", "Date"),
    ("max_date", "Date"),
    ("min_time", "DateTime"),
    ("max_time", "DateTime"),
];

pub fn fill(parts: &Parts<'_>, rows: &mut RowBuilder) -> Result<(), Error> {
    for database in parts.snapshot.databases() {
        for table in parts.snapshot.tables(database.id) {
            let partitions = Partitions::of(parts.tables, table)?;
            let names: (&str, &Partitions) = (&database.name, &partitions);
            for part in table.parts() {
                let then = table.definition_of(part.schema_version);
                push(rows, parts.store, names, then.as_ref().unwrap_or(&table.def), part)?;
            }
            for part in in_log(parts.tables, table, &partitions)? {
                push_in_log(rows, names, &table.def, &part)?;
            }
        }
    }
    Ok(())
}

fn push_in_log(
    rows: &mut RowBuilder,
    (database, partitions): (&str, &Partitions),
    def: &TableDef,
    part: &InLog,
) -> Result<(), Error> {
    let [min_date, max_date, min_time, max_time] = part.span.cells();
    for (position, column) in def.stored_columns().enumerate() {
        rows.push_some([
            ("partition", partitions.text(&part.partition).into()),
            ("name", part.name().into()),
            ("part_name", part.name().into()),
            ("part_type", PART_TYPE.into()),
            ("active", true.into()),
            ("rows", part.rows.into()),
            ("bytes_on_disk", part.bytes.into()),
            ("bytes", part.bytes.into()),
            ("partition_id", part.partition.name().into()),
            ("database", database.into()),
            ("table", def.name.to_string().into()),
            ("engine", "MergeTree".into()),
            ("disk_name", DISK.into()),
            ("column", column.name.to_string().into()),
            ("type", column.column_type.to_string().into()),
            ("column_position", (position + 1).into()),
            ("min_date", min_date.clone()),
            ("max_date", max_date.clone()),
            ("min_time", min_time.clone()),
            ("max_time", max_time.clone()),
        ])?;
    }
    Ok(())
}

fn push(
    rows: &mut RowBuilder,
    store: &PartStore,
    (database, partitions): (&str, &Partitions),
    def: &TableDef,
    part: &PartDescriptor,
) -> Result<(), Error> {
    let [min_date, max_date, min_time, max_time] = partitions.span_of_part(part).cells();
    for (position, column) in def.stored_columns().enumerate() {
        let (kind, expression) = default_of(def, column);
        rows.push_some([
            ("partition", partitions.text(&part.partition).into()),
            ("name", part.name().into()),
            ("part_name", part.name().into()),
            ("uuid", Cell::Uuid(*part.id.as_bytes())),
            ("part_type", "Parquet".into()),
            ("active", true.into()),
            ("rows", part.rows.into()),
            ("bytes_on_disk", part.bytes.into()),
            ("bytes", part.bytes.into()),
            ("modification_time", Cell::Time(part.created_ms)),
            ("partition_id", part.partition.name().into()),
            ("min_block_number", part.blocks.min.into()),
            ("max_block_number", part.blocks.max.into()),
            ("level", u64::from(part.level).into()),
            ("data_version", part.data_version.max(part.blocks.min).into()),
            ("database", database.into()),
            ("table", def.name.to_string().into()),
            ("engine", "MergeTree".into()),
            ("disk_name", DISK.into()),
            ("path", store.path(part).display().to_string().into()),
            ("column", column.name.to_string().into()),
            ("type", column.column_type.to_string().into()),
            ("column_position", (position + 1).into()),
            ("default_kind", kind.into()),
            ("default_expression", expression.into()),
            ("min_date", min_date.clone()),
            ("max_date", max_date.clone()),
            ("min_time", min_time.clone()),
            ("max_time", max_time.clone()),
        ])?;
    }
    Ok(())
}
