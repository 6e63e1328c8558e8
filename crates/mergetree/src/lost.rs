//! Files no record names, put aside in `<root>/lost/<when, ms since 1970>/<table uuid>/` for a while.
//!
//! Most are leftovers of statements that did not end. Some may be all there is of rows whose record was lost, so they are
//! not deleted at once, and a file that a record names after all (somebody put the log back) is fetched from here.
//! Invariant: a file is under its old name or under the new one at any moment. Must not know: which files those are.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use host::{Disk, create_dir_all_synced};
use model::PartDescriptor;
use parts::{PartError, PartFile, PartStore};

use crate::error::TableError;

/// Below the root.
pub const LOST_DIR: &str = "lost";

/// With less room than this on the disk, what was put aside goes before its time, the oldest first: a database that
/// cannot write is worse off than one without leftovers. One merge of small parts and one step of the log fit.
pub const FREE_BYTES_LOW: u64 = 1 << 30;

/// The last bytes of every finished part.
const FINISHED: &[u8; 4] = b"PAR1";

/// What was deleted or put aside.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Collected {
    pub files: u64,
    pub bytes: u64,
}

impl Collected {
    pub(crate) fn add(&mut self, bytes: u64) {
        self.files += 1;
        self.bytes += bytes;
    }
}

fn disk_error<'a>(action: &'static str, path: &'a Path) -> impl Fn(io::Error) -> TableError + 'a {
    move |source| PartError::Disk { action, path: path.to_owned(), source }.into()
}

/// Moves files of parts aside. Deleted are those that were never finished, so that no record can name them, and all on a
/// full disk, where a new folder may not fit. Returns both.
pub(crate) fn put_aside(
    store: &PartStore,
    orphans: &[&PartFile],
    now_ms: u64,
) -> Result<(Collected, Collected), TableError> {
    let (mut moved, mut deleted) = (Collected::default(), Collected::default());
    let (disk, batch) = (store.host().disk.as_ref(), store.root().join(LOST_DIR).join(now_ms.to_string()));
    let (mut made, mut touched) = (BTreeSet::new(), BTreeSet::new());
    let full = !orphans.is_empty() && store.free_bytes()? < FREE_BYTES_LOW;
    for file in orphans {
        if file.part.is_some() && (full || !is_finished(disk, file)) {
            store.delete_file(file)?;
            deleted.add(file.bytes);
            continue;
        }
        let Some(name) = file.path.file_name() else { continue };
        let folder = batch.join(file.table.to_string());
        if made.insert(folder.clone()) {
            create_dir_all_synced(disk, &folder).map_err(disk_error("create folder", &folder))?;
        }
        disk.rename(&file.path, &folder.join(name)).map_err(disk_error("put aside", &file.path))?;
        touched.insert(store.table_dir(file.table));
        moved.add(file.bytes);
    }
    for folder in made.iter().chain(&touched) {
        disk.sync_dir(folder).map_err(disk_error("sync folder", folder))?;
    }
    Ok((moved, deleted))
}

/// In doubt it is.
fn is_finished(disk: &dyn Disk, file: &PartFile) -> bool {
    let Some(end) = file.bytes.checked_sub(4) else { return false };
    let mut bytes = [0; 4];
    let read = disk.open_read(&file.path).and_then(|open| open.read_at(end, &mut bytes));
    read.is_err() || bytes == *FINISHED
}

/// Looks for the file of a part, and puts it where it belongs. False if it is not here.
pub(crate) fn bring_back(store: &PartStore, part: &PartDescriptor) -> Result<bool, TableError> {
    let (disk, target) = (store.host().disk.as_ref(), store.path(part));
    let (Some(name), Some(folder)) = (target.file_name(), target.parent()) else { return Ok(false) };
    let table = folder.file_name().unwrap_or_default();
    for batch in batches(store)? {
        let found = batch.path.join(table).join(name);
        if !disk.exists(&found).map_err(disk_error("look for", &found))? {
            continue;
        }
        let bytes = disk.open_read(&found).and_then(|file| file.len()).map_err(disk_error("open", &found))?;
        if bytes == part.bytes {
            create_dir_all_synced(disk, folder).map_err(disk_error("create folder", folder))?;
            disk.rename(&found, &target).map_err(disk_error("bring back", &found))?;
            disk.sync_dir(folder).map_err(disk_error("sync folder", folder))?;
            return Ok(true);
        }
    }
    Ok(false)
}

/// What was put aside at one open.
struct Batch {
    path: PathBuf,
    at_ms: u64,
}

/// The oldest first; names that are not ours are passed over.
fn batches(store: &PartStore) -> Result<Vec<Batch>, TableError> {
    let dir = store.root().join(LOST_DIR);
    let entries = store.host().disk.list(&dir).map_err(disk_error("list", &dir))?;
    let batch =
        |entry: host::DirEntry| Some(Batch { at_ms: entry.name.parse().ok()?, path: dir.join(&entry.name) });
    let mut batches: Vec<Batch> =
        entries.into_iter().filter(|entry| entry.is_dir).filter_map(batch).collect();
    batches.sort_by_key(|batch| batch.at_ms);
    Ok(batches)
}

/// Whether a batch is to go: it is old enough, or its room is needed.
fn is_due(at_ms: u64, now_ms: u64, lifetime_ms: u64, free_bytes: u64) -> bool {
    now_ms.saturating_sub(at_ms) >= lifetime_ms || free_bytes < FREE_BYTES_LOW
}

/// Deletes what was put aside `lifetime_ms` ago, or earlier if the disk is full. Returns how many batches.
///
/// # Errors
/// The disk refuses.
pub fn sweep(store: &PartStore, lifetime_ms: u64) -> Result<u64, TableError> {
    let mut swept = 0;
    for batch in batches(store)? {
        let now_ms = store.host().clock.now_ms();
        if is_due(batch.at_ms, now_ms, lifetime_ms, store.free_bytes()?) {
            let removed = store.host().disk.remove_dir_all(&batch.path);
            removed.map_err(disk_error("delete folder", &batch.path))?;
            swept += 1;
        }
    }
    Ok(swept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_goes_when_it_is_old_or_its_room_is_needed() {
        const DAY: u64 = 86_400_000;
        const ROOM: u64 = FREE_BYTES_LOW;
        for (at_ms, now_ms, free_bytes, due) in [
            (10 * DAY, 10 * DAY, ROOM, false),
            (10 * DAY, 17 * DAY - 1, ROOM, false),
            (10 * DAY, 17 * DAY, ROOM, true),
            (10 * DAY, 10 * DAY, ROOM - 1, true),
            // A clock that was set back keeps everything.
            (10 * DAY, 0, u64::MAX, false),
        ] {
            assert_eq!(is_due(at_ms, now_ms, 7 * DAY, free_bytes), due, "{at_ms} {now_ms} {free_bytes}");
        }
    }
}
