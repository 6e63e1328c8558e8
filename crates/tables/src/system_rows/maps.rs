//! Columns of maps: pairs of texts, and counters by name.
//!
//! Invariant: a row appends once, however many entries it has. Must not know: which tables have such columns.

use std::sync::Arc;

use arrow::array::{ArrayRef, MapArray, StringViewBuilder, StructArray, UInt64Builder};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;

/// Builds a column of maps of texts.
#[derive(Default)]
pub struct PairsBuilder {
    keys: StringViewBuilder,
    values: StringViewBuilder,
    lengths: Vec<usize>,
}

impl PairsBuilder {
    pub fn append(&mut self, pairs: &[(String, String)]) {
        for (key, value) in pairs {
            self.keys.append_value(key);
            self.values.append_value(value);
        }
        self.lengths.push(pairs.len());
    }

    /// The column in the layout of its field.
    pub fn finish(mut self, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
        let DataType::Map(field, ordered) = data_type else {
            return Err(ArrowError::SchemaError(format!("pairs are a Map, not {data_type}")));
        };
        let DataType::Struct(entries) = field.data_type() else {
            return Err(ArrowError::SchemaError(format!("entries of {data_type} are no Struct")));
        };
        let columns: Vec<ArrayRef> = vec![Arc::new(self.keys.finish()), Arc::new(self.values.finish())];
        let entries = StructArray::try_new(entries.clone(), columns, None)?;
        let offsets = OffsetBuffer::from_lengths(self.lengths);
        Ok(Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries, None, *ordered)?))
    }
}

/// Builds a column of maps of counters.
#[derive(Default)]
pub struct CountersBuilder {
    names: StringViewBuilder,
    values: UInt64Builder,
    lengths: Vec<usize>,
}

impl CountersBuilder {
    pub fn append(&mut self, counters: &[(&'static str, u64)]) {
        for (name, value) in counters {
            self.names.append_value(name);
            self.values.append_value(*value);
        }
        self.lengths.push(counters.len());
    }

    /// The column in the layout of its field.
    pub fn finish(mut self, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
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
