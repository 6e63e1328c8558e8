//! Objects in a folder that several processes reach, on one machine or by a network file system.
//!
//! Invariant: an object gets its name by `link(2)` when all of its bytes are synced, so it is whole from the first moment, and
//! of all who give one name at once the kernel lets one through. Its folder is synced before anybody is answered. Must not know:
//! what is in the objects.
#![expect(clippy::disallowed_methods, reason = "names are given by link(2), which no Disk has")]

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use bytes::Bytes;

use crate::disk::DiskRead;
use crate::objects::{Created, Object, Objects};
use crate::random::{self, Random};

/// Where objects are before they have their names.
const UNFINISHED: &str = "unfinished";
/// Bytes copied at once.
const COPIED_BYTES: u64 = 4 << 20;

#[derive(Debug)]
pub struct FolderObjects {
    root: PathBuf,
    random: Arc<dyn Random>,
}

impl FolderObjects {
    /// Objects below `root`, which is made if it is not there.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn open(root: &Path, random: Arc<dyn Random>) -> io::Result<FolderObjects> {
        fs::create_dir_all(root.join(UNFINISHED)).map_err(|error| at(root, &error))?;
        Ok(FolderObjects { root: root.to_owned(), random })
    }

    /// The same of a folder that is there, which is not changed.
    ///
    /// # Errors
    /// It is not there.
    pub fn existing(root: &Path, random: Arc<dyn Random>) -> io::Result<FolderObjects> {
        fs::read_dir(root).map_err(|error| at(root, &error))?;
        Ok(FolderObjects { root: root.to_owned(), random })
    }

    fn path_of(&self, key: &str) -> PathBuf {
        self.root.join(key)
    }

    /// A file without a name of its own, whole and synced.
    fn unfinished(&self, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<PathBuf> {
        let path = self.root.join(UNFINISHED).join(format!("{:016x}", random::u64(&*self.random)));
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        let written = write(&mut file).and_then(|()| file.sync_data());
        if let Err(error) = written {
            let _ = fs::remove_file(&path);
            return Err(at(&path, &error));
        }
        Ok(path)
    }

    /// The folder of an object, made durably.
    fn folder_of(&self, path: &Path) -> io::Result<PathBuf> {
        let folder = path.parent().unwrap_or(&self.root).to_owned();
        if !folder.is_dir() {
            fs::create_dir_all(&folder)?;
            // Every folder from the new one up to the root may have got a name.
            let mut above = folder.ancestors().take_while(|above| above.starts_with(&self.root));
            above.try_for_each(sync_folder)?;
        }
        Ok(folder)
    }

    fn replace(&self, key: &str, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        let path = self.path_of(key);
        let folder = self.folder_of(&path).map_err(|error| at(&path, &error))?;
        let unfinished = self.unfinished(write)?;
        fs::rename(&unfinished, &path).map_err(|error| at(&path, &error))?;
        sync_folder(&folder)
    }

    fn walk(&self, folder: &Path, found: &mut Vec<Object>) -> io::Result<()> {
        let names = match fs::read_dir(folder) {
            Ok(names) => names,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(at(folder, &error)),
        };
        for name in names {
            let path = name?.path();
            // Deleted since the folder was read: not there.
            let Some(metadata) = found_or_gone(fs::metadata(&path))? else { continue };
            if metadata.is_dir() {
                self.walk(&path, found)?;
            } else if let Some(object) = self.object(&path, &metadata) {
                found.push(object);
            }
        }
        Ok(())
    }

    fn object(&self, path: &Path, metadata: &fs::Metadata) -> Option<Object> {
        let key = path.strip_prefix(&self.root).ok()?.to_str()?.to_owned();
        let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let modified_ms = u64::try_from(modified.as_millis()).unwrap_or(u64::MAX);
        Some(Object { key, bytes: metadata.len(), modified_ms })
    }
}

impl Objects for FolderObjects {
    fn create(&self, key: &str, bytes: Bytes) -> Created {
        let path = self.path_of(key);
        let begun = self.folder_of(&path).and_then(|folder| {
            let unfinished = self.unfinished(|file| file.write_all(&bytes))?;
            Ok((folder, unfinished))
        });
        let (folder, unfinished) = match begun {
            Ok(begun) => begun,
            Err(error) => return Created::Unknown(at(&path, &error)),
        };
        let linked = fs::hard_link(&unfinished, &path);
        let _ = fs::remove_file(&unfinished);
        match linked.and_then(|()| sync_folder(&folder)) {
            Ok(()) => Created::New,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Created::Exists,
            Err(error) => Created::Unknown(at(&path, &error)),
        }
    }

