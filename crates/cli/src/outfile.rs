//! INTO OUTFILE: an answer as a file on the machine of whoever asks.
//!
//! Invariant: nothing is seen under the file's name before the last byte is written: a statement that fails, or is
//! interrupted, leaves the file as it was. An existing file is only touched when the statement says APPEND or TRUNCATE.
//! Only a device or a pipe, which holds nothing, is written straight. Must not know: formats, methods of compression.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::{Error, ErrorCode, ErrorKind, Existing, Outfile, OutputEncoder};
use host::{Disk, DiskFile};
use model::saturating::usize_of;

/// Bytes copied at a time of a file that is appended to.
const COPY_BYTES: u64 = 4 << 20;

/// A file while it is written.
pub(crate) struct OpenOutfile {
    /// Without one the stream has ended.
    encoder: Option<OutputEncoder>,
    target: Target,
    /// The file has rows already.
    continues: bool,
}

enum Target {
    File(Staged),
    /// A device or a pipe.
    Straight(PathBuf, std::fs::File),
}

/// A temporary file beside the one it becomes. Dropped before its end it is removed.
struct Staged {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    temporary: PathBuf,
    existing: Existing,
    file: Option<Box<dyn DiskFile>>,
}

impl OpenOutfile {
    /// Opens the file a statement names. `id` tells its temporary file from those of other statements.
    pub(crate) fn open(outfile: &Outfile, disk: &Arc<dyn Disk>, id: u64) -> Result<OpenOutfile, Error> {
        let encoder = Some(outfile.encoder()?);
        let named = std::path::absolute(&outfile.path).map_err(|e| unusable(&outfile.path, "opened", &e))?;
        // A link stays a link: what it leads to is written.
        let path = named.canonicalize().unwrap_or(named);
        let shown = path.display().to_string();
        let metadata = std::fs::metadata(&path).ok();
        match &metadata {
            Some(found) if found.is_dir() => {
                let message = format!("file \"{shown}\" cannot be written: it is a folder");
                return Err(Error::new(ErrorKind::BadInput, ErrorCode::CANNOT_OPEN_FILE, message)
                    .with_hint("name a file in it"));
            }
            Some(found) if !found.is_file() => {
                let device = OpenOptions::new().write(true).open(&path);
                let device = device.map_err(|e| unusable(&shown, "opened", &e))?;
                return Ok(OpenOutfile { encoder, target: Target::Straight(path, device), continues: false });
            }
            _ => {}
        }
        let is_there = metadata.is_some();
        if is_there && outfile.existing == Existing::Refuse {
            return Err(exists(&shown));
        }
        let temporary = temporary_of(&path, id);
        let file = disk.create(&temporary).map_err(|e| unusable(&shown, "created", &e))?;
        let (disk, existing) = (Arc::clone(disk), outfile.existing);
        let mut staged = Staged { disk, path, temporary, existing, file: Some(file) };
        let mut continues = false;
        if is_there && existing == Existing::Append {
            // Copied, so that an append happens wholly or not at all.
            continues = staged.copy().map_err(|e| unusable(&shown, "copied", &e))? > 0;
        }
        Ok(OpenOutfile { encoder, target: Target::File(staged), continues })
    }

    /// Whether the file has rows already, and with them the header of its format.
    pub(crate) fn continues(&self) -> bool {
        self.continues
    }

    /// Writes bytes of the answer, as they are shown.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let mut out = Vec::new();
        if let Some(encoder) = &mut self.encoder {
            encoder.encode(bytes, &mut out)?;
        }
        self.target.write(&out)
    }

    /// Everything was written; from here on the file is there.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        let mut out = Vec::new();
        if let Some(encoder) = self.encoder.take() {
            encoder.finish(&mut out)?;
        }
        self.target.write(&out)?;
        match self.target {
            Target::File(staged) => staged.publish(),
            Target::Straight(..) => Ok(()),
        }
    }
}

impl Target {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let (path, written) = match self {
            Target::File(staged) => match &mut staged.file {
                Some(file) => (&staged.path, file.append(bytes)),
                None => (&staged.path, Ok(())),
            },
            Target::Straight(path, device) => (&*path, device.write_all(bytes)),
        };
        written.map_err(|error| unusable(&path.display().to_string(), "written", &error))
    }
}

impl Staged {
    /// Begins with what the file has; answers how many bytes that is.
    fn copy(&mut self) -> io::Result<u64> {
        let Some(file) = &mut self.file else { return Ok(0) };
        let source = self.disk.open_read(&self.path)?;
        let (bytes, mut at) = (source.len()?, 0);
        while at < bytes {
            let piece = (bytes - at).min(COPY_BYTES);
            file.append(&source.read_bytes(at, usize_of(piece))?)?;
            at += piece;
        }
        Ok(bytes)
    }

    fn publish(mut self) -> Result<(), Error> {
        let shown = self.path.display().to_string();
        let failed = |error: io::Error| unusable(&shown, "written", &error);
        if let Some(file) = &mut self.file {
            file.sync_data().map_err(failed)?;
        }
        // Somebody else may have been faster.
        if self.existing == Existing::Refuse && self.disk.exists(&self.path).map_err(failed)? {
            return Err(exists(&shown));
        }
        self.disk.rename(&self.temporary, &self.path).map_err(failed)?;
        self.file = None;
        match self.path.parent() {
            Some(folder) => self.disk.sync_dir(folder).map_err(failed),
            None => Ok(()),
        }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // Under its own name nobody takes it for an answer, should it stay.
            let _ = self.disk.remove_file(&self.temporary);
        }
    }
}

/// In the same folder, so that renaming it is all that is left to do.
fn temporary_of(path: &Path, id: u64) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".{name}.{id:016x}.tmp"))
}

/// In ClickHouse's words.
fn exists(shown: &str) -> Error {
    let message = format!("file \"{shown}\" exists, consider using APPEND or TRUNCATE");
    Error::new(ErrorKind::AlreadyExists, ErrorCode::FILE_ALREADY_EXISTS, message)
}

fn unusable(shown: &str, done: &str, error: &io::Error) -> Error {
    let (kind, code) = match error.kind() {
        io::ErrorKind::NotFound => (ErrorKind::UnknownObject, ErrorCode::FILE_DOESNT_EXIST),
        io::ErrorKind::StorageFull => (ErrorKind::Limit, ErrorCode::NOT_ENOUGH_SPACE),
        io::ErrorKind::PermissionDenied => (ErrorKind::Denied, ErrorCode::CANNOT_OPEN_FILE),
        _ => (ErrorKind::Unavailable, ErrorCode::CANNOT_WRITE_TO_FILE_DESCRIPTOR),
    };
    let failed = Error::new(kind, code, format!("file \"{shown}\" could not be {done}: {error}"));
    match kind {
        ErrorKind::UnknownObject => failed.with_hint("create its folder first"),
        _ => failed,
    }
}

#[cfg(test)]
mod tests;
