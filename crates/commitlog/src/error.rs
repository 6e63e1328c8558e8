//! What can go wrong with the log, by what the caller does about it.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a log does not open, or cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// Another process has the log: end it, or use another folder.
    #[error("log {} is in use by another process", .path.display())]
    Locked { path: PathBuf },
    /// Bytes that were acknowledged are not what was written: restore a copy.
    #[error("log {} is corrupt at byte {offset}: {what}", .path.display())]
    Corruption { path: PathBuf, offset: u64, what: String },
    /// What was durable is not there, or not all of it: put it back.
    #[error("log {} is incomplete: {what}", .path.display())]
    Lacking { path: PathBuf, what: String },
    /// Written by a program too new for this one: update.
    #[error(
        "log {} needs a program that reads record version {min_reader_version}, this one reads up to {}",
        .path.display(),
        crate::record::VERSION
    )]
    TooNew { path: PathBuf, min_reader_version: u16 },
    /// The disk failed.
    #[error("log {}: {source}", .path.display())]
    Io { path: PathBuf, source: io::Error },
    /// The state machine above could not take a record.
    #[error("record {seq} cannot be applied: {source}")]
    Replay { seq: u64, source: Box<dyn Error + Send + Sync> },
}

/// Why nothing was appended, or ever will be, of a record.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The record is not for this log, or not now; the log goes on.
    #[error("record refused: {0}")]
    Refused(AppendRefused),
    /// An earlier append failed with an unknown outcome; nothing more is accepted until the log is opened
    /// again.
    #[error("log poisoned by an earlier failure: {0}")]
    Poisoned(String),
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum AppendRefused {
    #[error("it has {bytes} bytes, the limit is {limit}")]
    TooLarge { bytes: u64, limit: u64 },
    #[error("it has no transaction")]
    Empty,
    /// No room for it, most likely.
    #[error("no space was made for it: {0}")]
    Space(io::Error),
    /// The store does not take it.
    #[error("the store refused it: {0}")]
    Denied(io::Error),
    /// The store does not say what became of a record that was sent before, and nothing may follow it until it does.
    #[error("what became of record {seq}, sent before, is not known yet: {source}")]
    Unreachable { seq: u64, source: io::Error },
    /// Nobody can say now what comes next in the log.
    #[error("record {seq} cannot be read now: {source}")]
    Unread { seq: u64, source: io::Error },
}

impl AppendRefused {
    /// Whether a record that was read is not what it should be, so that trying again does not help.
    pub fn is_of_bytes(&self) -> bool {
        self.of_record() == Some(io::ErrorKind::InvalidData)
    }

    /// Whether a record that was read was written by a program too new for this one.
    pub fn needs_newer(&self) -> bool {
        self.of_record() == Some(io::ErrorKind::Unsupported)
    }

    /// Why what comes next in the log, or is at the seq of a record sent before, was not read.
    fn of_record(&self) -> Option<io::ErrorKind> {
        match self {
            AppendRefused::Unread { source, .. } | AppendRefused::Unreachable { source, .. } => {
                Some(source.kind())
            }
            _ => None,
        }
    }
}

/// Something an open came across that did not keep it from opening.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogFinding {
    /// Bytes behind the last whole record, cut off: a record whose append had not returned, if nothing else has
    /// happened to the file.
    TornEnd { path: PathBuf, offset: u64, bytes: u64, last_seq: u64 },
    /// One copy of the anchor was written again from the other.
    AnchorRepaired { path: PathBuf, why: String },
    /// Neither copy could be read. Records that only they knew of would be missed by nobody.
    AnchorLost { path: PathBuf, last_seq: u64 },
}

impl LogFinding {
    /// Whether a crash cannot explain it.
    pub fn is_damage(&self) -> bool {
        !matches!(self, LogFinding::TornEnd { .. })
    }

    /// Whether records may be gone that nobody knows of.
    pub fn may_have_lost(&self) -> bool {
        matches!(self, LogFinding::AnchorLost { .. })
    }
}

impl fmt::Display for LogFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogFinding::TornEnd { path, offset, bytes, last_seq } => write!(
                f,
                "log {}: {bytes} bytes from byte {offset} on, behind record {last_seq}, are no whole record and were cut off",
                path.display()
            ),
            LogFinding::AnchorRepaired { path, why } => {
                write!(f, "anchor {}: {why}; it was written again from the other copy", path.display())
            }
            LogFinding::AnchorLost { path, last_seq } => write!(
                f,
                "anchor {}: both copies are missing or damaged; the log is sound up to record {last_seq}, and \
                 nobody knows whether there was more",
                path.display()
            ),
        }
    }
}
