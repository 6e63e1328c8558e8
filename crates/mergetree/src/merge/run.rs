//! A plan becomes true, or nothing happens.
//!
//! Invariant: the inputs are replaced by the result in one transaction that demands every input live; whoever loses
//! that race deletes its result and leaves the inputs alone. A result that a durable record may name is never deleted.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use catalog::{Op, Precondition, RefusedWhy, TableState};
use host::MemoryBudget;
use model::{PartDescriptor, PartId, SealedPart, Seq, SortOrder};

use super::choose::MergePlan;
use super::execute::{MergeJob, MergeProgress};
use crate::error::TableError;
use crate::table::Table;

/// What became of a merge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MergeOutcome {
    Committed {
        seq: Seq,
        /// `None` if no row was left.
        part: Option<PartId>,
        /// Parts that were replaced; fewer than planned when there was no memory to read them all at once.
        inputs: usize,
        rows: u64,
        /// Of the file.
        bytes: u64,
    },
    /// An input is not live any more.
    Lost,
    Cancelled,
    /// The disk has too little room for the result beside the inputs.
    NoSpace,
}

/// Runs a plan on this thread.
///
/// # Errors
/// An input is damaged, there is too little memory, or the disk refuses; nothing has changed then, unless the outcome is
/// unknown.
pub fn run(
    table: &Table,
    plan: &MergePlan,
    memory: &MemoryBudget,
    progress: &MergeProgress,
    cancelled: &AtomicBool,
) -> Result<MergeOutcome, TableError> {
    // Held to the end, so that no input is collected under the merge.
    let snapshot = table.catalog.snapshot();
    let Some(state) = snapshot.table_by_id(table.def.id) else { return Ok(MergeOutcome::Lost) };
    let Some(inputs) = live_inputs(&state, plan) else { return Ok(MergeOutcome::Lost) };
    if inputs.iter().any(|part| part.schema_version > table.def.schema_version) {
        // The merge would drop columns that were added since its table was opened.
        return Ok(MergeOutcome::Lost);
    }
    if table.store.free_bytes()? < room_needed(table, &inputs) {
        return Ok(MergeOutcome::NoSpace);
    }
    let mut inputs = inputs.as_slice();
    let merged = loop {
        match (MergeJob { table, inputs, memory, progress, cancelled }).run() {
            Err(TableError::Cancelled) => return Ok(MergeOutcome::Cancelled),
            // Fewer inputs need less; the rest is for the next merge.
            Err(TableError::Memory(_)) if inputs.len() > 2 => inputs = &inputs[..inputs.len().div_ceil(2)],
            other => break other?,
        }
    };
    commit(table, snapshot.seq(), inputs, merged)
}

/// Bytes of the result at most, and of inputs that are sorted on the way, which are not packed then.
fn room_needed(table: &Table, inputs: &[Arc<PartDescriptor>]) -> u64 {
    let order = table.sort_order();
    let sorted_first = |part: &PartDescriptor| order != SortOrder::None && part.sort_order != order;
    let bytes = inputs.iter().map(|part| match sorted_first(part) {
        true => part.bytes.saturating_add(part.bytes_uncompressed),
        false => part.bytes,
    });
    bytes.fold(0, u64::saturating_add)
}

fn live_inputs(state: &TableState, plan: &MergePlan) -> Option<Vec<Arc<PartDescriptor>>> {
    plan.inputs.iter().map(|id| state.part(*id).cloned()).collect()
}

fn commit(
    table: &Table,
    read_seq: Seq,
    inputs: &[Arc<PartDescriptor>],
    merged: Option<SealedPart>,
) -> Result<MergeOutcome, TableError> {
    let id = table.def.id;
    let live = |part: &Arc<PartDescriptor>| Precondition::PartLive { table: id, part: part.id };
    let preconditions = inputs.iter().map(live).collect();
    let mut ops: Vec<Op> = inputs.iter().map(|part| Op::RemovePart { table: id, part: part.id }).collect();
    ops.extend(merged.clone().map(Op::AddPart));
    let result = merged.as_ref().map(SealedPart::descriptor);
    let committed =
        table.pass("mergetree.merge.commit").and_then(|()| table.commit(read_seq, preconditions, ops));
    match committed {
        Ok(seq) => {
            let (rows, bytes) = result.map_or((0, 0), |result| (result.rows, result.bytes));
            let (inputs, part) = (inputs.len(), result.map(|result| result.id));
            Ok(MergeOutcome::Committed { seq, part, inputs, rows, bytes })
        }
        // A durable record may name it.
        Err(error @ TableError::OutcomeUnknown(_)) => Err(error),
        Err(error) => {
            result.map_or(Ok(()), |result| table.store.delete(result))?;
            match error {
                TableError::Refused(
                    RefusedWhy::PartNotLive { .. }
                    | RefusedWhy::UnknownTable(_)
                    | RefusedWhy::PartBetween { .. },
                ) => Ok(MergeOutcome::Lost),
                other => Err(other),
            }
        }
    }
}
