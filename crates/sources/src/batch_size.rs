//! How many rows of a row group are decoded together, and the memory that takes.
//!
//! Sizes are those the footer states, before compression: a file of some kilobytes can hold values of gigabytes. Invariant:
//! a batch is at least one row; what it takes is never stated below what its columns' chunks are on average.
//! Must not know: budgets, streams.

use parquet::arrow::ProjectionMask;
use parquet::file::metadata::RowGroupMetaData;

/// Decoded bytes of one batch to aim at; views and pages of the same size come on top.
const BATCH_BYTES: u64 = 32 << 20;

/// How a row group is decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BatchSize {
    pub rows: usize,
    /// Of the rows, and of the page they are in.
    pub bytes: u64,
}

/// At most `rows_max` rows of the columns in `mask`.
pub(crate) fn batch_size(group: &RowGroupMetaData, mask: &ProjectionMask, rows_max: usize) -> BatchSize {
    let chunks = group.columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf));
    let chunk_bytes = chunks.map(|(_, chunk)| u64::try_from(chunk.uncompressed_size()).unwrap_or(0));
    sized(chunk_bytes.sum(), u64::try_from(group.num_rows()).unwrap_or(0), rows_max)
}

fn sized(bytes: u64, rows: u64, rows_max: usize) -> BatchSize {
    let row_bytes = bytes.div_ceil(rows.max(1)).max(1);
    let fitting = usize::try_from(BATCH_BYTES / row_bytes).unwrap_or(usize::MAX);
    let batch_rows = fitting.clamp(1, rows_max.max(1));
    let held = u64::try_from(batch_rows).unwrap_or(u64::MAX).min(rows.max(1));
    BatchSize { rows: batch_rows, bytes: held.saturating_mul(row_bytes).saturating_mul(2) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_rows_come_in_small_batches() {
        const MIB: u64 = 1 << 20;
        for (bytes, rows, rows_max, expected) in [
            (8_000, 1_000, 8192, (8192, 16_000)),
            (1024 * MIB, 1_000_000, 8192, (8192, 8192 * 1074 * 2)),
            (1024 * MIB, 1024, 8192, (32, 64 * MIB)),
            (2048 * MIB, 2, 8192, (1, 2048 * MIB)),
            (0, 0, 8192, (8192, 2)),
            (100, 10, 0, (1, 20)),
        ] {
            let found = sized(bytes, rows, rows_max);
            assert_eq!((found.rows, found.bytes), expected, "{bytes} bytes, {rows} rows");
        }
    }
}
