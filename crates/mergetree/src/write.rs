//! From batches to parts: form a block, split it by partition, sort each piece, write it once.
//!
//! Invariant: nothing here is visible to anyone until the caller commits the sealed parts.

pub mod blocks;
pub mod gather;
pub mod partition;
pub mod sort;
pub mod collapse;
pub mod sink;
pub mod adopt;
pub mod rewrite;

use arrow::array::RecordBatch;
use model::RowExpr;
use parts::sorted::KeyRows;
use std::sync::Arc;

use crate::error::TableError;
use crate::table::Table;

pub use rewrite::PartRewriter;
pub use sink::{PartSink, SinkSettings};

/// What a sink would refuse of these rows: keys that cannot be computed, too many partitions (0 = no limit). Asked before
/// rows go into the log, or no flush could ever take them out again.
///
/// # Errors
/// As those of [`PartSink`].
pub fn check_rows(table: &Table, rows: &RecordBatch, partitions_max: u64) -> Result<(), TableError> {
    // A plain column is as it is.
    let can_fail = |keys: &[Arc<dyn RowExpr>]| keys.iter().any(|key| key.as_column().is_none());
    let (sort, by_partition) = (&table.keys.sort, &table.keys.partition);
    if can_fail(sort) {
        KeyRows::new(sort).arrays(rows)?;
    }
    let counted = partitions_max > 0 && rows.num_rows() as u64 > partitions_max && !by_partition.is_empty();
    if counted || can_fail(by_partition) {
        partition::split(table, std::slice::from_ref(rows), partitions_max)?;
    }
    Ok(())
}
