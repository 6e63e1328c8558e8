//! Columns written value behind value, as Native has them.
//!
//! ```text
//! Nullable        a byte per row (1: NULL), then the values of all rows
//! String          length, bytes; of FixedString(n) n bytes
//! Array, Map      where each row ends, eight bytes a row; then all items (of maps: all keys, all values)
//! LowCardinality  ahead of everything: version 1. Flags and width of indexes, keys, indexes
//! ```
//!
//! Invariant: a column's version words stand ahead of its first value, however deep it lies. Nothing is allocated for
//! a declared count before its bytes are there.

use model::saturating::{u64_of, usize_of};
use model::{ColumnType, ErrorCode};

use super::column::{Column, Values, offset};
use super::views::Views;
use super::wire::{Cursor, Limits, Stop, put_number, too_long};
use crate::error::ValueError;

/// Version of dictionaries whose keys come with the block.
const DICTIONARY_VERSION: u64 = 1;
/// The keys are shared by all blocks: never in files.
const GLOBAL_KEYS: u64 = 1 << 8;
const OWN_KEYS: u64 = 1 << 9;
const NEW_KEYS: u64 = 1 << 10;
/// The lowest byte of the flags: 0 to 3 for indexes of 1, 2, 4, 8 bytes.
const INDEX_WIDTH: u64 = 0xff;
/// What a row of Nothing, or of a tuple without elements, is written as.
const NOTHING: u8 = b'0';

/// Words ahead of the values of a column.
pub(crate) fn words_ahead(column_type: &ColumnType) -> u64 {
    match column_type {
        ColumnType::LowCardinality(_) => 1,
        ColumnType::Nullable(inner) | ColumnType::Array(inner) => words_ahead(inner),
        ColumnType::Map(key, value) => words_ahead(key) + words_ahead(value),
        ColumnType::Tuple(elements) => elements.iter().map(|element| words_ahead(&element.column_type)).sum(),
        _ => 0,
    }
}

/// Reads the words ahead of the values.
pub(crate) fn read_prefix(column_type: &ColumnType, cursor: &mut Cursor<'_>) -> Result<(), Stop> {
    match column_type {
        ColumnType::LowCardinality(_) => match cursor.u64()? {
            DICTIONARY_VERSION => Ok(()),
            other => {
                let message = format!("dictionary version {other} of {column_type} is not known, 1 is");
                Err(ValueError::new(ErrorCode::INCORRECT_DATA, message).into())
            }
        },
        ColumnType::Nullable(inner) | ColumnType::Array(inner) => read_prefix(inner, cursor),
        ColumnType::Map(key, value) => {
            read_prefix(key, cursor)?;
            read_prefix(value, cursor)
        }
        ColumnType::Tuple(elements) => {
            elements.iter().try_for_each(|element| read_prefix(&element.column_type, cursor))
        }
        _ => Ok(()),
    }
}

pub(crate) fn write_prefix(column_type: &ColumnType, out: &mut Vec<u8>) {
    match column_type {
        ColumnType::LowCardinality(_) => out.extend_from_slice(&DICTIONARY_VERSION.to_le_bytes()),
        ColumnType::Nullable(inner) | ColumnType::Array(inner) => write_prefix(inner, out),
        ColumnType::Map(key, value) => {
            write_prefix(key, out);
            write_prefix(value, out);
        }
        ColumnType::Tuple(elements) => {
            elements.iter().for_each(|element| write_prefix(&element.column_type, out));
        }
        _ => {}
    }
}

/// Appends `rows` values.
pub(crate) fn read(
    column: &mut Column,
    column_type: &ColumnType,
    rows: usize,
    cursor: &mut Cursor<'_>,
    limits: Limits,
) -> Result<(), Stop> {
    if rows == 0 {
        return Ok(());
    }
    if let Some(nulls) = &mut column.nulls {
        let flags = cursor.take(rows)?;
        if let Some(other) = flags.iter().find(|flag| **flag > 1) {
            let message = format!("a mark of NULL is {other} where 0 or 1 is expected");
            return Err(ValueError::new(ErrorCode::INCORRECT_DATA, message).into());
        }
        nulls.extend_from_slice(flags);
    }
    read_values(&mut column.values, column_type, rows, cursor, limits)
}

