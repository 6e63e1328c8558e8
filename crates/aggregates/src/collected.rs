//! `groupArray` of all rows, or of those that are the first of their kind, and `groupUniqArray`: what is collected is put together
//! once, and not held twice.
//!
//! Invariant: memory is asked for before values are put together; after `state` or `evaluate` they are held as the one array
//! that was handed out, so DataFusion's copy of it, which who finishes the function asks for, is the only other one.
//! Must not know: results of nothing.

pub(crate) mod different;
mod set_order;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::compute::{concat, filter, take};
use arrow::datatypes::DataType;
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Accumulator;
use datafusion::logical_expr::function::AccumulatorArgs;
use functions::allowance::reserve;
use functions::row_bytes;
use model::ColumnType;

use self::different::Different;
use self::set_order::set_order;
use crate::typing::{external, type_of_field};

/// Copies of a list that are there at once, though nobody asks for the last two: the values joined, the row that the plan
/// makes of the scalar, and what a join of a scalar subquery makes of that row.
const COPIES: usize = 3;

/// Copies of less are not asked for.
const COPY_BYTES_MIN: usize = 1 << 20;

/// Views may keep so many times alive of what they show before they are copied.
const KEPT_TIMES_MAX: usize = 2;

/// The accumulator of one group; `None` where DataFusion's is right: for other functions, and ordered values.
///
/// # Errors
/// Values of which nobody can tell which are different.
pub(super) fn accumulator(
    function: &str,
    args: &AccumulatorArgs<'_>,
    values_max: Option<usize>,
) -> Result<Option<Box<dyn Accumulator>>> {
    let is_set = function == "groupUniqArray";
    let plain = (is_set || function == "groupArray") && args.order_bys.is_empty();
    let Some(field) = args.expr_fields.first().filter(|_| plain) else { return Ok(None) };
    let data_type = field.data_type().clone();
    let different = match args.is_distinct {
        true => Some(Different::try_new(std::slice::from_ref(&data_type))?),
        false => None,
    };
    Ok(Some(Box::new(Collected {
        data_type,
        ignore_nulls: args.ignore_nulls,
        values_max: values_max.unwrap_or(usize::MAX),
        different,
        set_of: is_set.then(|| type_of_field(field)),
        arrays: vec![],
        values: 0,
        bytes: 0,
    })))
}

#[derive(Debug)]
struct Collected {
    data_type: DataType,
    ignore_nulls: bool,
    /// More are passed over.
    values_max: usize,
    /// Which values are the first of their kind, where only those count.
    different: Option<Different>,
    /// The type of the values, where they are shown in the order of a set.
    set_of: Option<ColumnType>,
    arrays: Vec<ArrayRef>,
    values: usize,
    bytes: usize,
}

impl Collected {
    fn add(&mut self, values: &ArrayRef) -> Result<()> {
        let left = self.values_max - self.values;
        if left == 0 || values.is_empty() {
            return Ok(());
        }
        let values = match &mut self.different {
            Some(different) => {
                let places = different.places(std::slice::from_ref(values))?;
                take(values, &places, None)?
            }
            None => Arc::clone(values),
        };
        if values.is_empty() {
            return Ok(());
        }
        let values = own(&values.slice(0, left.min(values.len())));
        self.values += values.len();
        self.bytes += row_bytes(&values);
        self.arrays.push(values);
        Ok(())
    }

    /// All values as one array, which is all that is held from then on; `None` where there are none.
    fn joined(&mut self) -> Result<Option<&ArrayRef>> {
        let _copy = match self.bytes < COPY_BYTES_MIN {
            true => None,
            false => Some(reserve("groupArray", self.bytes.saturating_mul(COPIES)).map_err(external)?),
        };
        if self.arrays.len() > 1 {
            let parts: Vec<&dyn Array> = self.arrays.iter().map(AsRef::as_ref).collect();
            self.arrays = vec![concat(&parts)?];
        }
        Ok(self.arrays.first())
    }

