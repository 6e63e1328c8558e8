//! Objects that an INSERT is writing outside of the database, as the log remembers them until they are visible or gone.
//!
//! Invariant: plain data without secrets: it names who may finish an object, never with what key. Must not know: how
//! objects are written, when a statement commits.

use std::sync::Arc;

/// Whose credentials wrote an object, and so can complete or abort it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ExportCredentials {
    /// Requests without a signature, and files.
    Nobody,
    /// Those the process was started with.
    Ambient,
    /// Those of the statement, which are kept nowhere: another statement has to bring them.
    Statement,
}

/// A bucket, or the file system of the machine.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ExportStore {
    /// Scheme, host and port; empty for files.
    pub endpoint: Arc<str>,
    /// Empty for files.
    pub bucket: Arc<str>,
    /// The bucket is part of the host name.
    pub virtual_host: bool,
    pub region: Option<Arc<str>>,
    /// Of an Azure container; `None` for all else.
    pub account: Option<Arc<str>>,
    pub credentials: ExportCredentials,
}

/// One object that nobody sees yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExportObject {
    pub store: Arc<ExportStore>,
    /// Of the object; of a file its absolute path.
    pub key: Arc<str>,
    /// Of the upload in parts; of a file the path of the temporary one.
    pub upload: Arc<str>,
    /// What completing the upload needs to name, in order. Empty while it runs, and for files but for those that must not
    /// replace another, which have `new`.
    pub parts: Vec<Arc<str>>,
    /// Bytes of the object, once all are written.
    pub bytes: u64,
}

impl ExportStore {
    /// The file system of the machine.
    pub fn files() -> ExportStore {
        ExportStore {
            endpoint: "".into(),
            bucket: "".into(),
            virtual_host: false,
            region: None,
            account: None,
            credentials: ExportCredentials::Nobody,
        }
    }

    pub fn is_files(&self) -> bool {
        self.endpoint.is_empty()
    }
}

impl ExportObject {
    /// `bucket/key`, or the path.
    pub fn shown(&self) -> String {
        match self.store.is_files() {
            true => self.key.to_string(),
            false => format!("{}/{}", self.store.bucket, self.key),
        }
    }
}
