//! `system.schema_inference_cache`: columns found in files, and how long they stay true.

use super::SystemTable;
use super::rows::Cell;

pub(super) const TABLE: SystemTable = SystemTable {
    columns: &[
        ("storage", "String"),
        ("source", "String"),
        ("format", "String"),
        ("additional_format_info", "String"),
        ("registration_time", "DateTime('UTC')"),
        ("schema", "Nullable(String)"),
        ("number_of_rows", "Nullable(UInt64)"),
        ("etag", "String"),
    ],
    fill: |context, rows| {
        for row in context.database.sources.schemas.rows() {
            let columns = row.entry.columns.iter().map(|(name, column_type)| format!("{name} {column_type}"));
            rows.push([
                row.key.storage.into(),
                row.key.source.into(),
                row.key.format.into(),
                row.key.format_settings.into(),
                Cell::Time(row.entry.registered_ms),
                columns.collect::<Vec<_>>().join(", ").into(),
                row.entry.rows.map_or(Cell::Null, Cell::UInt),
                row.key.etag.into(),
            ])?;
        }
        Ok(())
    },
};
