//! Parts in a folder on a disk of this machine.
//!
//! Invariant: a file is synced before its folder is, and both before [`UnsealedFile::seal`] returns. A key is the path below
//! the root. Must not know: what is in the files.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use host::{DirEntry, DiskFile, DiskRead, Host, create_dir_all_synced};

use crate::error::PartError;
use crate::storage::{PartStorage, UnsealedFile};

#[derive(Debug)]
pub(crate) struct LocalStorage {
    host: Host,
    root: PathBuf,
    /// Whether files are read by this process alone, and gone with it.
    is_scratch: bool,
}

impl LocalStorage {
    pub(crate) fn new(host: Host, root: PathBuf) -> LocalStorage {
        LocalStorage { host, root, is_scratch: false }
    }

    /// The folder a file is in.
    fn folder_of(&self, path: &Path) -> PathBuf {
        path.parent().unwrap_or(&self.root).to_owned()
    }

    fn create_folder(&self, folder: &Path) -> Result<(), PartError> {
        create_dir_all_synced(self.host.disk.as_ref(), folder)
            .map_err(PartError::disk("create folder", folder))
    }

    fn sync_folder(&self, folder: &Path) -> Result<(), PartError> {
        self.host.disk.sync_dir(folder).map_err(PartError::disk("sync folder", folder))
    }
}

impl PartStorage for LocalStorage {
    fn create(&self, key: &str) -> Result<Box<dyn UnsealedFile>, PartError> {
        let path = self.place(key);
        let folder = self.folder_of(&path);
        self.create_folder(&folder)?;
        let file = self.host.disk.create(&path).map_err(PartError::disk("create", &path))?;
        let (host, is_scratch) = (self.host.clone(), self.is_scratch);
        Ok(Box::new(LocalFile { host, folder, path, file, is_scratch, is_sealed: false }))
    }

    fn open(&self, key: &str) -> Result<Arc<dyn DiskRead>, PartError> {
        let path = self.place(key);
        self.host.disk.open_read(&path).map_err(PartError::disk("open", &path))
    }

    fn find(&self, key: &str) -> Result<Option<u64>, PartError> {
        let path = self.place(key);
        if !self.host.disk.exists(&path).map_err(PartError::disk("look for", &path))? {
            return Ok(None);
        }
        let bytes = self.host.disk.open_read(&path).and_then(|file| file.len());
        bytes.map(Some).map_err(PartError::disk("open", &path))
    }

    fn list(&self, folder: &str) -> Result<Vec<DirEntry>, PartError> {
        let path = self.place(folder);
        self.host.disk.list(&path).map_err(PartError::disk("list", &path))
    }

    fn move_files(&self, moves: &[(String, String)]) -> Result<(), PartError> {
        let (mut entered, mut left) = (BTreeSet::new(), BTreeSet::new());
        for (from, to) in moves {
            let (from, to) = (self.place(from), self.place(to));
            let folder = self.folder_of(&to);
            if entered.insert(folder.clone()) {
                self.create_folder(&folder)?;
            }
            self.host.disk.rename(&from, &to).map_err(PartError::disk("move", &from))?;
            left.insert(self.folder_of(&from));
        }
        // The new names first: between the two a file has both.
        entered.iter().chain(&left).try_for_each(|folder| self.sync_folder(folder))
    }

    fn link(&self, key: &str, second: &str) -> Result<(), PartError> {
        let (path, name) = (self.place(key), self.place(second));
        let folder = self.folder_of(&name);
        self.create_folder(&folder)?;
        self.host.disk.link(&path, &name).map_err(PartError::disk("link", &name))?;
        self.sync_folder(&folder)
    }

    fn delete(&self, key: &str) -> Result<(), PartError> {
        let path = self.place(key);
        gone(self.host.disk.remove_file(&path)).map_err(PartError::disk("delete", &path))
    }

    fn delete_folder(&self, folder: &str) -> Result<(), PartError> {
        let path = self.place(folder);
        gone(self.host.disk.remove_dir_all(&path)).map_err(PartError::disk("delete folder", &path))
    }

    fn free_bytes(&self) -> Result<u64, PartError> {
        let free = self.host.disk.free_bytes(&self.root);
        free.map_err(PartError::disk("ask for the free space of", &self.root))
    }

    /// The same folder: a merge that dies leaves orphans, which are collected as all others are.
    fn scratch(self: Arc<Self>) -> Arc<dyn PartStorage> {
        let (host, root) = (self.host.clone(), self.root.clone());
        Arc::new(LocalStorage { host, root, is_scratch: true })
    }

    fn place(&self, key: &str) -> PathBuf {
        match key {
            "" => self.root.clone(),
            key => self.root.join(key),
        }
    }
}

/// A file that is not there is deleted.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// A file under its final name, which is not yet durable.
struct LocalFile {
    host: Host,
    folder: PathBuf,
    path: PathBuf,
    file: Box<dyn DiskFile>,
    /// Then it need not be durable.
    is_scratch: bool,
    is_sealed: bool,
}

impl UnsealedFile for LocalFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.append(bytes)
    }

    fn start_sync(&mut self) {
        if !self.is_scratch {
            self.file.start_sync();
        }
    }

    fn seal(&mut self) -> Result<(), PartError> {
        if self.is_scratch {
            self.is_sealed = true;
            return Ok(());
        }
        let faults = &self.host.faults;
        faults.hit("parts.seal.sync").map_err(PartError::disk("sync", &self.path))?;
        if !faults.planted("parts.skip_sync") {
            self.file.sync_data().map_err(PartError::disk("sync", &self.path))?;
        }
        faults.hit("parts.seal.synced").map_err(PartError::disk("sync", &self.path))?;
        self.host.disk.sync_dir(&self.folder).map_err(PartError::disk("sync folder", &self.folder))?;
        faults.hit("parts.sealed").map_err(PartError::disk("sync", &self.path))?;
        self.is_sealed = true;
        Ok(())
    }
}

impl Drop for LocalFile {
    fn drop(&mut self) {
        if !self.is_sealed {
            // Failing that, the file is an orphan, which the next opening collects.
            let _ = self.host.disk.remove_file(&self.path);
        }
    }
}
