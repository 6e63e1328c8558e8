//! Rows that are the first of their kind: what DISTINCT leaves of a group, in the order in which it came.
//!
//! Invariant: a row passes once, also where equal ones come in other batches; -0 is not 0, and NULL is a value like others.
//! Must not know: which rows count.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, UInt64Array};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use arrow::row::{RowConverter, SortField};
use datafusion::common::Result;
use model::saturating::u64_of;

/// See the module.
#[derive(Debug)]
pub(crate) struct Different {
    layouts: Vec<DataType>,
    converter: RowConverter,
    seen: HashSet<Box<[u8]>>,
    bytes: usize,
}

impl Different {
    /// Of rows of columns of these layouts.
    ///
    /// # Errors
    /// A layout that rows cannot have.
    pub(crate) fn try_new(layouts: &[DataType]) -> Result<Different> {
        let fields = layouts.iter().map(|layout| SortField::new(layout.clone())).collect();
        let converter = RowConverter::new(fields)?;
        Ok(Different { layouts: layouts.to_vec(), converter, seen: HashSet::new(), bytes: 0 })
    }

    /// The places of the rows that are equal to none before them, in their order.
    pub(crate) fn places(&mut self, columns: &[ArrayRef]) -> Result<UInt64Array> {
        // Who joins states forgets what the fields within say.
        let columns = columns.iter().zip(&self.layouts).map(|(column, layout)| {
            let is_same = column.data_type() == layout;
            if is_same { Ok(Arc::clone(column)) } else { cast(column, layout) }
        });
        let rows = self.converter.convert_columns(&columns.collect::<Result<Vec<_>, _>>()?)?;
        let mut places = Vec::new();
        for (place, row) in rows.iter().enumerate() {
            let bytes: &[u8] = row.as_ref();
            if !self.seen.contains(bytes) {
                self.seen.insert(bytes.into());
                self.bytes += bytes.len() + size_of::<Box<[u8]>>();
                places.push(u64_of(place));
            }
        }
        Ok(places.into())
    }

    /// Bytes that it holds.
    pub(crate) fn size(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Float64Array, Int32Array};

    use super::*;

    #[test]
    fn the_first_of_equal_rows_pass_once() {
        let mut different = Different::try_new(&[DataType::Int32, DataType::Float64]).unwrap();
        let mut check = |numbers: &[Option<i32>], floats: &[f64], expected: &[u64]| {
            let numbers: ArrayRef = Arc::new(Int32Array::from(numbers.to_vec()));
            let floats: ArrayRef = Arc::new(Float64Array::from(floats.to_vec()));
            assert_eq!(different.places(&[numbers, floats]).unwrap().values().to_vec(), expected);
        };
        check(&[Some(1), None, Some(1), Some(1)], &[0.0, 2.0, 0.0, 1.0], &[0, 1, 3]);
        check(&[Some(2), None, Some(2)], &[0.0, 2.0, 0.0], &[0]);
    }
}