    fn put(&self, key: &str, bytes: Bytes) -> io::Result<()> {
        self.replace(key, |file| file.write_all(&bytes))
    }

    fn put_file(&self, key: &str, from: &dyn DiskRead) -> io::Result<()> {
        self.replace(key, |file| {
            let (mut done, length) = (0, from.len()?);
            while done < length {
                let next = COPIED_BYTES.min(length - done);
                file.write_all(&from.read_bytes(done, usize::try_from(next).map_err(io::Error::other)?)?)?;
                done += next;
            }
            Ok(())
        })
    }

    fn get(&self, key: &str) -> io::Result<Bytes> {
        let path = self.path_of(key);
        fs::read(&path).map(Bytes::from).map_err(|error| at(&path, &error))
    }

    fn get_range(&self, key: &str, range: Range<u64>) -> io::Result<Bytes> {
        let path = self.path_of(key);
        let read = || {
            let mut bytes = vec![0; usize::try_from(range.end - range.start).map_err(io::Error::other)?];
            File::open(&path)?.read_exact_at(&mut bytes, range.start)?;
            Ok(Bytes::from(bytes))
        };
        read().map_err(|error: io::Error| at(&path, &error))
    }

    fn head(&self, key: &str) -> io::Result<Option<Object>> {
        let path = self.path_of(key);
        let metadata = found_or_gone(fs::metadata(&path)).map_err(|error| at(&path, &error))?;
        Ok(metadata.and_then(|metadata| self.object(&path, &metadata)))
    }

    fn list(&self, folder: &str, after: &str) -> io::Result<Vec<Object>> {
        let mut found = Vec::new();
        self.walk(&self.path_of(folder), &mut found)?;
        found.retain(|object| object.key.as_str() > after);
        found.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(found)
    }

    fn delete(&self, key: &str) -> io::Result<()> {
        let path = self.path_of(key);
        found_or_gone(fs::remove_file(&path)).map(drop).map_err(|error| at(&path, &error))
    }

    fn place(&self, key: &str) -> String {
        let path = if key.is_empty() { self.root.clone() } else { self.path_of(key) };
        path.display().to_string()
    }
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

fn found_or_gone<T>(answer: io::Result<T>) -> io::Result<Option<T>> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The system's error with the path it does not tell.
fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Host;
    use crate::objects::at_once;

    #[test]
    fn of_many_who_create_one_succeeds() {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::system(1 << 20).unwrap();
        let open = || FolderObjects::open(folder.path(), Arc::clone(&host.random)).unwrap();
        let stores: Vec<FolderObjects> = (0..8).map(|_| open()).collect();
        for round in 0..20 {
            let key = format!("log/{round:03}");
            let create = |number: usize| stores[number].create(&key, number.to_string().into());
            let made = at_once(8, create).into_iter().filter(|made| matches!(made, Created::New)).count();
            assert_eq!(made, 1, "round {round}");
        }
        let listed = stores[0].list("log/", "log/017").unwrap();
        assert_eq!(listed.iter().map(|object| &*object.key).collect::<Vec<_>>(), ["log/018", "log/019"]);
        assert!(stores[0].list("unfinished/", "").unwrap().is_empty(), "nothing is left of those who lost");
    }

    #[test]
    fn objects_are_written_read_and_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::system(1 << 20).unwrap();
        let store = FolderObjects::open(folder.path(), Arc::clone(&host.random)).unwrap();
        assert_eq!(store.get("a/b").unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(store.head("a/b").unwrap(), None);
        store.put("a/b", Bytes::from_static(b"first")).unwrap();
        store.put("a/b", Bytes::from_static(b"second")).unwrap();
        assert!(matches!(store.create("a/b", Bytes::new()), Created::Exists));
        assert_eq!(
            (&store.get("a/b").unwrap()[..], &store.get_range("a/b", 1..4).unwrap()[..]),
            (&b"second"[..], &b"eco"[..])
        );
        assert_eq!(store.get_range("a/b", 4..9).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        let file = host.disk.open_read(&folder.path().join("a/b")).unwrap();
        store.put_file("c", &*file).unwrap();
        let head = store.head("c").unwrap().unwrap();
        assert!(head.bytes == 6 && head.modified_ms > 1_600_000_000_000);
        store.delete("a/b").unwrap();
        store.delete("a/b").unwrap();
        assert!(store.list("a/", "").unwrap().is_empty());
    }
}
