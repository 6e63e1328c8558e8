//! `system.databases`.

use super::SystemTable;

pub(super) const TABLE: SystemTable = SystemTable {
    columns: &[("name", "String"), ("engine", "String"), ("uuid", "String"), ("data_path", "String")],
    fill: |context, rows| {
        for database in context.snapshot.databases() {
            let engine =
                if database.name.as_ref() == crate::schemas_name::SYSTEM { "System" } else { "Atomic" };
            let root = context.database.catalog.root().display().to_string();
            rows.push([
                database.name.to_string().into(),
                engine.into(),
                database.id.to_string().into(),
                root.into(),
            ])?;
        }
        Ok(())
    },
};
