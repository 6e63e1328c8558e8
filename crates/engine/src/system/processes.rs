//! `system.processes`: statements running now.

use super::SystemTable;

pub(super) const TABLE: SystemTable = SystemTable {
    columns: &[
        ("query_id", "String"),
        ("query_kind", "String"),
        ("current_database", "String"),
        ("elapsed", "Float64"),
        ("read_rows", "UInt64"),
        ("read_bytes", "UInt64"),
        ("total_rows_approx", "UInt64"),
        ("written_rows", "UInt64"),
        ("written_bytes", "UInt64"),
        ("memory_usage", "UInt64"),
        ("peak_memory_usage", "UInt64"),
        ("is_cancelled", "UInt8"),
        ("query", "String"),
    ],
    fill: |context, rows| {
        let now = context.database.host.clock.monotonic();
        for process in context.database.processes.running() {
            let progress = &process.progress;
            rows.push([
                process.query_id.into(),
                process.kind.into(),
                process.database.into(),
                now.saturating_sub(process.started).as_secs_f64().into(),
                progress.read_rows().into(),
                progress.read_bytes().into(),
                progress.total_rows_approx().into(),
                progress.written_rows().into(),
                progress.written_bytes().into(),
                process.memory.used().into(),
                process.memory.peak().into(),
                progress.is_cancelled().into(),
                process.query.into(),
            ])?;
        }
        Ok(())
    },
};
