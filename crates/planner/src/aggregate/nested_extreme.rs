//! `min` and `max` of arrays, maps and tuples, which DataFusion's accumulators do not compare.
//!
//! Invariant: values are in order element by element, as functions compare them; NULLs are passed over. The state is the
//! value.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, UInt64Array, make_comparator};
use arrow::compute::{SortOptions, cast, take};
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Accumulator;

use crate::types::typing::scalar_at;

/// The accumulator of one group; `None` where another one is right.
pub(super) fn accumulator(function: &str, data_type: &DataType) -> Option<Box<dyn Accumulator>> {
    let wanted = match function {
        "min" => Ordering::Less,
        "max" => Ordering::Greater,
        _ => return None,
    };
    let nests = matches!(data_type, DataType::List(_) | DataType::Map(..) | DataType::Struct(_));
    nests.then(|| Box::new(Best { wanted, data_type: data_type.clone(), best: None }) as Box<dyn Accumulator>)
}

/// Whether DataFusion has no accumulator of all groups at once.
pub(super) fn applies(function: &str, data_type: &DataType) -> bool {
    accumulator(function, data_type).is_some()
}

#[derive(Debug)]
struct Best {
    wanted: Ordering,
    data_type: DataType,
    /// One row.
    best: Option<ArrayRef>,
}

impl Best {
    fn offer(&mut self, values: &ArrayRef) -> Result<()> {
        let same = *values.data_type() == self.data_type;
        let values = if same { Arc::clone(values) } else { cast(values, &self.data_type)? };
        let options = SortOptions { descending: false, nulls_first: false };
        let order = make_comparator(&values, &values, options)?;
        let present = (0..values.len()).filter(|row| values.is_valid(*row));
        let found = present.reduce(|best, row| if order(row, best) == self.wanted { row } else { best });
        let Some(row) = found else { return Ok(()) };
        let replaces = match &self.best {
            Some(best) => make_comparator(&values, best, options)?(row, 0) == self.wanted,
            None => true,
        };
        if replaces {
            // A copy: a slice would keep the whole batch, once for each group.
            let row = UInt64Array::from_iter_values(u64::try_from(row));
            self.best = Some(take(&values, &row, None)?);
        }
        Ok(())
    }
}

impl Accumulator for Best {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        values.first().map_or(Ok(()), |values| self.offer(values))
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        match &self.best {
            Some(best) => scalar_at(best, 0),
            None => ScalarValue::try_from(&self.data_type),
        }
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.best.as_ref().map_or(0, |best| best.get_array_memory_size())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::ListArray;
    use arrow::datatypes::Int32Type;

    #[test]
    fn arrays_are_in_order_by_their_elements() {
        let lists =
            [Some(vec![Some(1), Some(2)]), None, Some(vec![Some(1)]), Some(vec![Some(3)]), Some(vec![])];
        let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists));
        for (function, row) in [("min", 4), ("max", 3)] {
            let mut best = accumulator(function, lists.data_type()).unwrap();
            best.update_batch(std::slice::from_ref(&lists)).unwrap();
            let states = best.state().unwrap().first().unwrap().to_array().unwrap();
            best.merge_batch(&[states]).unwrap();
            assert_eq!(best.evaluate().unwrap(), scalar_at(&lists, row).unwrap(), "{function}");
        }
        assert!(accumulator("min", &DataType::Int32).is_none());
    }
}
