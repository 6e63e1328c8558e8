//! Errors of storage, formats and casts as the boundary's error.
//!
//! Invariant: each variant is mapped by what its reader can do about it.

use catalog::{CatalogError, RefusedWhy};
use commitlog::{AppendRefused, LogError};
use functions::cast::CastError;
use host::MemoryRefused;
use mergetree::TableError;
use model::PartDescriptor;
use parts::PartError;
use physical::PhysicalError;

use crate::boundary::error::{Error, ErrorKind};

/// What to do about a damaged part.
const DAMAGED: &str = "put the file back from a copy; what does not need this part can be read as before, and CHECK TABLE \
                       looks at all parts of a table";

impl Error {
    /// Says of which table and part damage is.
    #[must_use]
    pub(crate) fn of_part(self, table: &str, part: &PartDescriptor) -> Error {
        let message = format!("table \"{table}\", part {}: {}", part.name(), self.message);
        Error { message, ..self }
    }
}

/// For whoever has lost a part of a folder.
const PUT_BACK: &str = "nothing was changed: put back from a copy what is missing and open it again, or bring back what the parts hold: gristmill restore OLD NEW";

impl From<RefusedWhy> for Error {
    fn from(why: RefusedWhy) -> Error {
        use RefusedWhy as Why;
        let (kind, code) = match &why {
            Why::UnknownTable(_) => (ErrorKind::UnknownObject, 60),
            Why::UnknownDatabase(_) => (ErrorKind::UnknownObject, 81),
            Why::TableExists(_) => (ErrorKind::AlreadyExists, 57),
            Why::DatabaseExists(_) => (ErrorKind::AlreadyExists, 82),
            Why::DatabaseBuiltIn(_) => (ErrorKind::Denied, 497),
            Why::LabelExists { .. } | Why::TokenExists { .. } | Why::LoadOpen { .. } => {
                (ErrorKind::AlreadyExists, 36)
            }
            Why::UnknownCollection(_) => (ErrorKind::UnknownObject, 669),
            Why::CollectionExists(_) => (ErrorKind::AlreadyExists, 670),
            Why::UnknownLoad(_) => (ErrorKind::Conflict, 1002),
            Why::Invalid(_) => (ErrorKind::BadInput, 36),
            Why::SchemaChanged { .. }
            | Why::RowsAdded(_)
            | Why::PartNotLive { .. }
            | Why::PartExists { .. }
            | Why::PartBetween { .. }
            | Why::FlushOutdated { .. } => (ErrorKind::Conflict, 1002),
        };
        let error = Error::new(kind, code, why.to_string());
        match &why {
            Why::LoadOpen { label, .. } => error.with_hint(format!(
                "RESUME LOAD '{label}' finishes it, CANCEL LOAD '{label}' gives it up; or choose another label"
            )),
            _ => error,
        }
    }
}

impl From<CatalogError> for Error {
    fn from(error: CatalogError) -> Error {
        Error::from(&error)
    }
}

impl From<&CatalogError> for Error {
    fn from(error: &CatalogError) -> Error {
        let (kind, code) = match error {
            CatalogError::Unrecoverable(_) | CatalogError::Checkpoint(_) => (ErrorKind::Corruption, 1002),
            CatalogError::Log(LogError::Lacking { .. } | LogError::Corruption { .. }) => {
                (ErrorKind::Corruption, 246)
            }
            CatalogError::NotLogged(AppendRefused::Space(_)) => (ErrorKind::Limit, 243),
            CatalogError::NotLogged(_) => (ErrorKind::Limit, 1002),
            CatalogError::Log(_) | CatalogError::Poisoned(_) => (ErrorKind::Unavailable, 1002),
        };
        let hint = match error {
            CatalogError::NotLogged(AppendRefused::Space(_)) => "free space on the disk and try again",
            CatalogError::Log(LogError::Locked { .. }) => "end that process, or give another folder",
            CatalogError::Log(LogError::TooNew { .. }) => "use the newer version of Gristmill that wrote it",
            CatalogError::Log(LogError::Corruption { .. }) => "restore the folder from a copy",
            CatalogError::Log(LogError::Lacking { .. }) | CatalogError::Unrecoverable(_) => PUT_BACK,
            CatalogError::Poisoned(_) => "open the database again",
            _ => return Error::new(kind, code, error.to_string()),
        };
        Error::new(kind, code, error.to_string()).with_hint(hint)
    }
}

impl From<TableError> for Error {
    fn from(error: TableError) -> Error {
        Error::from(&error)
    }
}

