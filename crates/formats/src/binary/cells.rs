//! Values written one by one, as RowBinary has them.
//!
//! ```text
//! Nullable    1 for NULL, or 0 and the value      LowCardinality  the value
//! String      length, bytes                       FixedString(n)  n bytes
//! Array       number of items, items              Map             number of pairs, key, value, key, value
//! ```
//!
//! Invariant: a value that could not be read leaves the column to be truncated by the caller. An item takes at least a
//! byte, so that no declared number of items runs ahead of the bytes.

use model::saturating::u64_of;
use model::{ColumnType, ErrorCode};

use super::bulk::{without_padding, write_text};
use super::column::{Column, Values};
use super::wire::{Cursor, Limits, Stop, put_number, too_long};
use crate::error::ValueError;

/// Appends one value.
pub(crate) fn read(
    column: &mut Column,
    column_type: &ColumnType,
    cursor: &mut Cursor<'_>,
    limits: Limits,
) -> Result<(), Stop> {
    if let Some(nulls) = &mut column.nulls {
        let null = cursor.flag("a mark of NULL")?;
        nulls.push(u8::from(null));
        if null {
            column.values.push_default();
            return Ok(());
        }
    }
    let value_type = column_type.value_type();
    match &mut column.values {
        Values::Fixed { width, bytes, .. } => bytes.extend_from_slice(cursor.take(*width)?),
        Values::Text { .. } => {
            let text = match value_type {
                ColumnType::FixedString(width) => {
                    without_padding(cursor.take(usize::try_from(*width).unwrap_or(usize::MAX))?)
                }
                _ => cursor.text(limits)?,
            };
            column.push_text(text);
        }
        Values::List { ends, item } => {
            let items = cursor.items(limits)?;
            read_items(item, value_type, items, cursor, limits)?;
            let end = i32::try_from(item.len());
            ends.push(
                end.map_err(|_| too_long(u64_of(item.len()), 1 << 31, "array", "the layout of arrays"))?,
            );
        }
        Values::Tuple { rows, children } => {
            let ColumnType::Tuple(elements) = value_type else { return Ok(()) };
            for (child, element) in children.iter_mut().zip(elements) {
                read(child, &element.column_type, cursor, limits)?;
            }
            *rows += 1;
        }
        Values::Nothing(rows) => *rows += 1,
        // Of columns only.
        Values::Views(_) | Values::Dictionary { .. } => column.values.push_default(),
    }
    Ok(())
}

fn read_items(
    item: &mut Column,
    value_type: &ColumnType,
    items: usize,
    cursor: &mut Cursor<'_>,
    limits: Limits,
) -> Result<(), Stop> {
    for _ in 0..items {
        let start = cursor.at();
        match (value_type, &mut item.values) {
            (ColumnType::Array(inner), _) => read(item, inner, cursor, limits)?,
            (ColumnType::Map(key, value), Values::Tuple { rows, children }) => {
                for (child, column_type) in children.iter_mut().zip([key, value]) {
                    read(child, column_type, cursor, limits)?;
                }
                *rows += 1;
            }
            _ => {}
        }
        if cursor.at() == start {
            let message = format!("items of {value_type} take no bytes, so their number cannot be believed");
            return Err(ValueError::new(ErrorCode::INCORRECT_DATA, message).into());
        }
    }
    Ok(())
}

/// How the lengths of texts and lists are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lengths {
    /// In as few bytes as hold them.
    Short,
    /// In eight bytes, and texts end with a zero byte that counts, as the format Hash has them.
    Words,
}

/// Appends the bytes of one value.
pub(crate) fn write(
    column: &Column,
    column_type: &ColumnType,
    row: usize,
    lengths: Lengths,
    out: &mut Vec<u8>,
) {
    if column.nulls.is_some() {
        out.push(u8::from(column.is_null(row)));
        if column.is_null(row) {
            return;
        }
    }
    let value_type = column_type.value_type();
    match &column.values {
        Values::Fixed { .. } => out.extend_from_slice(column.cell(row)),
        Values::Text { .. } if lengths == Lengths::Words && *value_type == ColumnType::String => {
            let text = column.cell(row);
            out.extend_from_slice(&u64_of(text.len() + 1).to_le_bytes());
            out.extend_from_slice(text);
            out.push(0);
        }
        Values::Text { .. } => write_text(column.cell(row), value_type, out),
        Values::List { item, .. } => {
            let items = column.items(row);
            match lengths {
                Lengths::Short => put_number(out, u64_of(items.len())),
                Lengths::Words => out.extend_from_slice(&u64_of(items.len()).to_le_bytes()),
            }
            for at in items {
                match (value_type, &item.values) {
                    (ColumnType::Array(inner), _) => write(item, inner, at, lengths, out),
                    (ColumnType::Map(key, value), Values::Tuple { children, .. }) => {
                        children
                            .iter()
                            .zip([key, value])
                            .for_each(|(child, t)| write(child, t, at, lengths, out));
                    }
                    _ => {}
                }
            }
        }
        Values::Tuple { children, .. } => {
            let ColumnType::Tuple(elements) = value_type else { return };
            children
                .iter()
                .zip(elements)
                .for_each(|(child, e)| write(child, &e.column_type, row, lengths, out));
        }
        Values::Nothing(_) | Values::Views(_) | Values::Dictionary { .. } => {}
    }
}
