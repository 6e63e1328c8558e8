//! The schema cache of sources on disk: `<root>/cache/schemas`.
//!
//! Best effort, because all of it can be found again by looking into the files: it is written in the background and never
//! synced, and a file that a crash has damaged fails its checksum and is as good as none. Invariant: no statement waits
//! for it and no error of it reaches anybody. Must not know: what the bytes mean.

use std::io;
use std::path::{Path, PathBuf};

use super::schemas::SchemaCache;
use host::Disk;
use host::read_all;

const FOLDER: &str = "cache";
const FILE: &str = "schemas";
const UNFINISHED: &str = "schemas.new";

/// Takes what an earlier run has left.
pub fn restore(disk: &dyn Disk, root: &Path, cache: &SchemaCache) {
    if let Ok(bytes) = read_all(disk, &file(root)) {
        cache.restore(&bytes);
    }
}

/// Writes the cache, if it has changed since it was written.
pub fn save(disk: &dyn Disk, root: &Path, cache: &SchemaCache) {
    if let Some(bytes) = cache.changed_bytes() {
        // Without the file the next run looks into its files once more.
        let _ = write(disk, root, &bytes);
    }
}

fn file(root: &Path) -> PathBuf {
    root.join(FOLDER).join(FILE)
}

fn write(disk: &dyn Disk, root: &Path, bytes: &[u8]) -> io::Result<()> {
    let unfinished = root.join(FOLDER).join(UNFINISHED);
    disk.create_dir_all(&root.join(FOLDER))?;
    if disk.exists(&unfinished)? {
        disk.remove_file(&unfinished)?;
    }
    disk.create(&unfinished)?.append(bytes)?;
    disk.rename(&unfinished, &file(root))
}

#[cfg(test)]
mod tests {
    use host::SystemDisk;

    use super::*;

    #[test]
    fn the_next_run_knows_what_this_one_learnt() {
        let folder = tempfile::tempdir().unwrap();
        let key = crate::cache::key::SchemaKey {
            storage: "S3",
            source: "http://h/b/k".to_owned(),
            etag: "e".to_owned(),
            format: "CSV".to_owned(),
            format_settings: String::new(),
        };
        let restored = || {
            let cache = SchemaCache::default();
            restore(&SystemDisk, folder.path(), &cache);
            cache.get(&key).and_then(|entry| entry.rows)
        };
        let cache = SchemaCache::default();
        save(&SystemDisk, folder.path(), &cache);
        assert!(!folder.path().join("cache").exists());
        for rows in [3, 4] {
            cache.put_rows(key.clone(), rows, 1);
            save(&SystemDisk, folder.path(), &cache);
            assert_eq!(restored(), Some(rows));
        }
        write(&SystemDisk, folder.path(), b"GMSCHEMA").unwrap();
        assert_eq!(restored(), None);
    }
}
