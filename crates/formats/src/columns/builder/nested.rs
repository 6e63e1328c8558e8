//! Arrays, maps and tuples out of literals and JSON.
//!
//! Invariant: each element is read by its own builder; bytes of nested values are never copied on the way.

use model::{ColumnType, ErrorCode};

use super::store::{Store, length};
use super::{TypedColumnBuilder, unreadable};
use crate::error::{ValueError, excerpt};
use crate::settings::JsonReading;
use crate::values::cell::{Cell, Items, NotAList, Syntax, TextForm};
use scan::find::ItemEnd;

/// Appends one nested value; NULL and defaults are handled by the caller.
pub(super) fn append(
    column_type: &ColumnType,
    store: &mut Store,
    cell: Cell<'_>,
    scratch: &mut Vec<u8>,
    json: JsonReading,
) -> Result<(), ValueError> {
    // In TabSeparated a nested value's own quotes carry the escapes, so its text is a literal as it stands.
    let (text, syntax) = match cell.form {
        TextForm::Json | TextForm::JsonPlain => (cell.text, Syntax::Json),
        TextForm::Escaped => (cell.text, Syntax::Literal),
        TextForm::Literal if cell.text.first() != Some(&b'\'') => (cell.text, Syntax::Literal),
        _ => (cell.content(scratch)?, Syntax::Literal),
    };
    let result = match store {
        Store::List { offsets, item } => list(text, syntax, item).map(|()| offsets.push(length(item))),
        Store::Map { offsets, key, value, .. } if syntax == Syntax::Json && json.maps_as_lists => {
            pairs(text, key, value, json).map(|()| offsets.push(length(key)))
        }
        Store::Map { offsets, key, value, .. } => {
            map(text, syntax, key, value).map(|()| offsets.push(length(key)))
        }
        Store::Tuple { names, children, rows, .. } => {
            tuple(text, syntax, names, children, json).map(|()| *rows += 1)
        }
        _ => Err(Failure::Shape),
    };
    result.map_err(|failure| match failure {
        Failure::Shape => match syntax.value_end(text, 0) {
            ItemEnd::Open if text.first() == Some(&b'[') => {
                ValueError { code: opened(column_type, text, cell.form), ..unreadable(column_type, text) }
            }
            _ => unreadable(column_type, text),
        },
        Failure::Element(error) => error,
    })
}

/// What is wrong with a list that no bracket closes: its first item, or the missing bracket.
fn opened(column_type: &ColumnType, text: &[u8], form: TextForm) -> ErrorCode {
    let ColumnType::Array(item) = column_type else { return ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED };
    let inner = text.get(1..).unwrap_or_default().trim_ascii_start();
    match (item.value_type(), inner.first()) {
        (ColumnType::Array(_), Some(b'[')) => opened(item, inner, form),
        (ColumnType::String, Some(first)) if !matches!(first, b'\'' | b']' | b'n' | b'N') => {
            ErrorCode::CANNOT_PARSE_QUOTED_STRING
        }
        (number, Some(first)) if number.is_integer() => match first {
            b'0'..=b'9' | b'-' | b'+' | b']' | b'n' | b'N' if form != TextForm::Escaped => {
                ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED
            }
            _ => ErrorCode::CANNOT_READ_ARRAY_FROM_TEXT,
        },
        _ => ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED,
    }
}

/// Either the brackets are wrong or an element is.
enum Failure {
    Shape,
    Element(ValueError),
}

impl From<NotAList> for Failure {
    fn from(_: NotAList) -> Self {
        Failure::Shape
    }
}

impl From<ValueError> for Failure {
    fn from(error: ValueError) -> Self {
        Failure::Element(error)
    }
}

fn element(builder: &mut TypedColumnBuilder, syntax: Syntax, text: &[u8]) -> Result<(), ValueError> {
    let cell = syntax.cell(text);
    // `input_format_null_as_default` is about columns: within a value of JSON, null is the default of all but texts.
    if cell.form == TextForm::Null
        && syntax == Syntax::Json
        && !builder.column_type().value_type().is_string()
    {
        builder.append_default();
        return Ok(());
    }
    builder.append_text(cell.text, cell.form)
}

fn list(text: &[u8], syntax: Syntax, item: &mut TypedColumnBuilder) -> Result<(), Failure> {
    let mut items = Items::new(text, b'[', b']', syntax)?;
    while let Some(text) = items.next()? {
        element(item, syntax, text).map_err(|error| match error.code {
            // In quotes the items are looked for, and one is wrong.
            ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED
                if syntax == Syntax::Literal || text.first() != Some(&b'"') =>
            {
                ValueError { code: ErrorCode::CANNOT_READ_ARRAY_FROM_TEXT, ..error }
            }
            _ => error,
        })?;
    }
    Ok(())
}

