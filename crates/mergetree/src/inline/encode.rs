//! Rows to inline bytes.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::DataType;
use bytes::Bytes;
use model::TableDef;
use model::saturating::place_of;
use model::type_arrow::to_data_type;

use super::INLINE_VERSION;
use crate::error::TableError;

/// # Errors
/// A column has another type than the table's, or a layout that storage does not know.
pub fn encode(table: &TableDef, rows: &RecordBatch) -> Result<Bytes, TableError> {
    let refuse = |message: String| TableError::Rows { table: table.name.to_string(), message };
    let columns = table.stored_columns().count();
    if columns != rows.num_columns() {
        return Err(refuse(format!("{} columns where {columns} belong", rows.num_columns())));
    }
    for (column, array) in table.stored_columns().zip(rows.columns()) {
        if *array.data_type() != to_data_type(&column.column_type) {
            return Err(refuse(format!("column {} is {}", column.name, array.data_type())));
        }
    }
    let mut out = vec![INLINE_VERSION];
    varint(&mut out, rows.num_rows());
    let nulls = rows.columns().iter().any(|column| column.null_count() > 0);
    out.push(u8::from(nulls));
    for column in rows.columns() {
        if nulls { array(&mut out, column) } else { values(&mut out, column) }.map_err(refuse)?;
    }
    Ok(out.into())
}

pub(crate) fn varint(out: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        out.push(u8::try_from(number & 0x7f).unwrap_or(0) | 0x80);
        number >>= 7;
    }
    out.push(u8::try_from(number).unwrap_or(0));
}

fn array(out: &mut Vec<u8>, array: &ArrayRef) -> Result<(), String> {
    match array.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => out.push(0),
        Some(nulls) => {
            out.push(1);
            bits(out, nulls.iter());
        }
    }
    values(out, array)
}

fn bits(out: &mut Vec<u8>, bits: impl Iterator<Item = bool>) {
    for (position, bit) in bits.enumerate() {
        if position % 8 == 0 {
            out.push(0);
        }
        if let Some(last) = out.last_mut().filter(|_| bit) {
            *last |= 1 << (position % 8);
        }
    }
}

fn values(out: &mut Vec<u8>, array: &ArrayRef) -> Result<(), String> {
    match array.data_type() {
        DataType::Null => {}
        DataType::Boolean => bits(out, array.as_boolean().values().iter()),
        DataType::Utf8View => {
            let texts = array.as_string_view();
            for row in 0..texts.len() {
                // A NULL's view may be anything.
                let text = if texts.is_null(row) { "" } else { texts.value(row) };
                varint(out, text.len());
                out.extend_from_slice(text.as_bytes());
            }
        }
        DataType::BinaryView => {
            for state in array.as_binary_view() {
                let state = state.unwrap_or_default();
                varint(out, state.len());
                out.extend_from_slice(state);
            }
        }
        DataType::FixedSizeBinary(_) => {
            let fixed = array.as_fixed_size_binary();
            (0..fixed.len()).for_each(|row| out.extend_from_slice(fixed.value(row)));
        }
        DataType::Struct(_) => {
            for child in array.as_struct().columns() {
                self::array(out, child)?;
            }
        }
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            elements(out, list.value_offsets(), list.values())?;
        }
        DataType::Map(..) => {
            let map = array.as_map();
            let entries: ArrayRef = std::sync::Arc::new(map.entries().clone());
            elements(out, map.value_offsets(), &entries)?;
        }
        other => {
            let width =
                other.primitive_width().ok_or_else(|| format!("layout {other} cannot be stored inline"))?;
            let data = array.to_data();
            let start = data.offset() * width;
            let bytes = data.buffers().first().map_or(&[][..], |buffer| buffer.as_slice());
            out.extend_from_slice(bytes.get(start..start + data.len() * width).unwrap_or_default());
        }
    }
    Ok(())
}

fn elements(out: &mut Vec<u8>, offsets: &[i32], children: &ArrayRef) -> Result<(), String> {
    let at = |offset: &i32| place_of(*offset);
    for pair in offsets.windows(2) {
        varint(out, at(&pair[1]) - at(&pair[0]));
    }
    let start = offsets.first().map_or(0, at);
    let end = offsets.last().map_or(0, at);
    array(out, &children.slice(start, end - start))
}
