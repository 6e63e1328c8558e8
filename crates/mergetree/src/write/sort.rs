//! The order of the rows of a block by the sort key.
//!
//! Keys become comparable bytes, once per block; the first sixteen sit beside the row's number while sorting, so most
//! comparisons touch no other memory. Invariant: equal keys keep their order; NULL and NaN sort last.

use std::cmp::Ordering;

use arrow::array::RecordBatch;
use arrow::row::Rows;
use model::TableKeys;
use parts::sorted::KeyRows;

use crate::error::TableError;

/// The keys of a block's rows.
pub struct BlockKeys {
    /// `None` without a sort key.
    encoded: Option<Rows>,
    rows: u32,
}

/// The first sixteen bytes of the key, and the row. Rows order as their bytes do: the encoding is self-delimiting, so
/// padding with zeros never changes an order between different keys.
#[derive(Clone, Copy)]
struct Entry {
    high: u64,
    low: u64,
    row: u32,
}

const PREFIX_BYTES: usize = 16;

impl BlockKeys {
    /// # Errors
    /// The key cannot be computed, or the block has more rows than a row number can say.
    pub fn new(keys: &TableKeys, block: &RecordBatch) -> Result<BlockKeys, TableError> {
        let rows = u32::try_from(block.num_rows()).map_err(|_| TableError::Rows {
            table: String::new(),
            message: format!("a block of {} rows is too large", block.num_rows()),
        })?;
        if keys.sort.is_empty() {
            return Ok(BlockKeys { encoded: None, rows });
        }
        let mut key = KeyRows::new(&keys.sort);
        let arrays = key.arrays(block)?;
        Ok(BlockKeys { encoded: Some(key.rows(&arrays)?), rows })
    }

    /// The rows of `subset` (all if `None`) in order, or `None` if they are in order as they stand.
    pub fn sorted_rows(&self, subset: Option<&[u32]>) -> Option<Vec<u32>> {
        let encoded = self.encoded.as_ref()?;
        let mut long = false;
        let mut entry = |row: u32| {
            let bytes = key_of(encoded, row);
            long |= bytes.len() > PREFIX_BYTES;
            entry_of(bytes, row)
        };
        let mut entries: Vec<Entry> = match subset {
            None => (0..self.rows).map(&mut entry).collect(),
            Some(subset) => subset.iter().copied().map(&mut entry).collect(),
        };
        let order = |a: &Entry, b: &Entry| -> Ordering {
            let by_prefix = (a.high, a.low).cmp(&(b.high, b.low));
            let by_key = match long {
                true => by_prefix.then_with(|| key_of(encoded, a.row).cmp(key_of(encoded, b.row))),
                false => by_prefix,
            };
            by_key.then(a.row.cmp(&b.row))
        };
        if entries.is_sorted_by(|a, b| order(a, b).is_le()) {
            return None;
        }
        entries.sort_unstable_by(order);
        Some(entries.into_iter().map(|entry| entry.row).collect())
    }
}

fn key_of(encoded: &Rows, row: u32) -> &[u8] {
    encoded.row(usize::try_from(row).unwrap_or(usize::MAX)).data()
}

fn entry_of(bytes: &[u8], row: u32) -> Entry {
    let mut prefix = [0; PREFIX_BYTES];
    let held = bytes.len().min(PREFIX_BYTES);
    prefix[..held].copy_from_slice(&bytes[..held]);
    let wide = u128::from_be_bytes(prefix);
    let low = u64::try_from(wide & u128::from(u64::MAX)).unwrap_or(0);
    Entry { high: u64::try_from(wide >> 64).unwrap_or(0), low, row }
}
