//! Which rows of each key stay, where rows stay as they are: ReplacingMergeTree and the two of signs.
//!
//! Invariant: rows keep their order. Must not know: keys.

use std::ops::Range;

use arrow::array::{Array, AsArray, Int8Array, RecordBatch};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{Int8Type, UInt8Type};
use arrow::row::{RowConverter, Rows, SortField};

use super::{Rule, broken, canonical, failed};
use crate::error::TableError;

/// The rows that stay; the rows of a key begin at each of `starts`.
pub(super) fn chosen(rule: &Rule, rows: &RecordBatch, starts: &[usize]) -> Result<Vec<u32>, TableError> {
    let ends = starts.iter().skip(1).copied().chain([rows.num_rows()]);
    let runs = starts.iter().copied().zip(ends).map(|(start, end)| start..end);
    let mut chosen: Vec<usize> = Vec::with_capacity(starts.len());
    match rule {
        Rule::Replacing { version, is_deleted, hides_deleted } => {
            let versions = version.map(|at| ordered(rows, at)).transpose()?;
            let deleted = is_deleted.map(|at| truths(rows, at)).transpose()?;
            let newest = runs.filter_map(|run| newest(run, versions.as_ref()));
            let hidden =
                |row: &usize| *hides_deleted && deleted.as_ref().is_some_and(|deleted| deleted.value(*row));
            chosen.extend(newest.filter(|row| !hidden(row)));
        }
        Rule::Collapsing { sign, keeps_negative } => {
            let signs = signs(rows, *sign)?;
            runs.for_each(|run| left(run, signs, *keeps_negative, &mut chosen));
        }
        Rule::Versioned { sign, version } => {
            let (signs, versions) = (signs(rows, *sign)?, ordered(rows, *version)?);
            runs.for_each(|run| uncancelled(run, signs, &versions, &mut chosen));
        }
        Rule::Combining { .. } => return Err(failed("sums are no choice of rows".to_owned())),
    }
    chosen.into_iter().map(|row| u32::try_from(row).map_err(|e| failed(e.to_string()))).collect()
}

/// The last row of the greatest version.
fn newest(run: Range<usize>, versions: Option<&Rows>) -> Option<usize> {
    let Some(versions) = versions else { return run.last() };
    run.max_by(|a, b| versions.row(*a).cmp(&versions.row(*b)))
}

/// Of as many rows of either sign the first negative and the last positive, if a positive one is last; else one of the sign
/// that is in the majority.
fn left(run: Range<usize>, signs: &Int8Array, keeps_negative: bool, chosen: &mut Vec<usize>) {
    let positive = |row: &usize| signs.value(*row) > 0;
    let count = run.clone().filter(positive).count();
    let negative = run.len() - count;
    if count == negative && !run.clone().last().is_some_and(|last| positive(&last)) {
        return;
    }
    let first_negative = run.clone().find(|row| !positive(row));
    let last_positive = run.rev().find(positive);
    chosen.extend(first_negative.filter(|_| keeps_negative && negative >= count));
    chosen.extend(last_positive.filter(|_| count >= negative));
}

/// Rows of each version, of which neighbours of unequal sign have cancelled each other.
fn uncancelled(run: Range<usize>, signs: &Int8Array, versions: &Rows, chosen: &mut Vec<usize>) {
    let mut order: Vec<usize> = run.collect();
    order.sort_by(|a, b| versions.row(*a).cmp(&versions.row(*b)));
    let begin = chosen.len();
    for row in order {
        let before = chosen.get(begin..).and_then(<[usize]>::last).copied();
        let cancels = before.is_some_and(|before| {
            versions.row(before) == versions.row(row) && signs.value(before) != signs.value(row)
        });
        if cancels {
            chosen.pop();
        } else {
            chosen.push(row);
        }
    }
}

/// The values of a column as bytes that compare as versions do.
///
/// # Errors
/// A type that has no order.
pub(crate) fn ordered(rows: &RecordBatch, at: usize) -> Result<Rows, TableError> {
    let column = &canonical(rows.column(at));
    let converter = RowConverter::new(vec![SortField::new(column.data_type().clone())]).map_err(broken)?;
    converter.convert_columns(std::slice::from_ref(column)).map_err(broken)
}

/// Which rows are deleted.
///
/// # Errors
/// The column says something else than 0 or 1.
pub(crate) fn truths(rows: &RecordBatch, at: usize) -> Result<BooleanBuffer, TableError> {
    if let Some(truths) = rows.column(at).as_boolean_opt() {
        return Ok(truths.values().clone());
    }
    let found = rows.column(at).as_primitive_opt::<UInt8Type>();
    let deleted = found.ok_or_else(|| failed("what says that a row is deleted is no UInt8".to_owned()))?;
    match deleted.values().iter().find(|deleted| **deleted > 1) {
        None => Ok(BooleanBuffer::collect_bool(deleted.len(), |row| deleted.value(row) == 1)),
        Some(deleted) => {
            Err(TableError::IncorrectData(format!("Incorrect data: is_deleted = {deleted} (must be 1 or 0)")))
        }
    }
}

fn signs(rows: &RecordBatch, at: usize) -> Result<&Int8Array, TableError> {
    let found = rows.column(at).as_primitive_opt::<Int8Type>();
    let signs = found.ok_or_else(|| failed("a sign is no Int8".to_owned()))?;
    match signs.values().iter().find(|sign| sign.unsigned_abs() != 1) {
        None => Ok(signs),
        Some(sign) => {
            Err(TableError::IncorrectData(format!("Incorrect data: Sign = {sign} (must be 1 or -1)")))
        }
    }
}
