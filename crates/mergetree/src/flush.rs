//! Inline rows become parts: `AddPart` and `Flushed` in one transaction.
//!
//! Rows keep their place in the insertion order: a part holds only neighbouring statements, with no part of the table
//! between them, and takes their block numbers. Invariant: a row is either inline or in a part, at every `Seq`.
//! When to flush is decided in [`due`].

pub mod due;

use catalog::{InlineStatement, Op, Precondition, RefusedWhy, TableState};
use model::{BlockRange, SealedPart, Seq};
use parts::WritePurpose;

use crate::error::TableError;
use crate::memtable;
use crate::table::Table;
use crate::write::{PartSink, SinkSettings};

/// What became of a flush.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlushOutcome {
    Committed {
        seq: Seq,
        rows: u64,
        parts: usize,
    },
    /// There were no inline rows.
    Nothing,
    /// Another flush, a truncation or an ALTER came first.
    Lost,
}

/// Flushes the inline rows of the newest snapshot, the oldest first, up to a bounded number. Blocks for two or three fsyncs.
///
/// # Errors
/// The disk refuses, or the inline rows cannot be read; nothing has changed then, unless the outcome is unknown.
pub fn run(table: &Table) -> Result<FlushOutcome, TableError> {
    let snapshot = table.catalog.snapshot();
    let Some(state) = snapshot.table_by_id(table.def.id) else { return Ok(FlushOutcome::Lost) };
    if state.def.schema_version != table.def.schema_version {
        // Its columns have changed since this flush was prepared.
        return Ok(FlushOutcome::Lost);
    }
    let statements = oldest(&state);
    let Some(up_to) = statements.last().map(|last| last.seq) else { return Ok(FlushOutcome::Nothing) };
    let mut written = Vec::new();
    let groups = match table.host.faults.planted("mergetree.flush_across_parts") {
        true => vec![statements.as_slice()],
        false => without_parts_between(&state, &statements),
    };
    for neighbours in groups {
        match write(table, &state, neighbours) {
            Ok(parts) => written.extend(parts),
            Err(error) => {
                discard(table, &written);
                return Err(error);
            }
        }
    }
    let rows = statements.iter().map(|statement| statement.rows).sum();
    commit(table, snapshot.seq(), up_to, written, rows)
}

/// Rows and bytes of one flush, whose rows are in memory several times over; the rest is for the next.
const FLUSH_ROWS_MAX: u64 = 4 << 20;
const FLUSH_BYTES_MAX: u64 = 128 << 20;

/// The oldest statements, whole records of them: a flush says up to which seq.
fn oldest(state: &TableState) -> Vec<&InlineStatement> {
    let mut taken: Vec<&InlineStatement> = Vec::new();
    let (mut rows, mut bytes) = (0, 0);
    for next in state.inline().map(AsRef::as_ref) {
        rows += next.rows;
        bytes += next.bytes.len() as u64;
        let is_full = rows > FLUSH_ROWS_MAX || bytes > FLUSH_BYTES_MAX;
        if is_full && taken.last().is_some_and(|last| last.seq != next.seq) {
            break;
        }
        taken.push(next);
    }
    taken
}

/// Cuts the statements where a live part has a block number between two of them.
fn without_parts_between<'a>(
    state: &TableState,
    statements: &'a [&'a InlineStatement],
) -> Vec<&'a [&'a InlineStatement]> {
    let mut parts: Vec<u64> = state.parts().map(|part| part.blocks.min).collect();
    parts.sort_unstable();
    let between = |a: &&InlineStatement, b: &&InlineStatement| {
        let next = parts.partition_point(|block| *block <= a.block);
        parts.get(next).is_none_or(|block| *block > b.block)
    };
    statements.chunk_by(between).collect()
}

fn write(
    table: &Table,
    state: &TableState,
    statements: &[&InlineStatement],
) -> Result<Vec<SealedPart>, TableError> {
    let blocks = BlockRange {
        min: statements.first().map_or(0, |statement| statement.block),
        max: statements.last().map_or(0, |statement| statement.block),
    };
    let settings = SinkSettings {
        // One block, so that each partition gets one part.
        block_rows_min: u64::MAX,
        block_bytes_min: u64::MAX,
        partitions_max: 0,
        memory: table.host.memory.clone(),
        load: None,
        collapses: false,
    };
    let mut sink = PartSink::replacing(table.clone(), settings, WritePurpose::Flush, blocks);
    for same_version in statements.chunk_by(|a, b| a.schema_version == b.schema_version) {
        sink.write(memtable::read(state, same_version, &table.keys.evolution)?)?;
    }
    sink.finish()
}

fn commit(
    table: &Table,
    read_seq: Seq,
    up_to: Seq,
    parts: Vec<SealedPart>,
    rows: u64,
) -> Result<FlushOutcome, TableError> {
    let id = table.def.id;
    let schema_version = table.def.schema_version;
    let preconditions = vec![Precondition::SchemaCompatible { table: id, schema_version }];
    let mut ops = vec![Op::Flushed { table: id, up_to }];
    ops.extend(parts.iter().cloned().map(Op::AddPart));
    let committed =
        table.pass("mergetree.flush.commit").and_then(|()| table.commit(read_seq, preconditions, ops));
    match committed {
        Ok(seq) => Ok(FlushOutcome::Committed { seq, rows, parts: parts.len() }),
        Err(TableError::Refused(RefusedWhy::FlushOutdated { .. } | RefusedWhy::UnknownTable(_))) => {
            discard(table, &parts);
            Ok(FlushOutcome::Lost)
        }
        // A durable record may name them.
        Err(error @ TableError::OutcomeUnknown(_))
            if !table.host.faults.planted("mergetree.discard_unknown") =>
        {
            Err(error)
        }
        Err(error) => {
            discard(table, &parts);
            Err(error)
        }
    }
}

fn discard(table: &Table, parts: &[SealedPart]) {
    for part in parts {
        // Failing that, the file is an orphan, which the next opening collects.
        let _ = table.store.delete(part.descriptor());
    }
}
