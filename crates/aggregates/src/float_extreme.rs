//! `min` and `max` of floats: NaN loses to every number, as in ClickHouse.
//!
//! Invariant: NaN comes out only of groups that hold nothing else; NULLs are passed over. The state is the value.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};

use super::per_group::{PerGroup, groups, one_group};

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
        DataType::Float32 => Some(one_group(Extremes::<Float32Type>::new(wanted))),
        DataType::Float64 => Some(one_group(Extremes::<Float64Type>::new(wanted))),
        _ => None,
    }
}

/// The same for all groups at once.
pub(super) fn groups_accumulator(function: &str, data_type: &DataType) -> Option<Box<dyn GroupsAccumulator>> {
    let wanted = wanted(function)?;
    match data_type {
        DataType::Float32 => Some(groups(Extremes::<Float32Type>::new(wanted))),
        DataType::Float64 => Some(groups(Extremes::<Float64Type>::new(wanted))),
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

fn array_of<T: ArrowPrimitiveType>(values: &[Option<T::Native>]) -> ArrayRef {
    Arc::new(values.iter().collect::<PrimitiveArray<T>>())
}

impl<T: ArrowPrimitiveType> PerGroup for Extremes<T>
where
    T::Native: PartialOrd,
{
    type Column = PrimitiveArray<T>;

    fn column(values: &[ArrayRef]) -> Result<&PrimitiveArray<T>> {
        match values.first().and_then(|array| array.as_primitive_opt::<T>()) {
            Some(column) => Ok(column),
            None => internal_err!("min and max of floats were given something else"),
        }
    }

    fn resize(&mut self, groups: usize) {
        self.best.resize(groups, None);
    }

    fn add(&mut self, group: usize, column: &PrimitiveArray<T>, row: usize) {
        self.offer(group, column.value(row));
    }

    fn taken(&mut self, groups: EmitTo) -> Result<ArrayRef> {
        Ok(array_of::<T>(&groups.take_needed(&mut self.best)))
    }

    fn value(&self) -> Result<ArrayRef> {
        Ok(array_of::<T>(&[self.best.first().copied().flatten()]))
    }

    fn size(&self) -> usize {
        self.best.capacity() * size_of::<Option<T::Native>>()
    }
}
