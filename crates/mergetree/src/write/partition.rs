//! Splits a block by the partition key.
//!
//! Invariant: every row is in exactly one piece, rows keep their order within a piece, and pieces come in the order in
//! which their partitions first appear.

use std::collections::HashMap;

use arrow::array::RecordBatch;
use model::{PartitionValue, TableKeys, Value};
use parts::sorted::KeyRows;

use crate::error::TableError;

/// The rows of one partition.
#[derive(Debug)]
pub struct Piece {
    pub partition: PartitionValue,
    /// `None`: all rows of the block.
    pub rows: Option<Vec<u32>>,
}

/// # Errors
/// More than `partitions_max` partitions (0 = no limit), or the key cannot be computed.
pub fn split(keys: &TableKeys, block: &RecordBatch, partitions_max: u64) -> Result<Vec<Piece>, TableError> {
    if keys.partition.is_empty() || block.num_rows() == 0 {
        return Ok(vec![Piece { partition: PartitionValue::all(), rows: None }]);
    }
    let mut key = KeyRows::new(&keys.partition);
    let arrays = key.arrays(block)?;
    let encoded = key.rows(&arrays)?;
    let mut known: HashMap<&[u8], usize> = HashMap::new();
    let mut pieces: Vec<(usize, Vec<u32>)> = Vec::new();
    let mut last: Option<(&[u8], usize)> = None;
    for (row, position) in (0..block.num_rows()).zip(0_u32..) {
        let bytes = encoded.row(row).data();
        // Neighbours are mostly of one partition: look the partition up only when it changes.
        let piece = match last {
            Some((same, piece)) if same == bytes => piece,
            _ => *known.entry(bytes).or_insert_with(|| {
                pieces.push((row, Vec::new()));
                pieces.len() - 1
            }),
        };
        last = Some((bytes, piece));
        if partitions_max > 0 && pieces.len() as u64 > partitions_max {
            return Err(TableError::TooManyPartitions { max: partitions_max });
        }
        pieces[piece].1.push(position);
    }
    let types: Vec<_> = arrays.iter().map(|array| array.data_type().clone()).collect();
    let single = pieces.len() == 1;
    let piece = |(first, rows): (usize, Vec<u32>)| {
        let values = arrays.iter().map(|array| Value::at(array, first).unwrap_or(Value::Null)).collect();
        Piece { partition: PartitionValue::new(values, &types), rows: (!single).then_some(rows) }
    };
    Ok(pieces.into_iter().map(piece).collect())
}
