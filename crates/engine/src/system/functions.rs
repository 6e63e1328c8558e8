//! `system.functions`.

use super::SystemTable;

pub(super) const TABLE: SystemTable = SystemTable {
    columns: &[
        ("name", "String"),
        ("is_aggregate", "UInt8"),
        ("case_insensitive", "UInt8"),
        ("alias_to", "String"),
        ("description", "String"),
        ("syntax", "String"),
        ("examples", "String"),
    ],
    fill: |_, rows| {
        for function in sql::documented_functions() {
            rows.push([
                function.name.into(),
                function.is_aggregate.into(),
                function.case_insensitive.into(),
                function.alias_to.into(),
                function.description.into(),
                function.syntax.into(),
                function.example.into(),
            ])?;
        }
        Ok(())
    },
};
