//! Splits a block by the partition key.
//!
//! Invariant: every row is in exactly one piece, rows keep their order within a piece, and pieces come in the order in
//! which their partitions first appear.

use std::collections::{BTreeSet, HashMap};

use arrow::array::RecordBatch;
use model::{PartitionValue, TableKeys, Value};
use parts::sorted::KeyRows;

use super::gather::{RowPlace, places};
use crate::error::TableError;
use crate::table::Table;

/// The rows of one partition.
#[derive(Debug)]
pub struct Piece {
    pub partition: PartitionValue,
    /// `None`: all rows of the block.
    pub rows: Option<Vec<RowPlace>>,
}

/// # Errors
/// More than `partitions_max` partitions (0 = no limit), or the key cannot be computed.
pub fn split(table: &Table, block: &[RecordBatch], partitions_max: u64) -> Result<Vec<Piece>, TableError> {
    let keys: &TableKeys = &table.keys;
    if keys.partition.is_empty() || block.is_empty() {
        return Ok(vec![Piece { partition: PartitionValue::all(), rows: None }]);
    }
    let all = places(block).map_err(|e| table.rows_error(e))?;
    let mut key = KeyRows::new(&keys.partition);
    let arrays = block.iter().map(|batch| key.arrays(batch)).collect::<Result<Vec<_>, _>>()?;
    let encoded = arrays.iter().map(|arrays| key.rows(arrays)).collect::<Result<Vec<_>, _>>()?;
    let mut known: HashMap<&[u8], usize> = HashMap::new();
    let mut pieces: Vec<Vec<RowPlace>> = Vec::new();
    let mut last: Option<(&[u8], usize)> = None;
    let rows = encoded.iter().flat_map(|rows| rows.iter());
    for (place, row) in all.into_iter().zip(rows) {
        let bytes = row.data();
        // Neighbours are mostly of one partition: look the partition up only when it changes.
        let piece = match last {
            Some((same, piece)) if same == bytes => piece,
            _ => *known.entry(bytes).or_insert_with(|| {
                pieces.push(Vec::new());
                pieces.len() - 1
            }),
        };
        last = Some((bytes, piece));
        if partitions_max > 0 && pieces.len() as u64 > partitions_max {
            return Err(TableError::TooManyPartitions { max: partitions_max });
        }
        pieces[piece].push(place);
    }
    let types: Vec<_> = arrays[0].iter().map(|array| array.data_type().clone()).collect();
    let single = pieces.len() == 1;
    let piece = |rows: Vec<RowPlace>| {
        let (batch, row) = (rows[0].batch as usize, rows[0].row as usize);
        let values = arrays[batch].iter().map(|array| Value::at(array, row).unwrap_or(Value::Null)).collect();
        Piece { partition: PartitionValue::new(values, &types), rows: (!single).then_some(rows) }
    };
    Ok(pieces.into_iter().map(piece).collect())
}

/// Refuses rows that are in none of these partitions, which are named by their ids.
///
/// # Errors
/// There is such a row, or the key cannot be computed.
pub fn refuse_outside(
    table: &Table,
    rows: &RecordBatch,
    partitions: &BTreeSet<String>,
) -> Result<(), TableError> {
    if rows.num_rows() == 0 {
        return Ok(());
    }
    let pieces = split(table, std::slice::from_ref(rows), 0)?;
    match pieces.iter().map(|piece| piece.partition.name()).find(|name| !partitions.contains(*name)) {
        Some(outside) => Err(TableError::OutsidePartitions {
            table: table.def.name.to_string(),
            partition: outside.to_owned(),
        }),
        None => Ok(()),
    }
}