impl From<&TableError> for Error {
    fn from(error: &TableError) -> Error {
        let text = error.to_string();
        match error {
            TableError::Part(part) => part.into(),
            TableError::Key(_) => Error::new(ErrorKind::BadInput, 36, text),
            TableError::TooManyPartitions { .. } => Error::new(ErrorKind::Limit, 252, text)
                .with_hint("raise max_partitions_per_insert_block, or insert fewer partitions at once"),
            TableError::TooManyParts { .. } | TableError::TooManyPartsInTotal { .. } => {
                Error::new(ErrorKind::Limit, 252, text)
                    .with_hint("insert more rows at once, or OPTIMIZE the table, and try again")
            }
            TableError::InlineFull { .. } => Error::new(ErrorKind::Limit, 241, text)
                .with_hint("wait for the next flush and try again, or insert more rows at once"),
            TableError::Rows { .. } => Error::new(ErrorKind::BadInput, 36, text),
            TableError::InlineDamaged { .. } => Error::new(ErrorKind::Corruption, 33, text),
            TableError::Memory(_) => Error::new(ErrorKind::Limit, 241, text)
                .with_hint("raise max_memory_usage, or ask for less at once"),
            TableError::Catalog(catalog) => catalog.into(),
            TableError::Refused(why) => why.clone().into(),
            TableError::OutcomeUnknown(_) => Error::new(ErrorKind::OutcomeUnknown, 1002, text),
            TableError::LogMissing { .. } => Error::new(ErrorKind::Corruption, 246, text).with_hint(PUT_BACK),
            TableError::Gather(_) => Error::internal(text),
            TableError::Cancelled => Error::cancelled(),
        }
    }
}

impl From<MemoryRefused> for Error {
    fn from(refused: MemoryRefused) -> Error {
        Error::new(ErrorKind::Limit, 241, refused.to_string())
            .with_hint("raise max_memory_usage, or ask for less at once")
    }
}

impl From<PartError> for Error {
    fn from(error: PartError) -> Error {
        Error::from(&error)
    }
}

impl From<&PartError> for Error {
    fn from(error: &PartError) -> Error {
        let text = error.to_string();
        match error {
            PartError::Disk { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => {
                Error::new(ErrorKind::Limit, 243, text).with_hint("free space on the disk and try again")
            }
            PartError::Disk { .. } => Error::new(ErrorKind::Unavailable, 1002, text),
            PartError::Damaged { .. } => Error::new(ErrorKind::Corruption, 246, text).with_hint(DAMAGED),
            PartError::Checksum { .. } => Error::new(ErrorKind::Corruption, 40, text).with_hint(DAMAGED),
            PartError::UnknownFormat { .. } => Error::new(ErrorKind::Unsupported, 48, text),
            PartError::Write { .. } | PartError::Evolve { .. } | PartError::Unsorted { .. } => {
                Error::internal(text)
            }
        }
    }
}

/// A node's error is found inside of DataFusion's, where it stays.
impl From<&PhysicalError> for Error {
    fn from(error: &PhysicalError) -> Error {
        match error {
            PhysicalError::BadInput { code, message } => {
                Error::new(ErrorKind::BadInput, *code, message.clone())
            }
            PhysicalError::Unsupported(what) => Error::unsupported(what),
            PhysicalError::Limit { code, message, hint } => {
                Error::new(ErrorKind::Limit, *code, message.clone()).with_hint(*hint)
            }
            PhysicalError::Internal(message) => Error::internal(message.clone()),
            PhysicalError::Memory(refused) => refused.clone().into(),
            PhysicalError::Function(function) => function.clone().into(),
            PhysicalError::Source(source) => source.clone().into(),
            PhysicalError::Table(table) => table.into(),
            PhysicalError::Part { table, part, source } => Error::from(source).of_part(table, part),
        }
    }
}

impl From<CastError> for Error {
    fn from(error: CastError) -> Error {
        functions::FunctionError::from(error).into()
    }
}

impl From<formats::FormatError> for Error {
    fn from(error: formats::FormatError) -> Error {
        Error::new(ErrorKind::BadInput, i32::from(error.code.number()), error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_cannot_open_a_folder_is_told_what_to_do() {
        let path = std::path::PathBuf::from("/data/log");
        let corrupt =
            LogError::Corruption { path: path.clone(), offset: 7, what: "a torn record".to_owned() };
        for (error, hint) in [
            (LogError::Locked { path: path.clone() }, "another folder"),
            (LogError::Lacking { path: path.clone(), what: "it ends".to_owned() }, "nothing was changed"),
            (LogError::TooNew { path, min_reader_version: 9 }, "newer version"),
            (corrupt, "from a copy"),
        ] {
            let error = Error::from(CatalogError::Log(error));
            assert!(error.message.contains("/data/log"), "{}", error.message);
            assert!(error.hint.as_deref().is_some_and(|given| given.contains(hint)), "{:?}", error.hint);
        }
    }
}
