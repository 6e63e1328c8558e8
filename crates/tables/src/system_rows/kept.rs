//! `system.data_skipping_indices` and `system.projections`: what definitions say of them. Neither has data.

use sql::definition::kept::{index_expression, indexes, projection_key, projections};

use boundary::error::Error;
use catalog::Snapshot;

use super::rows::{Cell, Columns, RowBuilder};

pub const INDEXES: &Columns = &[
    ("database", "String"),
    ("table", "String"),
    ("name", "String"),
    ("type", "String"),
    ("type_full", "String"),
    ("expr", "String"),
    ("creation", "Enum8('Explicit' = 0, 'Implicit' = 1)"),
    ("granularity", "UInt64"),
    ("data_compressed_bytes", "UInt64"),
    ("data_uncompressed_bytes", "UInt64"),
    ("marks_bytes", "UInt64"),
];

pub fn fill_indexes(snapshot: &Snapshot, rows: &mut RowBuilder) -> Result<(), Error> {
    for database in snapshot.databases() {
        for table in snapshot.tables(database.id) {
            for index in indexes(&table.def) {
                let kind = index.index_type.split('(').next().unwrap_or_default().trim();
                rows.push_some([
                    ("database", database.name.to_string().into()),
                    ("table", table.def.name.to_string().into()),
                    ("name", index.name.as_str().into()),
                    ("type", kind.into()),
                    ("type_full", index.index_type.as_str().into()),
                    ("expr", index_expression(&index).into()),
                    ("creation", Cell::Int(0)),
                    ("granularity", index.granularity.into()),
                ])?;
            }
        }
    }
    Ok(())
}

pub const PROJECTIONS: &Columns = &[
    ("database", "String"),
    ("table", "String"),
    ("name", "String"),
    ("type", "Enum8('Normal' = 0, 'Aggregate' = 1)"),
    ("sorting_key", "Array(String)"),
    ("query", "String"),
];

pub fn fill_projections(snapshot: &Snapshot, rows: &mut RowBuilder) -> Result<(), Error> {
    for database in snapshot.databases() {
        for table in snapshot.tables(database.id) {
            for projection in projections(&table.def) {
                let (key, aggregates) = projection_key(&projection);
                rows.push_some([
                    ("database", database.name.to_string().into()),
                    ("table", table.def.name.to_string().into()),
                    ("name", projection.name.as_str().into()),
                    ("type", Cell::Int(i32::from(aggregates))),
                    ("sorting_key", key.into()),
                    ("query", sql::shown_projection(&projection.query).into()),
                ])?;
            }
        }
    }
    Ok(())
}
