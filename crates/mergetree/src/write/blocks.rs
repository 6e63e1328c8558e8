//! Forms blocks out of batches: by rows, by bytes, and by the memory it is granted.
//!
//! The rule is ClickHouse's squashing: a block ends when it has `rows_min` rows or `bytes_min` bytes, whichever comes
//! first; 0 switches a limit off, both 0 makes every batch a block. Invariant: no memory is no error. A refused grant
//! ends the block early; a block that is too small to end is accounted past the limit instead.

use arrow::array::RecordBatch;
use host::{MemoryBudget, MemoryGrant};
use parts::array_size::batch_bytes;

/// Rows that become parts together.
#[derive(Debug)]
pub struct Block {
    pub batches: Vec<RecordBatch>,
    pub rows: usize,
    /// Of the values in memory.
    pub bytes: u64,
    /// Returned when the block is written.
    pub grant: MemoryGrant,
}

/// Collects batches.
#[derive(Debug)]
pub struct BlockBuilder {
    rows_min: u64,
    bytes_min: u64,
    memory: MemoryBudget,
    block: Block,
}

/// Smaller blocks are not ended by a refused grant: parts of a megabyte cost more later than they save now.
const BLOCK_BYTES_FLOOR: u64 = 8 << 20;

/// Sorting needs a comparable key and a position per row, and a copy of one column at a time.
const SORT_BYTES_PER_ROW: u64 = 64;

impl BlockBuilder {
    pub fn new(rows_min: u64, bytes_min: u64, memory: MemoryBudget) -> BlockBuilder {
        let block = empty(&memory);
        BlockBuilder { rows_min, bytes_min, memory, block }
    }

    /// Takes a batch; returns the block it completes, or the one that had to end without it.
    pub fn push(&mut self, batch: RecordBatch) -> Option<Block> {
        if batch.num_rows() == 0 {
            return None;
        }
        let bytes = batch_bytes(&batch);
        let needed = bytes + SORT_BYTES_PER_ROW * batch.num_rows() as u64;
        let mut ended = None;
        if self.block.grant.try_grow(needed).is_err() {
            if self.block.bytes >= BLOCK_BYTES_FLOOR {
                ended = self.take();
            }
            // The batch is in memory already: it is counted, granted or not.
            self.block.grant.grow_anyway(needed);
        }
        self.block.rows += batch.num_rows();
        self.block.bytes += bytes;
        self.block.batches.push(batch);
        // Both at once would need a batch larger than a whole block; the next push returns the second one.
        ended.or_else(|| self.is_full().then(|| self.take()).flatten())
    }

    fn is_full(&self) -> bool {
        let rows_reached = self.rows_min > 0 && self.block.rows as u64 >= self.rows_min;
        let bytes_reached = self.bytes_min > 0 && self.block.bytes >= self.bytes_min;
        rows_reached || bytes_reached || (self.rows_min == 0 && self.bytes_min == 0)
    }

    /// What is left at the end.
    pub fn take(&mut self) -> Option<Block> {
        if self.block.rows == 0 {
            return None;
        }
        Some(std::mem::replace(&mut self.block, empty(&self.memory)))
    }
}

fn empty(memory: &MemoryBudget) -> Block {
    Block { batches: Vec::new(), rows: 0, bytes: 0, grant: memory.empty_grant("insert block") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{ArrayRef, Int64Array};
    use std::sync::Arc;

    fn batch(rows: usize) -> RecordBatch {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows as i64));
        RecordBatch::try_from_iter([("a", column)]).unwrap()
    }

    /// Batches of these sizes, and the rows of the blocks they become.
    fn check(rows_min: u64, bytes_min: u64, memory: u64, batches: &[usize], blocks: &[usize]) {
        let budget = MemoryBudget::new(memory);
        let mut builder = BlockBuilder::new(rows_min, bytes_min, budget.clone());
        let mut found: Vec<usize> =
            batches.iter().filter_map(|rows| builder.push(batch(*rows))).map(|block| block.rows).collect();
        found.extend(builder.take().map(|block| block.rows));
        assert_eq!(found, blocks, "rows_min {rows_min}, bytes_min {bytes_min}, memory {memory}");
        drop(builder);
        assert_eq!(budget.used(), 0, "every grant is returned");
    }

    #[test]
    fn rules() {
        const PLENTY: u64 = 1 << 30;
        check(100, 0, PLENTY, &[60, 60, 60], &[120, 60]);
        check(0, 800, PLENTY, &[60, 60, 60], &[120, 60]);
        check(1000, 800, PLENTY, &[60, 60, 60], &[120, 60]);
        check(100, 100_000, PLENTY, &[0, 99, 1, 250, 1], &[100, 250, 1]);
        check(0, 0, PLENTY, &[5, 0, 7], &[5, 7]);
        check(100, 100, PLENTY, &[], &[]);
    }

    #[test]
    fn memory_ends_blocks_early_but_not_tiny_ones() {
        const MIB: u64 = 1 << 20;
        // A batch of 256 Ki rows is 2 MiB of values and 16 MiB for sorting; 90 MiB fit five.
        check(u64::MAX, u64::MAX, 90 * MIB, &[262_144; 12], &[5 * 262_144, 5 * 262_144, 2 * 262_144]);
        // Nothing fits, and nothing fails.
        check(u64::MAX, u64::MAX, 1, &[1000; 3], &[3000]);
    }
}
