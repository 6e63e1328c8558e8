//! Where each column of the output comes from.
//!
//! Invariant: a column that is not read from the file hides its namesake there. Must not know: row groups, bytes.

use std::collections::HashMap;

use arrow::datatypes::SchemaRef;
use model::ErrorCode;
use model::value::members::member_named;
use stores::error::{Result, SourceError, SourceErrorKind};

use super::ParquetRead;
use crate::parquet::layout;
use crate::schema::virtual_columns::FileColumn;

/// Where a column of the output comes from.
pub(super) enum Origin {
    /// Position among the decoded columns; JSON text still to be checked.
    Decoded {
        position: usize,
        unchecked: bool,
    },
    /// `tuple.member`: position of the tuple among the decoded columns, and the names behind the point.
    Member {
        position: usize,
        path: String,
    },
    /// One value for the whole file.
    Constant(FileColumn),
    Missing,
}

/// Root columns to decode, in the file's order, and the origin of every output column.
pub(super) fn origins(
    read: &ParquetRead,
    decoded: &SchemaRef,
    width: usize,
) -> Result<(Vec<usize>, Vec<Origin>)> {
    let output = &read.output.fields()[..width];
    let unchecked = layout::unchecked_text(&read.footer);
    let settings = &read.reader.settings;
    // Files of some thousand columns are not searched from the start for each of them; of equal names the first counts.
    let names = |case: fn(&str) -> String| -> HashMap<String, usize> {
        decoded.fields().iter().enumerate().rev().map(|(at, field)| (case(field.name()), at)).collect()
    };
    let exact = names(str::to_owned);
    let in_any_case = if settings.parquet_any_case { names(str::to_lowercase) } else { HashMap::new() };
    let alike = |name: &str| match settings.parquet_any_case {
        true => in_any_case.get(&name.to_lowercase()).copied(),
        false => None,
    };
    let constant = |name: &str| read.constants.iter().find(|column| column.name() == name);
    let stored = |name: &str| exact.get(name).copied().or_else(|| alike(name));
    let found = |name: &str| stored(name).filter(|_| constant(name).is_none());
    let member = |name: &str| {
        // A column of that name hides the member.
        let is_free = found(name).is_none() && constant(name).is_none();
        let member = if is_free { member_named(name, decoded.fields(), found) } else { None };
        member.map(|(root, path)| (root, path.to_owned()))
    };
    let root_of = |name: &str| found(name).or_else(|| member(name).map(|(root, _)| root));
    let mut roots: Vec<usize> = output.iter().filter_map(|field| root_of(field.name())).collect();
    roots.sort_unstable();
    roots.dedup();
    let position = |root: usize| roots.binary_search(&root).unwrap_or(0);
    let origin = |name: &String| match (found(name), member(name)) {
        (Some(root), _) => {
            let unchecked = unchecked.contains(decoded.field(root).name());
            Ok(Origin::Decoded { position: position(root), unchecked })
        }
        (None, Some((root, path))) => Ok(Origin::Member { position: position(root), path }),
        (None, None) => match constant(name) {
            Some(column) => Ok(Origin::Constant(column.clone())),
            None if settings.parquet_missing_columns => Ok(Origin::Missing),
            None => Err(no_column(&read.reader.file.path, name)),
        },
    };
    let origins = output.iter().map(|field| origin(field.name())).collect::<Result<_>>()?;
    Ok((roots, origins))
}

fn no_column(path: &str, column: &str) -> SourceError {
    SourceError::new(SourceErrorKind::BadValue, format!("\"{path}\" has no column \"{column}\""))
        .with_file(path)
        .with_code(ErrorCode::THERE_IS_NO_COLUMN)
        .with_hint("input_format_parquet_allow_missing_columns = 1 reads it as its default")
}
