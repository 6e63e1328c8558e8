//! The simulated file system: [`crate::Disk`] over [`super::state`].

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::names::Entry;
use super::state::{SimFault, State, refuse};
use crate::disk::{DirEntry, Disk, DiskFile, DiskRead};

#[derive(Debug, Clone)]
pub(super) struct SimDisk {
    pub(super) state: Arc<Mutex<State>>,
    pub(super) life: u64,
}

impl SimDisk {
    fn call<T>(
        &self,
        what: &str,
        path: &Path,
        content: &[u8],
        act: impl FnOnce(&mut State) -> io::Result<T>,
    ) -> io::Result<T> {
        if !path.is_absolute() {
            return Err(refuse(ErrorKind::InvalidInput, path, "path is not absolute"));
        }
        self.state.lock().call(self.life, what, path, content, act)
    }

    fn handle(&self, id: u64, path: &Path) -> Handle {
        Handle { disk: self.clone(), id, path: path.to_owned() }
    }
}

impl Disk for SimDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let id = self.call("create", path, &[], |state| state.create(path))?;
        Ok(Box::new(self.handle(id, path)))
    }

    fn open_append(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let id = self.call("open_append", path, &[], |state| state.named_file(path))?;
        Ok(Box::new(self.handle(id, path)))
    }

    fn open_read(&self, path: &Path) -> io::Result<Arc<dyn DiskRead>> {
        let id = self.call("open_read", path, &[], |state| state.named_file(path))?;
        Ok(Arc::new(self.handle(id, path)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call("rename", from, to.as_os_str().as_encoded_bytes(), |state| {
            let id = match state.names.get(from) {
                Some(Entry::Dir) => {
                    return Err(refuse(ErrorKind::Unsupported, from, "directories are not renamed here"));
                }
                _ => state.named_file(from)?,
            };
            if to.parent().and_then(|parent| state.names.get(parent)) != Some(Entry::Dir) {
                return Err(refuse(ErrorKind::NotFound, to, "has no directory"));
            }
            match state.names.get(to) {
                Some(Entry::Dir) => return Err(refuse(ErrorKind::IsADirectory, to, "is a directory")),
                Some(Entry::File(replaced)) if replaced != id => {
                    if let Some(file) = state.files.get_mut(&replaced) {
                        file.removed = true;
                    }
                }
                _ => {}
            }
            state.names.rename(from, to, Entry::File(id));
            Ok(())
        })
    }

    fn link(&self, file: &Path, name: &Path) -> io::Result<()> {
        self.call("link", file, name.as_os_str().as_encoded_bytes(), |_| {
            Err(refuse(ErrorKind::Unsupported, file, "files have one name here"))
        })
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.call("remove_file", path, &[], |state| state.unlink(path))
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        self.call("remove_dir_all", path, &[], |state| {
            if state.names.get(path) != Some(Entry::Dir) {
                return Err(refuse(ErrorKind::NotFound, path, "no such directory"));
            }
            for (below, entry) in state.names.below(path).into_iter().rev() {
                match entry {
                    Entry::File(_) => state.unlink(&below)?,
                    Entry::Dir => state.names.remove(&below),
                }
            }
            state.names.remove(path);
            Ok(())
        })
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.call("create_dir_all", path, &[], |state| {
            let mut ancestors: Vec<&Path> = path.ancestors().collect();
            ancestors.reverse();
            for dir in ancestors {
                match state.names.get(dir) {
                    Some(Entry::Dir) => {}
                    Some(Entry::File(_)) => return Err(refuse(ErrorKind::NotADirectory, dir, "is a file")),
                    None => state.names.add(dir, Entry::Dir),
                }
            }
            Ok(())
        })
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.call("sync_dir", path, &[], |state| {
            if state.names.get(path) != Some(Entry::Dir) {
                return Err(refuse(ErrorKind::NotFound, path, "no such directory"));
            }
            state.names.sync_dir(path);
            Ok(())
        })
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        self.call("list", dir, &[], |state| {
            let mut entries = Vec::new();
            for (path, entry) in state.names.children(dir) {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let bytes = match entry {
                    Entry::File(id) => state.files.get(&id).map_or(0, |file| file.content.len()),
                    Entry::Dir => 0,
                };
                let bytes = u64::try_from(bytes).map_err(io::Error::other)?;
                state.note(name.as_bytes());
                entries.push(DirEntry { name, bytes, is_dir: entry == Entry::Dir });
            }
            Ok(entries)
        })
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.call("exists", path, &[], |state| Ok(state.names.get(path).is_some()))
    }

    fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        self.call("free_bytes", path, &[], |state| {
            Ok(state.disk_bytes_max.saturating_sub(state.used_bytes()))
        })
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        self.call("lock", path, &[], |state| {
            if state.names.get(path).is_none() {
                state.create(path)?;
            }
            take_lock(state, path)
        })?;
        Ok(Box::new(Lock { disk: self.clone(), path: path.to_owned() }))
    }

    fn lock_dir(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        self.call("lock_dir", path, &[], |state| match state.names.get(path) {
            Some(Entry::Dir) => take_lock(state, path),
            _ => Err(refuse(ErrorKind::NotFound, path, "no such directory")),
        })?;
        Ok(Box::new(Lock { disk: self.clone(), path: path.to_owned() }))
    }
}

