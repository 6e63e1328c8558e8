//! `min` and `max` of arrays, maps and tuples, which DataFusion's accumulators do not compare.
//!
//! Invariant: values are in order element by element; NULLs are passed over. A NULL or NaN within a value loses against
//! any other element, for `min` as for `max`. The state is the value.

pub(super) mod groups;

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::ArrayData;
use arrow::array::DynComparator;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, UInt64Array, make_array, make_comparator};
use arrow::compute::{SortOptions, cast, nullif, take};
use arrow::datatypes::{DataType, FieldRef, Float32Type, Float64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Accumulator;

use crate::typing::scalar_at;

/// How values that nest are compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order(Ordering);

impl Order {
    /// Of `min` or `max`.
    pub(super) fn of(function: &str) -> Option<Self> {
        match function {
            "min" => Some(Order(Ordering::Less)),
            "max" => Some(Order(Ordering::Greater)),
            _ => None,
        }
    }

    /// How a better value compares with another.
    pub(super) fn wanted(self) -> Ordering {
        self.0
    }

    /// The values as they are compared.
    pub(super) fn comparable(self, values: &ArrayRef) -> Result<ArrayRef> {
        without_nan(values)
    }

    pub(super) fn comparator(self, one: &ArrayRef, other: &ArrayRef) -> Result<DynComparator> {
        let options = SortOptions { descending: false, nulls_first: self.0 == Ordering::Greater };
        Ok(make_comparator(one, other, options)?)
    }
}

/// The accumulator of one group; `None` where another one is right.
pub(super) fn accumulator(function: &str, data_type: &DataType) -> Option<Box<dyn Accumulator>> {
    let order = order_of(function, data_type)?;
    Some(Box::new(Best { order, data_type: data_type.clone(), best: None }))
}

/// The order of a function over values that nest; `None` of any other.
pub(super) fn order_of(function: &str, data_type: &DataType) -> Option<Order> {
    let nests = matches!(data_type, DataType::List(_) | DataType::Map(..) | DataType::Struct(_));
    Order::of(function).filter(|_| nests)
}

#[derive(Debug)]
struct Best {
    order: Order,
    data_type: DataType,
    /// One row.
    best: Option<ArrayRef>,
}

impl Best {
    fn offer(&mut self, values: &ArrayRef) -> Result<()> {
        let same = *values.data_type() == self.data_type;
        let values = if same { Arc::clone(values) } else { cast(values, &self.data_type)? };
        let compared = self.order.comparable(&values)?;
        let order = self.order.comparator(&compared, &compared)?;
        let present = (0..values.len()).filter(|row| values.is_valid(*row));
        let found =
            present.reduce(|best, row| if order(row, best) == self.order.wanted() { row } else { best });
        let Some(row) = found else { return Ok(()) };
        let replaces = match &self.best {
            Some(best) => {
                let best = self.order.comparable(best)?;
                self.order.comparator(&compared, &best)?(row, 0) == self.order.wanted()
            }
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

/// The same values with NULL for each NaN, at any depth but inside of maps.
fn without_nan(array: &ArrayRef) -> Result<ArrayRef> {
    let data = array.to_data();
    let is_nan: Option<BooleanArray> = match array.data_type() {
        DataType::Float32 => {
            Some(array.as_primitive::<Float32Type>().values().iter().map(|v| Some(v.is_nan())).collect())
        }
        DataType::Float64 => {
            Some(array.as_primitive::<Float64Type>().values().iter().map(|v| Some(v.is_nan())).collect())
        }
        _ => None,
    };
    if let Some(is_nan) = is_nan {
        return Ok(nullif(array, &is_nan)?);
    }
    // A map stays as it is: keys are never NULL, and one without NULLs is not half of one with them.
    if data.child_data().is_empty() || matches!(array.data_type(), DataType::Map(..)) {
        return Ok(Arc::clone(array));
    }
    let children =
        data.child_data().iter().map(|child| Ok(without_nan(&make_array(child.clone()))?.to_data()));
    let children = children.collect::<Result<Vec<_>>>()?;
    let nullable = |field: &FieldRef, child: &ArrayData| {
        let field = field.as_ref().clone().with_data_type(child.data_type().clone());
        Arc::new(field.with_nullable(true))
    };
    let data_type = match (array.data_type(), &children[..]) {
        (DataType::List(item), [child]) => DataType::List(nullable(item, child)),
        (DataType::Struct(fields), children) => DataType::Struct(
            fields.iter().zip(children).map(|(field, child)| nullable(field, child)).collect(),
        ),
        (other, _) => other.clone(),
    };
    Ok(make_array(data.into_builder().data_type(data_type).child_data(children).build()?))
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

    #[test]
    fn null_and_nan_within_lose() {
        let list = |item: Option<f64>| Some(vec![item]);
        let lists = [list(None), list(Some(f64::NAN)), list(Some(1.0)), list(Some(2.0))];
        let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(lists));
        for (function, row) in [("min", 2), ("max", 3)] {
            let mut best = accumulator(function, lists.data_type()).unwrap();
            for row in 0..lists.len() {
                best.update_batch(&[lists.slice(row, 1)]).unwrap();
            }
            assert_eq!(best.evaluate().unwrap(), scalar_at(&lists, row).unwrap(), "{function}");
        }
    }
}
