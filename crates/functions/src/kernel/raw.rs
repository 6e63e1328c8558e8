//! Values as they lie in ClickHouse's memory: numbers least byte first, fixed strings with their padding.
//!
//! Invariant: the bytes of a value are as many as its type has, of a text as many as it has. Must not know: what they
//! are read for.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{Decimal128Type, Decimal256Type, ToByteSlice};
use model::{ColumnType, WideInteger, raw_text};

use crate::cast::Caster;
use crate::columns::number::with_number;
use crate::error::FunctionError;
use crate::time::temporal::{digits_of, power_of_ten, precision_of, ticks};

/// Appends the memory of a value.
pub(crate) type Memory = Box<dyn Fn(usize, &mut Vec<u8>)>;

/// The number a value is in memory, as ClickHouse's columns have it.
pub(crate) fn in_memory(column_type: &ColumnType) -> ColumnType {
    match column_type.value_type() {
        ColumnType::Date => ColumnType::UInt16,
        ColumnType::Date32 => ColumnType::Int32,
        ColumnType::DateTime { .. } => ColumnType::UInt32,
        ColumnType::Bool => ColumnType::UInt8,
        ColumnType::Ipv4 => ColumnType::UInt32,
        other => other.without_names(),
    }
}

/// What appends the memory of the value of a row; rows that are NULL have any.
pub(crate) fn memory(
    array: &ArrayRef,
    column_type: &ColumnType,
    caster: &Caster,
) -> Result<Memory, FunctionError> {
    let plain = in_memory(column_type);
    match &plain {
        ColumnType::String | ColumnType::FixedString(_) => {
            let texts = array.as_string_view().clone();
            let padded = if let ColumnType::FixedString(length) = plain {
                usize::try_from(length).unwrap_or(0)
            } else {
                0
            };
            Ok(Box::new(move |row, out| {
                out.extend_from_slice(&raw_text::bytes(texts.value(row)));
                out.resize(out.len().max(padded), 0);
            }))
        }
        ColumnType::Uuid => {
            let uuids = array.as_fixed_size_binary().clone();
            // Two words, the high one first.
            Ok(Box::new(move |row, out| {
                let (high, low) = uuids.value(row).split_at(8);
                out.extend(high.iter().rev().chain(low.iter().rev()));
            }))
        }
        wide if wide.is_wide_integer() => {
            let stored = array.as_fixed_size_binary();
            let width = usize::try_from(stored.value_length()).unwrap_or(0);
            let values: Vec<u8> =
                stored.iter().flat_map(|value| value.map_or(vec![0; width], <[u8]>::to_vec)).collect();
            let wire = WideInteger::of(wide).map(|kind| kind.turn(&values, false)).unwrap_or_default();
            Ok(Box::new(move |row, out| out.extend_from_slice(&wire[row * width..(row + 1) * width])))
        }
        ColumnType::Ipv6 => {
            let octets = array.as_fixed_size_binary().clone();
            Ok(Box::new(move |row, out| out.extend_from_slice(octets.value(row))))
        }
        ColumnType::DateTime64 { .. } => {
            let down = power_of_ten(digits_of(&plain) - precision_of(&plain));
            let ticks = ticks(array);
            Ok(Box::new(move |row, out| out.extend_from_slice(&(ticks.value(row) / down).to_le_bytes())))
        }
        ColumnType::Decimal { precision, .. } => {
            let bytes = match precision {
                0..=9 => 4,
                10..=18 => 8,
                19..=38 => 16,
                _ => 32,
            };
            if let Some(wide) = array.as_primitive_opt::<Decimal256Type>() {
                let wide = wide.clone();
                return Ok(Box::new(move |row, out| out.extend_from_slice(&wide.value(row).to_le_bytes())));
            }
            let numbers = array.as_primitive::<Decimal128Type>().clone();
            Ok(Box::new(move |row, out| out.extend_from_slice(&numbers.value(row).to_le_bytes()[..bytes])))
        }
        _ => {
            let typed = |t: &ColumnType| {
                if array.logical_null_count() == 0 { t.clone() } else { t.clone().nullable() }
            };
            let (from, to) = (typed(column_type.value_type()), typed(&plain));
            let numbers = caster.column(array, &from, &to)?;
            with_number!(&plain, T => {
                let numbers = numbers.as_primitive::<T>().clone();
                Ok(Box::new(move |row: usize, out: &mut Vec<u8>| out.extend_from_slice(numbers.value(row).to_byte_slice())))
            }, else Err(FunctionError::illegal_type(&plain, "of bytes")))
        }
    }
}
