//! One local file while it is written: a temporary one in the folder it will be in.
//!
//! Invariant: nobody sees a byte under the final name before it is renamed, which others do. Must not know: rows.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use host::{Disk, DiskFile, create_dir_all_synced};
use model::export::{ExportObject, ExportStore};
use model::saturating::{u64_of, usize_of};
use stores::error::{Result, SourceError, SourceErrorKind};

use crate::export::destination::file_error;
use crate::export::names::temporary_of;

/// Bytes copied at a time of a file that is appended to.
const COPY_BYTES: u64 = 4 << 20;

/// Stands among the parts of a file that must not replace another.
pub(super) const NEW_FILE: &str = "new";

pub(super) struct LocalFile {
    disk: Arc<dyn Disk>,
    path: String,
    temporary: PathBuf,
    file: Option<Box<dyn DiskFile>>,
    bytes: u64,
    replaces: bool,
}

impl LocalFile {
    /// Nothing is on the disk yet: the names are to be written down first.
    pub(super) fn new(disk: Arc<dyn Disk>, path: String, id: &str, replaces: bool) -> LocalFile {
        let temporary = temporary_of(&path, id);
        LocalFile { disk, path, temporary, file: None, bytes: 0, replaces }
    }

    pub(super) fn object(&self, place: &Arc<ExportStore>) -> ExportObject {
        ExportObject {
            store: Arc::clone(place),
            key: self.path.as_str().into(),
            upload: self.temporary.to_string_lossy().into(),
            parts: if self.replaces { Vec::new() } else { vec![NEW_FILE.into()] },
            bytes: self.bytes,
        }
    }

    /// Makes the temporary file. `appends`: it begins with what the file has, so that renaming it is an append that
    /// happens wholly or not at all. Answers whether it has any bytes already.
    pub(super) fn begin(&mut self, appends: bool) -> Result<bool> {
        let failed = |error: std::io::Error| file_error(&self.temporary, "created", &error);
        if let Some(folder) = self.temporary.parent() {
            create_dir_all_synced(self.disk.as_ref(), folder).map_err(failed)?;
        }
        let mut file = self.disk.create(&self.temporary).map_err(failed)?;
        if appends {
            self.bytes = copy(self.disk.as_ref(), Path::new(&self.path), file.as_mut())
                .map_err(|error| file_error(Path::new(&self.path), "copied", &error))?;
        }
        self.file = Some(file);
        Ok(self.bytes > 0)
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        file.append(bytes).map_err(|error| file_error(&self.temporary, "written", &error))?;
        self.bytes += u64_of(bytes.len());
        Ok(())
    }

    /// The bytes are durable under the temporary name.
    ///
    /// # Errors
    /// Also if another file took the name meanwhile, which this one was not to replace.
    pub(super) fn seal(&mut self) -> Result<()> {
        let (path, failed) = (Path::new(&self.path), |error: std::io::Error| {
            file_error(Path::new(&self.path), "looked for", &error)
        });
        if !self.replaces && self.disk.exists(path).map_err(failed)? {
            return Err(file_came(&self.path));
        }
        let Some(mut file) = self.file.take() else { return Ok(()) };
        file.sync_data().map_err(|error| file_error(&self.temporary, "synced", &error))
    }
}

/// The error of a file that somebody else made while this one was written.
pub(super) fn file_came(path: &str) -> SourceError {
    let message = format!("file \"{path}\" was made by somebody else meanwhile, and is not replaced");
    SourceError::new(SourceErrorKind::Exists, message).with_file(path).with_hint("move the other file away")
}

fn copy(disk: &dyn Disk, from: &Path, to: &mut dyn DiskFile) -> std::io::Result<u64> {
    let source = disk.open_read(from)?;
    let (bytes, mut at) = (source.len()?, 0);
    while at < bytes {
        let piece = usize_of((bytes - at).min(COPY_BYTES));
        to.append(&source.read_bytes(at, piece)?)?;
        at += u64_of(piece);
    }
    Ok(bytes)
}
