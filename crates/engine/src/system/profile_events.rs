//! `ProfileEvents Map(String, UInt64)`: named counters of a statement.
//!
//! Invariant: counters that are zero are left out, as ClickHouse leaves them out; a name stands once.

use std::sync::Arc;

use arrow::array::{ArrayRef, MapArray, StringViewBuilder, StructArray, UInt64Builder};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;

use super::rows::Cell;

/// A row's counters; those of one name are added up.
pub(super) fn profile_events(counters: impl IntoIterator<Item = (&'static str, u64)>) -> Cell {
    let mut events: Vec<(&'static str, u64)> = Vec::new();
    for (name, value) in counters.into_iter().filter(|(_, value)| *value > 0) {
        match events.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum = sum.saturating_add(value),
            None => events.push((name, value)),
        }
    }
    Cell::Counters(events)
}

/// Builds a column of such maps.
#[derive(Default)]
pub(super) struct CountersBuilder {
    names: StringViewBuilder,
    values: UInt64Builder,
    lengths: Vec<usize>,
}

impl CountersBuilder {
    pub(super) fn append(&mut self, counters: &[(&'static str, u64)]) {
        for (name, value) in counters {
            self.names.append_value(name);
            self.values.append_value(*value);
        }
        self.lengths.push(counters.len());
    }

    /// The column in the layout of its field.
    pub(super) fn finish(mut self, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
        let DataType::Map(field, ordered) = data_type else {
            return Err(ArrowError::SchemaError(format!("counters are a Map, not {data_type}")));
        };
        let DataType::Struct(entries) = field.data_type() else {
            return Err(ArrowError::SchemaError(format!("entries of {data_type} are no Struct")));
        };
        let columns: Vec<ArrayRef> = vec![Arc::new(self.names.finish()), Arc::new(self.values.finish())];
        let entries = StructArray::try_new(entries.clone(), columns, None)?;
        let offsets = OffsetBuffer::from_lengths(self.lengths);
        let map = MapArray::try_new(Arc::clone(field), offsets, entries, None, *ordered)?;
        Ok(Arc::new(map))
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Array, AsArray};
    use model::type_arrow::to_field;

    use super::super::rows::column_type;
    use super::*;

    #[test]
    fn zeros_are_left_out_and_names_stand_once() {
        let Cell::Counters(events) = profile_events([("a", 1), ("b", 0), ("a", 2)]) else {
            panic!("not counters")
        };
        assert_eq!(events, [("a", 3)]);
    }

    #[test]
    fn a_column_of_maps_has_the_layout_of_its_field() {
        let field = to_field("ProfileEvents", &column_type("Map(String, UInt64)"));
        let mut builder = CountersBuilder::default();
        builder.append(&[("a", 1), ("b", 2)]);
        builder.append(&[]);
        builder.append(&[("c", 3)]);
        let column = builder.finish(field.data_type()).unwrap();
        assert_eq!(column.data_type(), field.data_type());
        let lengths: Vec<usize> = (0..3).map(|row| column.as_map().value(row).len()).collect();
        assert_eq!(lengths, [2, 0, 1]);
    }
}
