//! Columns of files that describe themselves, or that have one form only.
//!
//! Invariant: what is found is what the reader of the format will find; a sample that ends too early is an error, after
//! which a longer one may be tried. Must not know: files.

use model::{ColumnType, ErrorCode};

use super::Inferred;
use crate::binary::arrow_stream::{Halt, Messages, columns};
use crate::binary::native;
use crate::binary::row_binary::read_header;
use crate::binary::whole;
use crate::binary::wire::{Cursor, Limits, Stop};
use crate::error::FormatError;
use crate::settings::FormatSettings;
use model::format_kind::{FormatKind, HeaderRows};

/// The columns of a binary format; `None` for formats of text.
pub(super) fn infer(
    kind: FormatKind,
    sample: &[u8],
    settings: &FormatSettings,
) -> Option<Result<Inferred, FormatError>> {
    let (columns, has_header) = match kind {
        FormatKind::Native => (native_columns(sample, settings), false),
        FormatKind::Arrow | FormatKind::ArrowStream => (arrow_columns(kind, sample), false),
        FormatKind::One | FormatKind::RawBlob => (Ok(vec![whole::column(kind)]), false),
        FormatKind::RowBinary
        | FormatKind::RowBinaryWithDefaults
        | FormatKind::RowBinaryWithNames
        | FormatKind::RowBinaryWithNamesAndTypes => (row_binary_columns(kind, sample), true),
        _ => return None,
    };
    Some(columns.map(|columns| Inferred { columns, has_header, rows: 0 }))
}

type Columns = Result<Vec<(String, ColumnType)>, FormatError>;

fn short() -> FormatError {
    FormatError::new(
        ErrorCode::CANNOT_EXTRACT_TABLE_STRUCTURE,
        "the columns are not all in the bytes looked at",
    )
}

fn stopped(stop: Stop) -> FormatError {
    match stop {
        Stop::More(_) => short(),
        Stop::Bad(error) => error.into(),
    }
}

fn row_binary_columns(kind: FormatKind, sample: &[u8]) -> Columns {
    if kind.header_rows() != HeaderRows::NamesAndTypes {
        let message = "the format does not say the types: give the structure as an argument";
        return Err(FormatError::new(ErrorCode::BAD_ARGUMENTS, message));
    }
    let header = read_header(kind, &mut Cursor::new(sample, 0)).map_err(stopped)?;
    Ok(header.names.into_iter().zip(header.types.unwrap_or_default()).collect())
}

/// Names and types stand between the values, so the first block is read.
fn native_columns(sample: &[u8], settings: &FormatSettings) -> Columns {
    let mut cursor = Cursor::new(sample, 0);
    let (count, rows) = native::read_counts(&mut cursor).map_err(stopped)?;
    let mut columns = Vec::new();
    for _ in 0..count {
        let read = native::read_column(&mut cursor, rows, Limits::from(settings));
        let (name, column_type, _) = read.map_err(stopped)?;
        columns.push((name, column_type));
    }
    Ok(columns)
}

fn arrow_columns(kind: FormatKind, sample: &[u8]) -> Columns {
    let mut messages = Messages::new(kind);
    let mut at = 0;
    while at < sample.len() && !messages.ended {
        at += match messages.next(&sample[at..]) {
            Ok((used, _)) => used,
            Err(Halt::More(_)) => return Err(short()),
            Err(Halt::Bad(error)) => return Err(error),
        };
        if let Some(schema) = messages.schema() {
            return columns(&schema);
        }
    }
    Err(short())
}
