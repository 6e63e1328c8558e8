//! One row of the rows of a key: numbers added, states merged, values combined by the function of their column.
//!
//! Invariant: of a column for which none of it is said the first value stays. A key all of whose sums are nothing goes, once
//! all of its rows are there and no other column is combined. Must not know: keys.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow::compute::{filter_record_batch, take};
use model::Combine;

use super::sums::sum_of;
use super::{broken, failed};
use crate::error::TableError;

/// Columns with the function of each.
type Combined = [(usize, Arc<dyn Combine>)];

/// One row for each key; the rows of a key begin at each of `starts`.
pub(super) fn combined(
    rows: &RecordBatch,
    starts: &[usize],
    sums: &[usize],
    combined: &Combined,
) -> Result<RecordBatch, TableError> {
    let first: Vec<u32> = starts.iter().map(|start| u32::try_from(*start).unwrap_or(u32::MAX)).collect();
    let first = UInt32Array::from(first);
    let one = |(at, column): (usize, &ArrayRef)| {
        if sums.contains(&at) {
            return summed(rows, at, starts, &mut vec![true; starts.len()]);
        }
        match combined.iter().find(|(place, _)| *place == at) {
            Some((_, combine)) => combine.combine(column, starts).map_err(|error| failed(error.to_string())),
            None => take(column, &first, None).map_err(broken),
        }
    };
    let columns = rows.columns().iter().enumerate().map(one).collect::<Result<Vec<_>, _>>()?;
    RecordBatch::try_new(rows.schema(), columns).map_err(broken)
}

fn summed(
    rows: &RecordBatch,
    at: usize,
    starts: &[usize],
    is_zero: &mut [bool],
) -> Result<ArrayRef, TableError> {
    let may_be_null = rows.schema_ref().field(at).is_nullable();
    sum_of(rows.column(at), may_be_null, starts, is_zero)
}

/// Without the rows all of whose sums are nothing.
pub(super) fn without_nothing(
    rows: RecordBatch,
    sums: &[usize],
    combined: &Combined,
) -> Result<RecordBatch, TableError> {
    if sums.is_empty() || !combined.is_empty() {
        return Ok(rows);
    }
    let each: Vec<usize> = (0..rows.num_rows()).collect();
    let mut is_zero = vec![true; rows.num_rows()];
    for at in sums {
        summed(&rows, *at, &each, &mut is_zero)?;
    }
    if !is_zero.contains(&true) {
        return Ok(rows);
    }
    let stays: BooleanArray = is_zero.iter().map(|is_zero| Some(!is_zero)).collect();
    filter_record_batch(&rows, &stays).map_err(broken)
}