fn take_lock(state: &mut State, path: &Path) -> io::Result<()> {
    match state.locks.insert(path.to_owned()) {
        true => Ok(()),
        false => Err(refuse(ErrorKind::WouldBlock, path, "locked by another process or handle")),
    }
}

struct Lock {
    disk: SimDisk,
    path: PathBuf,
}

impl Drop for Lock {
    fn drop(&mut self) {
        let mut state = self.disk.state.lock();
        // A lock of an earlier life is gone already; its name may be held by the present one.
        if state.life == self.disk.life {
            state.locks.remove(&self.path);
        }
    }
}

/// An open file, for writing or for reading.
struct Handle {
    disk: SimDisk,
    id: u64,
    path: PathBuf,
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Handle {
    fn call<T>(
        &self,
        what: &str,
        content: &[u8],
        act: impl FnOnce(&mut State, u64) -> io::Result<T>,
    ) -> io::Result<T> {
        self.disk.call(what, &self.path, content, |state| act(state, self.id))
    }

    fn write(&self, offset: Option<u64>, bytes: &[u8]) -> io::Result<()> {
        self.call("write", bytes, |state, id| {
            let free = state.disk_bytes_max.saturating_sub(state.used_bytes());
            let file = state.file(id, &self.path)?;
            let offset = match offset {
                Some(offset) => usize::try_from(offset).map_err(io::Error::other)?,
                None => file.content.len(),
            };
            let end = offset.saturating_add(bytes.len());
            let more = u64::try_from(end.saturating_sub(file.content.len())).map_err(io::Error::other)?;
            if more > free {
                return Err(refuse(ErrorKind::StorageFull, &self.path, "no space left"));
            }
            file.write(offset, bytes);
            state.note(&offset.to_le_bytes());
            Ok(())
        })
    }

    fn length(&self) -> io::Result<u64> {
        self.call("len", &[], |state, id| {
            u64::try_from(state.file(id, &self.path)?.content.len()).map_err(io::Error::other)
        })
    }
}

impl DiskFile for Handle {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write(Some(offset), bytes)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write(None, bytes)
    }

    fn sync_data(&mut self) -> io::Result<()> {
        let synced = self.call("sync_data", &[], |state, id| {
            state.file(id, &self.path)?.sync();
            Ok(())
        });
        if let Err(error) = &synced
            && SimFault::of(error) == Some(SimFault::Injected)
            && let Some(file) = self.disk.state.lock().files.get_mut(&self.id)
        {
            file.sync_failed();
        }
        synced
    }

    fn len(&self) -> io::Result<u64> {
        self.length()
    }

    fn set_len(&mut self, bytes: u64) -> io::Result<()> {
        self.call("set_len", &bytes.to_le_bytes(), |state, id| {
            let bytes = usize::try_from(bytes).map_err(io::Error::other)?;
            state.file(id, &self.path)?.set_len(bytes);
            Ok(())
        })
    }
}

impl DiskRead for Handle {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.call("read", &offset.to_le_bytes(), |state, id| {
            let from = usize::try_from(offset).map_err(io::Error::other)?;
            let content = &state.file(id, &self.path)?.content;
            let found = content.get(from..).and_then(|rest| rest.get(..buf.len()));
            buf.copy_from_slice(found.ok_or(ErrorKind::UnexpectedEof)?);
            state.note(buf);
            Ok(())
        })
    }

    fn len(&self) -> io::Result<u64> {
        self.length()
    }
}
