//! How the values of each column are encoded, decided from a sample of its rows.
//!
//! Pure: rows in, choices out. The thresholds are measured; the table is in `docs/design/parts.md`. Invariant: a choice
//! changes the size and the cost of a part, never its rows.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt64Array};
use arrow::compute::{cast, max, min, take};
use arrow::datatypes::{DataType, Decimal128Type};
use arrow::row::{RowConverter, SortField};

use crate::packer::{Effort, Packer};

/// What a part is written for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WritePurpose {
    /// By an INSERT, whose user waits: for speed.
    Insert,
    /// Out of other parts, in the background: for size.
    Merge,
    /// Out of inline rows, in the background and soon merged: for speed.
    Flush,
    /// On the way to a merged part, read once and deleted: packing it would cost more than writing what it saves.
    Scratch,
}

/// How values become bytes of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueEncoding {
    Plain,
    Dictionary,
    /// Differences of neighbours, bit-packed; integers only.
    Delta,
}

/// How pages are compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageCodec {
    None,
    Lz4,
    Zstd(i32),
    /// Zstandard, quicker than level 1 and larger; where the Parquet library writes the pages, level 1.
    QuickZstd,
}

/// The choice for one leaf: a column, or a field of a nested one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeafEncoding {
    pub values: ValueEncoding,
    pub codec: PageCodec,
}

/// What a sample says about one leaf.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LeafSample {
    pub rows: usize,
    pub distinct: usize,
    pub is_text: bool,
    /// Stored as a whole number of up to 64 bits: integers, dates, times, small decimals.
    pub is_integer: bool,
    /// Whether steps between its numbers may be too large for numbers of as many bits: the Parquet library (59) cannot pass over
    /// several of the same size then, and calls the page broken.
    pub has_wide_steps: bool,
    /// Of a page of it, where there is as much text.
    pub packed: Option<PackedSizes>,
}

/// Bytes of one page of text, packed in two ways.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PackedSizes {
    pub zstd: usize,
    pub quick: usize,
}

/// The choices for all leaves, in the order Parquet lists them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnEncodings {
    leaves: Vec<LeafEncoding>,
}

/// Rows looked at; enough to tell "few distinct values" from "many" at a cost of about 10 ms for 20 columns.
pub const SAMPLE_ROWS_MAX: usize = 4096;

/// A dictionary pays when a value repeats at least this often in the sample.
const DICTIONARY_REPEATS_MIN: usize = 8;

/// Parquet keeps decimals of up to this precision as 64-bit integers.
const DECIMAL_64_PRECISION_MAX: u8 = 18;

/// Fewer rows tell nothing; they cost nothing either.
const SAMPLE_ROWS_MIN: usize = 64;

/// Bytes of text that are packed for a sample, a page of them.
const PACKED_BYTES_MAX: usize = 512 * 1024;

/// Less text tells little, and packing it takes no time.
const PACKED_BYTES_MIN: usize = 64 * 1024;

impl PackedSizes {
    /// Until the next merge, text may be a third larger for being packed in two thirds of the time. Text that shrinks much
    /// further with a longer look is mostly repetitions, and those zstd(1) packs fast.
    fn favour_quick(self) -> bool {
        self.quick * 3 <= self.zstd * 4
    }

    fn measure(leaf: &ArrayRef) -> Option<PackedSizes> {
        let page = text_page(leaf);
        if page.len() < PACKED_BYTES_MIN {
            return None;
        }
        // A library that packs nothing says nothing about sizes either; writing will say what is wrong.
        let packed = |effort| Packer::new(effort).ok()?.pack(&page, &mut Vec::new()).ok();
        Some(PackedSizes { zstd: packed(Effort::Level(1))?, quick: packed(Effort::Quick)? })
    }
}

impl LeafSample {
    /// Whether a dictionary pays.
    fn repeats(&self) -> bool {
        self.rows >= SAMPLE_ROWS_MIN && self.distinct * DICTIONARY_REPEATS_MIN <= self.rows
    }
}

impl ColumnEncodings {
    /// Decides from up to [`SAMPLE_ROWS_MAX`] rows spread over `rows`.
    pub fn choose(rows: &RecordBatch, purpose: WritePurpose) -> ColumnEncodings {
        let sampled = spread(rows);
        let leaves = sampled.columns().iter().flat_map(leaf_arrays);
        ColumnEncodings { leaves: leaves.map(|leaf| choose_leaf(look_at(&leaf, purpose), purpose)).collect() }
    }

    pub fn leaf(&self, index: usize) -> Option<LeafEncoding> {
        self.leaves.get(index).copied()
    }

    pub fn leaf_count(&self) -> usize {
        self.leaves.len()
    }

