//! Rows of `ENGINE = Memory` tables: they live in the process and are gone with it.
//!
//! Invariant: an INSERT becomes visible whole. A reader keeps the rows it started with.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use boundary::error::{Error, ErrorKind};
use host::{MemoryBudget, MemoryGrant};
use model::{ErrorCode, TableId};
use parking_lot::RwLock;

struct Rows {
    batches: Vec<RecordBatch>,
    grant: MemoryGrant,
}

/// The rows of all Memory tables of one database process.
pub struct MemoryTables {
    budget: MemoryBudget,
    tables: RwLock<HashMap<TableId, Rows>>,
}

impl MemoryTables {
    pub fn new(budget: MemoryBudget) -> MemoryTables {
        MemoryTables { budget, tables: RwLock::new(HashMap::new()) }
    }

    pub fn batches(&self, table: TableId) -> Vec<RecordBatch> {
        self.tables.read().get(&table).map(|rows| rows.batches.clone()).unwrap_or_default()
    }

    pub fn append(&self, table: TableId, batches: Vec<RecordBatch>) -> Result<(), Error> {
        let bytes: u64 = batches.iter().map(|batch| batch.get_array_memory_size() as u64).sum();
        let mut tables = self.tables.write();
        let rows = tables
            .entry(table)
            .or_insert_with(|| Rows { batches: Vec::new(), grant: self.budget.empty_grant("memory table") });
        grow(&mut rows.grant, bytes)?;
        rows.batches.extend(batches);
        Ok(())
    }

    /// Puts `after` in the place of `before`; false if there are other rows by now.
    pub fn replace(
        &self,
        table: TableId,
        before: &[RecordBatch],
        after: Vec<RecordBatch>,
    ) -> Result<bool, Error> {
        let bytes: u64 = after.iter().map(|batch| batch.get_array_memory_size() as u64).sum();
        let mut grant = self.budget.empty_grant("memory table");
        let mut tables = self.tables.write();
        let now = tables.get(&table).map(|rows| rows.batches.as_slice()).unwrap_or_default();
        // A batch that was appended is never changed.
        let is_same = |(now, before): (&RecordBatch, &RecordBatch)| {
            now.num_rows() == before.num_rows()
                && now.columns().iter().zip(before.columns()).all(|(now, before)| Arc::ptr_eq(now, before))
        };
        if now.len() != before.len() || !now.iter().zip(before).all(is_same) {
            return Ok(false);
        }
        grow(&mut grant, bytes)?;
        tables.insert(table, Rows { batches: after, grant });
        Ok(true)
    }

    /// TRUNCATE and DROP.
    pub fn clear(&self, table: TableId) {
        self.tables.write().remove(&table);
    }

    /// Lets go of the rows of tables that are no more: dropped with their database, replaced, or filled by a statement
    /// that outlived its table.
    pub fn retain(&self, is_live: impl Fn(TableId) -> bool) {
        self.tables.write().retain(|table, _| is_live(*table));
    }

    /// (rows, bytes) held.
    pub fn size(&self, table: TableId) -> (u64, u64) {
        let tables = self.tables.read();
        let Some(rows) = tables.get(&table) else { return (0, 0) };
        (rows.batches.iter().map(|batch| batch.num_rows() as u64).sum(), rows.grant.bytes())
    }
}

/// Rows of a statement on their way into a Memory table, counted as they come: a source may be larger than memory.
pub struct Gathered {
    grant: MemoryGrant,
    batches: Vec<RecordBatch>,
}

impl Gathered {
    /// `budget` is the statement's.
    pub fn new(budget: &MemoryBudget) -> Gathered {
        Gathered { grant: budget.empty_grant("memory table"), batches: Vec::new() }
    }

    pub fn push(&mut self, batch: RecordBatch) -> Result<(), Error> {
        let batch = parts::compact::compacted(&batch).map_err(|e| Error::internal(e.to_string()))?;
        grow(&mut self.grant, batch.get_array_memory_size() as u64)?;
        self.batches.push(batch);
        Ok(())
    }

    /// The rows, which the table counts from here on.
    pub fn into_batches(self) -> Vec<RecordBatch> {
        self.batches
    }
}

fn grow(grant: &mut MemoryGrant, bytes: u64) -> Result<(), Error> {
    grant.try_grow(bytes).map_err(|refused| {
        Error::new(ErrorKind::Limit, ErrorCode::MEMORY_LIMIT_EXCEEDED, refused.to_string())
            .with_hint("use ENGINE = MergeTree for tables larger than memory")
    })
}

impl std::fmt::Debug for MemoryTables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MemoryTables({})", self.tables.read().len())
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array};

    use super::*;

    #[test]
    fn rows_are_refused_as_they_come_and_counted_once() {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![7; 1000]));
        let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
        let bytes = batch.get_array_memory_size() as u64;
        let process = MemoryBudget::new(bytes * 3);
        let statement = process.child_named("query", bytes * 2);
        let mut gathered = Gathered::new(&statement);
        gathered.push(batch.clone()).unwrap();
        gathered.push(batch.clone()).unwrap();
        assert_eq!(gathered.push(batch).unwrap_err().code.number(), 241);
        let (tables, table) = (MemoryTables::new(process.clone()), TableId::from_random_bytes([1; 16]));
        tables.append(table, gathered.into_batches()).unwrap();
        assert_eq!((tables.size(table), process.used()), ((2000, bytes * 2), bytes * 2));
    }
}
