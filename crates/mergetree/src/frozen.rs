//! Copies of parts that stay whatever becomes of their table, below `<root>/shadow/<name>/`.
//!
//! A copy is a second name of the same file: it takes no room while the part is there, and keeps the bytes when the part goes.
//! `data/<table uuid>/<part uuid>.parquet` is what a root has, so `restore` reads the folder as a root whose log is gone;
//! `parts/<table uuid>/<part>.<part uuid>`, empty, says what a part was called. Invariant: no record knows of the copies, and nothing
//! but [`unfreeze`] deletes them. A crash leaves some of the copies of a statement. Must not know: which parts are live.

use std::path::PathBuf;
use std::sync::Arc;

use model::{PartDescriptor, TableId};
use parts::PartStore;

use crate::error::TableError;

/// Below the root.
const SHADOW_DIR: &str = "shadow";

/// A copy of a part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frozen {
    pub partition: String,
    /// What the part was called.
    pub name: String,
    /// Where the copies of its table are, and where it is.
    pub folder: PathBuf,
    pub path: PathBuf,
}

/// What a name is called as a folder: letters and digits of ASCII, and the others by their bytes.
pub fn folder_name(name: &str) -> String {
    let written = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    name.bytes().map(written).collect()
}

/// A number that no folder of copies has yet.
///
/// # Errors
/// The disk refuses to list.
pub fn next_number(store: &PartStore) -> Result<String, TableError> {
    let names = store.storage().list(SHADOW_DIR)?;
    let newest = names.iter().filter_map(|entry| entry.name.parse::<u64>().ok()).max();
    Ok(newest.map_or(1, |newest| newest.saturating_add(1)).to_string())
}

/// The keys of a table's copies under a name: of the files, and of what says how the parts were called.
fn folders(name: &str, table: TableId) -> (String, String) {
    let below = |what: &str| format!("{SHADOW_DIR}/{name}/{what}");
    (below(&PartStore::table_folder(table)), format!("{}/{table}", below("parts")))
}

/// Copies parts of one table into a folder; all of them or, after an error, none.
///
/// # Errors
/// `AlreadyExists` if one of them was copied there before; or the disk refuses.
pub fn freeze(
    store: &PartStore,
    name: &str,
    parts: &[Arc<PartDescriptor>],
) -> Result<Vec<Frozen>, TableError> {
    let (storage, mut made, mut frozen) = (store.storage(), Vec::<String>::new(), Vec::new());
    for part in parts {
        let (files, names) = folders(name, part.table);
        let key: &str = &part.location.key;
        let copy = format!("{files}/{}", key.rsplit('/').next().unwrap_or(key));
        let called = format!("{names}/{}.{}", part.name(), part.id);
        // A name without a file is passed over, a file without a name would stay for ever: so the name comes first.
        let linked = match storage.find(&copy) {
            Ok(None) => name_it(store, &called).and_then(|()| storage.link(key, &copy)),
            // To be refused with the words of the disk.
            Ok(Some(_)) => storage.link(key, &copy),
            Err(error) => Err(error),
        };
        if let Err(error) = linked {
            // Best effort: UNFREEZE deletes what stays.
            for key in &made {
                let _ = storage.delete(key);
            }
            return Err(error.into());
        }
        frozen.push(Frozen {
            partition: part.partition.name().to_owned(),
            name: part.name(),
            folder: storage.place(&files),
            path: storage.place(&copy),
        });
        made.extend([copy, called]);
    }
    Ok(frozen)
}

/// Makes the empty file that says how a part was called, unless a crash left it.
fn name_it(store: &PartStore, key: &str) -> Result<(), parts::PartError> {
    match store.storage().find(key)? {
        Some(_) => Ok(()),
        None => store.storage().create(key)?.seal(),
    }
}

/// Deletes copies of one table, of the partitions that are asked for.
///
/// # Errors
/// The disk refuses; what is left is found when it is tried again.
pub fn unfreeze(
    store: &PartStore,
    name: &str,
    table: TableId,
    is_asked_for: impl Fn(&str) -> bool,
) -> Result<Vec<Frozen>, TableError> {
    let storage = store.storage();
    let (files, names) = folders(name, table);
    let (mut gone, mut left) = (Vec::new(), false);
    for entry in storage.list(&names)? {
        let Some((part, id)) = entry.name.rsplit_once('.') else { continue };
        let partition = part.rsplitn(4, '_').nth(3).unwrap_or(part);
        if !is_asked_for(partition) {
            left = true;
            continue;
        }
        let copy = format!("{files}/{id}.parquet");
        if storage.find(&copy)?.is_some() {
            storage.delete(&copy)?;
            gone.push(Frozen {
                partition: partition.to_owned(),
                name: part.to_owned(),
                folder: storage.place(&files),
                path: storage.place(&copy),
            });
        }
        storage.delete(&format!("{names}/{}", entry.name))?;
    }
    if !left {
        storage.delete_folder(&files)?;
        storage.delete_folder(&names)?;
        let whole = format!("{SHADOW_DIR}/{name}");
        if storage.list(&format!("{whole}/parts"))?.is_empty() {
            storage.delete_folder(&whole)?;
        }
    }
    Ok(gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_folders_inside_of_the_root() {
        for (name, folder) in [
            ("daily_1", "daily_1"),
            ("x/y z", "x%2Fy%20z"),
            ("..", "%2E%2E"),
            ("é", "%C3%A9"),
            ("a-b", "a%2Db"),
        ] {
            assert_eq!(folder_name(name), folder);
        }
    }
}
