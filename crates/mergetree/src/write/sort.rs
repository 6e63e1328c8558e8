//! The order of the rows of a block by the sort key.
//!
//! Keys become comparable bytes, once per block; the first sixteen sit beside the row's number while sorting, so most
//! comparisons touch no other memory. Invariant: equal keys keep their order; NULL and NaN sort last.

use std::cmp::Ordering;

use arrow::array::RecordBatch;
use arrow::row::Rows;
use model::TableKeys;
use parts::sorted::KeyRows;

use super::gather::{RowPlace, places};
use crate::error::TableError;

/// The keys of a block's rows.
pub struct BlockKeys {
    /// By batch; `None` without a sort key.
    encoded: Option<Vec<Rows>>,
    all: Vec<RowPlace>,
}

/// The first sixteen bytes of the key, and the row. Rows order as their bytes do: the encoding is self-delimiting, so
/// padding with zeros never changes an order between different keys.
#[derive(Clone, Copy)]
struct Entry {
    high: u64,
    low: u64,
    place: RowPlace,
}

const PREFIX_BYTES: usize = 16;

impl BlockKeys {
    /// # Errors
    /// The key cannot be computed, or the block has more rows than a place can say.
    pub fn new(keys: &TableKeys, block: &[RecordBatch]) -> Result<BlockKeys, TableError> {
        if keys.sort.is_empty() {
            return Ok(BlockKeys { encoded: None, all: Vec::new() });
        }
        let all =
            places(block).map_err(|e| TableError::Rows { table: String::new(), message: e.to_string() })?;
        let mut key = KeyRows::new(&keys.sort);
        let mut encoded = Vec::with_capacity(block.len());
        for batch in block {
            let arrays = key.arrays(batch)?;
            encoded.push(key.rows(&arrays)?);
        }
        Ok(BlockKeys { encoded: Some(encoded), all })
    }

    /// The rows of `subset` (all if `None`) in order, or `None` if they are in order as they stand.
    pub fn sorted_rows(&self, subset: Option<&[RowPlace]>) -> Option<Vec<RowPlace>> {
        let encoded = self.encoded.as_deref()?;
        let mut long = false;
        let entry = |place: &RowPlace| {
            let bytes = key_of(encoded, *place);
            long |= bytes.len() > PREFIX_BYTES;
            entry_of(bytes, *place)
        };
        let mut entries: Vec<Entry> = subset.unwrap_or(&self.all).iter().map(entry).collect();
        let order = |a: &Entry, b: &Entry| -> Ordering {
            let by_prefix = (a.high, a.low).cmp(&(b.high, b.low));
            let by_key = match long {
                true => by_prefix.then_with(|| key_of(encoded, a.place).cmp(key_of(encoded, b.place))),
                false => by_prefix,
            };
            by_key.then(a.place.cmp(&b.place))
        };
        if entries.is_sorted_by(|a, b| order(a, b).is_le()) {
            return None;
        }
        entries.sort_unstable_by(order);
        Some(entries.into_iter().map(|entry| entry.place).collect())
    }
}

fn key_of(encoded: &[Rows], place: RowPlace) -> &[u8] {
    encoded[place.batch as usize].row(place.row as usize).data()
}

fn entry_of(bytes: &[u8], place: RowPlace) -> Entry {
    let mut prefix = [0; PREFIX_BYTES];
    let held = bytes.len().min(PREFIX_BYTES);
    prefix[..held].copy_from_slice(&bytes[..held]);
    let wide = u128::from_be_bytes(prefix);
    let low = u64::try_from(wide & u128::from(u64::MAX)).unwrap_or(0);
    Entry { high: u64::try_from(wide >> 64).unwrap_or(0), low, place }
}
