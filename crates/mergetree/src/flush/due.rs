//! When inline rows become parts: decided from numbers alone.
//!
//! Rows in the log cost memory, room in every checkpoint and time at every query, so they are flushed before there are
//! many; a part costs merges, so they are not flushed while there are few. Invariant: pure; whoever is above a limit is
//! named until a flush has brought it below.

use std::time::Duration;

use model::TableId;

/// What a statement in the log costs in memory beside its bytes: its entry in the state, and what holds its bytes.
const STATEMENT_BYTES: u64 = 256;

/// The inline rows of one table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unflushed {
    pub table: TableId,
    pub bytes: u64,
    pub rows: u64,
    /// Records that hold them.
    pub statements: u64,
    /// How long the oldest has been there.
    pub age: Duration,
}

impl Unflushed {
    /// About what they take in memory.
    pub fn memory_bytes(&self) -> u64 {
        self.bytes + self.statements * STATEMENT_BYTES
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlushLimits {
    /// In memory, of one table.
    pub bytes: u64,
    pub rows: u64,
    /// In memory, of all tables together: above it the largest is flushed.
    pub total_bytes: u64,
    /// Rows that have been there for `age` and are at least `aged_rows`. Fewer stay in the log: a checkpoint carries them
    /// more cheaply than a part.
    pub age: Duration,
    pub aged_rows: u64,
}

impl Default for FlushLimits {
    /// 64 MiB or a million rows make a part worth having; a quarter of a million single rows reach the 64 MiB.
    fn default() -> FlushLimits {
        FlushLimits {
            bytes: 64 << 20,
            rows: 1 << 20,
            total_bytes: 256 << 20,
            age: Duration::from_secs(300),
            aged_rows: 8192,
        }
    }
}

impl FlushLimits {
    /// Whether a table is above a limit of its own.
    pub fn exceeded_by(&self, table: &Unflushed) -> bool {
        let aged = table.age >= self.age && table.rows >= self.aged_rows;
        table.memory_bytes() > self.bytes || table.rows > self.rows || aged
    }
}

/// The tables to flush now, fullest first.
pub fn due(tables: &[Unflushed], limits: &FlushLimits) -> Vec<TableId> {
    let mut by_size: Vec<&Unflushed> = tables.iter().filter(|table| table.rows > 0).collect();
    by_size.sort_by_key(|table| std::cmp::Reverse(table.memory_bytes()));
    let mut left: u64 = by_size.iter().map(|table| table.memory_bytes()).sum();
    let mut chosen = Vec::new();
    for table in by_size {
        if limits.exceeded_by(table) || left > limits.total_bytes {
            chosen.push(table.table);
            left -= table.memory_bytes();
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(id: u8, bytes: u64, rows: u64, statements: u64, age: u64) -> Unflushed {
        let (table, age) = (TableId::from_bytes([id; 16]), Duration::from_secs(age));
        Unflushed { table, bytes, rows, statements, age }
    }

    #[test]
    fn each_limit_by_itself() {
        let limits = FlushLimits::default();
        let mib = 1 << 20;
        for (bytes, rows, statements, age, flushed) in [
            (0, 0, 0, 1_000_000, false),
            (64 * mib - 256, 1, 1, 0, false),
            (64 * mib, 1, 1, 0, true),
            (8 * mib, 1 << 20, 1, 0, false),
            (8 * mib, (1 << 20) + 1, 1, 0, true),
            // Single rows of 32 bytes.
            (233_000 * 32, 233_000, 233_000, 0, false),
            (234_000 * 32, 234_000, 234_000, 0, true),
            (1000, 8191, 10, 1_000_000, false),
            (1000, 8192, 10, 299, false),
            (1000, 8192, 10, 300, true),
        ] {
            let one = table(1, bytes, rows, statements, age);
            assert_eq!(!due(&[one], &limits).is_empty(), flushed, "{one:?}");
        }
    }

    #[test]
    fn together_the_largest_goes_first_until_the_rest_fits() {
        let mib = 1 << 20;
        let tables: Vec<Unflushed> = [(1, 50), (2, 60), (3, 60), (4, 55), (5, 45), (6, 40)]
            .map(|(id, size)| table(id, size * mib, 1, 1, 0))
            .to_vec();
        let chosen = due(&tables, &FlushLimits::default());
        assert_eq!(chosen, [TableId::from_bytes([2; 16])], "310 MiB without 60 are 250");
        assert_eq!(due(&tables[..4], &FlushLimits::default()), []);
    }
}
