//! Cells into a column of texts.
//!
//! Invariant: text that is known to be text is not looked at again; a cell that fails leaves nothing behind. Must not know:
//! numbers.

use std::borrow::Cow;

use arrow::array::StringViewBuilder;
use model::{ColumnType, ErrorCode, raw_text};

use super::CellError;
use super::column::{Column, plain_text};
use super::refusal::{self, Manner};
use super::store::Store;
use crate::error::{ValueError, excerpt};
use crate::settings::JsonReading;
use crate::values::cell::{Cell, TextForm, bare_value};

/// Appends every cell to a column of texts, or stops at the first that fails.
pub(super) fn texts<'a>(
    column: &mut Column<'_>,
    store: &mut Store,
    cells: impl Iterator<Item = Cell<'a>>,
) -> Result<(), CellError> {
    let Store::Text { values, fixed, rows, .. } = store else { return Ok(()) };
    let json_is_text = column.options.json.any_value_is_text();
    if *rows == 0 && column.rows_expected > 0 {
        **values = StringViewBuilder::with_capacity(column.rows_expected);
    }
    let (column_type, manner, mut uncounted) = (column.column_type, column.options.manner, 0);
    let computes = manner == Manner::Expression && fixed.is_none() && column_type.is_string();
    for (index, cell) in cells.enumerate() {
        let at = |error| CellError { index, error: refusal::coded(cell, column_type, manner, error) };
        let computed = computes.then(|| refusal::as_text(cell)).flatten();
        let cell = computed.as_deref().map_or(cell, |text| Cell { text, form: TextForm::Raw });
        let bytes = match plain_text(cell) {
            Some(bytes) if cell.form != TextForm::Json => bytes,
            _ => {
                column.all_valid(std::mem::take(&mut uncounted));
                if column.is_default(cell).map_err(at)? {
                    values.append_value("");
                    *rows += 1;
                    continue;
                }
                if cell.form == TextForm::Json {
                    must_be_quoted(cell.text, column.column_type, column.options.json).map_err(at)?;
                    bare_value(cell.text).map_err(at)?;
                    if !json_is_text {
                        text_of_json(cell.text, column.options.json).map_err(at)?;
                    }
                }
                column.check_quotes(cell).map_err(at)?;
                cell.content(column.scratch).map_err(at)?
            }
        };
        if fixed.is_none()
            && let Some(text) = part_of(column.plain, bytes)
        {
            values.append_value(text);
            *rows += 1;
            uncounted += 1;
            continue;
        }
        let text = match checked_text(bytes, *fixed, column.column_type) {
            Ok(text) => text,
            Err(error) => {
                column.all_valid(uncounted);
                return Err(at(error));
            }
        };
        values.append_value(text);
        *rows += 1;
        uncounted += 1;
    }
    column.all_valid(uncounted);
    Ok(())
}

/// Bytes that are a part of a text, as text.
#[inline]
fn part_of<'t>(whole: &'t str, bytes: &[u8]) -> Option<&'t str> {
    let start = bytes.as_ptr().addr().wrapping_sub(whole.as_ptr().addr());
    whole.get(start..start.checked_add(bytes.len())?)
}

/// The bytes as text that fits the column; `fixed` is the length of a FixedString. Bytes that are no UTF-8 are carried.
#[inline]
fn checked_text<'t>(
    bytes: &'t [u8],
    fixed: Option<usize>,
    column_type: &ColumnType,
) -> Result<Cow<'t, str>, ValueError> {
    if let Some(limit) = fixed
        && bytes.len() > limit
    {
        let message = format!("text of {} bytes does not fit type {column_type}", bytes.len());
        return Err(ValueError::new(ErrorCode::TOO_LARGE_STRING_SIZE, message));
    }
    let text = raw_text::carry(bytes);
    match (fixed, text) {
        (Some(_), Cow::Borrowed(text)) => Ok(Cow::Borrowed(text.trim_end_matches('\0'))),
        (Some(_), Cow::Owned(mut text)) => {
            text.truncate(text.trim_end_matches('\0').len());
            Ok(Cow::Owned(text))
        }
        (None, text) => Ok(text),
    }
}

/// Refuses what has no quotes where nothing else is looked for: FixedString, and text that no number may be.
fn must_be_quoted(value: &[u8], column_type: &ColumnType, json: JsonReading) -> Result<(), ValueError> {
    let is_fixed = !matches!(column_type.value_type(), ColumnType::String);
    let may_be_bare = match value.first() {
        Some(b'"') => true,
        Some(b'{' | b'[' | b't' | b'f' | b'n') => !is_fixed,
        _ => !is_fixed && json.numbers_as_strings,
    };
    if may_be_bare {
        return Ok(());
    }
    let message = format!(
        "{} stands without quotes, for type {column_type}; input_format_json_read_numbers_as_strings = 1 reads numbers \
         as String",
        excerpt(value)
    );
    Err(ValueError::new(ErrorCode::CANNOT_PARSE_QUOTED_STRING, message))
}

/// Whether the settings let a JSON value that is no string be read as text.
fn text_of_json(value: &[u8], json: JsonReading) -> Result<(), ValueError> {
    let (allowed, what, setting) = match value.first() {
        Some(b'"') => return Ok(()),
        Some(b'{') => (json.objects_as_strings, "an object", "objects"),
        Some(b'[') => (json.arrays_as_strings, "an array", "arrays"),
        Some(b't' | b'f') => (json.bools_as_strings, "a Bool", "bools"),
        _ => (json.numbers_as_strings, "a number", "numbers"),
    };
    if allowed {
        return Ok(());
    }
    let message = format!(
        "{what} is given for a String: {}; input_format_json_read_{setting}_as_strings = 1 reads it as text",
        excerpt(value)
    );
    Err(ValueError::new(ErrorCode::INCORRECT_DATA, message))
}
