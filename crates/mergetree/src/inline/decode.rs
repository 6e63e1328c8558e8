//! Inline bytes to rows; many statements of one schema version become one batch.

use std::sync::Arc;

use arrow::array::{
    ArrayData, ArrayRef, BinaryViewBuilder, BooleanArray, BooleanBufferBuilder, FixedSizeBinaryArray,
    ListArray, MapArray, NullArray, RecordBatch, RecordBatchOptions, StringViewBuilder, StructArray,
    make_array,
};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field};
use catalog::InlineStatement;
use model::TableDef;
use model::saturating::u64_of;

use super::INLINE_VERSION;
use crate::error::TableError;

/// The rows of one statement; `table` is the definition of its schema version.
///
/// # Errors
/// The bytes are not inline rows of that table.
pub fn decode(table: &TableDef, statement: &InlineStatement) -> Result<RecordBatch, TableError> {
    decode_all(table, &[statement])
}

/// The rows of statements of one schema version, in the order given.
///
/// # Errors
/// As [`decode`].
pub fn decode_all(table: &TableDef, statements: &[&InlineStatement]) -> Result<RecordBatch, TableError> {
    let schema = table.arrow_schema();
    let mut columns: Vec<Growing> =
        schema.fields().iter().map(|field| Growing::new(field.data_type())).collect();
    let mut block = 0;
    for statement in statements {
        block = statement.block;
        let damaged = |message: String| TableError::InlineDamaged { block, message };
        append(&mut columns, statement).map_err(damaged)?;
    }
    let rows = columns.first().map_or(0, |column| column.rows);
    let arrays =
        columns.into_iter().zip(schema.fields()).map(|(column, field)| column.finish(field.data_type()));
    let damaged =
        |error: arrow::error::ArrowError| TableError::InlineDamaged { block, message: error.to_string() };
    let arrays = arrays.collect::<Result<Vec<_>, _>>().map_err(damaged)?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema, arrays, &options).map_err(damaged)
}

fn append(columns: &mut [Growing], statement: &InlineStatement) -> Result<(), String> {
    let mut input = Input { bytes: &statement.bytes };
    let mut found = 0_u64;
    while !input.bytes.is_empty() {
        let version = input.take(1)?[0];
        if version != INLINE_VERSION {
            return Err(format!("version {version} is unknown"));
        }
        let rows = input.varint()?;
        let nulls = input.take(1)?[0];
        for column in columns.iter_mut() {
            match nulls {
                0 => column.append_not_null(&mut input, rows)?,
                1 => column.append(&mut input, rows)?,
                other => return Err(format!("{other} does not say whether there are NULLs")),
            }
        }
        found = found.saturating_add(u64_of(rows));
    }
    match found == statement.rows {
        true => Ok(()),
        false => Err(format!("{found} rows stand where {} belong", statement.rows)),
    }
}

struct Input<'a> {
    bytes: &'a [u8],
}

impl<'a> Input<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or("the bytes end too early")?;
        self.bytes = rest;
        Ok(taken)
    }

    fn varint(&mut self) -> Result<usize, String> {
        let mut number = 0_usize;
        for shift in (0..usize::BITS).step_by(7) {
            let byte = self.take(1)?[0];
            number |= usize::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err("a number is too long".to_owned())
    }

    fn bits(&mut self, count: usize, out: &mut BooleanBufferBuilder) -> Result<(), String> {
        let bytes = self.take(count.div_ceil(8))?;
        (0..count).for_each(|position| out.append(bytes[position / 8] & (1 << (position % 8)) != 0));
        Ok(())
    }
}

/// A column that grows by statements.
struct Growing {
    rows: usize,
    not_null: BooleanBufferBuilder,
    values: Values,
}

enum Values {
    Nothing,
    Bits(BooleanBufferBuilder),
    /// Bytes per value, and the values.
    Fixed(usize, Vec<u8>),
    Text(StringViewBuilder),
    Bytes(BinaryViewBuilder),
    Nested(Vec<usize>, Box<Growing>),
    Tuple(Vec<Growing>),
    Unknown,
}

impl Growing {
    fn new(data_type: &DataType) -> Growing {
        let values = match data_type {
            DataType::Null => Values::Nothing,
            DataType::Boolean => Values::Bits(BooleanBufferBuilder::new(0)),
            DataType::Utf8View => Values::Text(StringViewBuilder::new()),
            DataType::BinaryView => Values::Bytes(BinaryViewBuilder::new()),
            DataType::FixedSizeBinary(width) => {
                Values::Fixed(usize::try_from(*width).unwrap_or(0), Vec::new())
            }
            DataType::List(item) => Values::Nested(Vec::new(), Box::new(Growing::new(item.data_type()))),
            DataType::Map(entries, _) => {
                Values::Nested(Vec::new(), Box::new(Growing::new(entries.data_type())))
            }
            DataType::Struct(fields) => {
                Values::Tuple(fields.iter().map(|f| Growing::new(f.data_type())).collect())
            }
            other => match other.primitive_width() {
                Some(width) => Values::Fixed(width, Vec::new()),
                None => Values::Unknown,
            },
        };
        Growing { rows: 0, not_null: BooleanBufferBuilder::new(0), values }
    }

