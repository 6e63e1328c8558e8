//! Masks for a few rows more: only the keys of those rows are looked at again.
//!
//! Invariant: the result is that of computing the masks anew. Must not know: where the masks before came from.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::BooleanBufferBuilder;
use arrow::buffer::BooleanBuffer;
use model::saturating::usize_of;

use super::replaced::{MaskJob, piece};
use super::row_mask::{Bits, RowMask};
use super::sources::{MaskSource, Opened};
use super::splits::{STEP_ROWS, first_from};
use crate::error::TableError;
use crate::table::Table;

/// With more new rows than this, all are compared.
const NEW_ROWS_MAX: u64 = 64;

/// How many rows it takes to make the masks of `before` those of `sources`, of which only rows of the log may be new; `None`
/// if it would not be less than to compute them.
pub fn rows_to_extend(sources: &[MaskSource], before: &[RowMask]) -> Option<u64> {
    let new: u64 = new_rows(sources, before)?;
    let rows: u64 = sources.iter().map(MaskSource::rows).sum();
    // Each key is looked for in each source, and what is around it is read.
    let taken = new.saturating_mul(sources.len() as u64).saturating_mul(4 * STEP_ROWS);
    (new <= NEW_ROWS_MAX && taken < rows).then_some(taken)
}

fn new_rows(sources: &[MaskSource], before: &[RowMask]) -> Option<u64> {
    let mut new = 0;
    for (at, source) in sources.iter().enumerate() {
        let known = before.get(at).map_or(0, RowMask::rows);
        let more = source.rows().checked_sub(known)?;
        if more > 0 && matches!(source, MaskSource::Part(_)) {
            return None;
        }
        new += more;
    }
    (before.len() <= sources.len()).then_some(new)
}

/// The masks of sources that begin as those of `before` did, and go on with rows of the log.
///
/// # Errors
/// As [`MaskJob::run`].
pub fn extend(
    table: &Table,
    job: &MaskJob,
    before: &[RowMask],
    cancelled: &Arc<AtomicBool>,
) -> Result<Vec<RowMask>, TableError> {
    let opened = job.opened();
    let ends = || cancelled.load(Ordering::Relaxed);
    let mut keys: Vec<Vec<u8>> = Vec::new();
    for (at, source) in opened.iter().enumerate() {
        keys.extend(source.keys_from(table, before.get(at).map_or(0, RowMask::rows))?);
    }
    keys.sort_unstable();
    keys.dedup();
    let known = |(at, source): (usize, &Opened)| known_bits(source, before.get(at));
    let mut bits: Vec<Bits> = opened.iter().enumerate().map(known).collect();
    for mut key in keys {
        let mut ranges: Vec<Range<u64>> = Vec::with_capacity(opened.len());
        for source in opened {
            ranges.push(first_from(table, source, &key)?..0);
        }
        // What comes next in the order of bytes.
        key.push(0);
        for (source, range) in opened.iter().zip(&mut ranges) {
            range.end = first_from(table, source, &key)?;
        }
        let found = piece(table, opened, (&ranges, usize_of(STEP_ROWS)), &ends)?;
        for ((source, bits), (range, found)) in opened.iter().zip(&mut bits).zip(ranges.iter().zip(&found)) {
            for (place, live) in (usize_of(range.start)..).zip(found.iter()) {
                bits.put(source.number(place), live);
            }
        }
    }
    Ok(bits.into_iter().map(|bits| RowMask::of(bits.finish())).collect())
}

/// By number: the bits there were, and rows that are shown as far as anybody knows.
fn known_bits(source: &Opened, before: Option<&RowMask>) -> Bits {
    let rows = usize_of(source.rows);
    let mut bits = BooleanBufferBuilder::new(rows);
    if let Some(before) = before {
        let known = usize_of(before.rows()).min(rows);
        bits.append_buffer(&before.of_rows(0, known).unwrap_or_else(|| BooleanBuffer::new_set(known)));
    }
    bits.append_n(rows - bits.len(), true);
    Bits::from(bits.finish())
}
