//! Arrays, tuples and maps in their order: which of two is the least or the greatest.
//!
//! Invariant: NULL and NaN inside of them are never what is looked for where there is another value: for the least they come after all
//! numbers and for the greatest before them, NULL farther out than NaN. Must not know: functions.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, MapArray, StructArray, make_comparator};
use arrow::buffer::BooleanBuffer;
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Float32Type, Float64Type};

use crate::error::FunctionError;

/// The rows in which `best` is less, or greater, than `next`.
pub(super) fn stays(
    best: &ArrayRef,
    next: &ArrayRef,
    greatest: bool,
) -> Result<BooleanBuffer, FunctionError> {
    let (best, next) = (settled(best, greatest)?, settled(next, greatest)?);
    let order = make_comparator(&best, &next, SortOptions { descending: false, nulls_first: greatest })?;
    let wanted = |row: usize| if greatest { order(row, row).is_gt() } else { order(row, row).is_lt() };
    Ok(BooleanBuffer::collect_bool(best.len(), wanted))
}

/// The values with every NaN at the one end, and one zero. Recursive: a type has a depth.
pub(super) fn settled(array: &ArrayRef, nan_first: bool) -> Result<ArrayRef, FunctionError> {
    Ok(match array.data_type() {
        DataType::Float64 => {
            let nan = if nan_first { -f64::NAN.abs() } else { f64::NAN.abs() };
            let end = |value: f64| if value.is_nan() { nan } else { value + 0.0 };
            Arc::new(array.as_primitive::<Float64Type>().unary::<_, Float64Type>(end))
        }
        DataType::Float32 => {
            let nan = if nan_first { -f32::NAN.abs() } else { f32::NAN.abs() };
            let end = |value: f32| if value.is_nan() { nan } else { value + 0.0 };
            Arc::new(array.as_primitive::<Float32Type>().unary::<_, Float32Type>(end))
        }
        DataType::Struct(fields) if !fields.is_empty() => {
            let columns = array.as_struct().columns().iter().map(|column| settled(column, nan_first));
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            Arc::new(StructArray::try_new(fields.clone(), columns, array.nulls().cloned())?)
        }
        DataType::List(field) => {
            let list = array.as_list::<i32>();
            let values = settled(list.values(), nan_first)?;
            let nulls = list.nulls().cloned();
            Arc::new(ListArray::try_new(Arc::clone(field), list.offsets().clone(), values, nulls)?)
        }
        DataType::Map(field, ordered) => {
            let map = array.as_map();
            let entries = settled(&(Arc::new(map.entries().clone()) as ArrayRef), nan_first)?;
            let (entries, nulls) = (entries.as_struct().clone(), map.nulls().cloned());
            Arc::new(MapArray::try_new(Arc::clone(field), map.offsets().clone(), entries, nulls, *ordered)?)
        }
        _ => Arc::clone(array),
    })
}
