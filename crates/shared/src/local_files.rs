//! Files of parts that this machine has beside the store: those it wrote, and those it needed whole.
//!
//! Files are kept under the name that hashes their key, until the bytes of all are more than allowed; then those go that were used
//! longest ago. Invariant: a file under its final name is whole, as far as this process can know; a part never changes, so there
//! is nothing to bring up to date. Losing all of it costs time. Must not know: what is in the files.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use host::{DiskRead, Host, random};
use parking_lot::Mutex;

const KEPT: &str = "parts";
const UNFINISHED: &str = "unfinished";
/// What merges sort on their way; nobody needs it after them.
pub(crate) const SCRATCH: &str = "scratch";
/// Since which start of the machine files have been kept.
const BOOT: &str = "boot";

/// See the module.
#[derive(Debug)]
pub struct LocalFiles {
    host: Host,
    folder: PathBuf,
    bytes_max: u64,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    files: HashMap<String, File>,
    bytes: u64,
    uses: u64,
}

#[derive(Debug, Clone, Copy)]
struct File {
    bytes: u64,
    used: u64,
}

impl LocalFiles {
    /// Files below `folder`, up to so many bytes of them; those of an earlier process are found again.
    ///
    /// # Errors
    /// The folder cannot be made or read.
    pub fn open(host: Host, folder: &Path, bytes_max: u64) -> io::Result<LocalFiles> {
        let files = LocalFiles { host, folder: folder.to_owned(), bytes_max, kept: Mutex::default() };
        let disk = &files.host.disk;
        let empty = |name: &str| match disk.remove_dir_all(&files.folder.join(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
        [UNFINISHED, SCRATCH].into_iter().try_for_each(empty)?;
        // Nothing was synced: what a machine had that has started again since may be anything.
        let (boot, mark) = (host::process::boot_id(), files.folder.join(BOOT));
        if host::read_all(&**disk, &mark).ok().as_deref() != Some(boot.as_bytes()) || boot.is_empty() {
            empty(KEPT)?;
            host::replace_file(&**disk, &mark, boot.as_bytes())?;
        }
        for name in [KEPT, UNFINISHED] {
            disk.create_dir_all(&files.folder.join(name))?;
        }
        for entry in disk.list(&files.folder.join(KEPT))? {
            files.note(entry.name, entry.bytes);
        }
        Ok(files)
    }

    /// Where all of it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Bytes kept now.
    pub fn bytes(&self) -> u64 {
        self.kept.lock().bytes
    }

    /// Where a file is written before it is kept.
    pub fn unfinished(&self) -> PathBuf {
        let folder = self.folder.join(UNFINISHED);
        // Somebody may have tidied up. If it cannot be made, whoever creates the file hears why.
        let _made = self.host.disk.create_dir_all(&folder);
        folder.join(format!("{:016x}", random::u64(&*self.host.random)))
    }

    /// Keeps a whole file that was written to [`LocalFiles::unfinished`].
    ///
    /// # Errors
    /// It is too large, or cannot be renamed; it is deleted then.
    pub fn keep(&self, key: &str, unfinished: &Path) -> io::Result<()> {
        let name = name_of(key);
        let disk = &self.host.disk;
        let kept = disk.open_read(unfinished).and_then(|file| {
            let bytes = file.len()?;
            if bytes > self.bytes_max {
                return Err(io::Error::new(ErrorKind::StorageFull, "more than may be kept"));
            }
            disk.create_dir_all(&self.folder.join(KEPT))?;
            disk.rename(unfinished, &self.path(&name))?;
            Ok(bytes)
        });
        match kept {
            Ok(bytes) => {
                self.note(name, bytes);
                Ok(())
            }
            Err(error) => {
                let _ = disk.remove_file(unfinished);
                Err(error)
            }
        }
    }

    /// The file of a key, if it is here.
    pub fn get(&self, key: &str) -> Option<Arc<dyn DiskRead>> {
        let name = name_of(key);
        {
            let mut kept = self.kept.lock();
            kept.uses += 1;
            let used = kept.uses;
            kept.files.get_mut(&name)?.used = used;
        }
        // Somebody may have deleted it since, or all of them.
        match self.host.disk.open_read(&self.path(&name)) {
            Ok(file) => Some(file),
            Err(_) => {
                self.forget_name(&name);
                None
            }
        }
    }

    /// The file is not needed any more.
    pub fn forget(&self, key: &str) {
        let name = name_of(key);
        if self.forget_name(&name) {
            let _ = self.host.disk.remove_file(&self.path(&name));
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(KEPT).join(name)
    }

    fn forget_name(&self, name: &str) -> bool {
        let mut kept = self.kept.lock();
        let Some(file) = kept.files.remove(name) else { return false };
        kept.bytes -= file.bytes;
        true
    }

    /// There is one more; what is too much goes. Whoever has one of those open reads on.
    fn note(&self, name: String, bytes: u64) {
        let mut going = Vec::new();
        {
            let mut kept = self.kept.lock();
            kept.uses += 1;
            let used = kept.uses;
            kept.bytes += bytes;
            if let Some(before) = kept.files.insert(name, File { bytes, used }) {
                kept.bytes -= before.bytes;
            }
            while kept.bytes > self.bytes_max {
                let oldest =
                    kept.files.iter().min_by_key(|(_, file)| file.used).map(|(name, _)| name.clone());
                let Some((name, file)) = oldest.and_then(|name| kept.files.remove_entry(&name)) else {
                    break;
                };
                kept.bytes -= file.bytes;
                going.push(name);
            }
        }
        for name in going {
            let _ = self.host.disk.remove_file(&self.path(&name));
        }
    }
}

/// A name without folders: `data/<table>/<part>.parquet` has two ids, which no other key shares.
fn name_of(key: &str) -> String {
    key.trim_start_matches("data/").replace('/', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(files: &LocalFiles, key: &str, bytes: usize) {
        let unfinished = files.unfinished();
        let mut file = files.host.disk.create(&unfinished).unwrap();
        file.append(&vec![7; bytes]).unwrap();
        files.keep(key, &unfinished).unwrap();
    }

    #[test]
    fn what_was_used_longest_ago_goes() {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::system(1 << 20).unwrap();
        let files = LocalFiles::open(host.clone(), folder.path(), 100).unwrap();
        keep(&files, "data/t/a.parquet", 40);
        keep(&files, "data/t/b.parquet", 40);
        assert!(files.get("data/t/a.parquet").is_some());
        keep(&files, "data/t/c.parquet", 40);
        let held = files.get("data/t/c.parquet").unwrap();
        let there = |files: &LocalFiles| {
            ["a", "b", "c"].map(|name| files.get(&format!("data/t/{name}.parquet")).is_some())
        };
        assert_eq!((there(&files), files.bytes()), ([true, false, true], 80));
        let again = LocalFiles::open(host.clone(), folder.path(), 100).unwrap();
        assert_eq!((there(&again), again.bytes()), ([true, false, true], 80));
        again.forget("data/t/c.parquet");
        assert_eq!((there(&again), &held.read_bytes(0, 2).unwrap()[..]), ([true, false, false], &[7, 7][..]));
        host.disk.remove_dir_all(&folder.path().join(KEPT)).unwrap();
        assert_eq!((there(&again), again.bytes()), ([false, false, false], 0), "deleted behind its back");
    }
}
