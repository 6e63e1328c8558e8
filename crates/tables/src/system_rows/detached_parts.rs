//! `system.detached_parts`: parts that no query reads until they are attached again.

use boundary::error::Error;
use catalog::Snapshot;
use parts::PartStore;

use super::parts::DISK;
use super::rows::{Cell, Columns, RowBuilder};

/// `reason` is empty: all were detached by a statement.
pub const COLUMNS: &Columns = &[
    ("database", "String"),
    ("table", "String"),
    ("partition_id", "Nullable(String)"),
    ("name", "String"),
    ("bytes_on_disk", "UInt64"),
    ("modification_time", "DateTime"),
    ("disk", "String"),
    ("path", "String"),
    ("reason", "Nullable(String)"),
    ("min_block_number", "Nullable(Int64)"),
    ("max_block_number", "Nullable(Int64)"),
    ("level", "Nullable(UInt32)"),
];

pub fn fill(store: &PartStore, snapshot: &Snapshot, rows: &mut RowBuilder) -> Result<(), Error> {
    for database in snapshot.databases() {
        for table in snapshot.tables(database.id) {
            for detached in table.detached() {
                let part = &detached.descriptor;
                rows.push([
                    database.name.to_string().into(),
                    table.def.name.to_string().into(),
                    part.partition.name().into(),
                    part.name().into(),
                    part.bytes.into(),
                    Cell::Time(detached.removed_ms),
                    DISK.into(),
                    store.path(part).display().to_string().into(),
                    "".into(),
                    part.blocks.min.into(),
                    part.blocks.max.into(),
                    part.level.into(),
                ])?;
            }
        }
    }
    Ok(())
}
