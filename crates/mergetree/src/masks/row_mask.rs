//! One bit a row: whether it is shown.
//!
//! Invariant: bits are by the number of a row in its source, counted from 0.

use arrow::buffer::{BooleanBuffer, MutableBuffer};

/// Which rows of a source are shown.
#[derive(Clone, Debug)]
pub struct RowMask {
    rows: u64,
    live_rows: u64,
    /// `None`: all.
    live: Option<BooleanBuffer>,
}

impl RowMask {
    /// All of so many rows.
    pub fn all(rows: u64) -> RowMask {
        RowMask { rows, live_rows: rows, live: None }
    }

    pub(super) fn of(live: BooleanBuffer) -> RowMask {
        let (rows, live_rows) = (live.len() as u64, live.count_set_bits() as u64);
        RowMask { rows, live_rows, live: Some(live).filter(|_| live_rows < rows) }
    }

    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// How many rows are shown.
    pub fn live_rows(&self) -> u64 {
        self.live_rows
    }

    /// Of a row that is not there: false.
    pub fn is_live(&self, row: u64) -> bool {
        let bit = |live: &BooleanBuffer| usize::try_from(row).is_ok_and(|row| live.value(row));
        row < self.rows && self.live.as_ref().is_none_or(bit)
    }

    /// The bits of neighbouring rows, all of which are there; `None` if all are shown.
    pub fn of_rows(&self, first: usize, count: usize) -> Option<BooleanBuffer> {
        let live = self.live.as_ref()?.slice(first, count);
        Some(live).filter(|live| live.count_set_bits() < count)
    }

    /// Bytes it holds.
    pub fn bytes(&self) -> u64 {
        self.live.as_ref().map_or(0, |live| live.inner().len() as u64) + size_of::<RowMask>() as u64
    }
}

/// Bits of neighbouring rows while they are found out; all are set in the beginning.
pub(super) struct Bits {
    bits: MutableBuffer,
    rows: usize,
}

impl Bits {
    pub(super) fn all(rows: usize) -> Bits {
        let bytes = rows.div_ceil(8);
        Bits { bits: MutableBuffer::new(bytes).with_bitset(bytes, true), rows }
    }

    pub(super) fn clear(&mut self, row: usize) {
        arrow::util::bit_util::unset_bit(self.bits.as_slice_mut(), row);
    }

    pub(super) fn put(&mut self, row: usize, is_live: bool) {
        match is_live {
            true => arrow::util::bit_util::set_bit(self.bits.as_slice_mut(), row),
            false => self.clear(row),
        }
    }

    pub(super) fn finish(self) -> BooleanBuffer {
        BooleanBuffer::new(self.bits.into(), 0, self.rows)
    }
}

impl From<BooleanBuffer> for Bits {
    /// `bits` begin at the first bit of their buffer.
    fn from(bits: BooleanBuffer) -> Bits {
        let rows = bits.len();
        let mut copy = MutableBuffer::new(rows.div_ceil(8));
        copy.extend_from_slice(bits.sliced().as_slice());
        Bits { bits: copy, rows }
    }
}
