//! The machine's own file system as a [`Disk`].
//!
//! Invariant: one call is one system call where the contract of [`crate::disk`] allows it; nothing is
//! buffered here, and a failed sync is never retried (Linux marks the pages clean after reporting the error
//! once).
#![expect(clippy::disallowed_methods, reason = "this file is the door to the real disk")]

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};

use crate::disk::{DirEntry, Disk, DiskFile, DiskRead};
use crate::writeback;

/// The real thing.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemDisk;

/// The system's error with the path it does not tell.
fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

impl Disk for SystemDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(path)
            .map_err(|e| at(path, &e))?;
        Ok(Box::new(SystemFile { file: Arc::new(file), end: 0, poisoned: false, early: None }))
    }

    fn open_append(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(|e| at(path, &e))?;
        let end = file.metadata()?.len();
        Ok(Box::new(SystemFile { file: Arc::new(file), end, poisoned: false, early: None }))
    }

    fn open_read(&self, path: &Path) -> io::Result<Arc<dyn DiskRead>> {
        let file = File::open(path).map_err(|e| at(path, &e))?;
        Ok(Arc::new(SystemRead { file }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to).map_err(|e| at(from, &e))
    }

    fn link(&self, file: &Path, name: &Path) -> io::Result<()> {
        std::fs::hard_link(file, name).map_err(|e| at(name, &e))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path).map_err(|e| at(path, &e))
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_dir_all(path).map_err(|e| at(path, &e))
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        std::fs::create_dir_all(path).map_err(|e| at(path, &e))
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        File::open(path).and_then(|dir| dir.sync_all()).map_err(|e| at(path, &e))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        let names = match std::fs::read_dir(dir) {
            Ok(names) => names,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(at(dir, &error)),
        };
        let mut entries = Vec::new();
        for name in names {
            let name = name?;
            let metadata = match name.metadata() {
                Ok(metadata) => metadata,
                // Removed between the listing and the question.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(at(&name.path(), &error)),
            };
            let is_dir = metadata.is_dir();
            let bytes = if is_dir { 0 } else { metadata.len() };
            entries.push(DirEntry { name: name.file_name().to_string_lossy().into_owned(), bytes, is_dir });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        path.try_exists().map_err(|e| at(path, &e))
    }

    fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        fs4::available_space(path).map_err(|e| at(path, &e))
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        match lock_of(open.map_err(|e| at(path, &e))?, path)? {
            Ok(lock) => Ok(lock),
            Err(error) => Err(at(path, &error)),
        }
    }

    fn lock_dir(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        let dir = File::open(path).map_err(|e| at(path, &e))?;
        Ok(lock_of(dir, path)?.unwrap_or_else(|_no_such_locks| Box::new(())))
    }
}

/// The outer error is that somebody has it, the inner one that the system does not lock such a file.
fn lock_of(file: File, path: &Path) -> io::Result<io::Result<Box<dyn Send + Sync>>> {
    match file.try_lock() {
        Ok(()) => Ok(Ok(Box::new(file))),
        Err(TryLockError::WouldBlock) => {
            let message = format!("{}: locked by another process or handle", path.display());
            Err(io::Error::new(ErrorKind::WouldBlock, message))
        }
        Err(TryLockError::Error(error)) => Ok(Err(error)),
    }
}

struct SystemFile {
    file: Arc<File>,
    /// Length as this handle knows it; there is one writer per file.
    end: u64,
    poisoned: bool,
    /// The outcome of a sync that was begun early.
    early: Option<Receiver<io::Result<()>>>,
}

impl SystemFile {
    /// Takes note of a failed early sync: the kernel will not report it again.
    fn end_early(&mut self) -> io::Result<()> {
        let Some(early) = self.early.take() else { return Ok(()) };
        let lost = |_| Err(io::Error::other("the outcome of a sync was lost"));
        let outcome = early.recv().unwrap_or_else(lost);
        self.poisoned |= outcome.is_err();
        outcome
    }

    fn check(&self) -> io::Result<()> {
        if self.poisoned {
            return Err(io::Error::other(
                "an earlier sync of this file failed; what is on the disk is unknown",
            ));
        }
        Ok(())
    }
}

