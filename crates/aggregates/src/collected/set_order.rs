//! The order in which ClickHouse's set of whole numbers has its values, which `groupUniqArray` shows.
//!
//! The set is a table of 2^n cells, at first 16, of which at most half are taken. A value goes to the cell that the lowest bits of
//! its hash name, or to the next free one behind it; 0 stands before all cells. Numbers of one byte stand in their order.
//! Invariant: values are not changed. Must not know: which values there are.

use arrow::array::{Array, ArrayRef, UInt64Array};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use model::ColumnType;
use model::saturating::{u64_of, usize_of};

/// Larger sets are put together by several threads there: their order is nobody's.
const VALUES_MAX: usize = 1 << 16;

/// Cells of a new set are 2 to that.
const DEGREE_FIRST: u32 = 4;

/// What the degree grows by; below [`VALUES_MAX`] it is not yet 1.
const DEGREE_STEP: u32 = 2;

/// Of each byte, by the polynomial of Castagnoli.
static CRC_OF_BYTE: [u32; 256] = crc_of_bytes();

const fn crc_of_bytes() -> [u32; 256] {
    let (mut table, mut byte) = ([0; 256], 0);
    while byte < 256 {
        let (mut crc, mut bit) = (byte, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0x82F6_3B78 } else { crc >> 1 };
            bit += 1;
        }
        table[byte as usize] = crc;
        byte += 1;
    }
    table
}

/// The places of different values in that order, given in the one in which they came; `None` for those whose order is not known.
pub(super) fn set_order(values: &ArrayRef, column_type: &ColumnType) -> Option<UInt64Array> {
    use ColumnType::{Bool, Date, DateTime, Enum8, Enum16, Int8, UInt8};
    let plain = column_type.value_type();
    let is_known =
        plain.is_integer() || matches!(plain, Bool | Date | DateTime { .. } | Enum8(_) | Enum16(_));
    if !is_known || plain.is_wide_integer() || values.len() > VALUES_MAX || values.null_count() > 0 {
        return None;
    }
    let words = words(values)?;
    if matches!(plain, Bool | Enum8(_) | Int8 | UInt8) {
        let mut places: Vec<usize> = (0..words.len()).collect();
        places.sort_unstable_by_key(|place| words[*place]);
        return Some(places.into_iter().map(u64_of).collect::<Vec<u64>>().into());
    }
    let mut cells = Cells::default();
    for (place, word) in words.iter().enumerate() {
        cells.insert(*word, u64_of(place));
    }
    Some(cells.zero.into_iter().chain(cells.cells.into_iter().flatten().map(|(_, place)| place)).collect())
}

/// The bytes of each value as a number without a sign.
fn words(values: &ArrayRef) -> Option<Vec<u64>> {
    let values = match values.data_type() {
        DataType::Boolean => cast(values, &DataType::UInt8).ok()?,
        _ => ArrayRef::clone(values),
    };
    let width = values.data_type().primitive_width().filter(|width| *width <= size_of::<u64>())?;
    let data = values.to_data();
    let start = data.offset() * width;
    let bytes = data.buffers().first()?.as_slice().get(start..start + data.len() * width)?;
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| (word << 8) | u64::from(*byte));
    Some(bytes.chunks_exact(width).map(word).collect())
}

fn hash(word: u64) -> u64 {
    let step = |crc: u32, byte: u8| CRC_OF_BYTE[usize::from(crc.to_le_bytes()[0] ^ byte)] ^ (crc >> 8);
    u64::from(word.to_le_bytes().into_iter().fold(u32::MAX, step))
}

/// Each taken cell has a value and where that came.
struct Cells {
    degree: u32,
    cells: Vec<Option<(u64, u64)>>,
    zero: Option<u64>,
    taken: usize,
}

impl Default for Cells {
    fn default() -> Self {
        Cells { degree: DEGREE_FIRST, cells: vec![None; 1 << DEGREE_FIRST], zero: None, taken: 0 }
    }
}

impl Cells {
    fn insert(&mut self, word: u64, place: u64) {
        self.taken += 1;
        if word == 0 {
            self.zero = Some(place);
        } else {
            let cell = self.free_or_own(word);
            self.cells[cell] = Some((word, place));
        }
        if self.taken > 1 << (self.degree - 1) {
            self.grow();
        }
    }

    /// The cell that a value has, or would be put into.
    fn free_or_own(&self, word: u64) -> usize {
        let last = self.cells.len() - 1;
        let mut cell = usize_of(hash(word)) & last;
        while self.cells[cell].is_some_and(|(other, _)| other != word) {
            cell = (cell + 1) & last;
        }
        cell
    }

    /// Values move to their cells among more, the first first. One that had wrapped around the end may find its cells taken by
    /// others that move later: so do those behind the former end, as far as there are any.
    fn grow(&mut self) {
        let former = self.cells.len();
        self.degree += DEGREE_STEP;
        self.cells.resize(1 << self.degree, None);
        for cell in 0..former {
            self.settle(cell);
        }
        let mut cell = former;
        while self.cells.get(cell).is_some_and(Option::is_some) {
            self.settle(cell);
            cell += 1;
        }
    }

    fn settle(&mut self, from: usize) {
        let Some((word, place)) = self.cells[from] else { return };
        let to = self.free_or_own(word);
        if to != from && self.cells[to].is_none() {
            self.cells[to] = Some((word, place));
            self.cells[from] = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int8Array, Int64Array, UInt16Array};

    use super::*;

    #[test]
    fn numbers_stand_as_in_the_set() {
        let check = |values: ArrayRef, column_type: ColumnType, expected: &[u64]| {
            assert_eq!(set_order(&values, &column_type).unwrap().values().to_vec(), expected);
        };
        let numbers = vec![0, 3, 6, 9, 12, 15, 18];
        check(Arc::new(UInt16Array::from(numbers)), ColumnType::UInt16, &[0, 4, 2, 3, 5, 1, 6]);
        let signed = vec![-1, 5, 0, -128, 7];
        check(Arc::new(Int64Array::from(signed)), ColumnType::Int64, &[2, 4, 0, 3, 1]);
        check(Arc::new(Int8Array::from(vec![-1, 5, 0, -128, 7])), ColumnType::Int8, &[2, 1, 4, 3, 0]);
        let many: Vec<u16> = (0..30).map(|number| number * 37).collect();
        let first =
            [0, 3, 5, 23, 12, 14, 20, 4, 22, 15, 21, 2, 7, 13, 28, 9, 18, 16, 1, 27, 24, 11, 10, 25, 6];
        let places = set_order(&(Arc::new(UInt16Array::from(many)) as ArrayRef), &ColumnType::UInt16);
        assert_eq!(places.unwrap().values()[..25], first);
    }
}
