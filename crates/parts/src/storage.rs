//! What the database asks of whatever holds its parts: a folder on a disk, or a bucket.
//!
//! Files have keys: names joined by `/`, below the root of the storage, as a descriptor keeps them
//! (`data/<table uuid>/<part uuid>.parquet`). Files that share the beginning of their keys up to a `/` are a *folder*, which
//! has no life of its own: it is there while files are in it, and keeping an empty one, or forgetting it, is up to the storage.
//!
//! Invariant: write once, read many. A key names one file and never another one, so whoever read bytes of a sealed file may
//! keep them for as long as it likes. All calls may block, and are made by many threads at once. Errors are
//! [`PartError::Disk`], and the kind of their source is part of the contract where a method names it; every other kind says
//! nothing of the file. Must not know: what is in the files, and which of them are live.

use std::fmt::Debug;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use host::{DirEntry, DiskRead};

use crate::error::PartError;

/// Files of parts.
pub trait PartStorage: Send + Sync + Debug {
    /// Begins a file. Its folder is made, durably, where the storage has folders.
    ///
    /// The file can be opened and found from [`UnsealedFile::seal`] on; until then [`PartStorage::list`] may show it or not.
    /// After a crash it may be there in any state, even complete: a file is a part because a record says so, not
    /// because it exists.
    ///
    /// # Errors
    /// `AlreadyExists` if there is such a file, where the storage can tell; keys are random, so it does not have to.
    fn create(&self, key: &str) -> Result<Box<dyn UnsealedFile>, PartError>;

    /// Opens a sealed file for reads of ranges, which do not disturb each other. One that is deleted meanwhile goes on to
    /// be readable, or its reads fail with `NotFound`; they never give other bytes. `UnexpectedEof` is for a range that ends
    /// behind the file.
    ///
    /// Statements read by other means, of the same keys: they need many ranges at once and must not block. Whoever opens a
    /// database gives them an object store of the same root.
    ///
    /// # Errors
    /// `NotFound` if there is no such file.
    fn open(&self, key: &str) -> Result<Arc<dyn DiskRead>, PartError>;

    /// Forgets what this machine keeps of a file beside the storage, because it is not what was written; whether there was
    /// something, so that reading it again reads other bytes.
    fn forget_copy(&self, _key: &str) -> bool {
        false
    }

    /// Whether a request costs so much more than its bytes that it pays to read ahead.
    fn is_far(&self) -> bool {
        false
    }

    /// Begins to fetch ranges of a sealed file that will be read soon, so that they are near then. Returns at once, and promises
    /// nothing: what goes wrong is heard by whoever reads them.
    fn fetch_ahead(&self, _key: &str, _ranges: &[Range<u64>]) {}

    /// The length of a file; `None` if there is none. What was sealed, moved or deleted before the call is seen.
    ///
    /// # Errors
    /// The storage does not say: the file may be there or not.
    fn find(&self, key: &str) -> Result<Option<u64>, PartError>;

    /// The names of files and folders directly in a folder, sorted; none if there is no such folder. Everything is listed
    /// that was sealed before the call and not moved or deleted since: an omission would be taken for a lost part.
    ///
    /// # Errors
    /// The storage refuses; there is no half of a list.
    fn list(&self, folder: &str) -> Result<Vec<DirEntry>, PartError>;

    /// Gives files other keys: each pair is the key before and after. A file that has the new key is replaced.
    ///
    /// At every moment, a crash included, a file is under one of its keys or under both. When this returns `Ok` all are
    /// durably under the new ones alone.
    ///
    /// # Errors
    /// `NotFound` if a file is not there. Those before it in the list may have been moved.
    fn move_files(&self, moves: &[(String, String)]) -> Result<(), PartError>;

    /// Gives a file a second key, durably. Where that costs a copy, a storage does not.
    ///
    /// # Errors
    /// `AlreadyExists` if there is a file of that key, `Unsupported` if files have one key.
    fn link(&self, _key: &str, second: &str) -> Result<(), PartError> {
        let error = io::Error::new(io::ErrorKind::Unsupported, "files have one key here");
        Err(PartError::disk("link", &self.place(second))(error))
    }

    /// Deletes a file; fine if it is gone already. Not durable: after a crash it may be back, and is deleted again.
    ///
    /// # Errors
    /// The storage refuses; the file may be there or not.
    fn delete(&self, key: &str) -> Result<(), PartError>;

    /// Deletes everything below a folder, and the folder; fine if it is gone already. Not durable, and not at once: others
    /// may see some of the files gone and others not.
    ///
    /// # Errors
    /// The storage refuses; anything may be left, and the call can be repeated.
    fn delete_folder(&self, folder: &str) -> Result<(), PartError>;

    /// Bytes that may still be written; `u64::MAX` if there is no end.
    ///
    /// # Errors
    /// The storage does not say.
    fn free_bytes(&self) -> Result<u64, PartError>;

    /// Where files go that only this process reads and no record ever names: what a merge sorts on its way. It may be the
    /// same storage, since no key is used twice. The caller deletes its files; what a crash leaves is collected at the next
    /// opening. Sealing may be free of syncs here.
    fn scratch(self: Arc<Self>) -> Arc<dyn PartStorage>;

    /// Where that is, for people: an absolute path, or an address. The empty key is the root. Messages and
    /// `system.parts` show it, and tests of a local storage spoil the file there; nobody else may open it.
    fn place(&self, key: &str) -> PathBuf;
}

/// A file being written, front to back. Dropped before it is sealed, it is deleted: best effort, and what a crash leaves
/// is an orphan that the next opening collects.
pub trait UnsealedFile: Send {
    /// Writes all of `bytes` behind what was written.
    ///
    /// # Errors
    /// `StorageFull` if there is no room. After any error the file cannot be sealed.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Lets the storage begin with what was written, so that `seal` has less to wait for. Promises nothing; if it fails,
    /// `seal` says so.
    fn start_sync(&mut self) {}

    /// Nothing will be appended any more: the storage may begin with all of it while the caller has other work. Promises as little.
    fn end(&mut self) {
        self.start_sync();
    }

    /// Makes the bytes durable, and then the key: when this returns `Ok` both outlive any crash, and everybody who
    /// shares the storage can open the file. Nothing may be appended any more.
    ///
    /// # Errors
    /// Nobody knows what is durable: the file must be dropped, which deletes it, and its key not be used again.
    fn seal(&mut self) -> Result<(), PartError>;
}
