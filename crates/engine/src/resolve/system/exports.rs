//! `system.exports`: objects outside of the database that are being written, or wait for somebody to finish them.

use model::{ExportCredentials, ExportObject};

use super::SystemTable;

pub(super) const TABLE: SystemTable = SystemTable {
    columns: &[
        ("export_id", "String"),
        ("query_id", "String"),
        ("status", "String"),
        ("rows", "UInt64"),
        ("objects", "Array(String)"),
        ("needs_credentials", "UInt8"),
        ("opened_ms", "UInt64"),
    ],
    fill: |services, execution, rows| {
        // The newest state: an export that waits is of interest also to the transaction that would not see it.
        // Where others write to is theirs.
        let is_shown = !execution.sees_own_only;
        for export in services.catalog.snapshot().exports().filter(|_| is_shown) {
            let runs = services.exports.is_running(export.id);
            let status = match (runs, export.is_committed) {
                (true, false) => "WRITING",
                (true, true) => "COMPLETING",
                (false, true) => "TO COMPLETE",
                (false, false) => "TO ABORT",
            };
            let needs = |object: &ExportObject| object.store.credentials == ExportCredentials::Statement;
            rows.push([
                export.id.to_string().into(),
                export.query_id.to_string().into(),
                status.into(),
                export.rows.into(),
                export.objects.iter().map(ExportObject::shown).collect::<Vec<_>>().into(),
                u64::from(!runs && export.objects.iter().any(needs)).into(),
                export.opened_ms.into(),
            ])?;
        }
        Ok(())
    },
};
