//! What can go wrong with the bytes of a part.
//!
//! Invariant: `Damaged` and `Checksum` mean that what was written is not what is read: retrying does not help, another copy does.

use std::io;
use std::path::{Path, PathBuf};

use ::parquet::errors::ParquetError;
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
    #[error(
        "part {part} is damaged: {place}: its checksum is wrong, {found:x} where {written:x} was written"
    )]
    Checksum { part: PartId, place: String, written: u64, found: u64 },
    #[error("part {part} has file format {format}, which this version cannot read")]
    UnknownFormat { part: PartId, format: u16 },
    #[error("rows of version {schema_version} of the columns do not fit the table: {message}")]
    Evolve { schema_version: u32, message: String },
    #[error("rows are not in the order of {key}: row {row} comes before its predecessor")]
    Unsorted { key: String, row: u64 },
}

impl PartError {
    /// The part, if it is not what was written.
    pub fn damaged_part(&self) -> Option<PartId> {
        match self {
            PartError::Damaged { part, .. } | PartError::Checksum { part, .. } => Some(*part),
            _ => None,
        }
    }

    /// Whether a part is not what was written.
    pub fn is_damage(&self) -> bool {
        self.damaged_part().is_some()
    }

    /// An error of the disk or the store, with what was being done to which file.
    pub fn disk(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> PartError + use<> {
        let path = path.to_owned();
        move |source| PartError::Disk { action, path, source }
    }

    pub(crate) fn write(part: PartId, error: impl std::fmt::Display) -> PartError {
        PartError::Write { part, message: error.to_string() }
    }

    /// What the Parquet library says while it writes to `path`: a full disk must still look like one.
    pub(crate) fn encode(part: PartId, path: &Path, error: ParquetError) -> PartError {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
        while let Some(found) = cause {
            if let Some(disk) = found.downcast_ref::<io::Error>() {
                let source = io::Error::new(disk.kind(), disk.to_string());
                return PartError::disk("write", path)(source);
            }
            cause = found.source();
        }
        PartError::write(part, error)
    }

    /// A file of a live part that is gone or too short is damage; what else the disk says says nothing of the part.
    pub(crate) fn unreadable(part: PartId, path: &Path, error: io::Error) -> PartError {
        match error.kind() {
            io::ErrorKind::NotFound => {
                PartError::damaged(part, format!("its file {} is missing", path.display()))
            }
            io::ErrorKind::UnexpectedEof => PartError::damaged(part, error),
            _ => PartError::disk("read", path)(error),
        }
    }

    /// What a storage says of the file of a live part.
    pub(crate) fn unopened(part: PartId, error: PartError) -> PartError {
        match error {
            PartError::Disk { path, source, .. } => PartError::unreadable(part, &path, source),
            other => other,
        }
    }

    pub(crate) fn damaged(part: PartId, error: impl std::fmt::Display) -> PartError {
        PartError::Damaged { part, message: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_found_however_deep_it_is_wrapped() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let wrapped = ParquetError::External(Box::new(ParquetError::External(Box::new(full()))));
        for error in [ParquetError::External(Box::new(full())), wrapped] {
            let error = PartError::encode(PartId::from_random_bytes([7; 16]), Path::new("p"), error);
            let PartError::Disk { source, .. } = error else { panic!("{error}") };
            assert_eq!(source.kind(), io::ErrorKind::StorageFull);
        }
        let other = ParquetError::General("x".to_owned());
        let error = PartError::encode(PartId::from_random_bytes([7; 16]), Path::new("p"), other);
        assert!(matches!(error, PartError::Write { .. }));
    }
}
