//! The inline rows of a table at one snapshot, as batches of the current columns.
//!
//! Invariant: a view, never a second truth; rows come in the order of their block numbers. What has been decoded is kept
//! for the next query ([`MemtableCache`]): rows of the log never change, and a table's are a queue that only flushes
//! shorten.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use arrow::array::RecordBatch;
use catalog::{InlineStatement, TableState};
use host::{MemoryBudget, MemoryGrant};
use model::saturating::u64_of;
use model::{Evolution, TableId};
use parking_lot::Mutex;
use parts::PartError;
use parts::evolve::evolve;

use crate::error::TableError;
use crate::inline;

/// Rows of one batch; a thousand single-row statements are one batch, not a thousand.
const BATCH_ROWS: u64 = 8192;

/// `evolution` is that of the current columns.
///
/// # Errors
/// The log holds bytes that are not rows of this table.
pub fn batches(table: &TableState, evolution: &Evolution) -> Result<Vec<RecordBatch>, TableError> {
    let statements: Vec<&InlineStatement> = table.inline().map(AsRef::as_ref).collect();
    chunks(&statements).into_iter().map(|chunk| read(table, chunk, evolution)).collect()
}

/// Those of the statements with these block numbers.
///
/// # Errors
/// As [`batches`].
pub fn batches_between(
    table: &TableState,
    evolution: &Evolution,
    blocks: Range<u64>,
) -> Result<Vec<RecordBatch>, TableError> {
    let within = table.inline().map(AsRef::as_ref).filter(|statement| blocks.contains(&statement.block));
    let statements: Vec<&InlineStatement> = within.collect();
    chunks(&statements).into_iter().map(|chunk| read(table, chunk, evolution)).collect()
}

/// Statements with no part between them: a part may be made of them, as no part covers another's block numbers.
pub struct InlineRun {
    pub first: u64,
    pub last: u64,
    pub rows: u64,
    pub bytes: u64,
}

/// All inline rows, in the order of their block numbers.
pub fn inline_runs(table: &TableState) -> Vec<InlineRun> {
    let parts: BTreeSet<u64> = table.parts().map(|part| part.blocks.min).collect();
    let mut runs: Vec<InlineRun> = Vec::new();
    for statement in table.inline() {
        let (block, rows, bytes) = (statement.block, statement.rows, u64_of(statement.bytes.len()));
        match runs.last_mut().filter(|run| parts.range(run.last..block).next().is_none()) {
            Some(run) => {
                (run.last, run.rows, run.bytes) = (block, run.rows + rows, run.bytes + bytes);
            }
            None => runs.push(InlineRun { first: block, last: block, rows, bytes }),
        }
    }
    runs
}

/// Decoded batches of the tables that were asked for, within a memory budget.
pub struct MemtableCache {
    memory: MemoryBudget,
    tables: Mutex<HashMap<TableId, Vec<Arc<Kept>>>>,
}

/// One whole chunk of a table.
struct Kept {
    chunk: Chunk,
    rows: RecordBatch,
    _granted: MemoryGrant,
}

/// Which statements a batch was made of, and for which columns.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Chunk {
    first_block: u64,
    last_block: u64,
    schema_version: u32,
}

impl Chunk {
    fn of(table: &TableState, statements: &[&InlineStatement]) -> Option<Chunk> {
        let (first, last) = (statements.first()?, statements.last()?);
        let schema_version = table.def.schema_version;
        Some(Chunk { first_block: first.block, last_block: last.block, schema_version })
    }
}

impl MemtableCache {
    pub fn new(memory: MemoryBudget) -> MemtableCache {
        MemtableCache { memory, tables: Mutex::new(HashMap::new()) }
    }

    /// As [`batches`], decoding only what no query has asked for before.
    ///
    /// # Errors
    /// As [`batches`].
    pub fn batches(&self, table: &TableState, evolution: &Evolution) -> Result<Vec<RecordBatch>, TableError> {
        let statements: Vec<&InlineStatement> = table.inline().map(AsRef::as_ref).collect();
        let chunks = chunks(&statements);
        let mut kept = self.tables.lock().get(&table.def.id).cloned().unwrap_or_default();
        let oldest = statements.first().map_or(u64::MAX, |statement| statement.block);
        kept.retain(|old| old.chunk.last_block >= oldest);
        let mut batches = Vec::with_capacity(chunks.len());
        for (number, statements) in chunks.iter().enumerate() {
            let chunk = Chunk::of(table, statements);
            if let Some(old) = kept.iter().find(|old| Some(old.chunk) == chunk) {
                batches.push(old.rows.clone());
                continue;
            }
            let rows = read(table, statements, evolution)?;
            // The last chunk still grows.
            if let Some(chunk) = chunk.filter(|_| number + 1 < chunks.len())
                && let Ok(granted) = self.memory.try_grant("memtable", bytes_of(&rows))
            {
                kept.push(Arc::new(Kept { chunk, rows: rows.clone(), _granted: granted }));
            }
            batches.push(rows);
        }
        self.keep(table.def.id, kept);
        Ok(batches)
    }

    /// Of two queries at once the later one's batches stay; the other's are decoded again.
    fn keep(&self, table: TableId, kept: Vec<Arc<Kept>>) {
        let mut tables = self.tables.lock();
        match kept.is_empty() {
            true => tables.remove(&table),
            false => tables.insert(table, kept),
        };
    }

    /// Forgets tables that are gone, and those without inline rows.
    pub fn retain(&self, has_rows: impl Fn(TableId) -> bool) {
        self.tables.lock().retain(|table, _| has_rows(*table));
    }
}

fn bytes_of(rows: &RecordBatch) -> u64 {
    u64_of(rows.get_array_memory_size())
}

/// Neighbours of one schema version, up to [`BATCH_ROWS`] rows or one statement.
fn chunks<'a>(statements: &'a [&'a InlineStatement]) -> Vec<&'a [&'a InlineStatement]> {
    let mut chunks = Vec::new();
    let (mut start, mut rows) = (0, 0);
    for (at, statement) in statements.iter().enumerate() {
        let differs = statements[start].schema_version != statement.schema_version;
        if at > start && (differs || rows + statement.rows > BATCH_ROWS) {
            chunks.push(&statements[start..at]);
            (start, rows) = (at, 0);
        }
        rows += statement.rows;
    }
    if start < statements.len() {
        chunks.push(&statements[start..]);
    }
    chunks
}

/// The rows of statements of one schema version, with the current columns.
pub(crate) fn read(
    table: &TableState,
    statements: &[&InlineStatement],
    evolution: &Evolution,
) -> Result<RecordBatch, TableError> {
    let Some(first) = statements.first() else { return Ok(RecordBatch::new_empty(table.def.arrow_schema())) };
    let schema_version = first.schema_version;
    let def = table.definition_of(schema_version).ok_or_else(|| TableError::InlineDamaged {
        block: first.block,
        message: format!("the table never had version {schema_version} of its columns"),
    })?;
    let rows = inline::decode_all(&def, statements)?;
    let evolved = evolve(&rows, &table.def.arrow_schema(), evolution);
    evolved.map_err(|e| PartError::Evolve { schema_version, message: e.to_string() }.into())
}
