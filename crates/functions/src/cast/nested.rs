//! Arrays, maps and tuples into each other, element by element.
//!
//! Invariant: the outer shape (offsets, NULLs) is kept; only elements are converted.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::OffsetBuffer;
use arrow::error::ArrowError;
use model::saturating::place_of;
use model::{ColumnType, ErrorCode, TupleElement};

use super::caster::{Caster, Column, broken};
use super::default::default_array;
use super::problem::CastError;
use crate::columns::container::{list_of, map_of, nulls_of, tuple_of};

impl Caster {
    pub(super) fn nested(&self, column: &Column<'_>) -> Result<ArrayRef, CastError> {
        match (column.from, column.to) {
            (ColumnType::Array(_), ColumnType::Array(to)) => self.list(column, to),
            (ColumnType::Map(from_key, from_value), ColumnType::Map(key, value)) => {
                let map = column.array.as_map();
                let keys = self.column(map.keys(), from_key, key)?;
                let values = self.column(map.values(), from_value, value)?;
                let (offsets, nulls) = (map.offsets().clone(), nulls_of(map));
                map_of(key, value, offsets, keys, values, nulls).map_err(|error| failed(&error, column))
            }
            (ColumnType::Tuple(from), ColumnType::Tuple(to)) => self.tuple(column, from, to),
            (ColumnType::Map(from_key, from_value), ColumnType::Array(to)) => {
                let pair = crate::columns::container::unnamed([(**from_key).clone(), (**from_value).clone()]);
                self.map_to_list(column, &pair, to)
            }
            (ColumnType::Array(from), ColumnType::Map(key, value)) => {
                self.list_to_map(column, from, key, value)
            }
            (ColumnType::Tuple(from), ColumnType::Map(key, value)) => {
                self.lists_to_map(column, from, key, value)
            }
            _ => Err(column.unsupported()),
        }
    }

    fn list(&self, column: &Column<'_>, to: &ColumnType) -> Result<ArrayRef, CastError> {
        let ColumnType::Array(from) = column.from else { return Err(column.unsupported()) };
        let list = column.array.as_list::<i32>();
        // A slice converts only its own elements: hidden ones might not be convertible.
        let (start, end) = (list.value_offsets()[0], list.value_offsets()[list.len()]);
        let elements = list.values().slice(place_of(start), place_of(end) - place_of(start));
        let values = self.column(&elements, from, to).map_err(null_element)?;
        let offsets = match start {
            0 => list.offsets().clone(),
            _ => OffsetBuffer::new(list.value_offsets().iter().map(|offset| offset - start).collect()),
        };
        list_of(to, offsets, values, nulls_of(list)).map_err(|error| failed(&error, column))
    }

    fn tuple(
        &self,
        column: &Column<'_>,
        from: &[TupleElement],
        to: &[TupleElement],
    ) -> Result<ArrayRef, CastError> {
        let source = column.array.as_struct();
        // Names that have nothing in common are not compared.
        let is_named = |element: &&TupleElement| element.name.is_some();
        let by_name = from.iter().filter(is_named).any(|from| to.iter().any(|to| to.name == from.name));
        if !by_name && from.len() != to.len() {
            return Err(column.unsupported());
        }
        let element = |(at, to): (usize, &TupleElement)| {
            let found = match by_name {
                true => from.iter().position(|from| from.name == to.name),
                false => Some(at),
            };
            match found {
                Some(at) if source.column(at).null_count() > 0 && !from[at].column_type.is_nullable() => {
                    self.step(source.column(at), &from[at].column_type, &to.column_type)
                }
                Some(at) => self.column(source.column(at), &from[at].column_type, &to.column_type),
                None => Ok(default_array(&to.column_type, source.len())),
            }
        };
        let columns = to.iter().enumerate().map(element).collect::<Result<Vec<ArrayRef>, _>>()?;
        tuple_of(to, columns, nulls_of(source), source.len()).map_err(|error| failed(&error, column))
    }

    fn map_to_list(
        &self,
        column: &Column<'_>,
        pair: &ColumnType,
        to: &ColumnType,
    ) -> Result<ArrayRef, CastError> {
        let map = column.array.as_map();
        let ColumnType::Tuple(elements) = pair else { return Err(column.unsupported()) };
        let entries = vec![Arc::clone(map.keys()), Arc::clone(map.values())];
        let pairs =
            tuple_of(elements, entries, None, map.keys().len()).map_err(|error| failed(&error, column))?;
        let values = self.column(&pairs, pair, to)?;
        list_of(to, map.offsets().clone(), values, nulls_of(map)).map_err(|error| failed(&error, column))
    }

    fn list_to_map(
        &self,
        column: &Column<'_>,
        from: &ColumnType,
        key: &ColumnType,
        value: &ColumnType,
    ) -> Result<ArrayRef, CastError> {
        let list = column.array.as_list::<i32>();
        let ColumnType::Tuple(elements) = from else { return Err(column.unsupported()) };
        let [first, second] = elements.as_slice() else { return Err(column.unsupported()) };
        let pairs = list.values().as_struct();
        let keys = self.column(pairs.column(0), &first.column_type, key)?;
        let values = self.column(pairs.column(1), &second.column_type, value)?;
        let (offsets, nulls) = (list.offsets().clone(), nulls_of(list));
        map_of(key, value, offsets, keys, values, nulls).map_err(|error| failed(&error, column))
    }

    /// An array of keys and one of values.
    fn lists_to_map(
        &self,
        column: &Column<'_>,
        from: &[TupleElement],
        key: &ColumnType,
        value: &ColumnType,
    ) -> Result<ArrayRef, CastError> {
        let [keys, values] = from else { return Err(column.unsupported()) };
        let lists = column.array.as_struct();
        let side = |at: usize, from: &ColumnType, to: &ColumnType| {
            let wanted = ColumnType::Array(Box::new(to.clone()));
            self.list(&Column { array: lists.column(at), from, to: &wanted }, to)
        };
        let (keys, values) = (side(0, &keys.column_type, key)?, side(1, &values.column_type, value)?);
        let (keys, values) = (keys.as_list::<i32>(), values.as_list::<i32>());
        if keys.offsets() != values.offsets() {
            return Err(broken("the arrays of keys and of values have different sizes", column.to));
        }
        let (offsets, nulls) = (keys.offsets().clone(), nulls_of(lists));
        let entries = (Arc::clone(keys.values()), Arc::clone(values.values()));
        map_of(key, value, offsets, entries.0, entries.1, nulls).map_err(|error| failed(&error, column))
    }
}

/// ClickHouse has another number for a NULL inside an array.
fn null_element(error: CastError) -> CastError {
    match error.value.as_str() {
        "NULL" => CastError { code: ErrorCode::CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN, ..error },
        _ => error,
    }
}

pub(super) fn failed(error: &ArrowError, column: &Column<'_>) -> CastError {
    broken(&error.to_string(), column.to)
}
