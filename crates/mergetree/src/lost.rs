//! Files no record names, put aside in `<root>/lost/<when, ms since 1970>/<table uuid>/` for a while.
//!
//! Most are leftovers of statements that did not end. Some may be all there is of rows whose record was lost, so they are
//! not deleted at once, and a file that a record names after all (somebody put the log back) is fetched from here.
//! Invariant: a file is under its old name or under the new one at any moment. Must not know: which files those are.

use model::PartDescriptor;
use parts::{PartFile, PartStore};

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

/// Moves files of parts aside. Deleted are those that were never finished, so that no record can name them, and all on a
/// full disk, where a new folder may not fit. Returns both.
pub(crate) fn put_aside(
    store: &PartStore,
    orphans: &[&PartFile],
    now_ms: u64,
) -> Result<(Collected, Collected), TableError> {
    let (mut moved, mut deleted) = (Collected::default(), Collected::default());
    let mut moves = Vec::new();
    let full = !orphans.is_empty() && store.free_bytes()? < FREE_BYTES_LOW;
    for file in orphans {
        if file.part.is_some() && (full || !is_finished(store, file)) {
            store.delete_file(file)?;
            deleted.add(file.bytes);
            continue;
        }
        let Some((_, name)) = file.key.rsplit_once('/') else { continue };
        moves.push((file.key.clone(), format!("{LOST_DIR}/{now_ms}/{}/{name}", file.table)));
        moved.add(file.bytes);
    }
    store.storage().move_files(&moves)?;
    Ok((moved, deleted))
}

/// In doubt it is.
fn is_finished(store: &PartStore, file: &PartFile) -> bool {
    let Some(end) = file.bytes.checked_sub(4) else { return false };
    let mut bytes = [0; 4];
    let Ok(open) = store.storage().open(&file.key) else { return true };
    open.read_at(end, &mut bytes).is_err() || bytes == *FINISHED
}

/// Looks for the file of a part, and puts it where it belongs. False if it is not here.
pub(crate) fn bring_back(store: &PartStore, part: &PartDescriptor) -> Result<bool, TableError> {
    let key: &str = &part.location.key;
    // Of the key, the table's folder and the name: that is what was kept when the file was put aside.
    let Some((folder, name)) = key.rsplit_once('/') else { return Ok(false) };
    let table = folder.rsplit('/').next().unwrap_or(folder);
    for batch in batches(store)? {
        let found = format!("{}/{table}/{name}", batch.folder);
        if store.storage().find(&found)? == Some(part.bytes) {
            store.storage().move_files(&[(found, key.to_owned())])?;
            return Ok(true);
        }
    }
    Ok(false)
}

/// What was put aside at one open.
struct Batch {
    folder: String,
    at_ms: u64,
}

/// The oldest first; names that are not ours are passed over.
fn batches(store: &PartStore) -> Result<Vec<Batch>, TableError> {
    let entries = store.storage().list(LOST_DIR)?;
    let batch = |entry: host::DirEntry| {
        Some(Batch { at_ms: entry.name.parse().ok()?, folder: format!("{LOST_DIR}/{}", entry.name) })
    };
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
            store.storage().delete_folder(&batch.folder)?;
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