fn read_values(
    values: &mut Values,
    column_type: &ColumnType,
    rows: usize,
    cursor: &mut Cursor<'_>,
    limits: Limits,
) -> Result<(), Stop> {
    let value_type = column_type.value_type();
    if matches!(value_type, ColumnType::String)
        && matches!(values, Values::Text { ends, .. } if ends.is_empty())
    {
        *values = Values::Views(Views::default());
    }
    match values {
        Values::Views(views) => views.read(rows, cursor, limits)?,
        Values::Fixed { width, bytes, .. } => bytes.extend_from_slice(cursor.take_values(rows, *width)?),
        Values::Text { ends, bytes } => match value_type {
            ColumnType::FixedString(width) => {
                let width = usize::try_from(*width).unwrap_or(usize::MAX).max(1);
                for padded in cursor.take_values(rows, width)?.chunks(width) {
                    bytes.extend_from_slice(without_padding(padded));
                    ends.push(i64::try_from(bytes.len()).unwrap_or(i64::MAX));
                }
            }
            _ => {
                for _ in 0..rows {
                    bytes.extend_from_slice(cursor.text(limits)?);
                    ends.push(i64::try_from(bytes.len()).unwrap_or(i64::MAX));
                }
            }
        },
        Values::List { ends, item } => {
            let items = read_ends(ends, rows, cursor, limits)?;
            match value_type {
                ColumnType::Array(inner) => read(item, inner, items, cursor, limits)?,
                ColumnType::Map(key, value) => {
                    read_tuple(&mut item.values, &[key.as_ref(), value.as_ref()], items, cursor, limits)?;
                }
                _ => {}
            }
        }
        Values::Tuple { .. } => {
            let ColumnType::Tuple(elements) = value_type else { return Ok(()) };
            let types: Vec<&ColumnType> = elements.iter().map(|element| &element.column_type).collect();
            if types.is_empty() {
                cursor.take(rows)?;
            }
            read_tuple(values, &types, rows, cursor, limits)?;
        }
        Values::Dictionary { keys, indexes } => {
            let start = indexes.len();
            while indexes.len() - start < rows {
                read_dictionary(keys, indexes, value_type, rows - (indexes.len() - start), cursor, limits)?;
            }
        }
        Values::Nothing(known) => {
            cursor.take(rows)?;
            *known += rows;
        }
    }
    Ok(())
}

fn read_tuple(
    values: &mut Values,
    types: &[&ColumnType],
    rows: usize,
    cursor: &mut Cursor<'_>,
    limits: Limits,
) -> Result<(), Stop> {
    if let Values::Tuple { rows: known, children } = values {
        for (child, column_type) in children.iter_mut().zip(types) {
            read(child, column_type, rows, cursor, limits)?;
        }
        *known += rows;
    }
    Ok(())
}

/// Reads where the rows end and gives the number of items.
fn read_ends(
    ends: &mut Vec<i32>,
    rows: usize,
    cursor: &mut Cursor<'_>,
    limits: Limits,
) -> Result<usize, Stop> {
    let before = ends.last().copied().unwrap_or(0);
    let bytes = cursor.take_values(rows, 8)?;
    let mut last = 0;
    for word in bytes.as_chunks::<8>().0 {
        let end = u64::from_le_bytes(*word);
        if end < last {
            let message = format!("an array ends at item {end}, before it begins at {last}");
            return Err(ValueError::new(ErrorCode::INCORRECT_DATA, message).into());
        }
        if end > limits.array_items {
            return Err(too_long(end, limits.array_items, "array", "format_binary_max_array_size").into());
        }
        let end_here = i32::try_from(end).ok().and_then(|end| end.checked_add(before));
        // Arrays of a batch hold at most 2^31 items together.
        ends.push(end_here.ok_or_else(|| too_long(end, 1 << 31, "array", "the layout of arrays"))?);
        last = end;
    }
    Ok(usize_of(last))
}

/// Bytes of an index of a dictionary with these flags.
pub(crate) fn index_width(flags: u64) -> Result<usize, ValueError> {
    let bad = |message: String| ValueError::new(ErrorCode::INCORRECT_DATA, message);
    if flags & GLOBAL_KEYS != 0 || flags & OWN_KEYS == 0 {
        return Err(bad(format!(
            "dictionary flags {flags:#x}: only keys that come with their block are read"
        )));
    }
    match flags & INDEX_WIDTH {
        code @ 0..=3 => Ok(1_usize << code),
        other => Err(bad(format!("dictionary flags have the width {other} of indexes, 0 to 3 are known"))),
    }
}

