//! The parts of one storage: their keys, `data/<table uuid>/<part uuid>.parquet`, and what is known and kept of them.
//!
//! Invariant: a file is either complete and durable, or named by no transaction. Deleting is idempotent. Must not know:
//! which parts are live, and what the storage is.

use std::path::PathBuf;
use std::sync::Arc;

use host::{DirEntry, DiskRead, Host};
use model::{PartDescriptor, PartId, TableId};
use xxhash_rust::xxh3::Xxh3;

use crate::error::PartError;
use crate::health::PartHealth;
use crate::local_storage::LocalStorage;
use crate::storage::{PartStorage, UnsealedFile};
use crate::unpacked::UnpackedPages;

/// Folder of all tables below the root.
const DATA_DIR: &str = "data";
/// Suffix of a part's file.
const PART_SUFFIX: &str = ".parquet";

/// Bytes summed up at once.
const COMPARED_BYTES: usize = 1 << 20;

/// The parts of one storage. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PartStore {
    host: Host,
    storage: Arc<dyn PartStorage>,
    /// Pages of these parts in memory; what is deleted is forgotten there.
    unpacked: Option<Arc<UnpackedPages>>,
    health: Arc<PartHealth>,
}

/// A file in the folder of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartFile {
    pub table: TableId,
    /// `None` if the name is not one of ours.
    pub part: Option<PartId>,
    pub key: String,
    pub bytes: u64,
}

impl PartStore {
    /// The parts below a folder of this machine.
    pub fn local(host: Host, root: PathBuf) -> PartStore {
        let storage = Arc::new(LocalStorage::new(host.clone(), root));
        PartStore::new(host, storage)
    }

    /// The parts of any storage.
    pub fn new(host: Host, storage: Arc<dyn PartStorage>) -> PartStore {
        PartStore { host, storage, unpacked: None, health: Arc::default() }
    }

    /// The same store for parts that no record ever names.
    #[must_use]
    pub fn scratch(&self) -> PartStore {
        PartStore { storage: Arc::clone(&self.storage).scratch(), ..self.clone() }
    }

    /// The same store, whose readers keep pages there.
    #[must_use]
    pub fn with_unpacked(self, pages: Arc<UnpackedPages>) -> PartStore {
        PartStore { unpacked: Some(pages), ..self }
    }

    /// Where readers keep pages of these parts.
    pub fn unpacked(&self) -> Option<&Arc<UnpackedPages>> {
        self.unpacked.as_ref()
    }

    /// What is known of the bytes of these parts.
    pub fn health(&self) -> &Arc<PartHealth> {
        &self.health
    }

    pub fn host(&self) -> &Host {
        &self.host
    }

    pub fn storage(&self) -> &dyn PartStorage {
        self.storage.as_ref()
    }

    pub fn into_storage(self) -> Arc<dyn PartStorage> {
        self.storage
    }

    /// Where all of it is, for people: see [`PartStorage::place`].
    pub fn root(&self) -> PathBuf {
        self.storage.place("")
    }

    /// The key of a part's file, as a descriptor keeps it.
    pub fn key(table: TableId, part: PartId) -> String {
        format!("{DATA_DIR}/{table}/{part}{PART_SUFFIX}")
    }

    /// The folder of a table's parts.
    pub fn table_folder(table: TableId) -> String {
        format!("{DATA_DIR}/{table}")
    }

    /// Where the file of a part is, for people.
    pub fn path(&self, part: &PartDescriptor) -> PathBuf {
        self.storage.place(&part.location.key)
    }

    /// Where the files of a table are, for people.
    pub fn table_dir(&self, table: TableId) -> PathBuf {
        self.storage.place(&Self::table_folder(table))
    }

    /// Bytes that may still be written.
    ///
    /// # Errors
    /// The storage does not say.
    pub fn free_bytes(&self) -> Result<u64, PartError> {
        self.storage.free_bytes()
    }

    /// The file of a part that somebody needs.
    ///
    /// # Errors
    /// It is missing, which is damage, or cannot be read.
    pub(crate) fn open(&self, part: &PartDescriptor) -> Result<Arc<dyn DiskRead>, PartError> {
        let open =
            || self.storage.open(&part.location.key).map_err(|error| PartError::unopened(part.id, error));
        let file = open()?;
        if !self.storage.is_far() {
            return Ok(file);
        }
        match file.len() {
            // A copy that is shorter than the file; one of the storage itself is found out by whoever reads it.
            Ok(bytes) if bytes != part.bytes && self.storage.forget_copy(&part.location.key) => open(),
            _ => Ok(file),
        }
    }

    /// Begins the file of a part; the path is for messages.
    pub(crate) fn create(
        &self,
        table: TableId,
        part: PartId,
    ) -> Result<(PathBuf, Box<dyn UnsealedFile>), PartError> {
        let key = Self::key(table, part);
        let file = self.storage.create(&key)?;
        Ok((self.storage.place(&key), file))
    }

