//! The default value of every type: zero, empty, the epoch, the first element of an enum.
//!
//! ClickHouse has two for Date32: what a type says of itself, which is what a column that was left out gets, and what an empty
//! place in a column holds. Invariant: a NULL only for Nullable types.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewArray, BooleanArray, Date32Array, FixedSizeBinaryArray, Int8Array, Int16Array,
    ListArray, MapArray, StringViewArray, StructArray, new_empty_array, new_null_array,
};
use arrow::buffer::{BooleanBuffer, OffsetBuffer};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Fields, i256};
use model::type_arrow::{to_data_type, to_field};
use model::{ColumnType, WideInteger};

/// `rows` times the default of the type as a place in a column that nothing was put into has it: 1970-01-01 for Date32.
pub fn default_array(column_type: &ColumnType, rows: usize) -> ArrayRef {
    defaults(column_type, rows, 0)
}

/// `rows` times the default of the type as the type has it: 1900-01-01 for Date32.
pub fn type_default_array(column_type: &ColumnType, rows: usize) -> ArrayRef {
    defaults(column_type, rows, ColumnType::Date32.default_number())
}

fn defaults(column_type: &ColumnType, rows: usize, day: i32) -> ArrayRef {
    let data_type = to_data_type(column_type);
    match column_type {
        ColumnType::Nullable(_) | ColumnType::Nothing => new_null_array(&data_type, rows),
        ColumnType::LowCardinality(inner) => defaults(inner, rows, day),
        ColumnType::Bool => Arc::new(BooleanArray::new(BooleanBuffer::new_unset(rows), None)),
        ColumnType::String | ColumnType::FixedString(_) => {
            Arc::new(StringViewArray::from_iter_values(std::iter::repeat_n("", rows)))
        }
        // The state of nothing.
        ColumnType::AggregateFunction(_) => {
            Arc::new(BinaryViewArray::from_iter_values(std::iter::repeat_n(b"", rows)))
        }
        ColumnType::Uuid | ColumnType::Ipv6 => {
            Arc::new(FixedSizeBinaryArray::new(16, arrow::buffer::Buffer::from(vec![0_u8; rows * 16]), None))
        }
        wide if wide.is_wide_integer() => wide_zeros(wide, rows),
        ColumnType::Enum8(_) => {
            let first = i8::try_from(column_type.default_number()).unwrap_or(0);
            Arc::new(Int8Array::from_value(first, rows))
        }
        ColumnType::Enum16(_) => {
            let first = i16::try_from(column_type.default_number()).unwrap_or(0);
            Arc::new(Int16Array::from_value(first, rows))
        }
        ColumnType::Date32 => Arc::new(Date32Array::from_value(day, rows)),
        ColumnType::Array(inner) => {
            let field = Arc::new(to_field("item", inner));
            let values = new_empty_array(field.data_type());
            Arc::new(ListArray::new(field, OffsetBuffer::new_zeroed(rows), values, None))
        }
        ColumnType::Map(..) => empty_maps(&data_type, rows),
        ColumnType::Tuple(elements) if elements.is_empty() => {
            Arc::new(StructArray::new_empty_fields(rows, None))
        }
        ColumnType::Tuple(elements) => {
            let columns = elements.iter().map(|element| defaults(&element.column_type, rows, day)).collect();
            Arc::new(StructArray::new(fields_of(&data_type), columns, None))
        }
        _ => zeros(&data_type, rows),
    }
}

fn fields_of(data_type: &DataType) -> Fields {
    match data_type {
        DataType::Struct(fields) => fields.clone(),
        _ => Fields::empty(),
    }
}

fn empty_maps(data_type: &DataType, rows: usize) -> ArrayRef {
    let DataType::Map(entries, ordered) = data_type else { return new_null_array(data_type, rows) };
    let empty = StructArray::new_empty_fields(0, None);
    let entry_array = match entries.data_type() {
        DataType::Struct(fields) => {
            let columns = fields.iter().map(|field| new_empty_array(field.data_type())).collect();
            StructArray::new(fields.clone(), columns, None)
        }
        _ => empty,
    };
    Arc::new(MapArray::new(Arc::clone(entries), OffsetBuffer::new_zeroed(rows), entry_array, None, *ordered))
}

fn wide_zeros(column_type: &ColumnType, rows: usize) -> ArrayRef {
    let zero = WideInteger::of(column_type).map(|kind| {
        let mut stored = Vec::with_capacity(kind.bytes);
        kind.encode(i256::ZERO, &mut stored);
        (i32::try_from(kind.bytes).unwrap_or(0), stored.repeat(rows))
    });
    let (width, bytes) = zero.unwrap_or_default();
    Arc::new(FixedSizeBinaryArray::new(width, arrow::buffer::Buffer::from(bytes), None))
}

/// Types whose default is the number 0.
fn zeros(data_type: &DataType, rows: usize) -> ArrayRef {
    let zeros: ArrayRef = match data_type {
        DataType::Date32 => Arc::new(arrow::array::Int32Array::from_value(0, rows)),
        DataType::Timestamp(..) => Arc::new(arrow::array::Int64Array::from_value(0, rows)),
        _ => Arc::new(Int8Array::from_value(0, rows)),
    };
    // Zero converts to every number and time; the NULLs are unreachable.
    cast(&zeros, data_type).unwrap_or_else(|_| new_null_array(data_type, rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::Array;
    use model::{EVERY_TYPE, type_name};

    #[test]
    fn every_type_has_a_default() {
        for name in EVERY_TYPE.into_iter().chain(["Int64", "Float64", "Enum8('a' = 5)", "Enum16('b' = 500)"])
        {
            let column_type = type_name::parse(name).unwrap();
            let array = default_array(&column_type, 3);
            assert_eq!(array.len(), 3, "{name}");
            assert_eq!(array.data_type(), &to_data_type(&column_type), "{name}");
            assert_eq!(array.logical_null_count(), if column_type.is_nullable() { 3 } else { 0 }, "{name}");
        }
    }
}
