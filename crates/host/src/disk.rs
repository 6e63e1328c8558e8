//! What the database asks of a disk.
//!
//! The contract is that of a POSIX file system, read pessimistically:
//! * written bytes are durable after [`DiskFile::sync_data`] returned `Ok`, not before;
//! * a file name (created, renamed or removed) is durable after [`Disk::sync_dir`] of its directory returned
//!   `Ok`;
//! * after a failed sync nobody knows what is on the disk, so the file is *poisoned*: every later call on it
//!   fails.
//!
//! Paths are absolute. In the simulator every call is a point where the machine may stop.
//! Must not know: what is in the files.

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    pub name: String,
    /// Length of the file; 0 for a directory.
    pub bytes: u64,
    pub is_dir: bool,
}

/// A file system.
pub trait Disk: Send + Sync + Debug {
    /// Creates a file that does not exist yet, open for reading and writing; `AlreadyExists` otherwise.
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;
    /// Opens an existing file for writing; [`DiskFile::append`] continues at its end.
    fn open_append(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;
    /// Opens an existing file for positioned reads, which may be made by many threads at once.
    fn open_read(&self, path: &Path) -> io::Result<Arc<dyn DiskRead>>;
    /// Renames a file, replacing the target if there is one. Durable after a sync of the target's directory.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives a file a second name; `AlreadyExists` if that is taken. Durable after a sync of its directory.
    fn link(&self, file: &Path, name: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes a directory with everything in it.
    fn remove_dir_all(&self, path: &Path) -> io::Result<()>;
    /// Creates a directory and its missing parents; existing ones are fine. See [`create_dir_all_synced`].
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;
    /// Makes the names in a directory durable.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// The names in a directory, sorted; empty when there is no such directory.
    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>>;
    /// Is there a file or directory of this name?
    fn exists(&self, path: &Path) -> io::Result<bool>;
    /// Bytes that may still be written on the disk of `path`.
    fn free_bytes(&self, path: &Path) -> io::Result<u64>;
    /// Takes the exclusive lock of a file (created when missing), without waiting: `WouldBlock` when somebody
    /// else, in this process or another, has it. Freed when the returned value is dropped or the process
    /// ends.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>>;
    /// The same of a directory itself, so that no name in it matters. Where the file system has no such locks (NFS), the
    /// answer is a lock that keeps nobody out.
    fn lock_dir(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>>;
}

/// A file open for writing.
pub trait DiskFile: Send {
    /// Writes all of `bytes` at `offset`; a gap behind the old end reads as zeros.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Writes all of `bytes` at the end.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Lets the disk begin with what was written, so that a later `sync_data` has less to wait for. Promises nothing; if
    /// it fails, `sync_data` says so.
    fn start_sync(&mut self) {}
    /// Makes bytes and length durable. A failure poisons the file: every later call fails.
    fn sync_data(&mut self) -> io::Result<()>;
    /// Length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Is the file empty?
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Cuts the file, or lengthens it with zeros (which then need no space on the disk: writes to them may
    /// fail).
    fn set_len(&mut self, bytes: u64) -> io::Result<()>;
}

/// A file open for reading.
pub trait DiskRead: Send + Sync + Debug {
    /// Fills `buf` from `offset`; `UnexpectedEof` when the file ends before.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()>;
    /// Length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Is the file empty?
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// `bytes` bytes from `offset` in a buffer of their own.
    fn read_bytes(&self, offset: u64, bytes: usize) -> io::Result<Bytes> {
        let mut buf = vec![0; bytes];
        self.read_at(offset, &mut buf)?;
        Ok(buf.into())
    }
}

/// A whole file.
///
/// # Errors
/// Whatever the disk says; the file is longer than memory can address.
pub fn read_all(disk: &dyn Disk, path: &Path) -> io::Result<Bytes> {
    let file = disk.open_read(path)?;
    let bytes =
        usize::try_from(file.len()?).map_err(|_| io::Error::other("file larger than the address space"))?;
    file.read_bytes(0, bytes)
}

/// Creates a directory with its missing parents, durably: every directory that gained a name is synced.
///
/// One directory is created and synced after the other, so of those that exist already only the deepest may
/// be left unsynced by an interrupted call; its parent is synced again.
///
/// # Errors
/// Whatever the disk says.
pub fn create_dir_all_synced(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    let mut missing = Vec::new();
    let mut at = path;
    while !disk.exists(at)? {
        missing.push(at);
        let Some(parent) = at.parent() else { break };
        at = parent;
    }
    if let Some(parent) = at.parent() {
        match disk.sync_dir(parent) {
            // A folder given to us inside one we may not read: not ours to create, hence durable long ago.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            other => other?,
        }
    }
    for dir in missing.into_iter().rev() {
        disk.create_dir_all(dir)?;
        if let Some(parent) = dir.parent() {
            disk.sync_dir(parent)?;
        }
    }
    Ok(())
}

/// Replaces the whole content of a file, durably: after a crash it holds either the old or the new bytes.
///
/// A leftover of an interrupted call (`<name>.tmp`) is overwritten by the next one.
///
/// # Errors
/// Whatever the disk says; then the old content still stands, or the new one does.
pub fn replace_file(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let parent = path.parent().ok_or_else(|| io::Error::other("a file needs a directory"))?;
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".tmp");
    let temporary = PathBuf::from(temporary);
    if disk.exists(&temporary)? {
        disk.remove_file(&temporary)?;
    }
    let mut file = disk.create(&temporary)?;
    file.append(bytes)?;
    file.sync_data()?;
    disk.rename(&temporary, path)?;
    disk.sync_dir(parent)
}
