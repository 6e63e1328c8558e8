//! `system.part_log`: parts made, merged and removed, oldest first; kept in memory, bounded.

use boundary::error::Error;
use boundary::ledgers::part_log::PartEvent;
use model::saturating::millis_of;

use crate::resolve::system::SystemTable;
use ::tables::system_rows::rows::{Cell, RowBuilder};

pub(in crate::resolve::system) const TABLE: SystemTable = SystemTable {
    columns: &[
        ("query_id", "String"),
        (
            "event_type",
            "Enum8('NewPart' = 1, 'MergeParts' = 2, 'DownloadPart' = 3, 'RemovePart' = 4, 'MutatePart' = 5, 'MovePart' = 6)",
        ),
        ("merge_reason", "String"),
        ("event_time", "DateTime('UTC')"),
        ("event_time_microseconds", "DateTime64(6, 'UTC')"),
        ("duration_ms", "UInt64"),
        ("database", "String"),
        ("table", "String"),
        ("part_name", "String"),
        ("partition_id", "String"),
        ("rows", "UInt64"),
        ("size_in_bytes", "UInt64"),
        ("merged_from", "Array(String)"),
        ("bytes_uncompressed", "UInt64"),
        ("peak_memory_usage", "UInt64"),
        ("error", "Int32"),
        ("exception", "String"),
    ],
    fill: |services, execution, rows| {
        for event in services.part_log.events() {
            push_event(rows, event, execution.sees_own_only)?;
        }
        Ok(())
    },
};

/// Whose the statement was the log does not know: to whom may see only their own, all are others'.
fn push_event(rows: &mut RowBuilder, event: PartEvent, hides_statements: bool) -> Result<(), Error> {
    let said = |text: String| if hides_statements { String::new() } else { text };
    rows.push([
        said(event.query_id).into(),
        Cell::Int(event.kind as i32),
        event.merge_reason.into(),
        Cell::Time(event.at_ms),
        Cell::Micros(event.at_ms.saturating_mul(1000)),
        millis_of(event.duration).into(),
        event.database.into(),
        event.table.into(),
        event.part_name.into(),
        event.partition_id.into(),
        event.rows.into(),
        event.bytes.into(),
        event.merged_from.into(),
        event.bytes_uncompressed.into(),
        event.memory_peak.into(),
        Cell::code(event.error.as_ref().map(|error| error.code)),
        said(event.error.map(|error| error.to_string()).unwrap_or_default()).into(),
    ])
}
