//! `system.load_rejected_rows`: rows that could not be read and were skipped, oldest first; kept in memory, bounded.

use super::SystemTable;
use ::tables::system_rows::rows::Cell;

pub(super) const TABLE: SystemTable = SystemTable {
    columns: &[
        ("time", "DateTime('UTC')"),
        ("query_id", "String"),
        ("database", "String"),
        ("table", "String"),
        ("file", "String"),
        ("row", "UInt64"),
        ("byte", "UInt64"),
        ("column", "Nullable(String)"),
        ("code", "Int32"),
        ("message", "String"),
        ("text", "String"),
    ],
    fill: |services, execution, rows| {
        let mut all = services.processes.rejected.rows();
        all.retain(|rejected| execution.sees_statements_of(&rejected.user));
        for rejected in all {
            let row = rejected.reject.row;
            rows.push([
                Cell::Time(rejected.at_ms),
                rejected.query_id.into(),
                rejected.target.0.into(),
                rejected.target.1.into(),
                rejected.reject.file.into(),
                row.row.into(),
                row.position.into(),
                row.column.map_or(Cell::Null, Cell::Text),
                row.code.into(),
                row.message.into(),
                row.text.into(),
            ])?;
        }
        Ok(())
    },
};
