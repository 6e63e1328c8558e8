//! `system.mutations`: what DELETE and UPDATE did. A mutation is done when its statement is answered.

use crate::resolve::system::SystemTable;
use ::tables::system_rows::rows::Cell;

pub(in crate::resolve::system) const TABLE: SystemTable = SystemTable {
    columns: &[
        ("database", "String"),
        ("table", "String"),
        ("mutation_id", "String"),
        ("command", "String"),
        ("create_time", "DateTime"),
        ("block_numbers.partition_id", "Array(String)"),
        ("block_numbers.number", "Array(Int64)"),
        ("parts_in_progress_names", "Array(String)"),
        ("parts_to_do_names", "Array(String)"),
        ("parts_to_do", "Int64"),
        ("parts_done", "UInt64"),
        ("is_done", "UInt8"),
        ("is_killed", "UInt8"),
        ("latest_failed_part", "String"),
        ("latest_fail_time", "DateTime"),
        ("latest_fail_reason", "String"),
    ],
    fill: |services, _execution, rows| {
        for (number, mutation) in services.mutations.ended() {
            rows.push_some([
                ("database", mutation.database.into()),
                ("table", mutation.table.into()),
                ("mutation_id", format!("mutation_{number}.txt").into()),
                ("command", format!("({})", mutation.command).into()),
                ("create_time", Cell::Time(mutation.begun_ms)),
                ("parts_to_do", 0_u64.into()),
                ("parts_done", mutation.parts.into()),
                ("is_done", true.into()),
            ])?;
        }
        Ok(())
    },
};
