//! `-Map`: one accumulator for each key of the maps.
//!
//! Invariant: a result has its keys in order. The state of the whole is the list of keys and, for each state of the inner
//! aggregate, the list of those of all keys.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, ListArray, MapArray, StructArray, UInt32Array, new_empty_array,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, Field, FieldRef};
use arrow::row::{OwnedRow, RowConverter, SortField};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::Accumulator;
use model::saturating::place_of;

use super::Factory;
use super::positions::feed;

#[derive(Debug)]
pub(super) struct Keyed {
    factory: Factory,
    parameters: usize,
    result: FieldRef,
    key: DataType,
    converter: RowConverter,
    /// The place of each key among the accumulators.
    known: HashMap<OwnedRow, usize>,
    key_bytes: usize,
    places: Vec<Box<dyn Accumulator>>,
}

/// The layout of the keys of a map.
pub(super) fn key_of(map: &DataType) -> Result<DataType> {
    match map {
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => Ok(fields[0].data_type().clone()),
            other => internal_err!("a map of {other}"),
        },
        other => internal_err!("{other} is no map"),
    }
}

/// The columns of the state, given those of the inner aggregate.
pub(super) fn state_fields(name: &str, key: &DataType, inner: &[FieldRef]) -> Vec<FieldRef> {
    let list = |name: &str, element: &DataType| {
        let element = Arc::new(Field::new_list_field(element.clone(), true));
        Arc::new(Field::new(name, DataType::List(element), true))
    };
    let keys = list(&format!("{name}[keys]"), key);
    std::iter::once(keys).chain(inner.iter().map(|field| list(field.name(), field.data_type()))).collect()
}

impl Keyed {
    pub(super) fn try_new(
        factory: Factory,
        parameters: usize,
        key: DataType,
        result: FieldRef,
    ) -> Result<Self> {
        let converter = RowConverter::new(vec![SortField::new(key.clone())])?;
        let known = HashMap::new();
        Ok(Self { factory, parameters, result, key, converter, known, key_bytes: 0, places: vec![] })
    }

    /// The place of each of these keys, with an accumulator at it.
    fn reach(&mut self, keys: &ArrayRef) -> Result<Vec<usize>> {
        let rows = self.converter.convert_columns(&[Arc::clone(keys)])?;
        let mut found = Vec::with_capacity(rows.num_rows());
        for row in &rows {
            let next = self.places.len();
            let place = *self.known.entry(row.owned()).or_insert(next);
            if place == next {
                self.key_bytes += row.data().len();
                self.places.push(self.factory.make()?);
            }
            found.push(place);
        }
        Ok(found)
    }

    /// The keys in order, and the place of each.
    fn in_order(&self) -> Result<(ArrayRef, Vec<usize>)> {
        let mut known: Vec<(&OwnedRow, usize)> =
            self.known.iter().map(|(row, place)| (row, *place)).collect();
        known.sort_unstable();
        let keys = self.converter.convert_rows(known.iter().map(|(row, _)| row.row()))?;
        let keys = keys.into_iter().next().unwrap_or_else(|| new_empty_array(&self.key));
        Ok((cast(&keys, &self.key)?, known.into_iter().map(|(_, place)| place).collect()))
    }
}

impl Accumulator for Keyed {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Some(maps) = values.first() else { return internal_err!("an aggregate of no maps") };
        let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        let maps = maps.as_map();
        let (mut rows, mut entries) = (Vec::new(), Vec::new());
        for row in (0..maps.len()).filter(|row| maps.is_valid(*row)) {
            let own = place_of(maps.value_offsets()[row])..place_of(maps.value_offsets()[row + 1]);
            rows.extend(std::iter::repeat_n(number(row), own.len()));
            entries.extend(own.map(number));
        }
        let (rows, entries) = (UInt32Array::from(rows), UInt32Array::from(entries));
        let places = self.reach(&take(maps.keys(), &entries, None)?)?;
        let mut columns = vec![take(maps.values(), &entries, None)?];
        for parameter in &values[values.len() - self.parameters..] {
            columns.push(take(parameter, &rows, None)?);
        }
        let columns = self.factory.laid_out(columns)?;
        let places: Vec<Option<usize>> = places.into_iter().map(Some).collect();
        feed(&mut self.places, &columns, &places)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let DataType::Map(field, ordered) = self.result.data_type().clone() else {
            return internal_err!("the result of {} is no map", self.factory.name);
        };
        let DataType::Struct(fields) = field.data_type().clone() else {
            return internal_err!("the result of {} is a map of no pairs", self.factory.name);
        };
        let (keys, order) = self.in_order()?;
        let values = order.iter().map(|place| self.places[*place].evaluate()).collect::<Result<Vec<_>>>()?;
        let values = match values.is_empty() {
            true => new_empty_array(fields[1].data_type()),
            false => cast(&ScalarValue::iter_to_array(values)?, fields[1].data_type())?,
        };
        let lengths = OffsetBuffer::from_lengths([keys.len()]);
        let columns = vec![cast(&keys, fields[0].data_type())?, values];
        let entries = StructArray::try_new(fields, columns, None)?;
        Ok(ScalarValue::Map(Arc::new(MapArray::try_new(field, lengths, entries, None, ordered)?)))
    }

    fn size(&self) -> usize {
        let places: usize = self.places.iter().map(|place| place.size()).sum();
        // A key is in a table that doubles.
        size_of::<Self>() + places + self.key_bytes + self.known.capacity() * size_of::<(OwnedRow, usize)>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let fields = self.factory.state_fields()?;
        let (keys, order) = self.in_order()?;
        let mut lists: Vec<Vec<ScalarValue>> = vec![vec![]; fields.len()];
        for place in order {
            for (list, value) in lists.iter_mut().zip(self.places[place].state()?) {
                list.push(value);
            }
        }
        let field = Arc::new(Field::new_list_field(self.key.clone(), true));
        let lengths = OffsetBuffer::from_lengths([keys.len()]);
        let keys = ScalarValue::List(Arc::new(ListArray::try_new(field, lengths, keys, None)?));
        let lists = lists.iter().zip(&fields);
        let lists = lists
            .map(|(list, field)| ScalarValue::List(ScalarValue::new_list(list, field.data_type(), true)));
        Ok(std::iter::once(keys).chain(lists).collect())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let rows = states.first().map_or(0, |state| state.len());
        for row in (0..rows).filter(|row| states.iter().all(|state| state.is_valid(*row))) {
            let lists: Vec<ArrayRef> = states.iter().map(|state| state.as_list::<i32>().value(row)).collect();
            let Some((keys, inner)) = lists.split_first() else { continue };
            let keys = if *keys.data_type() == self.key { Arc::clone(keys) } else { cast(keys, &self.key)? };
            if inner.iter().any(|list| list.len() != keys.len()) {
                return internal_err!("a state of {} without one of each key", self.factory.name);
            }
            for (at, place) in self.reach(&keys)?.into_iter().enumerate() {
                let own: Vec<ArrayRef> = inner.iter().map(|list| list.slice(at, 1)).collect();
                self.places[place].merge_batch(&own)?;
            }
        }
        Ok(())
    }
}
