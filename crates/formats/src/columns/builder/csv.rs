//! What only CSV allows: values that are no text in single quotes, arrays without their brackets or of CSV of their own.
//!
//! Invariant: in another format nothing here changes a cell. Must not know: how single values are read.

use model::{ColumnType, ErrorCode};

use super::store::{Store, length};
use super::{BuilderOptions, TypedColumnBuilder};
use crate::error::{ValueError, excerpt};
use crate::values::cell::{Cell, TextForm};

/// The text within the single quotes of a bare cell, where its column is no text.
pub(super) fn in_single_quotes<'a>(
    cell: Cell<'a>,
    column_type: &ColumnType,
    options: &BuilderOptions,
) -> Option<&'a [u8]> {
    match cell.text {
        [b'\'', text @ .., b'\'']
            if options.is_csv && cell.form == TextForm::Raw && !is_enum(column_type) =>
        {
            Some(text)
        }
        _ => None,
    }
}

/// Whether values are names, which are read as text is.
pub(super) fn is_enum(column_type: &ColumnType) -> bool {
    matches!(column_type.value_type(), ColumnType::Enum8(_) | ColumnType::Enum16(_))
}

/// Appends a list that is CSV of its own, if the settings have lists so; false if not.
pub(super) fn nested_list(
    cell: Cell<'_>,
    options: &BuilderOptions,
    store: &mut Store,
) -> Result<bool, ValueError> {
    let Store::List { offsets, item } = store else { return Ok(false) };
    if !options.lists_nested {
        return Ok(false);
    }
    let mut scratch = Vec::new();
    items(cell.content(&mut scratch)?, item)?;
    offsets.push(length(item));
    Ok(true)
}

/// Items between commas, or the same in brackets; quotes within quotes are doubled.
fn items(text: &[u8], item: &mut TypedColumnBuilder) -> Result<(), ValueError> {
    let wrong = |code, at: usize, wanted: &str| {
        let rest = excerpt(text.get(at..).unwrap_or_default());
        ValueError::new(code, format!("cannot read a list: expected {wanted} before: {rest}"))
    };
    let blanks = |mut at: usize| {
        while text.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        at
    };
    let is_open = text.first() == Some(&b'[');
    // Texts go on to the next comma, whatever stands in them.
    let ends_at_bracket = !item.column_type().is_string()
        && !matches!(
            item.column_type().value_type(),
            ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Tuple(_)
        );
    let (mut at, mut count) = (blanks(usize::from(is_open)), 0);
    while text.get(at).is_some_and(|byte| *byte != b']') {
        if count > 0 {
            match text.get(at) {
                Some(b',') => at = blanks(at + 1),
                _ => return Err(wrong(ErrorCode::CANNOT_READ_ARRAY_FROM_TEXT, at, "a comma")),
            }
        }
        if text.get(at) == Some(&b']') {
            break;
        }
        let (cell, end) = nested_cell(text, at, ends_at_bracket);
        item.append_text(cell.text, cell.form).map_err(|error| match error.code {
            // Behind the digits that an integer has neither a comma stands nor a bracket.
            ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED if item.column_type().is_integer() => {
                ValueError { code: ErrorCode::CANNOT_READ_ARRAY_FROM_TEXT, ..error }
            }
            _ => error,
        })?;
        (at, count) = (blanks(end), count + 1);
    }
    match text.get(at) {
        Some(_) if is_open => Ok(()),
        None if is_open => {
            Err(wrong(ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED, at, "a closing bracket"))
        }
        _ if count == 0 => Err(wrong(ErrorCode::CANNOT_READ_ARRAY_FROM_TEXT, at, "a bracket or an item")),
        _ => Ok(()),
    }
}

/// The item at `at`, and where it ends.
fn nested_cell(text: &[u8], at: usize, ends_at_bracket: bool) -> (Cell<'_>, usize) {
    let rest = &text[at..];
    if rest.first() != Some(&b'"') {
        let ends = |byte: &u8| *byte == b',' || *byte == b']' && ends_at_bracket;
        let bare = &rest[..rest.iter().position(ends).unwrap_or(rest.len())];
        let form = if bare == b"\\N" { TextForm::Null } else { TextForm::Raw };
        return (Cell { text: bare, form }, at + bare.len());
    }
    let mut end = 1;
    let mut form = TextForm::CsvQuoted;
    while let Some(byte) = rest.get(end) {
        match (byte, rest.get(end + 1)) {
            (b'"', Some(b'"')) => {
                form = TextForm::CsvDoubled(b'"');
                end += 2;
            }
            (b'"', _) => break,
            _ => end += 1,
        }
    }
    (Cell { text: &rest[1..end.min(rest.len())], form }, at + (end + 1).min(rest.len()))
}

/// The text of a list with the brackets it lacks; `None` where it has them.
pub(super) fn bracketed(
    cell: Cell<'_>,
    options: &BuilderOptions,
    store: &Store,
) -> Result<Option<Vec<u8>>, ValueError> {
    let is_cell = matches!(cell.form, TextForm::Raw | TextForm::CsvQuoted | TextForm::CsvDoubled(_));
    if !options.is_csv || !is_cell || !matches!(store, Store::List { .. }) {
        return Ok(None);
    }
    let mut scratch = Vec::new();
    let text = cell.content(&mut scratch)?;
    let begins = text.iter().find(|byte| !byte.is_ascii_whitespace());
    Ok((begins != Some(&b'[')).then(|| [b"[", text, b"]"].concat()))
}
