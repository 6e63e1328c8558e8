//! `quantileExact` and its kin: all values of a group in their own type.
//!
//! Invariant: a result is one of the values, bit by bit; NULL and NaN are none, but a group of nothing else than NaN is
//! NaN. The state is the list of them, or of one NaN.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, ListArray, UInt64Array, new_empty_array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::kernels::cmp::distinct;
use arrow::compute::{SortOptions, concat, filter, is_not_null, sort, take};
use arrow::datatypes::{DataType, Field, Float32Type, Float64Type};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::Accumulator;
use functions::allowance::reserve;
use functions::default_array;
use model::ColumnType;

use super::{Pick, Results, index_of};
use crate::typing::external;

/// Batches put together once there are so many.
const BATCHES_MAX: usize = 256;

/// See the module.
#[derive(Debug)]
pub(super) struct Values {
    data_type: DataType,
    batches: Vec<ArrayRef>,
    bytes: usize,
    /// Whether there was a NaN, which a group of nothing else gives.
    has_nan: bool,
    pick: Pick,
    results: Results,
}

impl Values {
    pub(super) fn new(data_type: &DataType, pick: Pick, results: Results) -> Self {
        Self { data_type: data_type.clone(), batches: vec![], bytes: 0, has_nan: false, pick, results }
    }

    fn offer(&mut self, values: &ArrayRef) -> Result<()> {
        let kept = without_missing(values)?;
        self.has_nan |= kept.len() + values.null_count() < values.len();
        if kept.is_empty() {
            return Ok(());
        }
        self.bytes += kept.to_data().get_slice_memory_size().unwrap_or(0);
        self.batches.push(kept);
        if self.batches.len() > BATCHES_MAX {
            self.batches = vec![self.joined()?];
        }
        Ok(())
    }

    fn joined(&self) -> Result<ArrayRef> {
        let _copied = reserve("an exact quantile", self.bytes).map_err(external)?;
        let parts: Vec<&dyn Array> = self.batches.iter().map(AsRef::as_ref).collect();
        Ok(if parts.is_empty() { new_empty_array(&self.data_type) } else { concat(&parts)? })
    }

    /// The place of a level among so many values in order.
    fn place(&self, level: f64, count: usize) -> usize {
        let numbers = u32::try_from(count).map_or(f64::from(u32::MAX), f64::from);
        let middle = match self.pick {
            Pick::ExactLow if level == 0.5 => (numbers - 1.0) / 2.0,
            Pick::ExactHigh if level == 0.5 => numbers / 2.0,
            _ => level * numbers,
        };
        index_of(middle.floor(), count.saturating_sub(1))
    }
}

fn without_missing(values: &ArrayRef) -> Result<ArrayRef> {
    let present =
        if values.null_count() == 0 { Arc::clone(values) } else { filter(values, &is_not_null(values)?)? };
    let numbers: Option<BooleanArray> = match present.data_type() {
        DataType::Float32 => {
            Some(present.as_primitive::<Float32Type>().values().iter().map(|v| Some(!v.is_nan())).collect())
        }
        DataType::Float64 => {
            Some(present.as_primitive::<Float64Type>().values().iter().map(|v| Some(!v.is_nan())).collect())
        }
        _ => None,
    };
    match numbers.filter(|numbers| numbers.true_count() < numbers.len()) {
        Some(numbers) => Ok(filter(&present, &numbers)?),
        None => Ok(present),
    }
}

impl Accumulator for Values {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        values.first().map_or(Ok(()), |values| self.offer(values))
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let joined = self.joined()?;
        if joined.is_empty() {
            return self.results.of_nothing(self.has_nan);
        }
        let _copied = reserve("an exact quantile", self.bytes).map_err(external)?;
        let order = SortOptions { descending: false, nulls_first: false };
        let mut sorted = sort(&joined, Some(order))?;
        if self.results.is_distinct {
            let differs = distinct(&sorted.slice(1, sorted.len() - 1), &sorted.slice(0, sorted.len() - 1))?;
            let first: BooleanArray = std::iter::once(Some(true)).chain(differs.iter()).collect();
            sorted = filter(&sorted, &first)?;
        }
        let places = self.results.levels.iter().map(|level| self.place(*level, sorted.len()));
        let places = UInt64Array::from_iter(places.map(|place| u64::try_from(place).ok()));
        self.results.scalar(take(&sorted, &places, None)?)
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.bytes
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values = match self.joined()? {
            nothing if nothing.is_empty() && self.has_nan => {
                super::from_floats(vec![f64::NAN], &self.results.element)?
            }
            values => values,
        };
        let field = Arc::new(Field::new_list_field(self.data_type.clone(), true));
        let list = ListArray::try_new(field, OffsetBuffer::from_lengths([values.len()]), values, None)?;
        Ok(vec![ScalarValue::List(Arc::new(list))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [lists] = states else { return internal_err!("exact quantiles have one state") };
        lists.as_list::<i32>().iter().flatten().try_for_each(|list| self.offer(&list))
    }
}

impl Results {
    /// The value of no rows, or of NaN only: NaN where it is one float that is not NULL, else the default of the type.
    fn of_nothing(&self, has_nan: bool) -> Result<ScalarValue> {
        let count = self.levels.len();
        let is_float = matches!(self.element.value_type(), ColumnType::Float32 | ColumnType::Float64);
        if is_float && !self.several && (has_nan || !self.element.is_nullable()) {
            return self.scalar(super::from_floats(vec![f64::NAN; count], &self.element)?);
        }
        self.scalar(default_array(&self.element, count))
    }
}
