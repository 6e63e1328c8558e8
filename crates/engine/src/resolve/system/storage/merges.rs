//! `system.merges`: merges running now.

use crate::resolve::system::SystemTable;
use ::tables::system_rows::rows::RowBuilder;
use boundary::error::Error;
use catalog::Snapshot;
use host::Host;
use mergetree::merge::running::RunningMerge;

pub(in crate::resolve::system) const TABLE: SystemTable = SystemTable {
    columns: &[
        ("database", "String"),
        ("table", "String"),
        ("elapsed", "Float64"),
        ("progress", "Float64"),
        ("num_parts", "UInt64"),
        ("source_part_names", "Array(String)"),
        ("partition_id", "String"),
        ("total_size_bytes_compressed", "UInt64"),
        ("rows_read", "UInt64"),
        ("rows_written", "UInt64"),
        ("merge_type", "String"),
    ],
    fill: |services, execution, rows| {
        for merge in services.merges.running() {
            push_merge(&services.host, &execution.snapshot, rows, &merge)?;
        }
        Ok(())
    },
};

fn push_merge(
    host: &Host,
    snapshot: &Snapshot,
    rows: &mut RowBuilder,
    merge: &RunningMerge,
) -> Result<(), Error> {
    // Its table may be gone by now; then there is nothing to show.
    let Some(table) = snapshot.table_by_id(merge.table) else { return Ok(()) };
    let database = snapshot.database_by_id(table.def.database);
    let database = database.map(|database| database.name.to_string()).unwrap_or_default();
    let parts: Vec<_> = merge.plan.inputs.iter().filter_map(|id| table.part(*id)).collect();
    let elapsed = host.clock.monotonic().saturating_sub(merge.started);
    let rows_total: u64 = parts.iter().map(|part| part.rows).sum();
    let read = merge.progress.rows_read();
    rows.push([
        database.into(),
        table.def.name.to_string().into(),
        elapsed.as_secs_f64().into(),
        share(read, rows_total).into(),
        merge.plan.inputs.len().into(),
        parts.iter().map(|part| part.name()).collect::<Vec<_>>().into(),
        parts.first().map(|part| part.partition.name().to_owned()).unwrap_or_default().into(),
        parts.iter().map(|part| part.bytes).sum::<u64>().into(),
        read.into(),
        merge.progress.rows_written().into(),
        "Regular".into(),
    ])
}

#[expect(clippy::cast_precision_loss, reason = "a share shown to people")]
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 / whole as f64).min(1.0) }
}
