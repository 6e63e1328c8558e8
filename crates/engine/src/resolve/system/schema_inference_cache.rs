//! `system.schema_inference_cache`: columns found in files, and how long they stay true.

use stores::calls::urls::masked_urls;

use super::SystemTable;
use ::tables::system_rows::rows::Cell;

pub(super) const TABLE: SystemTable = SystemTable {
    columns: &[
        ("storage", "String"),
        ("source", "String"),
        ("format", "String"),
        ("additional_format_info", "String"),
        ("registration_time", "DateTime('UTC')"),
        ("schema", "Nullable(String)"),
        ("number_of_rows", "Nullable(UInt64)"),
        ("schema_inference_mode", "Nullable(String)"),
        ("etag", "String"),
    ],
    fill: |services, execution, rows| {
        // What others read is theirs.
        let is_shown = !execution.sees_own_only;
        for row in services.sources.schemas.rows().into_iter().filter(|_| is_shown) {
            let schema = row.entry.columns.map(|columns| {
                columns.iter().map(|(name, found)| format!("{name} {found}")).collect::<Vec<_>>().join(", ")
            });
            rows.push([
                row.key.storage.into(),
                masked_urls(&row.key.source).into(),
                row.key.format.into(),
                row.key.format_settings.into(),
                Cell::Time(row.entry.registered_ms),
                schema.map_or(Cell::Null, Cell::from),
                row.entry.rows.map_or(Cell::Null, Cell::UInt),
                // A file has one schema; how those of several are joined is the statement's business.
                Cell::Null,
                row.key.etag.into(),
            ])?;
        }
        Ok(())
    },
};
