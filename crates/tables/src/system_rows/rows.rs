//! Builds a system table row by row.
//!
//! Invariant: a row has a value for every column, in order; a value of the wrong kind is stored as its text only in
//! String columns and is an internal error elsewhere.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, FixedSizeBinaryBuilder, Float64Builder, Int32Builder, ListArray, ListBuilder, RecordBatch,
    StringViewBuilder, TimestampMicrosecondArray, TimestampMillisecondArray, UInt8Builder, UInt64Builder,
    new_empty_array,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::error::ArrowError;
use boundary::error::Error;
use model::type_arrow::to_field;
use model::{ColumnType, ErrorCode};

use super::maps::{CountersBuilder, PairsBuilder};

/// One value of a system table.
#[derive(Clone, Debug)]
pub enum Cell {
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
    Uuid([u8; 16]),
}

impl Cell {
    /// Settings that were given, with their values.
    pub fn settings(given: Vec<(&'static str, String)>) -> Cell {
        Cell::Pairs(given.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// The number of an error; 0 of none.
    pub fn code(code: Option<ErrorCode>) -> Cell {
        code.map_or(Cell::Int(0), Cell::from)
    }
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

impl From<ErrorCode> for Cell {
    fn from(code: ErrorCode) -> Cell {
        Cell::Int(code.number().into())
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

impl From<Option<u64>> for Cell {
    fn from(number: Option<u64>) -> Cell {
        number.map_or(Cell::Null, Cell::UInt)
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
pub fn column_type(declared: &str) -> ColumnType {
    model::type_name::parse(declared).unwrap_or(ColumnType::String)
}

/// (name, type) of the columns of a table.
pub type Columns = [(&'static str, &'static str)];

/// The rows that `fill` makes of a table of these columns.
pub fn batch(
    columns: &Columns,
    fill: impl FnOnce(&mut RowBuilder) -> Result<(), Error>,
) -> Result<RecordBatch, Error> {
    let types: Vec<ColumnType> = columns.iter().map(|(_, of)| column_type(of)).collect();
    let fields: Vec<_> = columns.iter().zip(&types).map(|((name, _), of)| to_field(name, of)).collect();
    let names = columns.iter().map(|(name, _)| *name).collect();
    let mut builder = RowBuilder { names, columns: types.iter().map(Column::of).collect() };
    fill(&mut builder)?;
    builder.finish(Arc::new(Schema::new(fields)))
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
    /// Lists of anything else, of which system tables only know empty ones.
    Empties(usize),
    Counters(CountersBuilder),
    Pairs(PairsBuilder),
    Uuid(FixedSizeBinaryBuilder),
}

struct Column {
    builder: Builder,
    is_nullable: bool,
}

impl Column {
    fn of(column_type: &ColumnType) -> Column {
        let builder = match column_type.value_type() {
            ColumnType::UInt8 => Builder::UInt8(UInt8Builder::new()),
            ColumnType::UInt64 | ColumnType::UInt32 | ColumnType::UInt16 | ColumnType::Int64 => {
                Builder::UInt(UInt64Builder::new())
            }
            ColumnType::Int32 | ColumnType::Enum8(_) => Builder::Int(Int32Builder::new()),
            ColumnType::Float64 | ColumnType::Float32 => Builder::Float(Float64Builder::new()),
            ColumnType::DateTime64 { precision: 4.., .. } => Builder::Micros(Vec::new()),
            ColumnType::Map(_, value) if **value == ColumnType::String => {
                Builder::Pairs(PairsBuilder::default())
            }
            ColumnType::Map(..) => Builder::Counters(CountersBuilder::default()),
            ColumnType::Date | ColumnType::DateTime { .. } | ColumnType::DateTime64 { .. } => {
                Builder::Time(Vec::new())
            }
            ColumnType::Array(item) if **item == ColumnType::String => {
                let item = to_field("item", &ColumnType::String);
                Builder::Texts(ListBuilder::new(StringViewBuilder::new()).with_field(item))
            }
            ColumnType::Array(_) => Builder::Empties(0),
            ColumnType::Uuid => Builder::Uuid(FixedSizeBinaryBuilder::new(16)),
            _ => Builder::Text(StringViewBuilder::new()),
        };
        Column { builder, is_nullable: column_type.is_nullable() }
    }

    /// What stands where a row says nothing: NULL, or the type's own default.
    fn default(&self) -> Cell {
        match self.builder {
            _ if self.is_nullable => Cell::Null,
            Builder::Text(_) => Cell::Text(String::new()),
            Builder::UInt8(_) | Builder::UInt(_) => Cell::UInt(0),
            Builder::Int(_) => Cell::Int(0),
            Builder::Float(_) => Cell::Float(0.0),
            Builder::Time(_) => Cell::Time(0),
            Builder::Micros(_) => Cell::Micros(0),
            Builder::Texts(_) | Builder::Empties(_) => Cell::Texts(Vec::new()),
            Builder::Counters(_) => Cell::Counters(Vec::new()),
            Builder::Pairs(_) => Cell::Pairs(Vec::new()),
            Builder::Uuid(_) => Cell::Uuid([0; 16]),
        }
    }
}

pub struct RowBuilder {
    names: Vec<&'static str>,
    columns: Vec<Column>,
}

impl RowBuilder {
    /// One row by the names of its columns; those that are left out have their defaults.
    pub fn push_some<const N: usize>(&mut self, cells: [(&str, Cell); N]) -> Result<(), Error> {
        if let Some((name, _)) = cells.iter().find(|(name, _)| !self.names.contains(name)) {
            return Err(Error::internal(format!("there is no column {name} in a system table")));
        }
        for (name, column) in self.names.iter().zip(&mut self.columns) {
            let given = cells.iter().find(|(given, _)| given == name).map(|(_, cell)| cell.clone());
            let cell = given.unwrap_or_else(|| column.default());
            append(&mut column.builder, cell)?;
        }
        Ok(())
    }

    /// One row; as many cells as columns.
    pub fn push<const N: usize>(&mut self, cells: [Cell; N]) -> Result<(), Error> {
        if N != self.columns.len() {
            return Err(Error::internal(format!("{N} cells for {} columns", self.columns.len())));
        }
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            append(&mut column.builder, cell)?;
        }
        Ok(())
    }

    fn finish(self, schema: SchemaRef) -> Result<RecordBatch, Error> {
        let columns = self.columns.into_iter().zip(schema.fields()).map(|(column, field)| {
            let array: ArrayRef = match column.builder {
                Builder::Text(mut text) => Arc::new(text.finish()),
                Builder::UInt8(mut numbers) => Arc::new(numbers.finish()),
                Builder::UInt(mut numbers) => Arc::new(numbers.finish()),
                Builder::Int(mut numbers) => Arc::new(numbers.finish()),
                Builder::Float(mut numbers) => Arc::new(numbers.finish()),
                Builder::Time(times) => Arc::new(in_zone_of(times, field.data_type())),
                Builder::Micros(times) => Arc::new(micros_in_zone_of(times, field.data_type())),
                Builder::Texts(mut lists) => Arc::new(lists.finish()),
                Builder::Empties(rows) => empty_lists(rows, field.data_type())?,
                Builder::Uuid(mut ids) => Arc::new(ids.finish()),
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

/// As many empty lists as there are rows.
fn empty_lists(rows: usize, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    let DataType::List(item) = data_type else {
        return Err(ArrowError::SchemaError(format!("lists are a List, not {data_type}")));
    };
    let (offsets, values) = (OffsetBuffer::new_zeroed(rows), new_empty_array(item.data_type()));
    Ok(Arc::new(ListArray::try_new(Arc::clone(item), offsets, values, None)?))
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
        (Builder::Float(numbers), Cell::Null) => numbers.append_null(),
        (Builder::Time(times), Cell::Time(value)) => times.push(i64::try_from(value).ok()),
        (Builder::Time(times), Cell::Null) => times.push(None),
        (Builder::Micros(times), Cell::Micros(value)) => times.push(i64::try_from(value).ok()),
        (Builder::Counters(maps), Cell::Counters(counters)) => maps.append(&counters),
        (Builder::Pairs(maps), Cell::Pairs(pairs)) => maps.append(&pairs),
        (Builder::Empties(rows), Cell::Texts(values)) if values.is_empty() => *rows += 1,
        (Builder::Uuid(ids), Cell::Uuid(id)) => {
            ids.append_value(id).map_err(|e| Error::internal(e.to_string()))?;
        }
        (Builder::Texts(lists), Cell::Texts(values)) => {
            values.iter().for_each(|value| lists.values().append_value(value));
            lists.append(true);
        }
        (_, cell) => return Err(Error::internal(format!("{cell:?} does not fit its system table column"))),
    }
    Ok(())
}
