//! What only CSV allows: values that are no text in single quotes, and arrays without their brackets.
//!
//! Invariant: in another format nothing here changes a cell. Must not know: how values are read.

use model::ColumnType;

use super::BuilderOptions;
use super::store::Store;
use crate::error::ValueError;
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
