//! Errors of storage, formats and casts as the boundary's error.
//!
//! Invariant: each variant is mapped by what its reader can do about it.

use catalog::op_format::fields::FormatError;
use catalog::{CatalogError, RefusedWhy};
use commitlog::{AppendRefused, LogError};
use functions::cast::CastError;
use host::MemoryRefused;
use mergetree::TableError;
use model::{ErrorCode, PartDescriptor};
use parts::PartError;
use physical::PhysicalError;
use shared::SharedError;

use crate::error::{Error, ErrorKind};

/// What to do about a damaged part.
const DAMAGED: &str = "put the file back from a copy; what does not need this part can be read as before, and CHECK TABLE \
                       looks at all parts of a table";

impl Error {
    /// Says of which table and part damage is.
    #[must_use]
    pub fn of_part(self, table: &str, part: &PartDescriptor) -> Error {
        let message = format!("table \"{table}\", part {}: {}", part.name(), self.message);
        Error { message, ..self }
    }
}

/// For whoever has lost a part of a folder.
const PUT_BACK: &str = "nothing was changed: put back from a copy what is missing and open it again, or bring back what the parts hold: gristmill restore OLD NEW";
const CUT: &str = "nothing was changed: put back from a copy the records that are missing; to go on without them delete what says that they were there";
const BROKEN: &str = "nothing of this statement was written; put back from a copy what was deleted or changed below stream/; a SELECT without select_sequential_consistency reads what is known";
const NEWER: &str = "nothing of this statement was written; use the newer version of Gristmill that wrote it; a SELECT without select_sequential_consistency reads what is known";

/// Whether a record says that this program is too old for it.
fn is_newer(source: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    let newer = |error: &FormatError| {
        matches!(
            error,
            FormatError::NewerVersion { .. }
                | FormatError::UnknownKind { .. }
                | FormatError::UnknownField { .. }
        )
    };
    source.downcast_ref::<FormatError>().is_some_and(newer)
}

impl From<RefusedWhy> for Error {
    fn from(why: RefusedWhy) -> Error {
        use RefusedWhy as Why;
        let (kind, code) = match &why {
            Why::UnknownTable(_) => (ErrorKind::UnknownObject, ErrorCode::UNKNOWN_TABLE),
            Why::UnknownDatabase(_) => (ErrorKind::UnknownObject, ErrorCode::UNKNOWN_DATABASE),
            Why::TableExists(_) | Why::TableDetached(_) => {
                (ErrorKind::AlreadyExists, ErrorCode::TABLE_ALREADY_EXISTS)
            }
            Why::DatabaseExists(_) => (ErrorKind::AlreadyExists, ErrorCode::DATABASE_ALREADY_EXISTS),
            Why::DatabaseBuiltIn(_) => (ErrorKind::Denied, ErrorCode::ACCESS_DENIED),
            Why::LabelExists { .. } | Why::TokenExists { .. } | Why::LoadOpen { .. } => {
                (ErrorKind::AlreadyExists, ErrorCode::BAD_ARGUMENTS)
            }
            Why::UnknownFunction(_) => (ErrorKind::UnknownObject, ErrorCode::UNKNOWN_FUNCTION),
            Why::UnknownCollection(_) => (ErrorKind::UnknownObject, ErrorCode::NAMED_COLLECTION_DOESNT_EXIST),
            Why::CollectionExists(_) => {
                (ErrorKind::AlreadyExists, ErrorCode::NAMED_COLLECTION_ALREADY_EXISTS)
            }
            Why::UnknownLoad(_) => (ErrorKind::Conflict, ErrorCode::UNKNOWN_EXCEPTION),
            Why::Invalid(_) => (ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS),
            Why::SchemaChanged { .. }
            | Why::RowsAdded(_)
            | Why::DefinitionsChanged
            | Why::ExportKeyTaken { .. }
            | Why::PartNotLive { .. }
            | Why::PartExists { .. }
            | Why::PartBetween { .. }
            | Why::PartSwept { .. }
            | Why::FlushOutdated { .. } => (ErrorKind::Conflict, ErrorCode::UNKNOWN_EXCEPTION),
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
            CatalogError::Unrecoverable(_) | CatalogError::Checkpoint(_) => {
                (ErrorKind::Corruption, ErrorCode::UNKNOWN_EXCEPTION)
            }
            CatalogError::Log(LogError::Lacking { .. } | LogError::Corruption { .. }) => {
                (ErrorKind::Corruption, ErrorCode::CORRUPTED_DATA)
            }
            CatalogError::NotLogged(AppendRefused::Space(_)) => {
                (ErrorKind::Limit, ErrorCode::NOT_ENOUGH_SPACE)
            }
            CatalogError::NotFollowed(why) | CatalogError::NotLogged(why) if why.is_of_bytes() => {
                (ErrorKind::Corruption, ErrorCode::CORRUPTED_DATA)
            }
            CatalogError::NotFollowed(why) | CatalogError::NotLogged(why) if why.needs_newer() => {
                (ErrorKind::Unsupported, ErrorCode::UNKNOWN_EXCEPTION)
            }
            CatalogError::NotLogged(AppendRefused::Unreachable { .. }) | CatalogError::NotFollowed(_) => {
                (ErrorKind::Unavailable, ErrorCode::NETWORK_ERROR)
            }
            CatalogError::NotLogged(AppendRefused::Denied(_)) => (ErrorKind::Denied, ErrorCode::S3_ERROR),
            CatalogError::NotLogged(_) => (ErrorKind::Limit, ErrorCode::UNKNOWN_EXCEPTION),
            CatalogError::Log(_)
            | CatalogError::Poisoned(_)
            | CatalogError::Outrun(_)
            | CatalogError::Faster => (ErrorKind::Unavailable, ErrorCode::UNKNOWN_EXCEPTION),
        };
        let hint = match error {
            CatalogError::NotLogged(AppendRefused::Space(_)) => "free space on the disk and try again",
            CatalogError::NotFollowed(why) | CatalogError::NotLogged(why) if why.is_of_bytes() => BROKEN,
            CatalogError::NotFollowed(why) | CatalogError::NotLogged(why) if why.needs_newer() => NEWER,
            CatalogError::NotLogged(AppendRefused::Unreachable { .. }) => {
                "nothing of this statement was written; try again when the store answers"
            }
            CatalogError::NotFollowed(_) => {
                "try again when the store answers; a SELECT without select_sequential_consistency reads what is known"
            }
            CatalogError::NotLogged(AppendRefused::Denied(_)) => {
                "see what the keys may do in the bucket; nothing was written"
            }
            CatalogError::Log(LogError::Locked { .. }) => "end that process, or give another folder",
            CatalogError::Log(LogError::TooNew { .. }) => "use the newer version of Gristmill that wrote it",
            CatalogError::Log(LogError::Corruption { .. }) => "nothing was changed: put it back from a copy",
            CatalogError::Log(LogError::Replay { source, .. }) if is_newer(&**source) => {
                "use the newer version of Gristmill that wrote it"
            }
            CatalogError::Log(LogError::Lacking { .. }) | CatalogError::Unrecoverable(_) => PUT_BACK,
            CatalogError::Poisoned(_) => "open the database again, with a newer version if one is needed",
            CatalogError::Outrun(_) | CatalogError::Faster => "run the statement again",
            _ => return Error::new(kind, code, error.to_string()),
        };
        Error::new(kind, code, error.to_string()).with_hint(hint)
    }
}

