//! `system.errors`: the error numbers this program can answer with.

use super::SystemTable;
use super::rows::Cell;

pub(super) const TABLE: SystemTable = SystemTable {
    columns: &[("name", "String"), ("code", "Int32")],
    fill: |_, rows| {
        for (code, name) in crate::error_code::all() {
            rows.push([name.into(), Cell::Int(code)])?;
        }
        Ok(())
    },
};