    fn append(&mut self, input: &mut Input<'_>, rows: usize) -> Result<(), String> {
        match input.take(1)?[0] {
            0 => self.append_not_null(input, rows),
            1 => {
                input.bits(rows, &mut self.not_null)?;
                self.append_values(input, rows)
            }
            other => Err(format!("{other} does not begin a column")),
        }
    }

    fn append_not_null(&mut self, input: &mut Input<'_>, rows: usize) -> Result<(), String> {
        // An absurd number of rows fails here or at the values, before memory is spent on it.
        if rows > MAX_ROWS {
            return Err(format!("{rows} rows are too many"));
        }
        self.not_null.append_n(rows, true);
        self.append_values(input, rows)
    }

    fn append_values(&mut self, input: &mut Input<'_>, rows: usize) -> Result<(), String> {
        self.rows += rows;
        match &mut self.values {
            Values::Nothing => {}
            Values::Bits(bits) => input.bits(rows, bits)?,
            Values::Fixed(width, bytes) => {
                let length = rows.checked_mul(*width).ok_or("the values are too long")?;
                bytes.extend_from_slice(input.take(length)?);
            }
            Values::Text(texts) => {
                for _ in 0..rows {
                    let length = input.varint()?;
                    let text = std::str::from_utf8(input.take(length)?).map_err(|e| e.to_string())?;
                    texts.append_value(text);
                }
            }
            Values::Bytes(states) => {
                for _ in 0..rows {
                    let length = input.varint()?;
                    states.append_value(input.take(length)?);
                }
            }
            Values::Nested(lengths, children) => {
                let mut total = 0_usize;
                for _ in 0..rows {
                    let length = input.varint()?;
                    total = total.checked_add(length).ok_or("the lists are too long")?;
                    lengths.push(length);
                }
                children.append(input, total)?;
            }
            Values::Tuple(children) => {
                for child in children {
                    child.append(input, rows)?;
                }
            }
            Values::Unknown => return Err("the column's layout cannot be stored inline".to_owned()),
        }
        Ok(())
    }

    fn finish(mut self, data_type: &DataType) -> Result<ArrayRef, arrow::error::ArrowError> {
        let nulls = Some(NullBuffer::new(self.not_null.finish())).filter(|nulls| nulls.null_count() > 0);
        Ok(match (self.values, data_type) {
            (Values::Nothing | Values::Unknown, _) => Arc::new(NullArray::new(self.rows)),
            (Values::Bits(mut bits), _) => Arc::new(BooleanArray::new(bits.finish(), nulls)),
            (Values::Fixed(..), DataType::FixedSizeBinary(0)) => {
                return Err(arrow::error::ArrowError::SchemaError("a binary column of no width".to_owned()));
            }
            (Values::Fixed(_, bytes), DataType::FixedSizeBinary(width)) => {
                Arc::new(FixedSizeBinaryArray::try_new(*width, Buffer::from(bytes), nulls)?)
            }
            (Values::Fixed(_, bytes), _) => {
                let data = ArrayData::builder(data_type.clone()).len(self.rows).nulls(nulls);
                make_array(data.add_buffer(Buffer::from_slice_ref(&bytes)).align_buffers(true).build()?)
            }
            (Values::Text(mut texts), _) => {
                let texts = texts.finish();
                let (views, buffers, _) = texts.into_parts();
                Arc::new(arrow::array::StringViewArray::try_new(views, buffers, nulls)?)
            }
            (Values::Bytes(mut states), _) => {
                let (views, buffers, _) = states.finish().into_parts();
                Arc::new(arrow::array::BinaryViewArray::try_new(views, buffers, nulls)?)
            }
            (Values::Nested(lengths, children), DataType::List(item)) => {
                let children = children.finish(item.data_type())?;
                Arc::new(ListArray::try_new(
                    Arc::clone(item),
                    OffsetBuffer::from_lengths(lengths),
                    children,
                    nulls,
                )?)
            }
            (Values::Nested(lengths, children), DataType::Map(entries, sorted)) => {
                let children = children.finish(entries.data_type())?;
                let structs = arrow::array::AsArray::as_struct(&children).clone();
                let offsets = OffsetBuffer::from_lengths(lengths);
                Arc::new(MapArray::try_new(Arc::clone(entries), offsets, structs, nulls, *sorted)?)
            }
            (Values::Tuple(children), DataType::Struct(fields)) => {
                let finish = |(child, field): (Growing, &Arc<Field>)| child.finish(field.data_type());
                let arrays = children.into_iter().zip(fields).map(finish).collect::<Result<Vec<_>, _>>()?;
                Arc::new(StructArray::try_new_with_length(fields.clone(), arrays, nulls, self.rows)?)
            }
            (Values::Nested(..) | Values::Tuple(_), other) => {
                return Err(arrow::error::ArrowError::SchemaError(format!("{other} is not nested")));
            }
        })
    }
}

/// More rows than one statement can have: records are limited to far fewer bytes.
const MAX_ROWS: usize = 1 << 30;