    fn list(&self, values: Option<ArrayRef>) -> ScalarValue {
        match values {
            Some(values) => SingleRowListArrayBuilder::new(values).build_list_scalar(),
            None => ScalarValue::new_null_list(self.data_type.clone(), true, 1),
        }
    }
}

/// Views without what they keep alive and do not show, where that is much.
fn own(values: &ArrayRef) -> ArrayRef {
    let Some(views) = values.as_string_view_opt() else { return Arc::clone(values) };
    let kept: usize = views.data_buffers().iter().map(|buffer| buffer.len()).sum();
    if kept <= KEPT_TIMES_MAX * views.total_buffer_bytes_used() {
        return Arc::clone(values);
    }
    Arc::new(views.gc())
}

impl Accumulator for Collected {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Some(values) = values.first() else { return Ok(()) };
        match values.logical_nulls().filter(|nulls| self.ignore_nulls && nulls.null_count() > 0) {
            Some(nulls) => self.add(&filter(values, &BooleanArray::new(nulls.into_inner(), None))?),
            None => self.add(values),
        }
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let values = self.joined()?.map(Arc::clone);
        let places = match (&values, &self.set_of) {
            (Some(values), Some(column_type)) => set_order(values, column_type),
            _ => None,
        };
        Ok(match (values, places) {
            (Some(values), Some(places)) => self.list(Some(take(&values, &places, None)?)),
            (values, _) => self.list(values),
        })
    }

    fn size(&self) -> usize {
        let different = self.different.as_ref().map_or(0, Different::size);
        size_of_val(self) + self.bytes + different + self.arrays.capacity() * size_of::<ArrayRef>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values = self.joined()?.map(Arc::clone);
        Ok(vec![self.list(values)])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let Some(lists) = states.first() else { return Ok(()) };
        lists.as_list::<i32>().iter().flatten().try_for_each(|values| self.add(&values))
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int32Array, ListArray, StringViewArray};
    use arrow::datatypes::Int32Type;

    use super::*;

    fn collected(values_max: usize) -> Collected {
        Collected {
            data_type: DataType::Int32,
            ignore_nulls: true,
            values_max,
            different: None,
            set_of: None,
            arrays: vec![],
            values: 0,
            bytes: 0,
        }
    }

    fn numbers(values: &[Option<i32>]) -> ArrayRef {
        Arc::new(Int32Array::from(values.to_vec()))
    }

    #[test]
    fn values_are_collected_over_states_up_to_the_most() {
        let mut partial = collected(3);
        partial.update_batch(&[numbers(&[Some(1), None, Some(2)])]).unwrap();
        partial.update_batch(&[numbers(&[Some(3), Some(4)])]).unwrap();
        let state = partial.state().unwrap().remove(0).to_array().unwrap();
        assert_eq!(partial.arrays.len(), 1);
        let mut all = collected(usize::MAX);
        let nothing = ScalarValue::new_null_list(DataType::Int32, true, 1).to_array().unwrap();
        for state in [&state, &nothing, &state] {
            all.merge_batch(&[Arc::clone(state)]).unwrap();
        }
        let expected = [Some([1, 2, 3, 1, 2, 3].map(Some))];
        let expected = ListArray::from_iter_primitive::<Int32Type, _, _>(expected);
        for _ in 0..2 {
            let ScalarValue::List(list) = all.evaluate().unwrap() else { panic!("a list") };
            assert_eq!(list.value(0).as_ref(), expected.value(0).as_ref());
        }
    }

    #[test]
    fn a_view_of_much_does_not_keep_it() {
        let long = "x".repeat(1000);
        let views: ArrayRef = Arc::new(StringViewArray::from_iter_values((0..100).map(|_| &long)));
        let few = own(&views.slice(0, 2));
        assert!(few.as_string_view().data_buffers().iter().map(|buffer| buffer.len()).sum::<usize>() <= 4000);
    }
}