impl From<SharedError> for Error {
    fn from(error: SharedError) -> Error {
        let text = error.to_string();
        let (kind, code, hint) = match error {
            SharedError::Catalog(error) => return error.into(),
            SharedError::Unreachable { .. } => (ErrorKind::Unavailable, ErrorCode::S3_ERROR, UNREACHABLE),
            SharedError::Url(_) => (ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, ROOT_URL),
            SharedError::InUse { .. } => (
                ErrorKind::Unavailable,
                ErrorCode::CANNOT_OPEN_FILE,
                "give each server a cache folder of its own",
            ),
            SharedError::Folder { .. } => {
                (ErrorKind::Unavailable, ErrorCode::CANNOT_OPEN_FILE, "name a folder that can be written")
            }
            SharedError::NotARoot { .. } => {
                (ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, "nothing was written there")
            }
            SharedError::NoRoot { .. } => (
                ErrorKind::BadInput,
                ErrorCode::BAD_ARGUMENTS,
                "name the bucket and the prefix that its servers name",
            ),
            SharedError::NoConditions { .. } => (
                ErrorKind::Unsupported,
                ErrorCode::NOT_IMPLEMENTED,
                "use a store that knows If-None-Match, as S3 does",
            ),
            SharedError::TooNew { .. } => (
                ErrorKind::Unsupported,
                ErrorCode::UNKNOWN_EXCEPTION,
                "use the newer version of Gristmill that wrote it",
            ),
            SharedError::Cut { .. } => (ErrorKind::Corruption, ErrorCode::CORRUPTED_DATA, CUT),
            SharedError::Damaged { .. } => (ErrorKind::Corruption, ErrorCode::CORRUPTED_DATA, PUT_BACK),
        };
        Error::new(kind, code, text).with_hint(hint)
    }
}

const UNREACHABLE: &str = "see whether the bucket is there, AWS_ENDPOINT_URL and AWS_REGION name where it is, and the keys may \
                           read and write it";
