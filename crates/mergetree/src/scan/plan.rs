//! The parts and inline rows of one snapshot that a scan has to read.
//!
//! Invariant: parts come in insertion order within their partition; whoever runs the plan keeps the snapshot.

use std::sync::Arc;

use arrow::array::RecordBatch;
use catalog::Snapshot;
use model::{Evolution, PartDescriptor, Seq, TableId};

use super::prune::ScanFilter;
use crate::error::TableError;
use crate::memtable;

/// What pruning saved.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PrunedParts {
    pub parts: u64,
    pub rows: u64,
}

#[derive(Clone, Debug)]
pub struct ScanPlan {
    pub seq: Seq,
    /// To be read.
    pub parts: Vec<Arc<PartDescriptor>>,
    pub pruned: PrunedParts,
    /// Never pruned: they are few and in memory.
    pub inline: Vec<RecordBatch>,
}

/// `None` if the snapshot has no such table.
///
/// # Errors
/// Inline rows cannot be read.
pub fn plan(
    snapshot: &Snapshot,
    table: TableId,
    filter: &ScanFilter,
    evolution: &Evolution,
) -> Result<Option<ScanPlan>, TableError> {
    let Some(state) = snapshot.table_by_id(table) else { return Ok(None) };
    let mut plan = ScanPlan {
        seq: snapshot.seq(),
        parts: Vec::new(),
        pruned: PrunedParts::default(),
        inline: memtable::batches(&state, evolution)?,
    };
    for part in state.parts() {
        if filter.may_match(part) {
            plan.parts.push(Arc::clone(part));
        } else {
            plan.pruned.parts += 1;
            plan.pruned.rows += part.rows;
        }
    }
    Ok(Some(plan))
}
