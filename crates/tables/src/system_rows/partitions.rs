//! What system tables say of the partition of a part: its values as text, and from when to when its rows are.
//!
//! Invariant: of a part and of the same rows in the log it is the same. Must not know: files.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use boundary::error::Error;
use catalog::TableState;
use functions::container::tuple_of;
use functions::{CastMode, cast_column};
use mergetree::write::gather::RowPlace;
use model::table_def::column_id_of;
use model::type_arrow::to_data_type;
use model::{ColumnId, ColumnType, PartDescriptor, PartitionValue, TupleElement, Value};

use super::rows::Cell;
use crate::stored::Tables;

/// ClickHouse's word for a partition of NULL.
const NULL: &str = "ᴺᵁᴸᴸ";

/// What the partitions of a table are made of.
pub(super) struct Partitions {
    keys: Vec<ColumnType>,
    /// The column that says when rows are: the only Date of the key; of a key without one, its only time.
    when: Option<(ColumnId, ColumnType)>,
}

/// The first and the last day or moment of some rows.
#[derive(Clone, Copy, Default)]
pub(super) struct Span {
    dates_ms: (u64, u64),
    times_ms: (u64, u64),
}

impl Span {
    /// `min_date`, `max_date`, `min_time`, `max_time`: 1970 where the key does not say it.
    pub(super) fn cells(self) -> [Cell; 4] {
        [self.dates_ms.0, self.dates_ms.1, self.times_ms.0, self.times_ms.1].map(Cell::Time)
    }
}

impl Partitions {
    /// # Errors
    /// The keys of the table cannot be compiled.
    pub(super) fn of(tables: &Tables, table: &TableState) -> Result<Partitions, Error> {
        let def = &table.def;
        if def.partition_by.is_empty() || !def.engine.keeps_parts() {
            return Ok(Partitions { keys: Vec::new(), when: None });
        }
        let (handle, _) = tables.handle(def)?;
        let keys = &handle.keys.partition;
        let used = |of: fn(&ColumnType) -> bool| {
            let columns = def.columns.iter().filter(|column| of(&column.column_type));
            let mut used = columns.filter(|column| keys.iter().any(|key| key.columns().contains(&column.id)));
            let first = used.next().map(|column| (column.id, column.column_type.clone()));
            (first, used.next().is_some())
        };
        let when = match used(|of| *of == ColumnType::Date) {
            (Some(date), false) => Some(date),
            (Some(_), true) => None,
            (None, _) => match used(is_time) {
                (time, false) => time,
                (_, true) => None,
            },
        };
        Ok(Partitions { keys: keys.iter().map(|key| key.column_type().clone()).collect(), when })
    }

    /// The values, as they may be written behind PARTITION.
    pub(super) fn text(&self, partition: &PartitionValue) -> String {
        self.written(partition.values()).unwrap_or_else(|| partition.name().to_owned())
    }

    fn written(&self, values: &[Value]) -> Option<String> {
        if values.is_empty() {
            return Some("tuple()".to_owned());
        }
        if values.len() != self.keys.len() {
            return None;
        }
        let columns = values.iter().zip(&self.keys).map(|(value, of)| value.to_array(&to_data_type(of)));
        let mut columns = columns.collect::<Result<Vec<ArrayRef>, _>>().ok()?;
        let (whole, of) = match self.keys.as_slice() {
            [_] if values == [Value::Null] => return Some(NULL.to_owned()),
            [of] => (columns.pop()?, of.clone()),
            keys => {
                let element = |of: &ColumnType| TupleElement { name: None, column_type: of.clone() };
                let elements: Vec<TupleElement> = keys.iter().map(element).collect();
                (tuple_of(&elements, columns, None, 1).ok()?, ColumnType::Tuple(elements))
            }
        };
        let text = cast_column(&whole, &of, &ColumnType::String, CastMode::Strict).ok()?;
        Some(text.as_string_view().value(0).to_owned())
    }

    /// By the bounds of the part.
    pub(super) fn span_of_part(&self, part: &PartDescriptor) -> Span {
        let Some((column, of)) = &self.when else { return Span::default() };
        let ticks = |value: &Option<Value>| match value {
            Some(Value::Int(ticks)) => Some(*ticks),
            _ => None,
        };
        let bounds =
            part.bounds_of(*column).and_then(|bounds| Some((ticks(&bounds.min)?, ticks(&bounds.max)?)));
        bounds.map_or_else(Span::default, |bounds| span(of, bounds))
    }

    /// Of rows of a block, or of all of them.
    pub(super) fn span_of_rows(&self, block: &[RecordBatch], rows: Option<&[RowPlace]>) -> Span {
        let Some((column, of)) = &self.when else { return Span::default() };
        let ticks: Option<Vec<ArrayRef>> = block.iter().map(|batch| ticks_of(batch, *column)).collect();
        let Some(ticks) = ticks else { return Span::default() };
        let mut found: Option<(i64, i64)> = None;
        let mut add = |batch: usize, row: usize| {
            let values = ticks[batch].as_primitive::<Int64Type>();
            if values.is_valid(row) {
                let value = values.value(row);
                found = Some(found.map_or((value, value), |(min, max)| (min.min(value), max.max(value))));
            }
        };
        match rows {
            Some(rows) => rows.iter().for_each(|place| add(place.batch as usize, place.row as usize)),
            None => {
                for (batch, values) in ticks.iter().enumerate() {
                    (0..values.len()).for_each(|row| add(batch, row));
                }
            }
        }
        found.map_or_else(Span::default, |bounds| span(of, bounds))
    }
}

fn is_time(of: &ColumnType) -> bool {
    matches!(of, ColumnType::DateTime { .. } | ColumnType::DateTime64 { .. })
}

/// Days, or ticks of the type, as numbers.
fn ticks_of(batch: &RecordBatch, column: ColumnId) -> Option<ArrayRef> {
    let at = batch.schema().fields().iter().position(|field| column_id_of(field) == Some(column))?;
    let values = batch.column(at);
    let days = match values.data_type() {
        DataType::Date32 => cast(values, &DataType::Int32).ok()?,
        _ => ArrayRef::clone(values),
    };
    cast(&days, &DataType::Int64).ok()
}

fn span(of: &ColumnType, (min, max): (i64, i64)) -> Span {
    const DAY_MS: i128 = 86_400_000;
    let ms = |ticks: i64| {
        let ms = match of {
            ColumnType::Date => i128::from(ticks) * DAY_MS,
            ColumnType::DateTime64 { .. } => match to_data_type(of) {
                DataType::Timestamp(unit, _) => i128::from(ticks) * 1000 / per_second(unit),
                _ => 0,
            },
            _ => i128::from(ticks) * 1000,
        };
        u64::try_from(ms).unwrap_or(0)
    };
    let bounds = (ms(min), ms(max));
    match of {
        ColumnType::Date => Span { dates_ms: bounds, ..Span::default() },
        _ => Span { times_ms: bounds, ..Span::default() },
    }
}

fn per_second(unit: arrow::datatypes::TimeUnit) -> i128 {
    use arrow::datatypes::TimeUnit;
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}
