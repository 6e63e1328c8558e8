//! `generateRandom('structure'[, seed[, max_string_length[, max_array_length]]])`: rows of any types that never end.
//!
//! Invariant: the same seed gives the same rows; every value is one its type can have. Which values a seed gives is ours,
//! not ClickHouse's. Must not know: where a seed comes from.

use std::sync::Arc;

use arrow::array::{
    ArrayData, ArrayRef, BooleanArray, FixedSizeBinaryArray, ListArray, MapArray, NullArray, RecordBatch,
    RecordBatchOptions, StringViewArray, StructArray, make_array,
};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::error::ArrowError;
use datafusion::catalog::TableProvider;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use functions::allowance::{Reserved, reserve};
use model::saturating::{u64_of, usize_of};
use model::type_arrow::{to_data_type, to_field};
use model::{ColumnType, mix64};

use super::endless::EndlessTable;

/// What to make.
#[derive(Clone, Debug)]
pub struct RandomRows {
    pub columns: Vec<(String, ColumnType)>,
    pub seed: u64,
    pub text_bytes_max: u64,
    pub array_length_max: u64,
}

/// Types of columns that nobody asked for.
const TYPES: &[&str] = &[
    "UInt8",
    "Int16",
    "UInt32",
    "Int64",
    "Int128",
    "UInt256",
    "Float32",
    "Float64",
    "Bool",
    "Decimal(9, 2)",
    "Decimal(38, 10)",
    "Date",
    "Date32",
    "DateTime",
    "DateTime64(6)",
    "String",
    "FixedString(16)",
    "UUID",
    "IPv4",
    "IPv6",
    "Enum8('a' = 1, 'b' = 2, 'c' = 3)",
    "LowCardinality(String)",
    "Nullable(Int32)",
    "Nullable(String)",
    "Array(UInt64)",
    "Array(Nullable(Float64))",
    "Map(String, Int64)",
    "Tuple(UInt16, Array(String))",
];
/// So many of them at most.
const COLUMNS_MAX: u64 = 16;

/// Columns `c1`, `c2` and so on, as many and of such types as the seed has it.
pub fn random_columns(seed: u64) -> Vec<(String, ColumnType)> {
    let mut dice = Dice(seed);
    let types = (0..=dice.below(COLUMNS_MAX))
        .filter_map(|_| TYPES.get(usize_of(dice.below(u64_of(TYPES.len())))))
        .filter_map(|written| model::type_name::parse(written).ok());
    types.enumerate().map(|(at, column_type)| (format!("c{}", at + 1), column_type)).collect()
}

/// A table of random rows.
pub fn random_table(rows: RandomRows) -> Result<Arc<dyn TableProvider>> {
    let fields = rows.columns.iter().map(|(name, column_type)| to_field(name, column_type));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let stream = Throwing { rows, schema: Arc::clone(&schema) };
    Ok(Arc::new(EndlessTable(StreamingTable::try_new(schema, vec![Arc::new(stream)])?)))
}

#[derive(Debug)]
struct Throwing {
    rows: RandomRows,
    schema: SchemaRef,
}

impl PartitionStream for Throwing {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let row_bytes: u64 = self.rows.columns.iter().map(|(_, of)| mean_bytes(&self.rows, of)).sum();
        let fitting = usize_of(BATCH_BYTES / row_bytes.max(1)).max(1);
        let count = context.session_config().batch_size().min(fitting);
        let (rows, schema) = (self.rows.clone(), Arc::clone(&self.schema));
        let mut dice = Dice(rows.seed);
        let batches = std::iter::from_fn(move || {
            let arrays = rows.columns.iter().map(|(_, of)| values(&mut dice, &rows, of, count));
            let options = RecordBatchOptions::new().with_row_count(Some(count));
            let batch = arrays
                .collect::<std::result::Result<Vec<_>, _>>()
                .and_then(|arrays| RecordBatch::try_new_with_options(Arc::clone(&schema), arrays, &options));
            Some(batch.map_err(Into::into))
        });
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), futures::stream::iter(batches)))
    }
}

/// What a batch may take on the average.
const BATCH_BYTES: u64 = 16 << 20;

