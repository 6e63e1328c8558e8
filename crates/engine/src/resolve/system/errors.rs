//! `system.errors`: the errors that happened since the process started.

use super::SystemTable;
use ::tables::system_rows::rows::Cell;

pub(super) const TABLE: SystemTable = SystemTable {
    columns: &[
        ("name", "String"),
        ("code", "Int32"),
        ("value", "UInt64"),
        ("last_error_time", "DateTime('UTC')"),
        ("last_error_message", "String"),
        ("last_error_format_string", "String"),
        ("last_error_trace", "Array(UInt64)"),
        ("remote", "UInt8"),
        ("query_id", "String"),
    ],
    fill: |services, execution, rows| {
        for (code, noted) in services.processes.errors.all() {
            let is_shown = execution.sees_statements_of(&noted.last_user);
            let shown = |text: String| if is_shown { text } else { String::new() };
            rows.push_some([
                ("name", code.name().into()),
                ("code", code.into()),
                ("value", noted.count.into()),
                ("last_error_time", Cell::Time(noted.last_ms)),
                ("last_error_message", shown(noted.last_message).into()),
                ("query_id", shown(noted.last_query_id).into()),
            ])?;
        }
        Ok(())
    },
};
