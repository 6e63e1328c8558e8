//! How many rows of a row group are decoded together, and the memory that takes.
//!
//! Sizes are those the footer states, before compression: a file of some kilobytes can hold values of gigabytes. Invariant:
//! a batch is at least one row; what it takes is never stated below what its columns' chunks are on average.
//! Must not know: budgets, streams.

use model::saturating::{u64_of, usize_of};
use parquet::arrow::ProjectionMask;
use parquet::basic::Type;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};

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
    sized(
        chunks.map(|(_, chunk)| decoded_bytes(chunk)).fold(0, u64::saturating_add),
        u64::try_from(group.num_rows()).unwrap_or(0),
        rows_max,
    )
}

/// What a column chunk takes at least when it is decoded: a dictionary, or a run of one value, says little of how many there are.
fn decoded_bytes(chunk: &ColumnChunkMetaData) -> u64 {
    let column = chunk.column_descr();
    let value_bytes = match column.physical_type() {
        Type::BOOLEAN => 1,
        Type::INT32 | Type::FLOAT => 4,
        Type::INT64 | Type::DOUBLE => 8,
        // A text is a view of its bytes.
        Type::INT96 | Type::BYTE_ARRAY => 16,
        Type::FIXED_LEN_BYTE_ARRAY => u64::try_from(column.type_length()).unwrap_or(0),
    };
    // Where it stands in its list, and whether it is there.
    let level_bytes = if column.max_rep_level() > 0 { 4 } else { 0 };
    let values = u64::try_from(chunk.num_values()).unwrap_or(0);
    let stored = u64::try_from(chunk.uncompressed_size()).unwrap_or(0);
    stored.max(values.saturating_mul(value_bytes + level_bytes))
}

fn sized(bytes: u64, rows: u64, rows_max: usize) -> BatchSize {
    let row_bytes = bytes.div_ceil(rows.max(1)).max(1);
    let fitting = usize_of(BATCH_BYTES / row_bytes);
    let batch_rows = fitting.clamp(1, rows_max.max(1));
    let held = u64_of(batch_rows).min(rows.max(1));
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