/// Bytes of a value of this type on the average.
fn mean_bytes(rows: &RandomRows, column_type: &ColumnType) -> u64 {
    match column_type {
        ColumnType::Nullable(inner) | ColumnType::LowCardinality(inner) => mean_bytes(rows, inner),
        ColumnType::String => 16 + rows.text_bytes_max / 2,
        ColumnType::FixedString(bytes) => 16 + u64::from(*bytes),
        ColumnType::Array(inner) => {
            mean_bytes(rows, inner).saturating_mul(rows.array_length_max.div_ceil(2)).saturating_add(4)
        }
        ColumnType::Map(key, value) => {
            let entry = mean_bytes(rows, key).saturating_add(mean_bytes(rows, value));
            entry.saturating_mul(rows.array_length_max.div_ceil(2)).saturating_add(4)
        }
        ColumnType::Tuple(elements) => {
            elements.iter().map(|element| mean_bytes(rows, &element.column_type)).fold(0, u64::saturating_add)
        }
        fixed => to_data_type(fixed).primitive_width().map_or(32, u64_of),
    }
}

/// Asks for the elements of lists, of which one row may have more than there is memory.
fn granted(
    rows: &RandomRows,
    element: &ColumnType,
    count: usize,
) -> std::result::Result<Reserved, ArrowError> {
    let bytes = usize_of(mean_bytes(rows, element).saturating_mul(u64_of(count)));
    reserve("generateRandom", bytes).map_err(|refused| ArrowError::ExternalError(Box::new(refused)))
}

/// The numbers of a seed.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        mix64::next(&mut self.0)
    }

    /// 0 up to `limit`, which is left out and not 0.
    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    fn length(&mut self, max: u64) -> usize {
        usize::try_from(self.below(max.saturating_add(1))).unwrap_or(0)
    }
}

/// One NULL in so many values, as ClickHouse has it.
const NULL_EVERY: u64 = 16;
const PRINTABLE: std::ops::RangeInclusive<u8> = b' '..=b'~';

fn values(
    dice: &mut Dice,
    rows: &RandomRows,
    column_type: &ColumnType,
    count: usize,
) -> std::result::Result<ArrayRef, ArrowError> {
    let data_type = to_data_type(column_type);
    Ok(match column_type {
        ColumnType::Nullable(inner) => {
            let values = values(dice, rows, inner, count)?;
            let valid = BooleanBuffer::collect_bool(count, |_| dice.below(NULL_EVERY) != 0);
            make_array(values.to_data().into_builder().nulls(Some(NullBuffer::new(valid))).build()?)
        }
        ColumnType::LowCardinality(inner) => values(dice, rows, inner, count)?,
        ColumnType::Bool => {
            Arc::new(BooleanArray::new(BooleanBuffer::collect_bool(count, |_| dice.next() & 1 == 1), None))
        }
        ColumnType::String => texts(dice, count, |dice| dice.length(rows.text_bytes_max)),
        ColumnType::FixedString(bytes) => texts(dice, count, |_| usize::try_from(*bytes).unwrap_or(0)),
        ColumnType::Uuid | ColumnType::Ipv6 => Arc::new(random_bytes(dice, 16, count)?),
        wide if wide.is_wide_integer() => {
            let DataType::FixedSizeBinary(width) = data_type else { return Err(unknown(column_type)) };
            Arc::new(random_bytes(dice, width, count)?)
        }
        ColumnType::Array(inner) => {
            let lengths: Vec<usize> = (0..count).map(|_| dice.length(rows.array_length_max)).collect();
            let total = lengths.iter().sum();
            let _granted = granted(rows, inner, total)?;
            let items = values(dice, rows, inner, total)?;
            let DataType::List(item) = data_type else { return Err(unknown(column_type)) };
            Arc::new(ListArray::try_new(item, OffsetBuffer::from_lengths(lengths), items, None)?)
        }
        ColumnType::Map(key, value) => {
            let lengths: Vec<usize> = (0..count).map(|_| dice.length(rows.array_length_max)).collect();
            let total = lengths.iter().sum();
            let _granted = (granted(rows, key, total)?, granted(rows, value, total)?);
            let entries = vec![values(dice, rows, key, total)?, values(dice, rows, value, total)?];
            let DataType::Map(entry, sorted) = data_type else { return Err(unknown(column_type)) };
            let DataType::Struct(fields) = entry.data_type().clone() else {
                return Err(unknown(column_type));
            };
            let entries = StructArray::try_new_with_length(fields, entries, None, total)?;
            Arc::new(MapArray::try_new(entry, OffsetBuffer::from_lengths(lengths), entries, None, sorted)?)
        }
        ColumnType::Tuple(elements) => {
            let parts = elements.iter().map(|element| values(dice, rows, &element.column_type, count));
            let parts = parts.collect::<std::result::Result<Vec<_>, _>>()?;
            let DataType::Struct(fields) = data_type else { return Err(unknown(column_type)) };
            Arc::new(StructArray::try_new_with_length(fields, parts, None, count)?)
        }
        ColumnType::Nothing => Arc::new(NullArray::new(count)),
        fixed => numbers(dice, fixed, count)?,
    })
}

