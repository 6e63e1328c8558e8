//! Text (`[1,2]`, `('a',1)`, `{'k':1}`) -> arrays, tuples and maps.
//!
//! Invariant: text is split into the texts of its elements, all rows at once, and those are converted as columns of
//! text; so elements of any depth follow the same rules as whole values.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use model::ColumnType;

use super::caster::{CastMode, Caster, Column};
use super::nested::failed;
use super::problem::{CastError, Problem};
use crate::columns::container::{list_of, map_of, nulls_of, offsets_of, tuple_of};

/// Texts of elements of all rows, column by column.
struct Elements {
    columns: Vec<StringViewBuilder>,
    types: Vec<ColumnType>,
    lengths: Vec<usize>,
}

impl Caster {
    pub(super) fn nested_from_text(&self, column: &Column<'_>) -> Result<ArrayRef, CastError> {
        let types: Vec<ColumnType> = match column.to {
            ColumnType::Array(inner) => vec![(**inner).clone()],
            ColumnType::Map(key, value) => vec![(**key).clone(), (**value).clone()],
            ColumnType::Tuple(elements) => {
                elements.iter().map(|element| element.column_type.clone()).collect()
            }
            _ => return Err(column.unsupported()),
        };
        let columns = types.iter().map(|_| StringViewBuilder::new()).collect();
        let mut elements = Elements { columns, types, lengths: Vec::new() };
        let text = column.array.as_string_view();
        let mut failed_rows = Vec::new();
        for row in 0..text.len() {
            let split = if text.is_null(row) { Ok(Vec::new()) } else { split(text.value(row), column.to) };
            let pieces = match split {
                Ok(pieces) => pieces,
                Err(problem) => {
                    self.check(problem, row, column)?;
                    failed_rows.push(row);
                    Vec::new()
                }
            };
            elements.push(&pieces, column.to);
        }
        let nulls = self.nulls_with(text, &failed_rows);
        let (types, lengths) = (elements.types, elements.lengths);
        let mut arrays = Vec::with_capacity(types.len());
        // Elements that do not convert are errors, whatever becomes of whole texts that do not.
        let inner = Caster {
            mode: if self.mode == CastMode::OrNull { CastMode::OrDefault } else { self.mode },
            ..*self
        };
        for (mut builder, to) in elements.columns.into_iter().zip(&types) {
            let texts: ArrayRef = Arc::new(builder.finish());
            let from = ColumnType::Nullable(Box::new(ColumnType::String));
            let from = if texts.null_count() > 0 { from } else { ColumnType::String };
            arrays.push(inner.column(&texts, &from, to)?);
        }
        let nulls = nulls.or_else(|| nulls_of(text));
        let built = match (column.to, arrays.as_slice()) {
            (ColumnType::Array(element), [values]) => {
                list_of(element, offsets_of(lengths), Arc::clone(values), nulls)
            }
            (ColumnType::Map(key, value), [keys, values]) => {
                map_of(key, value, offsets_of(lengths), Arc::clone(keys), Arc::clone(values), nulls)
            }
            (ColumnType::Tuple(elements), _) => tuple_of(elements, arrays, nulls, text.len()),
            _ => return Err(column.unsupported()),
        };
        built.map_err(|error| failed(&error, column))
    }
}

impl Elements {
    /// Adds one row; a tuple without pieces (a NULL or failed row) gets empty elements.
    fn push(&mut self, pieces: &[Piece<'_>], to: &ColumnType) {
        let width = self.columns.len().max(1);
        if matches!(to, ColumnType::Tuple(_)) && pieces.is_empty() {
            self.columns.iter_mut().for_each(StringViewBuilder::append_null);
        }
        for (index, piece) in pieces.iter().enumerate() {
            let column = &mut self.columns[index % width];
            match piece {
                Piece::Null => column.append_null(),
                Piece::Bare(text) => column.append_value(text),
                Piece::Quoted(text) => column.append_value(text),
            }
        }
        self.lengths.push(pieces.len() / width);
    }
}

/// The text of one element.
#[derive(Debug, PartialEq)]
enum Piece<'a> {
    Null,
    Bare(&'a str),
    Quoted(String),
}

/// Splits `[a,b]`, `(a,b)` or `{a:b}` into its pieces.
fn split<'a>(text: &'a str, to: &ColumnType) -> Result<Vec<Piece<'a>>, Problem> {
    let (open, close) = match to {
        ColumnType::Array(_) => ('[', ']'),
        ColumnType::Map(..) => ('{', '}'),
        _ => ('(', ')'),
    };
    let trimmed = text.trim();
    let body = trimmed.strip_prefix(open).ok_or(Problem::Opening(open))?;
    let body = body.strip_suffix(close).ok_or(Problem::Closing(close))?.trim();
    let mut pieces = Vec::new();
    let mut rest = body;
    while !rest.is_empty() {
        let wanted = element_type(to, pieces.len());
        let (piece, after) = piece(rest, wanted)?;
        pieces.push(piece);
        let after = after.trim_start();
        rest = match after.strip_prefix([',', ':']) {
            Some(next) => next.trim_start(),
            None if after.is_empty() => after,
            None => return Err(Problem::Closing(close)),
        };
    }
    let fits = match to {
        ColumnType::Tuple(elements) => pieces.len() == elements.len(),
        ColumnType::Map(..) => pieces.len().is_multiple_of(2),
        _ => true,
    };
    if fits { Ok(pieces) } else { Err(Problem::Elements) }
}

fn element_type(to: &ColumnType, index: usize) -> Option<&ColumnType> {
    match to {
        ColumnType::Array(inner) => Some(inner),
        ColumnType::Map(key, value) => Some(if index.is_multiple_of(2) { key } else { value }),
        ColumnType::Tuple(elements) => elements.get(index).map(|element| &element.column_type),
        _ => None,
    }
}

/// The first piece of the text and what follows it.
fn piece<'a>(text: &'a str, wanted: Option<&ColumnType>) -> Result<(Piece<'a>, &'a str), Problem> {
    if let Some(rest) = text.strip_prefix('\'') {
        return quoted(rest);
    }
    let mut depth = 0_usize;
    let mut in_quotes = false;
    let mut escaped = false;
    let mut end = text.len();
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_quotes => escaped = true,
            '\'' => in_quotes = !in_quotes,
            _ if in_quotes => {}
            '[' | '(' | '{' => depth += 1,
            ']' | ')' | '}' => depth = depth.saturating_sub(1),
            ',' | ':' if depth == 0 => {
                end = at;
                break;
            }
            _ => {}
        }
    }
    let bare = text[..end].trim_end();
    if bare == "NULL" && wanted.is_some_and(ColumnType::is_nullable) {
        return Ok((Piece::Null, &text[end..]));
    }
    if wanted.is_some_and(ColumnType::is_string) {
        return Err(Problem::Quote);
    }
    Ok((Piece::Bare(bare), &text[end..]))
}

fn quoted(text: &str) -> Result<(Piece<'static>, &str), Problem> {
    let mut out = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' => return Ok((Piece::Quoted(out), &text[at + 1..])),
            '\\' => out.push(match chars.next().map(|(_, escaped)| escaped) {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some('0') => '\0',
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some(other) => other,
                None => break,
            }),
            other => out.push(other),
        }
    }
    Err(Problem::Closing('\''))
}
