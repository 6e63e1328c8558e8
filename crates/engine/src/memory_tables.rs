//! Rows of `ENGINE = Memory` tables: they live in the process and are gone with it.
//!
//! Invariant: an INSERT becomes visible whole. A reader keeps the rows it started with.

use std::collections::HashMap;

use arrow::array::RecordBatch;
use host::{MemoryBudget, MemoryGrant};
use model::TableId;
use parking_lot::RwLock;

use crate::error::{Error, ErrorKind};

struct Rows {
    batches: Vec<RecordBatch>,
    grant: MemoryGrant,
}

/// The rows of all Memory tables of one database process.
pub(crate) struct MemoryTables {
    budget: MemoryBudget,
    tables: RwLock<HashMap<TableId, Rows>>,
}

impl MemoryTables {
    pub(crate) fn new(budget: MemoryBudget) -> MemoryTables {
        MemoryTables { budget, tables: RwLock::new(HashMap::new()) }
    }

    pub(crate) fn batches(&self, table: TableId) -> Vec<RecordBatch> {
        self.tables.read().get(&table).map(|rows| rows.batches.clone()).unwrap_or_default()
    }

    pub(crate) fn append(&self, table: TableId, batches: Vec<RecordBatch>) -> Result<(), Error> {
        let bytes: u64 = batches.iter().map(|batch| batch.get_array_memory_size() as u64).sum();
        let mut tables = self.tables.write();
        let rows = tables
            .entry(table)
            .or_insert_with(|| Rows { batches: Vec::new(), grant: self.budget.empty_grant("memory table") });
        rows.grant.try_grow(bytes).map_err(|refused| {
            Error::new(ErrorKind::Limit, 241, refused.to_string())
                .with_hint("use ENGINE = MergeTree for tables larger than memory")
        })?;
        rows.batches.extend(batches);
        Ok(())
    }

    /// TRUNCATE and DROP.
    pub(crate) fn clear(&self, table: TableId) {
        self.tables.write().remove(&table);
    }

    /// Lets go of the rows of tables that are no more: dropped with their database, replaced, or filled by a statement
    /// that outlived its table.
    pub(crate) fn retain(&self, is_live: impl Fn(TableId) -> bool) {
        self.tables.write().retain(|table, _| is_live(*table));
    }

    /// (rows, bytes) held.
    pub(crate) fn size(&self, table: TableId) -> (u64, u64) {
        let tables = self.tables.read();
        let Some(rows) = tables.get(&table) else { return (0, 0) };
        (rows.batches.iter().map(|batch| batch.num_rows() as u64).sum(), rows.grant.bytes())
    }
}

impl std::fmt::Debug for MemoryTables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MemoryTables({})", self.tables.read().len())
    }
}