    /// The same choice for every leaf; how measurements compare them.
    pub fn uniform(leaf: LeafEncoding, leaves: usize) -> ColumnEncodings {
        ColumnEncodings { leaves: vec![leaf; leaves] }
    }

    /// Another choice for one leaf.
    #[must_use]
    pub fn with_leaf(mut self, index: usize, leaf: LeafEncoding) -> ColumnEncodings {
        if let Some(slot) = self.leaves.get_mut(index) {
            *slot = leaf;
        }
        self
    }
}

/// The rule itself.
pub fn choose_leaf(sample: LeafSample, purpose: WritePurpose) -> LeafEncoding {
    let for_size = purpose == WritePurpose::Merge;
    let leaf = |values, codec| LeafEncoding { values, codec };
    let zstd = PageCodec::Zstd(1);
    match sample {
        _ if purpose == WritePurpose::Scratch => leaf(ValueEncoding::Plain, PageCodec::None),
        _ if sample.repeats() => leaf(ValueEncoding::Dictionary, zstd),
        // One level up packs text an eighth smaller at nearly the same price; two levels up cost half as much again.
        LeafSample { is_text: true, .. } if for_size => leaf(ValueEncoding::Plain, PageCodec::Zstd(2)),
        LeafSample { is_text: true, packed: Some(sizes), .. } if sizes.favour_quick() => {
            leaf(ValueEncoding::Plain, PageCodec::QuickZstd)
        }
        LeafSample { is_text: true, .. } => leaf(ValueEncoding::Plain, zstd),
        // As small as zstd makes it, as quick as plain values, and nothing to decompress for a reader.
        LeafSample { is_integer: true, has_wide_steps: false, .. } => {
            leaf(ValueEncoding::Delta, PageCodec::None)
        }
        _ if for_size => leaf(ValueEncoding::Plain, zstd),
        _ => leaf(ValueEncoding::Plain, PageCodec::Lz4),
    }
}

fn spread(rows: &RecordBatch) -> RecordBatch {
    let step = rows.num_rows().div_ceil(SAMPLE_ROWS_MAX).max(1);
    if step == 1 {
        return rows.clone();
    }
    let indices = UInt64Array::from_iter_values((0..rows.num_rows()).step_by(step).map(|row| row as u64));
    let columns = rows.columns().iter().map(|column| take(column, &indices, None));
    match columns.collect::<Result<Vec<_>, _>>().and_then(|c| RecordBatch::try_new(rows.schema(), c)) {
        Ok(sample) => sample,
        // A layout that cannot be gathered can still be cut.
        Err(_) => rows.slice(0, SAMPLE_ROWS_MAX),
    }
}

/// The arrays Parquet stores for a column, in its order.
fn leaf_arrays(array: &ArrayRef) -> Vec<ArrayRef> {
    match array.data_type() {
        DataType::Struct(_) => array.as_struct().columns().iter().flat_map(leaf_arrays).collect(),
        DataType::List(_) => leaf_arrays(array.as_list::<i32>().values()),
        DataType::Map(..) => array.as_map().entries().columns().iter().flat_map(leaf_arrays).collect(),
        _ => vec![Arc::clone(array)],
    }
}

/// As much of a text as a page holds, in a page's plain encoding; empty for what is no text.
fn text_page(leaf: &ArrayRef) -> Vec<u8> {
    let mut page = Vec::new();
    let mut push = |text: &[u8]| {
        let fits = page.len() + text.len() <= PACKED_BYTES_MAX;
        if fits {
            page.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
            page.extend_from_slice(text);
        }
        fits
    };
    if let Some(texts) = leaf.as_string_view_opt() {
        texts.iter().flatten().all(|text| push(text.as_bytes()));
    } else if let Some(bytes) = leaf.as_binary_view_opt() {
        bytes.iter().flatten().all(&mut push);
    }
    page
}

fn look_at(leaf: &ArrayRef, purpose: WritePurpose) -> LeafSample {
    let leaf = leaf.slice(0, leaf.len().min(SAMPLE_ROWS_MAX));
    let data_type = leaf.data_type();
    let is_integer = data_type.is_integer()
        || matches!(data_type, DataType::Date32 | DataType::Timestamp(..))
        || matches!(data_type, DataType::Decimal128(precision, _) if *precision <= DECIMAL_64_PRECISION_MAX);
    let mut sample = LeafSample {
        rows: leaf.len() - leaf.null_count(),
        distinct: count_distinct(&leaf),
        is_text: matches!(data_type, DataType::Utf8View | DataType::BinaryView | DataType::Utf8),
        is_integer,
        has_wide_steps: is_integer && has_wide_steps(&leaf),
        packed: None,
    };
    // Packing takes milliseconds, too long for what gets a dictionary or another level anyway.
    let is_packed = matches!(purpose, WritePurpose::Insert | WritePurpose::Flush);
    if sample.is_text && !sample.repeats() && is_packed {
        sample.packed = PackedSizes::measure(&leaf);
    }
    sample
}

