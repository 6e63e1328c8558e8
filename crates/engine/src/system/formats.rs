//! `system.formats`.

use super::SystemTable;

pub(super) const TABLE: SystemTable = SystemTable {
    columns: &[("name", "String"), ("is_input", "UInt8"), ("is_output", "UInt8")],
    fill: |_, rows| {
        for kind in formats::FormatKind::list() {
            rows.push([kind.name().into(), kind.is_input().into(), kind.is_output().into()])?;
        }
        Ok(())
    },
};
