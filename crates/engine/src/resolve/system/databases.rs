//! `system.databases`.

use super::SystemTable;
use ::tables::system_rows::rows::Cell;
use tables::reserved::{INFORMATION_SCHEMA, SYSTEM};

pub(super) const TABLE: SystemTable = SystemTable {
    columns: &[
        ("name", "String"),
        ("engine", "String"),
        ("data_path", "String"),
        ("metadata_path", "String"),
        ("uuid", "UUID"),
        ("engine_full", "String"),
        ("comment", "String"),
        ("is_external", "UInt8"),
    ],
    fill: |services, execution, rows| {
        let root = services.catalog.root().display().to_string();
        for database in execution.snapshot.databases() {
            let engine = if database.name.as_ref() == SYSTEM { "Memory" } else { "Atomic" };
            rows.push_some([
                ("name", database.name.to_string().into()),
                ("engine", engine.into()),
                ("data_path", root.as_str().into()),
                ("uuid", Cell::Uuid(*database.id.as_bytes())),
                ("engine_full", engine.into()),
            ])?;
        }
        for name in INFORMATION_SCHEMA {
            rows.push_some([
                ("name", name.into()),
                ("engine", "Memory".into()),
                ("data_path", root.as_str().into()),
                ("engine_full", "Memory".into()),
            ])?;
        }
        Ok(())
    },
};
