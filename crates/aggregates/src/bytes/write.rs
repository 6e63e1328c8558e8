//! States to bytes.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, BinaryViewBuilder, BooleanArray};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field};
use datafusion::common::{Result, internal_err};
use model::saturating::place_of;

use super::{ALL_NULL, ALL_THERE, SHORT_NULLS_MAX, SOME_NULL, VERSION};

/// A column taken apart once, so that its values can be written row by row.
struct Column {
    nulls: Option<NullBuffer>,
    values: Values,
}

enum Values {
    Fixed { width: usize, bytes: Buffer },
    Bools(BooleanArray),
    Bytes(BinaryViewArray),
    List(OffsetBuffer<i32>, Box<Column>),
    Struct(Vec<Column>),
}

/// One value for each row of the columns of an accumulator's state.
///
/// # Errors
/// A layout that no state has.
pub(crate) fn encode(states: &[ArrayRef]) -> Result<BinaryViewArray> {
    let rows = states.first().map_or(0, |column| column.len());
    let columns = states.iter().map(Column::of).collect::<Result<Vec<_>>>()?;
    let mut builder = BinaryViewBuilder::with_capacity(rows);
    let mut out = Vec::new();
    for row in 0..rows {
        out.clear();
        out.push(VERSION);
        columns.iter().for_each(|column| column.write(row..row + 1, &mut out));
        builder.append_value(&out);
    }
    Ok(builder.finish())
}

impl Column {
    fn of(array: &ArrayRef) -> Result<Column> {
        let nulls = array.nulls().cloned();
        let values = match array.data_type() {
            DataType::Boolean => Values::Bools(array.as_boolean().clone()),
            DataType::Utf8View => Values::Bytes(array.as_string_view().clone().to_binary_view()),
            DataType::BinaryView => Values::Bytes(array.as_binary_view().clone()),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => {
                Values::Bytes(cast(array, &DataType::BinaryView)?.as_binary_view().clone())
            }
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                Values::List(list.offsets().clone(), Box::new(Column::of(list.values())?))
            }
            DataType::LargeList(item) => {
                let item = Field::clone(item);
                return Column::of(&cast(array, &DataType::List(item.into()))?);
            }
            DataType::Map(..) => {
                let map = array.as_map();
                let entries: ArrayRef = Arc::new(map.entries().clone());
                Values::List(map.offsets().clone(), Box::new(Column::of(&entries)?))
            }
            DataType::Struct(_) => {
                let members = array.as_struct().columns();
                Values::Struct(members.iter().map(Column::of).collect::<Result<_>>()?)
            }
            DataType::Dictionary(_, value) => return Column::of(&cast(array, value)?),
            other => match width(other) {
                Some(width) => {
                    let data = array.to_data();
                    let bytes =
                        data.buffers()[0].slice_with_length(data.offset() * width, data.len() * width);
                    Values::Fixed { width, bytes }
                }
                None => return internal_err!("no state of an aggregate has the layout {other}"),
            },
        };
        Ok(Column { nulls, values })
    }

    fn write(&self, rows: Range<usize>, out: &mut Vec<u8>) {
        if rows.is_empty() {
            return;
        }
        let missing =
            self.nulls.as_ref().map_or(0, |nulls| rows.clone().filter(|row| nulls.is_null(*row)).count());
        let may_be_short = rows.len() <= SHORT_NULLS_MAX && !matches!(self.values, Values::Struct(_));
        match &self.nulls {
            Some(nulls) if missing > 0 => {
                if missing == rows.len() && may_be_short {
                    out.push(ALL_NULL);
                    return;
                }
                out.push(SOME_NULL);
                out.extend(rows.clone().map(|row| u8::from(nulls.is_valid(row))));
            }
            _ => out.push(ALL_THERE),
        }
        self.values.write(rows, out);
    }
}

impl Values {
    fn write(&self, rows: Range<usize>, out: &mut Vec<u8>) {
        match self {
            Values::Fixed { width, bytes } => {
                out.extend_from_slice(&bytes[rows.start * width..rows.end * width])
            }
            Values::Bools(values) => out.extend(rows.map(|row| u8::from(values.value(row)))),
            Values::Bytes(values) => {
                rows.clone().for_each(|row| put_length(values.value(row).len(), out));
                rows.for_each(|row| out.extend_from_slice(values.value(row)));
            }
            Values::List(offsets, elements) => {
                let at = |row: usize| place_of(offsets[row]);
                // What lies under a NULL may have elements, and is written as it lies.
                rows.clone().for_each(|row| put_length(at(row + 1) - at(row), out));
                elements.write(at(rows.start)..at(rows.end), out);
            }
            Values::Struct(members) => members.iter().for_each(|member| member.write(rows.clone(), out)),
        }
    }
}

/// Bytes of a value, where all have as many.
pub(super) fn width(layout: &DataType) -> Option<usize> {
    match layout {
        DataType::FixedSizeBinary(width) => usize::try_from(*width).ok().filter(|width| *width > 0),
        other => other.primitive_width(),
    }
}

fn put_length(mut length: usize, out: &mut Vec<u8>) {
    while length >= 0x80 {
        out.push(u8::try_from(length & 0x7F).unwrap_or(0) | 0x80);
        length >>= 7;
    }
    out.push(u8::try_from(length).unwrap_or(0));
}
