//! The right side of an ASOF JOIN in memory: by key, the values in their order with the places of their rows.
//!
//! Invariant: every byte kept is granted first. Rows with a NULL among their keys have no entry: nothing equals NULL.

use std::collections::HashMap;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{Schema, i256};
use arrow::row::{RowConverter, SortField};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::MemoryReservation;
use functions::FunctionError;
use model::type_arrow::from_field;
use model::{ColumnType, ErrorCode, WideInteger};

use super::{Nearest, Side};
use crate::nodes::cells::{Cell, cells_of};

/// Bytes of a key beside its text: the map's entry and the list of its values.
const KEY_BYTES: usize = 96;

/// A value in an order that holds for whole numbers and for floats.
type Value = i256;

/// Batch and row.
type Place = (usize, usize);

/// Reads keys and values out of the batches of one side.
pub(super) struct Keys {
    side: Side,
    converter: RowConverter,
    value_type: ColumnType,
}

/// The comparable bytes of a row's equal columns, and its value.
type Keyed = (Box<[u8]>, Value);

impl Keys {
    pub(super) fn try_new(side: &Side, schema: &Schema) -> Result<Keys> {
        let types = side.equal.iter().map(|key| key.data_type(schema).map(SortField::new));
        let converter = RowConverter::new(types.collect::<Result<Vec<_>>>()?)?;
        let value_type = from_field(side.value.return_field(schema)?.as_ref());
        Ok(Keys { side: side.clone(), converter, value_type })
    }

    /// Of each row its key and value; nothing when one of them is NULL.
    pub(super) fn of(&self, batch: &RecordBatch) -> Result<Vec<Option<Keyed>>> {
        let rows = batch.num_rows();
        let array = |expr: &std::sync::Arc<dyn datafusion::physical_plan::PhysicalExpr>| {
            expr.evaluate(batch)?.into_array(rows)
        };
        let columns = self.side.equal.iter().map(array).collect::<Result<Vec<_>>>()?;
        let nulls: Vec<_> = columns.iter().filter_map(|column| column.logical_nulls()).collect();
        let keys = self.converter.convert_columns(&columns)?;
        let values = values_of(&array(&self.side.value)?, &self.value_type)?;
        let one = |(row, value): (usize, Option<Value>)| {
            let present = nulls.iter().all(|nulls| nulls.is_valid(row));
            value.filter(|_| present).map(|value| (keys.row(row).as_ref().into(), value))
        };
        Ok(values.into_iter().enumerate().map(one).collect())
    }
}

fn values_of(values: &ArrayRef, column_type: &ColumnType) -> Result<Vec<Option<Value>>> {
    let refused = || {
        let message = format!("ASOF JOIN by values of type {column_type} is not supported");
        DataFusionError::External(Box::new(FunctionError::new(ErrorCode::BAD_TYPE_OF_FIELD, message)))
    };
    if let Some(wide) = WideInteger::of(column_type) {
        let values = values.as_fixed_size_binary();
        let one = |row: usize| {
            let value = values.is_valid(row).then(|| wide.decode(values.value(row)));
            // The larger half of UInt256 is below 0 in memory, where it has no place among other types.
            if wide.signed || value.is_none_or(|value| value >= i256::ZERO) {
                Ok(value)
            } else {
                Err(refused())
            }
        };
        return (0..values.len()).map(one).collect();
    }
    let cells = cells_of(values, column_type).map_err(|_| refused())?;
    let value = |cell| match cell {
        Cell::Whole(value) => Some(i256::from_i128(value)),
        Cell::Float(value) => Some(i256::from_i128(ordered(value))),
        Cell::Null => None,
    };
    Ok(cells.into_iter().map(value).collect())
}

/// The bits of a float as a number of the same order.
fn ordered(value: f64) -> i128 {
    let bits = i128::from(value.to_bits());
    let sign = 1_i128 << 63;
    // -0 and 0 are equal.
    if bits >= sign { -(bits - sign) } else { bits }
}

pub(super) struct Index {
    keys: Keys,
    batches: Vec<RecordBatch>,
    entries: HashMap<Box<[u8]>, Vec<(Value, Place)>>,
    memory: MemoryReservation,
}

impl Index {
    pub(super) fn new(keys: Keys, memory: MemoryReservation) -> Index {
        Index { keys, batches: vec![], entries: HashMap::new(), memory }
    }

    pub(super) fn batches(&self) -> &[RecordBatch] {
        &self.batches
    }

    pub(super) fn add(&mut self, batch: RecordBatch) -> Result<()> {
        let per_row = size_of::<(Value, Place)>();
        // Lists of values grow by doubling.
        self.memory.try_grow(batch.get_array_memory_size() + 2 * per_row * batch.num_rows())?;
        let at = self.batches.len();
        for (row, value) in self.keys.of(&batch)?.into_iter().enumerate() {
            let Some((key, value)) = value else { continue };
            let known = match self.entries.get_mut(&key) {
                Some(known) => known,
                None => {
                    self.memory.try_grow(key.len() + KEY_BYTES)?;
                    self.entries.entry(key).or_default()
                }
            };
            known.push((value, (at, row)));
        }
        self.batches.push(batch);
        Ok(())
    }

    /// Rows of one value stay in the order they came in.
    pub(super) fn sort(&mut self) {
        self.entries.values_mut().for_each(|values| values.sort_by_key(|(value, _)| *value));
    }

    /// The nearest row.
    pub(super) fn find(&self, key: &[u8], value: Value, nearest: Nearest) -> Option<Place> {
        let values = self.entries.get(key)?;
        let below = values.partition_point(|(other, _)| *other < value);
        let up_to = values.partition_point(|(other, _)| *other <= value);
        let at = match nearest {
            Nearest::GreaterOrEquals => up_to.checked_sub(1)?,
            Nearest::Greater => below.checked_sub(1)?,
            Nearest::LessOrEquals => below,
            Nearest::Less => up_to,
        };
        let found = values.get(at)?.0;
        let first = values.partition_point(|(other, _)| *other < found);
        values.get(first).map(|(_, place)| *place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_keep_their_order_as_numbers() {
        let sorted = [f64::NEG_INFINITY, -2.5, -1.0, -0.0, 1e-300, 1.0, 2.5, f64::INFINITY];
        assert!(sorted.windows(2).all(|pair| ordered(pair[0]) < ordered(pair[1])));
        assert_eq!(ordered(0.0), ordered(-0.0));
    }
}
