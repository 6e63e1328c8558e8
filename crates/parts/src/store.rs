//! Where the files of parts are: `<root>/data/<table uuid>/<part uuid>.parquet`.
//!
//! Invariant: a file under its final name is either complete and durable, or named by no transaction. Deleting is
//! idempotent. Must not know: which parts are live.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use host::{DiskFile, Host, create_dir_all_synced};
use model::{PartDescriptor, PartId, TableId};
use xxhash_rust::xxh3::Xxh3;

use crate::error::PartError;
use crate::health::PartHealth;
use crate::unpacked::UnpackedPages;

/// Folder of all tables below the root.
const DATA_DIR: &str = "data";
/// Suffix of a part's file.
const PART_SUFFIX: &str = ".parquet";

/// Bytes summed up at once.
const COMPARED_BYTES: usize = 1 << 20;

/// The files of parts in one root folder. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PartStore {
    host: Host,
    root: Arc<Path>,
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
    pub path: PathBuf,
    pub bytes: u64,
}

impl PartStore {
    pub fn local(host: Host, root: PathBuf) -> PartStore {
        PartStore { host, root: root.into(), unpacked: None, health: Arc::default() }
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

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The path of a part's file relative to the root, as a descriptor keeps it.
    pub fn key(table: TableId, part: PartId) -> String {
        format!("{DATA_DIR}/{table}/{part}{PART_SUFFIX}")
    }

    pub fn path(&self, part: &PartDescriptor) -> PathBuf {
        self.root.join(part.location.key.as_ref())
    }

    pub fn table_dir(&self, table: TableId) -> PathBuf {
        self.root.join(DATA_DIR).join(table.to_string())
    }

    /// Bytes that may still be written.
    ///
    /// # Errors
    /// The disk does not say.
    pub fn free_bytes(&self) -> Result<u64, PartError> {
        self.host
            .disk
            .free_bytes(&self.root)
            .map_err(PartError::disk("ask for the free space of", &self.root))
    }

    pub(crate) fn create(
        &self,
        table: TableId,
        part: PartId,
    ) -> Result<(PathBuf, Box<dyn DiskFile>), PartError> {
        let dir = self.table_dir(table);
        create_dir_all_synced(self.host.disk.as_ref(), &dir)
            .map_err(PartError::disk("create folder", &dir))?;
        let path = self.root.join(Self::key(table, part));
        let file = self.host.disk.create(&path).map_err(PartError::disk("create", &path))?;
        Ok((path, file))
    }

    pub(crate) fn sync_dir(&self, table: TableId) -> Result<(), PartError> {
        let dir = self.table_dir(table);
        self.host.disk.sync_dir(&dir).map_err(PartError::disk("sync folder", &dir))
    }

    /// Deletes the file of a part; fine if it is gone already.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn delete(&self, part: &PartDescriptor) -> Result<(), PartError> {
        if let Some(unpacked) = &self.unpacked {
            unpacked.forget(&part.location.key);
        }
        self.health.forget(part);
        self.delete_path(&self.path(part))
    }

    /// Deletes a file found by [`PartStore::list_files`].
    ///
    /// # Errors
    /// The disk refuses.
    pub fn delete_file(&self, file: &PartFile) -> Result<(), PartError> {
        self.delete_path(&file.path)
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
        let path = self.path(part);
        let file = self.host.disk.open_read(&path).map_err(|e| PartError::unreadable(part.id, &path, e))?;
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

    pub(crate) fn delete_path(&self, path: &Path) -> Result<(), PartError> {
        match self.host.disk.remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(PartError::disk("delete", path)(error)),
            _ => Ok(()),
        }
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
        let dir = self.table_dir(table);
        match self.host.disk.remove_dir_all(&dir) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(PartError::disk("delete folder", &dir)(error))
            }
            _ => Ok(()),
        }
    }

    /// Tables that have a folder, by id.
    ///
    /// # Errors
    /// The disk refuses to list.
    pub fn list_tables(&self) -> Result<Vec<TableId>, PartError> {
        let dir = self.root.join(DATA_DIR);
        let entries = self.host.disk.list(&dir).map_err(PartError::disk("list", &dir))?;
        let folders = entries.into_iter().filter(|entry| entry.is_dir);
        Ok(folders.filter_map(|entry| TableId::parse(&entry.name)).collect())
    }

    /// Files in the folder of a table, by name.
    ///
    /// # Errors
    /// The disk refuses to list.
    pub fn list_files(&self, table: TableId) -> Result<Vec<PartFile>, PartError> {
        let dir = self.table_dir(table);
        let entries = self.host.disk.list(&dir).map_err(PartError::disk("list", &dir))?;
        let file = |entry: host::DirEntry| PartFile {
            table,
            part: entry.name.strip_suffix(PART_SUFFIX).and_then(PartId::parse),
            path: dir.join(&entry.name),
            bytes: entry.bytes,
        };
        Ok(entries.into_iter().filter(|entry| !entry.is_dir).map(file).collect())
    }
}