/// Whether numbers are further apart than half of what their layout in Parquet holds.
fn has_wide_steps(leaf: &ArrayRef) -> bool {
    let Ok(numbers) = cast(leaf, &DataType::Decimal128(38, 0)) else { return false };
    let numbers = numbers.as_primitive::<Decimal128Type>();
    let is_short = leaf.data_type().primitive_width().is_some_and(|bytes| bytes <= 4);
    let half = if is_short { i128::from(i32::MAX) } else { i128::from(i64::MAX) } / 2;
    min(numbers).zip(max(numbers)).is_some_and(|(least, greatest)| greatest - least > half)
}

/// A type without an order counts as all distinct.
fn count_distinct(leaf: &ArrayRef) -> usize {
    let field = SortField::new(leaf.data_type().clone());
    let rows = RowConverter::new(vec![field]).and_then(|c| c.convert_columns(std::slice::from_ref(leaf)));
    match rows {
        Ok(rows) => {
            let all: HashSet<&[u8]> = (0..rows.num_rows()).map(|row| rows.row(row).data()).collect();
            all.len() - usize::from(leaf.null_count() > 0 && !all.is_empty())
        }
        Err(_) => leaf.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rows: usize, distinct: usize, kind: &str, purpose: WritePurpose, expected: &str) {
        let (kind, packed) = match kind {
            "text, quick 1.3 times as large" => ("text", Some(PackedSizes { zstd: 1000, quick: 1333 })),
            "text, quick 1.4 times as large" => ("text", Some(PackedSizes { zstd: 1000, quick: 1334 })),
            kind => (kind, None),
        };
        let has_wide_steps = kind == "integer in wide steps";
        let (is_text, is_integer) = (kind == "text", kind == "integer" || has_wide_steps);
        let sample = LeafSample { rows, distinct, is_text, is_integer, has_wide_steps, packed };
        let chosen = choose_leaf(sample, purpose);
        assert_eq!(
            format!("{:?} {:?}", chosen.values, chosen.codec),
            expected,
            "{rows} {distinct} {kind} {purpose:?}"
        );
    }

    #[test]
    fn choices() {
        use WritePurpose::{Flush, Insert, Merge};
        check(4096, 4096, "text", Insert, "Plain Zstd(1)");
        check(4096, 400, "text", Insert, "Dictionary Zstd(1)");
        check(4096, 4096, "text, quick 1.3 times as large", Insert, "Plain QuickZstd");
        check(4096, 4096, "text, quick 1.4 times as large", Flush, "Plain Zstd(1)");
        check(4096, 400, "text, quick 1.3 times as large", Insert, "Dictionary Zstd(1)");
        check(4096, 4000, "integer", Insert, "Delta None");
        check(4096, 4000, "float", Flush, "Plain Lz4");
        check(4096, 12, "integer", Insert, "Dictionary Zstd(1)");
        check(4096, 4000, "integer", Merge, "Delta None");
        check(4096, 4000, "integer in wide steps", Insert, "Plain Lz4");
        check(4096, 4000, "integer in wide steps", Merge, "Plain Zstd(1)");
        check(4096, 12, "integer in wide steps", Insert, "Dictionary Zstd(1)");
        check(4096, 4000, "text", Merge, "Plain Zstd(2)");
        check(4096, 4000, "float", Merge, "Plain Zstd(1)");
        check(10, 1, "text", Insert, "Plain Zstd(1)");
        check(0, 0, "text", Insert, "Plain Zstd(1)");
    }

    #[test]
    fn steps_are_wide_where_numbers_are_far_apart() {
        use arrow::array::{Int32Array, Int64Array, UInt32Array};
        let steps = |leaf: ArrayRef| look_at(&leaf, WritePurpose::Insert).has_wide_steps;
        assert!(steps(Arc::new(Int32Array::from(vec![i32::MIN, 5, i32::MAX]))));
        assert!(steps(Arc::new(UInt32Array::from(vec![0, u32::MAX]))));
        assert!(!steps(Arc::new(UInt32Array::from(vec![u32::MAX - 7, u32::MAX]))));
        assert!(steps(Arc::new(Int64Array::from(vec![i64::MIN, i64::MAX]))));
        assert!(!steps(Arc::new(Int64Array::from(vec![-(1 << 40), 1 << 40]))));
        assert!(!steps(Arc::new(Int64Array::from(vec![None, None]))));
    }
}