fn map(
    text: &[u8],
    syntax: Syntax,
    key: &mut TypedColumnBuilder,
    value: &mut TypedColumnBuilder,
) -> Result<(), Failure> {
    let mut items = Items::new(text, b'{', b'}', syntax)?;
    while let Some((key_text, value_text)) = items.next_pair()? {
        element(key, syntax, key_text)?;
        element(value, syntax, value_text)?;
    }
    Ok(())
}

/// `[{"keys": k, "values": v}, ..]`: a map as the list of its pairs.
fn pairs(
    text: &[u8],
    key: &mut TypedColumnBuilder,
    value: &mut TypedColumnBuilder,
    json: JsonReading,
) -> Result<(), Failure> {
    let mut items = Items::new(text, b'[', b']', Syntax::Json).map_err(|_| {
        let message = format!("a map as a list of its pairs does not start with '[': {}", excerpt(text));
        ValueError::new(ErrorCode::CANNOT_READ_ARRAY_FROM_TEXT, message)
    })?;
    while let Some(item) = items.next()? {
        let (rows, mut members) = (key.len(), Items::new(item, b'{', b'}', Syntax::Json)?);
        while let Some((name, text)) = members.next_pair()? {
            let side = match name {
                b"\"keys\"" => &mut *key,
                b"\"values\"" => &mut *value,
                _ if json.ignore_unknown_elements => continue,
                other => return Err(unknown(other).into()),
            };
            if side.len() != rows {
                return Err(twice(name).into());
            }
            element(side, Syntax::Json, text)?;
        }
        for side in [&mut *key, &mut *value].into_iter().filter(|side| side.len() == rows) {
            side.append_default();
        }
    }
    Ok(())
}

fn unknown(key: &[u8]) -> ValueError {
    let message = format!(
        "the tuple has no element {}; input_format_json_ignore_unknown_keys_in_named_tuple = 1 skips it",
        excerpt(key)
    );
    ValueError::new(ErrorCode::INCORRECT_DATA, message)
}

fn twice(key: &[u8]) -> ValueError {
    let message = format!("JSON object contains duplicate key {}", excerpt(key));
    ValueError::new(ErrorCode::INCORRECT_DATA, message)
}

fn tuple(
    text: &[u8],
    syntax: Syntax,
    names: &[Option<std::sync::Arc<str>>],
    children: &mut [TypedColumnBuilder],
    json: JsonReading,
) -> Result<(), Failure> {
    // Elements without names are those of a list.
    if syntax == Syntax::Json && json.tuples_as_objects && names.iter().any(Option::is_some) {
        return tuple_object(text, names, children, json);
    }
    let (open, close) = if syntax == Syntax::Json { (b'[', b']') } else { (b'(', b')') };
    let mut items = Items::new(text, open, close, syntax)?;
    for child in children {
        let text = items.next()?.ok_or(Failure::Shape)?;
        element(child, syntax, text)?;
    }
    match items.next()? {
        None => Ok(()),
        Some(_) => Err(Failure::Shape),
    }
}

/// Elements by name; a missing one takes its default, an unknown one is skipped, unless settings forbid it. A repeated
/// one is an error.
fn tuple_object(
    text: &[u8],
    names: &[Option<std::sync::Arc<str>>],
    children: &mut [TypedColumnBuilder],
    json: JsonReading,
) -> Result<(), Failure> {
    let rows = children.first().map_or(0, TypedColumnBuilder::len);
    let mut items = Items::new(text, b'{', b'}', Syntax::Json)?;
    let mut scratch = Vec::new();
    while let Some((key, value)) = items.next_pair()? {
        if key.first() != Some(&b'"') {
            let message = format!("expected a key in double quotes, got {}", excerpt(key));
            return Err(ValueError::new(ErrorCode::CANNOT_PARSE_QUOTED_STRING, message).into());
        }
        let name = Cell { text: key, form: TextForm::Json }.content(&mut scratch)?;
        let found = names.iter().position(|n| n.as_ref().is_some_and(|n| n.as_bytes() == name));
        if found.is_none() && !json.ignore_unknown_elements {
            return Err(unknown(key).into());
        }
        if let Some(child) = found.and_then(|at| children.get_mut(at)) {
            // The first child may already hold this row: its length is only the row count before the loop.
            if child.len() != rows {
                return Err(twice(key).into());
            }
            element(child, Syntax::Json, value)?;
        }
    }
    for (at, child) in children.iter_mut().enumerate().filter(|(_, child)| child.len() == rows) {
        if !json.missing_elements_as_defaults {
            let name = names.get(at).and_then(Option::as_deref).unwrap_or_default();
            let message = format!(
                "the JSON object has no element \"{name}\" of the tuple; \
                 input_format_json_defaults_for_missing_elements_in_named_tuple = 1 takes its default"
            );
            return Err(ValueError::new(ErrorCode::INCORRECT_DATA, message).into());
        }
        child.append_default();
    }
    Ok(())
}
