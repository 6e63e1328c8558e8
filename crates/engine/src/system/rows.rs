//! Builds a system table row by row.
//!
//! Invariant: a row has a value for every column, in order; a value of the wrong kind is stored as its text only in
//! String columns and is an internal error elsewhere.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Float64Builder, Int32Builder, ListBuilder, RecordBatch, StringViewBuilder,
    TimestampMicrosecondArray, TimestampMillisecondArray, UInt8Builder, UInt64Builder,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, SchemaRef};
use model::ColumnType;
use model::type_arrow::to_field;

use super::named_collections::PairsBuilder;
use super::profile_events::CountersBuilder;
use crate::error::Error;

/// One value of a system table.
#[derive(Clone, Debug)]
pub(crate) enum Cell {
    Null,
    Text(String),
    UInt(u64),
    Int(i32),
    Float(f64),
    /// Milliseconds since the epoch.
    Time(u64),
    /// Microseconds since the epoch.
    Micros(u64),
    Texts(Vec<String>),
    Counters(Vec<(&'static str, u64)>),
    Pairs(Vec<(String, String)>),
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

impl From<u64> for Cell {
    fn from(number: u64) -> Cell {
        Cell::UInt(number)
    }
}

impl From<bool> for Cell {
    fn from(flag: bool) -> Cell {
        Cell::UInt(u64::from(flag))
    }
}

impl From<usize> for Cell {
    fn from(number: usize) -> Cell {
        Cell::UInt(number as u64)
    }
}

impl From<u32> for Cell {
    fn from(number: u32) -> Cell {
        Cell::UInt(u64::from(number))
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Cell {
        Cell::Float(number)
    }
}

impl From<Option<String>> for Cell {
    fn from(text: Option<String>) -> Cell {
        text.map_or(Cell::Null, Cell::Text)
    }
}

impl From<Vec<String>> for Cell {
    fn from(texts: Vec<String>) -> Cell {
        Cell::Texts(texts)
    }
}

/// The type a system table's column is declared with. Declarations are constants of ours, so an unreadable one is
/// shown as text rather than refused.
pub(crate) fn column_type(declared: &str) -> ColumnType {
    model::type_name::parse(declared).unwrap_or(ColumnType::String)
}

enum Builder {
    Text(StringViewBuilder),
    UInt8(UInt8Builder),
    UInt(UInt64Builder),
    Int(Int32Builder),
    Float(Float64Builder),
    Time(Vec<Option<i64>>),
    Micros(Vec<Option<i64>>),
    Texts(ListBuilder<StringViewBuilder>),
    Counters(CountersBuilder),
    Pairs(PairsBuilder),
}

pub(crate) struct RowBuilder {
    columns: Vec<Builder>,
}

impl RowBuilder {
    pub(crate) fn new(types: &[ColumnType]) -> RowBuilder {
        let builder = |of: &ColumnType| match of.value_type() {
            ColumnType::UInt8 => Builder::UInt8(UInt8Builder::new()),
            ColumnType::UInt64 | ColumnType::UInt32 => Builder::UInt(UInt64Builder::new()),
            ColumnType::Int32 | ColumnType::Enum8(_) => Builder::Int(Int32Builder::new()),
            ColumnType::Float64 => Builder::Float(Float64Builder::new()),
            ColumnType::DateTime64 { precision: 4.., .. } => Builder::Micros(Vec::new()),
            ColumnType::Map(_, value) if **value == ColumnType::String => {
                Builder::Pairs(PairsBuilder::default())
            }
            ColumnType::Map(..) => Builder::Counters(CountersBuilder::default()),
            ColumnType::DateTime { .. } | ColumnType::DateTime64 { .. } => Builder::Time(Vec::new()),
            ColumnType::Array(_) => {
                let item = to_field("item", &ColumnType::String);
                Builder::Texts(ListBuilder::new(StringViewBuilder::new()).with_field(item))
            }
            _ => Builder::Text(StringViewBuilder::new()),
        };
        RowBuilder { columns: types.iter().map(builder).collect() }
    }

    /// One row; as many cells as columns.
    pub(crate) fn push<const N: usize>(&mut self, cells: [Cell; N]) -> Result<(), Error> {
        if N != self.columns.len() {
            return Err(Error::internal(format!("{N} cells for {} columns", self.columns.len())));
        }
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            append(column, cell)?;
        }
        Ok(())
    }

    pub(crate) fn finish(self, schema: SchemaRef) -> Result<RecordBatch, Error> {
        let columns = self.columns.into_iter().zip(schema.fields()).map(|(column, field)| {
            let array: ArrayRef = match column {
                Builder::Text(mut text) => Arc::new(text.finish()),
                Builder::UInt8(mut numbers) => Arc::new(numbers.finish()),
                Builder::UInt(mut numbers) => Arc::new(numbers.finish()),
                Builder::Int(mut numbers) => Arc::new(numbers.finish()),
                Builder::Float(mut numbers) => Arc::new(numbers.finish()),
                Builder::Time(times) => Arc::new(in_zone_of(times, field.data_type())),
                Builder::Micros(times) => Arc::new(micros_in_zone_of(times, field.data_type())),
                Builder::Texts(mut lists) => Arc::new(lists.finish()),
                Builder::Counters(maps) => maps.finish(field.data_type())?,
                Builder::Pairs(maps) => maps.finish(field.data_type())?,
            };
            if array.data_type() == field.data_type() { Ok(array) } else { cast(&array, field.data_type()) }
        });
        let columns =
            columns.collect::<Result<Vec<ArrayRef>, _>>().map_err(|e| Error::internal(e.to_string()))?;
        RecordBatch::try_new(schema, columns).map_err(|e| Error::internal(e.to_string()))
    }
}

/// The zone is set before the cast, so that the cast changes only the unit.
fn in_zone_of(times: Vec<Option<i64>>, data_type: &DataType) -> TimestampMillisecondArray {
    let array = TimestampMillisecondArray::from(times);
    match data_type {
        DataType::Timestamp(_, zone) => array.with_timezone_opt(zone.clone()),
        _ => array,
    }
}

fn micros_in_zone_of(times: Vec<Option<i64>>, data_type: &DataType) -> TimestampMicrosecondArray {
    let array = TimestampMicrosecondArray::from(times);
    match data_type {
        DataType::Timestamp(_, zone) => array.with_timezone_opt(zone.clone()),
        _ => array,
    }
}

fn append(column: &mut Builder, cell: Cell) -> Result<(), Error> {
    match (column, cell) {
        (Builder::Text(text), Cell::Text(value)) => text.append_value(value),
        (Builder::Text(text), Cell::Null) => text.append_null(),
        (Builder::UInt8(numbers), Cell::UInt(value)) => {
            numbers.append_value(u8::try_from(value).unwrap_or(u8::MAX));
        }
        (Builder::UInt8(numbers), Cell::Null) => numbers.append_null(),
        (Builder::UInt(numbers), Cell::UInt(value)) => numbers.append_value(value),
        (Builder::UInt(numbers), Cell::Null) => numbers.append_null(),
        (Builder::Int(numbers), Cell::Int(value)) => numbers.append_value(value),
        (Builder::Float(numbers), Cell::Float(value)) => numbers.append_value(value),
        (Builder::Time(times), Cell::Time(value)) => times.push(i64::try_from(value).ok()),
        (Builder::Time(times), Cell::Null) => times.push(None),
        (Builder::Micros(times), Cell::Micros(value)) => times.push(i64::try_from(value).ok()),
        (Builder::Counters(maps), Cell::Counters(counters)) => maps.append(&counters),
        (Builder::Pairs(maps), Cell::Pairs(pairs)) => maps.append(&pairs),
        (Builder::Texts(lists), Cell::Texts(values)) => {
            values.iter().for_each(|value| lists.values().append_value(value));
            lists.append(true);
        }
        (_, cell) => return Err(Error::internal(format!("{cell:?} does not fit its system table column"))),
    }
    Ok(())
}
