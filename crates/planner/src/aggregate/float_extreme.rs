//! `min` and `max` of floats: NaN loses to every number, as in ClickHouse.
//!
//! Invariant: NaN comes out only of groups that hold nothing else; NULLs are passed over. The state is the value.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray};
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};

/// How a value compares with the best one that it replaces.
fn wanted(function: &str) -> Option<Ordering> {
    match function {
        "min" => Some(Ordering::Less),
        "max" => Some(Ordering::Greater),
        _ => None,
    }
}

/// The accumulator of one group; `None` where DataFusion's is right.
pub(super) fn accumulator(function: &str, data_type: &DataType) -> Option<Box<dyn Accumulator>> {
    let wanted = wanted(function)?;
    match data_type {
        DataType::Float32 => Some(Box::new(OneGroup(Extremes::<Float32Type>::new(wanted)))),
        DataType::Float64 => Some(Box::new(OneGroup(Extremes::<Float64Type>::new(wanted)))),
        _ => None,
    }
}

/// The same for all groups at once.
pub(super) fn groups_accumulator(function: &str, data_type: &DataType) -> Option<Box<dyn GroupsAccumulator>> {
    let wanted = wanted(function)?;
    match data_type {
        DataType::Float32 => Some(Box::new(Extremes::<Float32Type>::new(wanted))),
        DataType::Float64 => Some(Box::new(Extremes::<Float64Type>::new(wanted))),
        _ => None,
    }
}

/// The best value of every group.
struct Extremes<T: ArrowPrimitiveType> {
    wanted: Ordering,
    best: Vec<Option<T::Native>>,
}

impl<T: ArrowPrimitiveType> Extremes<T>
where
    T::Native: PartialOrd,
{
    fn new(wanted: Ordering) -> Self {
        Self { wanted, best: vec![] }
    }

    fn offer(&mut self, group: usize, value: T::Native) {
        let Some(best) = self.best.get_mut(group) else { return };
        let replaces = match *best {
            None => true,
            Some(known) => match value.partial_cmp(&known) {
                Some(order) => order == self.wanted,
                // One of them is NaN, which does not even compare with itself.
                None => known.partial_cmp(&known).is_none(),
            },
        };
        if replaces {
            *best = Some(value);
        }
    }
}

fn column_of<T: ArrowPrimitiveType>(array: Option<&ArrayRef>) -> Result<PrimitiveArray<T>> {
    match array.and_then(|array| array.as_primitive_opt::<T>()) {
        Some(column) => Ok(column.clone()),
        None => internal_err!("min and max of floats were given something else"),
    }
}

fn array_of<T: ArrowPrimitiveType>(values: &[Option<T::Native>]) -> ArrayRef {
    Arc::new(values.iter().collect::<PrimitiveArray<T>>())
}

impl<T: ArrowPrimitiveType> GroupsAccumulator for Extremes<T>
where
    T::Native: PartialOrd,
{
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        let column = column_of::<T>(values.first())?;
        self.best.resize(total_num_groups, None);
        for (row, group) in group_indices.iter().enumerate() {
            let passes = opt_filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
            if passes && column.is_valid(row) {
                self.offer(*group, column.value(row));
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        Ok(array_of::<T>(&emit_to.take_needed(&mut self.best)))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit_to)?])
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.update_batch(values, group_indices, None, total_num_groups)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let column = column_of::<T>(values.first())?;
        let Some(filter) = opt_filter else { return Ok(vec![Arc::new(column)]) };
        let passes = |row: usize| filter.is_valid(row) && filter.value(row) && column.is_valid(row);
        let kept: Vec<Option<T::Native>> =
            (0..column.len()).map(|row| passes(row).then(|| column.value(row))).collect();
        Ok(vec![array_of::<T>(&kept)])
    }

    fn size(&self) -> usize {
        self.best.capacity() * size_of::<Option<T::Native>>()
    }
}

/// One group, which may be asked for its value again and again.
struct OneGroup<T: ArrowPrimitiveType>(Extremes<T>);

impl<T: ArrowPrimitiveType> fmt::Debug for OneGroup<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OneGroup").field("best", &self.0.best).finish_non_exhaustive()
    }
}

impl<T: ArrowPrimitiveType> Accumulator for OneGroup<T>
where
    T::Native: PartialOrd,
{
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let rows = values.first().map_or(0, |array| array.len());
        self.0.update_batch(values, &vec![0; rows], None, 1)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let best = self.0.best.first().copied().flatten();
        ScalarValue::try_from_array(&array_of::<T>(&[best]), 0)
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }
}