    /// Deletes the file of a part; fine if it is gone already.
    ///
    /// # Errors
    /// The storage refuses.
    pub fn delete(&self, part: &PartDescriptor) -> Result<(), PartError> {
        if let Some(unpacked) = &self.unpacked {
            unpacked.forget(&part.location.key);
        }
        self.health.forget(part);
        self.storage.delete(&part.location.key)
    }

    /// Deletes a file found by [`PartStore::list_files`].
    ///
    /// # Errors
    /// The disk refuses.
    pub fn delete_file(&self, file: &PartFile) -> Result<(), PartError> {
        self.storage.delete(&file.key)
    }

    /// Compares the length and the checksum of the whole file with what the descriptor says.
    ///
    /// # Errors
    /// They differ, or the file cannot be read.
    pub fn compare_whole(&self, part: &PartDescriptor) -> Result<(), PartError> {
        self.compare_slowly(part, |_| true).map(|_ended| ())
    }

    /// The same; behind each piece `rest` is told its bytes, takes its time and says whether to go on. False if it said no.
    ///
    /// # Errors
    /// As [`PartStore::compare_whole`].
    pub fn compare_slowly(
        &self,
        part: &PartDescriptor,
        mut rest: impl FnMut(u64) -> bool,
    ) -> Result<bool, PartError> {
        match self.compare_once(part, &mut rest) {
            Err(error) if error.is_damage() && self.storage.is_far() => {
                // Perhaps only a copy is damaged.
                self.storage.forget_copy(&part.location.key);
                self.compare_once(part, &mut rest)
            }
            compared => compared,
        }
    }

    fn compare_once(
        &self,
        part: &PartDescriptor,
        rest: &mut dyn FnMut(u64) -> bool,
    ) -> Result<bool, PartError> {
        let path = self.path(part);
        let file = self.open(part)?;
        let bytes = file.len().map_err(PartError::disk("read", &path))?;
        if bytes != part.bytes {
            let message = format!("it has {bytes} bytes where {} were written", part.bytes);
            return Err(PartError::damaged(part.id, message));
        }
        let mut hash = Xxh3::new();
        let mut at = 0;
        while at < bytes {
            let length = usize::try_from(bytes - at).unwrap_or(COMPARED_BYTES).min(COMPARED_BYTES);
            let piece = file.read_bytes(at, length).map_err(PartError::disk("read", &path))?;
            hash.update(&piece);
            at += length as u64;
            if !rest(length as u64) {
                return Ok(false);
            }
        }
        let (found, written) = (hash.digest(), part.checksum);
        if found != written {
            let place = "the file".to_owned();
            return Err(PartError::Checksum { part: part.id, place, written, found });
        }
        Ok(true)
    }

    /// As [`PartStore::compare_whole`], unless that was done since the process began: what a reader of a part without sums
    /// of its pages does first. Blocks while another reader does it.
    ///
    /// # Errors
    /// As [`PartStore::compare_whole`].
    pub fn compare_whole_once(&self, part: &PartDescriptor) -> Result<(), PartError> {
        self.health.once(part, || self.compare_whole(part))
    }

    /// Deletes the folder of a dropped table with everything in it; fine if it is gone already.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn delete_table(&self, table: TableId) -> Result<(), PartError> {
        if let Some(unpacked) = &self.unpacked {
            unpacked.forget_below(&format!("{DATA_DIR}/{table}/"));
        }
        self.health.forget_table(table);
        self.storage.delete_folder(&Self::table_folder(table))
    }

    /// Tables that have a folder, by id.
    ///
    /// # Errors
    /// The disk refuses to list.
    pub fn list_tables(&self) -> Result<Vec<TableId>, PartError> {
        let folders = self.storage.list(DATA_DIR)?.into_iter().filter(|entry| entry.is_dir);
        Ok(folders.filter_map(|entry| TableId::parse(&entry.name)).collect())
    }

    /// Files in the folder of a table, by name.
    ///
    /// # Errors
    /// The disk refuses to list.
    pub fn list_files(&self, table: TableId) -> Result<Vec<PartFile>, PartError> {
        self.list_folder(table, &Self::table_folder(table))
    }

    /// Files in a folder to which files of a table were moved, by name.
    ///
    /// # Errors
    /// The disk refuses to list.
    pub fn list_folder(&self, table: TableId, folder: &str) -> Result<Vec<PartFile>, PartError> {
        let file = |entry: DirEntry| PartFile {
            table,
            part: entry.name.strip_suffix(PART_SUFFIX).and_then(PartId::parse),
            key: format!("{folder}/{}", entry.name),
            bytes: entry.bytes,
        };
        let entries = self.storage.list(folder)?;
        Ok(entries.into_iter().filter(|entry| !entry.is_dir).map(file).collect())
    }
}
