//! The frozen input of a load that can be resumed: which files in which version, and where they were cut.
//!
//! Invariant: plain data, never changed after it is in the log; a unit lies in one file. Must not know: where files
//! are, how units are read.

use std::ops::Range;
use std::sync::Arc;

/// One file of the listing a load was opened with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StagedFile {
    pub path: Arc<str>,
    pub bytes: u64,
    /// The store's version of it (an etag), or size and time of change; `None` where nothing tells versions apart.
    pub version: Option<Arc<str>>,
}

/// What decides the rows of a load beside its files, as it was when the load was opened.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StagedInput {
    pub format: Arc<str>,
    /// Names and types of the files' columns, in the order of `*`.
    pub columns: Vec<(Arc<str>, Arc<str>)>,
    /// Where the statement's names without a database lie.
    pub current_database: Arc<str>,
    pub token: Option<Arc<str>>,
    /// Names and values of settings that are not as they are by default.
    pub settings: Vec<(Arc<str>, Arc<str>)>,
}

/// A piece of one file, loaded wholly or not at all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StagedUnit {
    /// Position in the list of files.
    pub file: u32,
    /// Row groups of a Parquet file; `None` is the whole file, or a range of it.
    pub row_groups: Option<Vec<u32>>,
    /// Bytes of a text file, whole records; `None` is the whole file.
    pub range: Option<Range<u64>>,
    /// Bytes as stored, of all columns.
    pub bytes: u64,
    /// Rows, where metadata tells.
    pub rows: Option<u64>,
}
