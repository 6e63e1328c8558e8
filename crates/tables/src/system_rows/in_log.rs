//! Rows that are in the log yet, as the parts they will be: whoever asks which partitions a table has, asks for these, too.
//!
//! Invariant: every row of the log is in one of them. Must not know: files.

use boundary::error::Error;
use catalog::TableState;
use mergetree::memtable::{batches_between, inline_runs};
use mergetree::write::partition::split;
use model::PartitionValue;
use model::saturating::u64_of;

use super::partitions::{Partitions, Span};
use crate::stored::Tables;

/// What `part_type` says of them.
pub(super) const PART_TYPE: &str = "Log";

/// The rows of one partition.
pub(super) struct InLog {
    pub partition: PartitionValue,
    pub span: Span,
    pub rows: u64,
    /// Their share of the bytes of all.
    pub bytes: u64,
    pub min_block: u64,
    pub max_block: u64,
}

impl InLog {
    pub(super) fn name(&self) -> String {
        format!("{}_{}_{}_0", self.partition.name(), self.min_block, self.max_block)
    }
}

/// By partition, and by what lies between parts: no part covers another's block numbers.
pub(super) fn in_log(
    tables: &Tables,
    table: &TableState,
    partitions: &Partitions,
) -> Result<Vec<InLog>, Error> {
    if table.inline_count() == 0 || !table.def.engine.keeps_parts() {
        return Ok(Vec::new());
    }
    let (handle, _) = tables.handle(&table.def)?;
    let mut found = Vec::new();
    for run in inline_runs(table) {
        let batches = batches_between(table, &handle.keys.evolution, run.first..run.last + 1)?;
        for piece in split(&handle, &batches, 0)? {
            let span = partitions.span_of_rows(&batches, piece.rows.as_deref());
            let rows = piece.rows.map_or(run.rows, |rows| u64_of(rows.len()));
            let share = u128::from(run.bytes) * u128::from(rows) / u128::from(run.rows.max(1));
            found.push(InLog {
                partition: piece.partition,
                span,
                rows,
                bytes: u64::try_from(share).unwrap_or(u64::MAX),
                min_block: run.first,
                max_block: run.last,
            });
        }
    }
    Ok(found)
}