impl DiskFile for SystemFile {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.check()?;
        self.file.write_all_at(bytes, offset)?;
        self.end = self.end.max(offset.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX)));
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_at(self.end, bytes)
    }

    fn start_sync(&mut self) {
        match self.early.as_ref().map(Receiver::try_recv) {
            // It is still at the one before.
            Some(Err(TryRecvError::Empty)) => return,
            Some(Ok(Err(_)) | Err(TryRecvError::Disconnected)) => self.poisoned = true,
            Some(Ok(Ok(()))) | None => {}
        }
        self.early = if self.poisoned { None } else { writeback::begin(&self.file) };
    }

    fn sync_data(&mut self) -> io::Result<()> {
        self.check()?;
        self.end_early()?;
        let synced = self.file.sync_data();
        self.poisoned = synced.is_err();
        synced
    }

    fn len(&self) -> io::Result<u64> {
        self.check()?;
        Ok(self.end)
    }

    fn set_len(&mut self, bytes: u64) -> io::Result<()> {
        self.check()?;
        self.file.set_len(bytes)?;
        self.end = bytes;
        Ok(())
    }
}

#[derive(Debug)]
struct SystemRead {
    file: File,
}

impl DiskRead for SystemRead {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buf, offset)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{create_dir_all_synced, read_all, replace_file};

    #[test]
    fn a_sync_begun_early_is_waited_for() {
        let dir = tempfile::tempdir().expect("tempdir");
        let mut file = SystemDisk.create(&dir.path().join("x")).expect("created");
        for _ in 0..100 {
            file.append(&[7; 10_000]).expect("appended");
            file.start_sync();
        }
        file.sync_data().expect("synced");
        assert_eq!(file.len().expect("length"), 1_000_000);
    }

    #[test]
    fn a_file_is_written_synced_listed_read_renamed_removed() {
        let dir = tempfile::tempdir().expect("tempdir");
        let disk = SystemDisk;
        let nested = dir.path().join("a/b");
        create_dir_all_synced(&disk, &nested).expect("directories");
        let path = nested.join("x.seg");
        let mut file = disk.create(&path).expect("created");
        file.append(b"hello").expect("appended");
        file.write_at(8, b"!").expect("written");
        file.sync_data().expect("synced");
        assert_eq!(file.len().expect("length"), 9);
        assert_eq!(disk.create(&path).err().map(|e| e.kind()), Some(ErrorKind::AlreadyExists));
        assert_eq!(&read_all(&disk, &path).expect("read")[..], b"hello\0\0\0!");
        let entry = DirEntry { name: "x.seg".to_owned(), bytes: 9, is_dir: false };
        assert_eq!(disk.list(&nested).expect("listed"), vec![entry]);
        let read = disk.open_read(&path).expect("opened");
        let error = read.read_at(5, &mut [0; 10]).expect_err("past the end");
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        disk.rename(&path, &nested.join("y.seg")).expect("renamed");
        disk.remove_file(&nested.join("y.seg")).expect("removed");
        assert!(disk.list(&nested).expect("listed").is_empty());
        assert!(disk.list(&dir.path().join("none")).expect("listed").is_empty());
        assert!(disk.free_bytes(dir.path()).expect("free") > 0);
    }

    #[test]
    fn the_second_locker_is_refused_until_the_first_is_gone() {
        let dir = tempfile::tempdir().expect("tempdir");
        let path = dir.path().join("LOCK");
        let held = SystemDisk.lock(&path).expect("locked");
        assert_eq!(SystemDisk.lock(&path).err().map(|e| e.kind()), Some(ErrorKind::WouldBlock));
        drop(held);
        assert!(SystemDisk.lock(&path).is_ok());
    }

    #[test]
    fn replacing_a_file_leaves_one_file() {
        let dir = tempfile::tempdir().expect("tempdir");
        let path = dir.path().join("hint");
        replace_file(&SystemDisk, &path, b"one").expect("first");
        replace_file(&SystemDisk, &path, b"two").expect("second");
        assert_eq!(&read_all(&SystemDisk, &path).expect("read")[..], b"two");
        assert_eq!(SystemDisk.list(dir.path()).expect("listed").len(), 1);
    }
}