/// Values of which all bits may be set.
fn random_bytes(
    dice: &mut Dice,
    width: i32,
    count: usize,
) -> std::result::Result<FixedSizeBinaryArray, ArrowError> {
    let words = usize::try_from(width).unwrap_or(0) / 8;
    let bytes: Vec<u8> = (0..count * words).flat_map(|_| dice.next().to_le_bytes()).collect();
    FixedSizeBinaryArray::try_new(width, Buffer::from(bytes), None)
}

fn texts(dice: &mut Dice, count: usize, length: impl Fn(&mut Dice) -> usize) -> ArrayRef {
    let span = u64::from(*PRINTABLE.end() - *PRINTABLE.start()) + 1;
    let mut text = |_| -> String {
        let length = length(dice);
        let character = |dice: &mut Dice| PRINTABLE.start() + u8::try_from(dice.below(span)).unwrap_or(0);
        (0..length).map(|_| char::from(character(dice))).collect()
    };
    Arc::new(StringViewArray::from_iter_values((0..count).map(&mut text)))
}

/// Values of a fixed width, in the range of their type.
fn numbers(
    dice: &mut Dice,
    column_type: &ColumnType,
    count: usize,
) -> std::result::Result<ArrayRef, ArrowError> {
    let data_type = to_data_type(column_type);
    let width = data_type.primitive_width().ok_or_else(|| unknown(column_type))?;
    let mut bytes = Vec::with_capacity(width * count);
    for _ in 0..count {
        match column_type {
            ColumnType::Float32 => bytes.extend_from_slice(&narrow_unit(dice.next()).to_le_bytes()),
            ColumnType::Float64 => bytes.extend_from_slice(&unit(dice.next()).to_le_bytes()),
            _ => {
                let value = whole(dice, column_type);
                // Wider decimals than 128 bits continue the sign.
                let sign = if value < 0 { 0xff } else { 0 };
                let narrow = value.to_le_bytes();
                bytes.extend((0..width).map(|at| narrow.get(at).copied().unwrap_or(sign)));
            }
        }
    }
    let data = ArrayData::builder(data_type).len(count).add_buffer(Buffer::from_slice_ref(&bytes));
    Ok(make_array(data.align_buffers(true).build()?))
}

/// A number as likely as any other of its size, between -1 and 1.
fn unit(random: u64) -> f64 {
    let mantissa = u32::try_from(random >> 32).unwrap_or(0);
    let sign = if random & 1 == 1 { -1.0 } else { 1.0 };
    sign * f64::from(mantissa) / f64::from(u32::MAX)
}

fn narrow_unit(random: u64) -> f32 {
    let mantissa = u16::try_from(random >> 48).unwrap_or(0);
    let sign = if random & 1 == 1 { -1.0 } else { 1.0 };
    sign * f32::from(mantissa) / f32::from(u16::MAX)
}

fn whole(dice: &mut Dice, column_type: &ColumnType) -> i128 {
    let random = dice.next();
    match column_type {
        ColumnType::Date => i128::from(random % 65_536),
        // 1900-01-01 to 2299-12-31.
        ColumnType::Date32 => i128::from(random % (25_567 + 120_530)) - 25_567,
        ColumnType::DateTime { .. } => i128::from(random % (1 << 32)),
        ColumnType::DateTime64 { precision, .. } => {
            // The time of nine digits ends in 2262.
            i128::from(random % 9_000_000_000) * 10_i128.pow(u32::from(*precision))
        }
        ColumnType::Decimal { precision, .. } => {
            let limit = 10_i128.checked_pow(u32::from(*precision)).unwrap_or(i128::MAX);
            (i128::from(random) * i128::from(dice.next() >> 2)) % limit
                * if dice.next() & 1 == 1 { -1 } else { 1 }
        }
        ColumnType::Enum8(values) | ColumnType::Enum16(values) => {
            let names = u64::try_from(values.iter().count()).unwrap_or(1);
            let chosen = usize::try_from(random % names.max(1)).unwrap_or(0);
            values.iter().nth(chosen).map_or(0, |(number, _)| i128::from(number))
        }
        _ => i128::from(random),
    }
}

fn unknown(column_type: &ColumnType) -> ArrowError {
    ArrowError::NotYetImplemented(format!("random values of type {column_type}"))
}