const ROOT_URL: &str = "it is s3://bucket/prefix, gs://bucket/prefix, an endpoint's URL with bucket and prefix, az://container/prefix, or file:///folder";

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
            TableError::Key(_) => Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, text),
            TableError::TooManyPartitions { .. } => {
                Error::new(ErrorKind::Limit, ErrorCode::TOO_MANY_PARTS, text)
                    .with_hint("raise max_partitions_per_insert_block, or insert fewer partitions at once")
            }
            TableError::TooManyParts { .. } | TableError::TooManyPartsInTotal { .. } => {
                Error::new(ErrorKind::Limit, ErrorCode::TOO_MANY_PARTS, text)
                    .with_hint("insert more rows at once, or OPTIMIZE the table, and try again")
            }
            TableError::InlineFull { .. } => {
                Error::new(ErrorKind::Limit, ErrorCode::MEMORY_LIMIT_EXCEEDED, text)
                    .with_hint("wait for the next flush and try again, or insert more rows at once")
            }
            TableError::Rows { .. } => Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, text),
            TableError::OutsidePartitions { .. } => {
                Error::new(ErrorKind::BadInput, ErrorCode::INVALID_PARTITION_VALUE, text)
            }
            TableError::IncorrectData(_) => Error::new(ErrorKind::BadInput, ErrorCode::INCORRECT_DATA, text),
            TableError::InlineDamaged { .. } => {
                Error::new(ErrorKind::Corruption, ErrorCode::CANNOT_READ_ALL_DATA, text)
            }
            TableError::Memory(_) => Error::new(ErrorKind::Limit, ErrorCode::MEMORY_LIMIT_EXCEEDED, text)
                .with_hint("raise max_memory_usage, or ask for less at once"),
            TableError::Catalog(catalog) => catalog.into(),
            TableError::Refused(why) => why.clone().into(),
            TableError::OutcomeUnknown(_) => {
                Error::new(ErrorKind::OutcomeUnknown, ErrorCode::UNKNOWN_EXCEPTION, text)
            }
            TableError::LogMissing { .. } => {
                Error::new(ErrorKind::Corruption, ErrorCode::CORRUPTED_DATA, text).with_hint(PUT_BACK)
            }
            TableError::Gather(_) => Error::internal(text),
            TableError::Cancelled => Error::cancelled(),
        }
    }
}

impl From<MemoryRefused> for Error {
    fn from(refused: MemoryRefused) -> Error {
        Error::new(ErrorKind::Limit, ErrorCode::MEMORY_LIMIT_EXCEEDED, refused.to_string())
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
                Error::new(ErrorKind::Limit, ErrorCode::NOT_ENOUGH_SPACE, text)
                    .with_hint("free space on the disk and try again")
            }
            // Keys of parts are random; only copies have names that were given.
            PartError::Disk { source, .. } if source.kind() == std::io::ErrorKind::AlreadyExists => {
                Error::new(ErrorKind::AlreadyExists, ErrorCode::DIRECTORY_ALREADY_EXISTS, text)
            }
            PartError::Disk { .. } => Error::new(ErrorKind::Unavailable, ErrorCode::UNKNOWN_EXCEPTION, text),
            PartError::Damaged { .. } => {
                Error::new(ErrorKind::Corruption, ErrorCode::CORRUPTED_DATA, text).with_hint(DAMAGED)
            }
            PartError::Checksum { .. } => {
                Error::new(ErrorKind::Corruption, ErrorCode::CHECKSUM_DOESNT_MATCH, text).with_hint(DAMAGED)
            }
            PartError::UnknownFormat { .. } => {
                Error::new(ErrorKind::Unsupported, ErrorCode::NOT_IMPLEMENTED, text)
            }
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
            PhysicalError::Stopped => Error::cancelled(),
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
        Error::new(ErrorKind::BadInput, error.code, error.to_string())
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
        let newer = FormatError::NewerVersion { what: "transaction", known: 1, needed: 99 };
        let replay = CatalogError::Log(LogError::Replay { seq: 3, source: newer.into() });
        assert!(Error::from(replay).hint.is_some_and(|hint| hint.contains("newer version")));
    }

    #[test]
    fn a_store_that_is_silent_is_told_from_a_record_that_is_wrong() {
        let why = |kind: std::io::ErrorKind| AppendRefused::Unreachable { seq: 3, source: kind.into() };
        for (kind, expected, hint) in [
            (std::io::ErrorKind::TimedOut, ErrorKind::Unavailable, "when the store answers"),
            (std::io::ErrorKind::InvalidData, ErrorKind::Corruption, "from a copy"),
            (std::io::ErrorKind::Unsupported, ErrorKind::Unsupported, "newer version"),
        ] {
            for error in [CatalogError::NotLogged(why(kind)), CatalogError::NotFollowed(why(kind))] {
                let error = Error::from(error);
                assert_eq!(error.kind, expected, "{error}");
                assert!(error.message.contains("record 3"), "{error}");
                assert!(error.hint.as_deref().is_some_and(|given| given.contains(hint)), "{:?}", error.hint);
            }
        }
    }
}
