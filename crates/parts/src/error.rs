//! What can go wrong with the bytes of a part.
//!
//! Invariant: `Damaged` means that what was written is not what is read: retrying does not help, another copy does.

use std::io;
use std::path::{Path, PathBuf};

use model::PartId;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum PartError {
    #[error("cannot {action} {path}: {source}")]
    Disk { action: &'static str, path: PathBuf, source: io::Error },
    #[error("cannot write part {part}: {message}")]
    Write { part: PartId, message: String },
    #[error("part {part} is damaged: {message}")]
    Damaged { part: PartId, message: String },
    #[error("part {part} has file format {format}, which this version cannot read")]
    UnknownFormat { part: PartId, format: u16 },
    #[error("rows of version {schema_version} of the columns do not fit the table: {message}")]
    Evolve { schema_version: u32, message: String },
    #[error("rows are not in the order of {key}: row {row} comes before its predecessor")]
    Unsorted { key: String, row: u64 },
}

impl PartError {
    pub(crate) fn disk(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> PartError {
        let path = path.to_owned();
        move |source| PartError::Disk { action, path, source }
    }

    pub(crate) fn write(part: PartId, error: impl std::fmt::Display) -> PartError {
        PartError::Write { part, message: error.to_string() }
    }

    pub(crate) fn damaged(part: PartId, error: impl std::fmt::Display) -> PartError {
        PartError::Damaged { part, message: error.to_string() }
    }
}
