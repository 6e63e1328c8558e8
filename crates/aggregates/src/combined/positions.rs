//! `-ForEach` and `-Resample`: one accumulator for each place of the result.
//!
//! Invariant: the state of the whole is, for each state of the inner aggregate, the list of those of all places.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, UInt32Array};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, FieldRef, Int64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Accumulator;

use super::{Factory, elements, intervals};

/// By what rows are given to places.
#[derive(Clone, Copy, Debug)]
pub(super) enum Spread {
    Elements,
    Intervals { start: i64, end: i64, step: i64 },
}

#[derive(Debug)]
pub(super) struct Positions {
    factory: Factory,
    parameters: usize,
    spread: Spread,
    result: FieldRef,
    places: Vec<Box<dyn Accumulator>>,
}

impl Positions {
    pub(super) fn new(factory: Factory, parameters: usize, spread: Spread, result: FieldRef) -> Result<Self> {
        let mut positions = Self { factory, parameters, spread, result, places: vec![] };
        if let Spread::Intervals { start, end, step } = spread {
            positions.reach(intervals(start, end, step))?;
        }
        Ok(positions)
    }

    fn reach(&mut self, count: usize) -> Result<()> {
        while self.places.len() < count {
            self.places.push(self.factory.make()?);
        }
        Ok(())
    }

    /// The columns as the inner aggregate takes them, and of each of their rows its place.
    fn spread(&self, values: &[ArrayRef]) -> Result<(Vec<ArrayRef>, Vec<Option<usize>>)> {
        let (start, end, step) = match self.spread {
            Spread::Elements => {
                let (columns, _, places) = elements(values, self.parameters)?;
                return Ok((columns, places.into_iter().map(Some).collect()));
            }
            Spread::Intervals { start, end, step } => (start, end, step),
        };
        let key = values.len() - self.parameters - 1;
        let keys = cast(&values[key], &DataType::Int64)?;
        let keys: &Int64Array = keys.as_primitive::<Int64Type>();
        let place = |key: Option<i64>| {
            let key = key.filter(|key| (start..end).contains(key))?;
            usize::try_from(key.abs_diff(start) / step.unsigned_abs()).ok()
        };
        let data = &values[..key];
        let is_whole = |row: usize| data.iter().all(|column| column.is_valid(row));
        let places = keys.iter().enumerate().map(|(row, key)| place(key).filter(|_| is_whole(row))).collect();
        let columns = values.iter().enumerate().filter(|(at, _)| *at != key);
        Ok((columns.map(|(_, column)| Arc::clone(column)).collect(), places))
    }
}

/// Gives each accumulator the rows of its place.
pub(super) fn feed(
    accumulators: &mut [Box<dyn Accumulator>],
    columns: &[ArrayRef],
    places: &[Option<usize>],
) -> Result<()> {
    let mut rows: Vec<Vec<u32>> = vec![vec![]; accumulators.len()];
    for (row, place) in places.iter().enumerate() {
        if let Some(place) = place {
            rows[*place].push(u32::try_from(row).unwrap_or(u32::MAX));
        }
    }
    for (accumulator, rows) in accumulators.iter_mut().zip(rows).filter(|(_, rows)| !rows.is_empty()) {
        let rows = UInt32Array::from(rows);
        let own = columns.iter().map(|column| take(column, &rows, None));
        accumulator.update_batch(&own.collect::<Result<Vec<_>, _>>()?)?;
    }
    Ok(())
}

impl Accumulator for Positions {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let (columns, places) = self.spread(values)?;
        let columns = self.factory.laid_out(columns)?;
        self.reach(places.iter().flatten().max().map_or(0, |place| place + 1))?;
        feed(&mut self.places, &columns, &places)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let values = self.places.iter_mut().map(|place| place.evaluate()).collect::<Result<Vec<_>>>()?;
        let DataType::List(element) = self.result.data_type() else {
            return datafusion::common::internal_err!("the result of {} is no array", self.factory.name);
        };
        let array = match values.is_empty() {
            true => arrow::array::new_empty_array(element.data_type()),
            false => cast(&ScalarValue::iter_to_array(values)?, element.data_type())?,
        };
        let offsets = arrow::buffer::OffsetBuffer::from_lengths([array.len()]);
        let list = arrow::array::ListArray::try_new(Arc::clone(element), offsets, array, None)?;
        Ok(ScalarValue::List(Arc::new(list)))
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.places.iter().map(|place| place.size()).sum::<usize>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let fields = self.factory.state_fields()?;
        let mut lists: Vec<Vec<ScalarValue>> = vec![vec![]; fields.len()];
        for place in &mut self.places {
            for (list, value) in lists.iter_mut().zip(place.state()?) {
                list.push(value);
            }
        }
        let lists = lists.iter().zip(&fields);
        let lists = lists
            .map(|(list, field)| ScalarValue::List(ScalarValue::new_list(list, field.data_type(), true)));
        Ok(lists.collect())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let rows = states.first().map_or(0, |state| state.len());
        for row in (0..rows).filter(|row| states.iter().all(|state| state.is_valid(*row))) {
            let lists: Vec<ArrayRef> = states.iter().map(|state| state.as_list::<i32>().value(row)).collect();
            let count = lists.first().map_or(0, |list| list.len());
            self.reach(count)?;
            for (at, place) in self.places.iter_mut().enumerate().take(count) {
                let own: Vec<ArrayRef> = lists.iter().map(|list| list.slice(at, 1)).collect();
                place.merge_batch(&own)?;
            }
        }
        Ok(())
    }
}
