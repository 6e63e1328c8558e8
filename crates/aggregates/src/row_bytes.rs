//! Values as bytes: equal for equal values, others for others.
//!
//! Sets of tuples, arrays and maps are sets of such bytes: DataFusion's own of these layouts keeps with every value the buffers of
//! the whole batch that it came from. Invariant: they are stored in states of `uniqExact`, whose version changes with them.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BinaryViewArray, BinaryViewBuilder};
use arrow::datatypes::DataType;
use arrow::row::{RowConverter, SortField};
use datafusion::common::Result;
use model::raw_text;

/// Whether values of the layout are counted as bytes.
pub fn is_counted_as_bytes(layout: &DataType) -> bool {
    matches!(layout, DataType::Struct(_) | DataType::List(_) | DataType::Map(..))
        && RowConverter::supports_fields(&[SortField::new(layout.clone())])
}

/// A text for each row that carries the bytes of its value; NULL for NULL.
///
/// # Errors
/// A layout for which [`is_counted_as_bytes`] is false.
pub fn row_bytes(column: &ArrayRef) -> Result<ArrayRef> {
    let converter = RowConverter::new(vec![SortField::new(column.data_type().clone())])?;
    let rows = converter.convert_columns(std::slice::from_ref(column))?;
    let mut bytes = BinaryViewBuilder::with_capacity(rows.num_rows());
    for (index, row) in rows.iter().enumerate() {
        bytes.append_option(column.is_valid(index).then_some(row.data()));
    }
    let bytes: BinaryViewArray = bytes.finish();
    Ok(Arc::new(raw_text::carry_all(&bytes)))
}
