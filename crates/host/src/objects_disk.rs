//! A store of objects as a disk that is only read: what keys begin with are its folders.
//!
//! For whoever looks at a root without being one of its servers. Invariant: changes nothing; each call that would is refused. Paths
//! are the address of the root with the key behind it, so that messages name the object. Must not know: what is in the objects.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

use crate::disk::{DirEntry, Disk, DiskFile, DiskRead};
use crate::objects::Objects;

/// So much is fetched at once at least: who reads a little reads on.
const WINDOW_BYTES: u64 = 4 << 20;

/// See the module.
#[derive(Debug, Clone)]
pub struct ObjectsDisk {
    objects: Arc<dyn Objects>,
    root: PathBuf,
}

impl ObjectsDisk {
    pub fn new(objects: Arc<dyn Objects>) -> ObjectsDisk {
        let root = objects.place("").into();
        ObjectsDisk { objects, root }
    }

    /// Below it are all objects.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn key_of(&self, path: &Path) -> io::Result<String> {
        let key = path.strip_prefix(&self.root).ok().and_then(Path::to_str);
        let outside = || io::Error::new(ErrorKind::NotFound, format!("{} is not there", path.display()));
        key.map(str::to_owned).ok_or_else(outside)
    }

    /// What the keys of everything in a folder begin with.
    fn prefix_of(&self, folder: &Path) -> io::Result<String> {
        let key = self.key_of(folder)?;
        Ok(if key.is_empty() { key } else { format!("{key}/") })
    }
}

fn refused<T>(path: &Path) -> io::Result<T> {
    Err(io::Error::new(ErrorKind::ReadOnlyFilesystem, format!("{} is only read", path.display())))
}

impl Disk for ObjectsDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        refused(path)
    }

    fn open_append(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        refused(path)
    }

    fn open_read(&self, path: &Path) -> io::Result<Arc<dyn DiskRead>> {
        let key = self.key_of(path)?;
        let found = self.objects.head(&key)?;
        let missing = || io::Error::new(ErrorKind::NotFound, format!("{} is not there", path.display()));
        let bytes = found.ok_or_else(missing)?.bytes;
        Ok(Arc::new(ObjectRead { objects: Arc::clone(&self.objects), key, bytes, window: Mutex::default() }))
    }

    fn rename(&self, _from: &Path, to: &Path) -> io::Result<()> {
        refused(to)
    }

    fn link(&self, _file: &Path, name: &Path) -> io::Result<()> {
        refused(name)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        refused(path)
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        refused(path)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        refused(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        refused(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        let prefix = self.prefix_of(dir)?;
        let mut entries: Vec<DirEntry> = Vec::new();
        for object in self.objects.list(&prefix, "")? {
            let Some(rest) = object.key.strip_prefix(&prefix) else { continue };
            let entry = match rest.split_once('/') {
                Some((name, _)) => DirEntry { name: name.to_owned(), bytes: 0, is_dir: true },
                None => DirEntry { name: rest.to_owned(), bytes: object.bytes, is_dir: false },
            };
            if entries.last() != Some(&entry) {
                entries.push(entry);
            }
        }
        // Keys are sorted with what stands behind a `/`, and names are not.
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        entries.dedup();
        Ok(entries)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        let key = self.key_of(path)?;
        let is_object = !key.is_empty() && self.objects.head(&key)?.is_some();
        Ok(is_object || !self.objects.list(&self.prefix_of(path)?, "")?.is_empty())
    }

    fn free_bytes(&self, _path: &Path) -> io::Result<u64> {
        Ok(0)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        refused(path)
    }

    fn lock_dir(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        refused(path)
    }
}

/// An object that is read.
#[derive(Debug)]
struct ObjectRead {
    objects: Arc<dyn Objects>,
    key: String,
    bytes: u64,
    /// Where what was fetched last begins, and what it is.
    window: Mutex<(u64, Bytes)>,
}

impl DiskRead for ObjectRead {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let length = u64::try_from(buf.len()).map_err(io::Error::other)?;
        let end = offset.saturating_add(length);
        if end > self.bytes {
            let message = format!("{} ends before", self.objects.place(&self.key));
            return Err(io::Error::new(ErrorKind::UnexpectedEof, message));
        }
        // Readers of one object wait for each other: who looks at a root reads one thing after the other.
        let mut window = self.window.lock();
        let known = window.0..window.0 + u64::try_from(window.1.len()).map_err(io::Error::other)?;
        if offset < known.start || end > known.end {
            let until = end.max(offset.saturating_add(WINDOW_BYTES)).min(self.bytes);
            *window = (offset, self.objects.get_range(&self.key, offset..until)?);
        }
        let begin = usize::try_from(offset - window.0).map_err(io::Error::other)?;
        let found = window.1.get(begin..begin + buf.len());
        let short =
            || io::Error::new(ErrorKind::UnexpectedEof, "the answer is shorter than what was asked for");
        buf.copy_from_slice(found.ok_or_else(short)?);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::SimStore;

    #[test]
    fn keys_are_folders_and_nothing_is_changed() {
        let store = SimStore::new(1);
        for (key, bytes) in [("data/t.x", "1"), ("data/t/p", "hello"), ("data/t/q", ""), ("root", "r")] {
            store.client().put(key, bytes.into()).unwrap();
        }
        let disk = ObjectsDisk::new(Arc::new(store.client()));
        let (root, before) = (disk.root().to_owned(), store.keys());
        let names = |folder: &str| {
            let entries = disk.list(&root.join(folder)).unwrap();
            entries.into_iter().map(|entry| (entry.name, entry.bytes, entry.is_dir)).collect::<Vec<_>>()
        };
        assert_eq!(names(""), [("data".to_owned(), 0, true), ("root".to_owned(), 1, false)]);
        assert_eq!(names("data"), [("t".to_owned(), 0, true), ("t.x".to_owned(), 1, false)]);
        assert!(names("nothing").is_empty());
        let exists = |key: &str| disk.exists(&root.join(key)).unwrap();
        assert!(exists("root") && exists("data") && exists("data/t/q") && !exists("data/t/r"));
        let file = disk.open_read(&root.join("data/t/p")).unwrap();
        assert_eq!((file.len().unwrap(), &file.read_bytes(1, 3).unwrap()[..]), (5, &b"ell"[..]));
        assert_eq!(
            (&file.read_bytes(4, 1).unwrap()[..], &file.read_bytes(0, 2).unwrap()[..]),
            (&b"o"[..], &b"he"[..])
        );
        assert_eq!(file.read_bytes(4, 2).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        assert_eq!(disk.open_read(&root.join("data/x")).unwrap_err().kind(), ErrorKind::NotFound);
        assert!(disk.create(&root.join("new")).is_err() && disk.remove_file(&root.join("root")).is_err());
        assert!(disk.rename(&root.join("root"), &root.join("r")).is_err());
        assert_eq!(store.keys(), before);
    }
}