fn read_dictionary(
    keys: &mut Column,
    indexes: &mut Vec<u32>,
    value_type: &ColumnType,
    rows_left: usize,
    cursor: &mut Cursor<'_>,
    limits: Limits,
) -> Result<(), Stop> {
    let bad = |message: String| Stop::Bad(ValueError::new(ErrorCode::INCORRECT_DATA, message));
    let width = index_width(cursor.u64()?)?;
    let first_key = u64_of(keys.len());
    let count = usize_of(cursor.u64()?);
    read(keys, value_type, count, cursor, limits)?;
    let rows = usize_of(cursor.u64()?);
    if rows == 0 || rows > rows_left {
        return Err(bad(format!("a dictionary has {rows} rows where 1 to {rows_left} are expected")));
    }
    for index in cursor.take_values(rows, width)?.chunks(width) {
        let index = index.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        // Index 0 is NULL or the default in the keys of every part of the column.
        let in_all = if index == 0 { Some(0) } else { index.checked_add(first_key) };
        indexes.push(in_all.and_then(|index| u32::try_from(index).ok()).unwrap_or(u32::MAX));
    }
    Ok(())
}

pub(crate) fn without_padding(padded: &[u8]) -> &[u8] {
    let end = padded.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    &padded[..end]
}

/// Appends every value.
pub(crate) fn write(column: &Column, column_type: &ColumnType, out: &mut Vec<u8>) {
    if column.len() == 0 {
        return;
    }
    if let Some(nulls) = &column.nulls {
        out.extend_from_slice(nulls);
    }
    let value_type = column_type.value_type();
    match &column.values {
        Values::Fixed { bytes, .. } => out.extend_from_slice(bytes),
        Values::Text { ends, .. } => {
            for row in 0..ends.len() {
                write_text(column.cell(row), value_type, out);
            }
        }
        Values::List { ends, item } => {
            out.extend(ends.iter().flat_map(|end| u64_of(offset(i64::from(*end))).to_le_bytes()));
            match value_type {
                ColumnType::Array(inner) => write(item, inner, out),
                ColumnType::Map(key, value) => write_tuple(item, &[key.as_ref(), value.as_ref()], out),
                _ => {}
            }
        }
        Values::Tuple { rows, children } => {
            let ColumnType::Tuple(elements) = value_type else { return };
            if children.is_empty() {
                out.resize(out.len() + rows, NOTHING);
            }
            let types: Vec<&ColumnType> = elements.iter().map(|element| &element.column_type).collect();
            write_tuple(column, &types, out);
        }
        // Read, never written.
        Values::Views(_) => {}
        Values::Dictionary { keys, indexes } => write_dictionary(keys, indexes, value_type, out),
        Values::Nothing(rows) => out.resize(out.len() + rows, NOTHING),
    }
}

fn write_tuple(column: &Column, types: &[&ColumnType], out: &mut Vec<u8>) {
    if let Values::Tuple { children, .. } = &column.values {
        children.iter().zip(types).for_each(|(child, t)| write(child, t, out));
    }
}

/// A text, or a fixed text with its padding.
pub(crate) fn write_text(text: &[u8], value_type: &ColumnType, out: &mut Vec<u8>) {
    if let ColumnType::FixedString(width) = value_type {
        let start = out.len();
        out.extend_from_slice(text);
        out.resize(start + usize::try_from(*width).unwrap_or(0), 0);
    } else {
        put_number(out, u64_of(text.len()));
        out.extend_from_slice(text);
    }
}

fn write_dictionary(keys: &Column, indexes: &[u32], value_type: &ColumnType, out: &mut Vec<u8>) {
    let width: usize = match keys.len() {
        ..=0x100 => 1,
        0x101..=0x1_0000 => 2,
        _ => 4,
    };
    let flags = OWN_KEYS | NEW_KEYS | u64::from(width.trailing_zeros());
    out.extend_from_slice(&flags.to_le_bytes());
    out.extend_from_slice(&u64_of(keys.len()).to_le_bytes());
    write(keys, value_type, out);
    out.extend_from_slice(&u64_of(indexes.len()).to_le_bytes());
    for index in indexes {
        out.extend_from_slice(&index.to_le_bytes()[..width]);
    }
}
