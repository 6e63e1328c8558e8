//! Rows of a block by their places.
//!
//! A block stays in the batches it came in: a column of it is never made whole, so a block is in memory once. Texts are
//! views, of which sixteen bytes move. Invariant: places order as the rows arrived.

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::interleave;
use arrow::error::ArrowError;

/// Where a row is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RowPlace {
    pub batch: u32,
    pub row: u32,
}

/// All rows of a block, in the order they arrived.
///
/// # Errors
/// More batches, or more rows in one, than a place can say.
pub fn places(batches: &[RecordBatch]) -> Result<Vec<RowPlace>, ArrowError> {
    let too_large = |_| ArrowError::InvalidArgumentError("a block of more than 2^32 rows".to_owned());
    let mut places = Vec::with_capacity(batches.iter().map(RecordBatch::num_rows).sum());
    for (index, batch) in batches.iter().enumerate() {
        let index = u32::try_from(index).map_err(too_large)?;
        let rows = u32::try_from(batch.num_rows()).map_err(too_large)?;
        places.extend((0..rows).map(|row| RowPlace { batch: index, row }));
    }
    Ok(places)
}

/// Places as Arrow's kernel takes them.
pub fn indices(places: &[RowPlace]) -> Vec<(usize, usize)> {
    places.iter().map(|place| (place.batch as usize, place.row as usize)).collect()
}

/// The values of one column at `indices`, in that order. `batches` are of one schema and not empty.
///
/// # Errors
/// A layout that cannot be gathered.
pub fn gather_column(
    batches: &[RecordBatch],
    position: usize,
    indices: &[(usize, usize)],
) -> Result<ArrayRef, ArrowError> {
    let arrays: Vec<&dyn Array> = batches.iter().map(|batch| batch.column(position).as_ref()).collect();
    interleave(&arrays, indices)
}

/// One batch of the rows at `places`, in that order. `batches` are of one schema and not empty.
///
/// # Errors
/// A layout that cannot be gathered.
pub fn gather(batches: &[RecordBatch], places: &[RowPlace]) -> Result<RecordBatch, ArrowError> {
    let first = batches.first().ok_or_else(|| ArrowError::InvalidArgumentError("no batches".to_owned()))?;
    let rows = indices(places);
    let columns = (0..first.num_columns()).map(|position| gather_column(batches, position, &rows));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(first.schema(), columns, &options)
}
