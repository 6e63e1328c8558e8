//! A whole folder checked byte by byte, without opening it and without changing it.
//!
//! Invariant: reads only, and goes on after the first damage; every problem names its file. Works beside a running database,
//! whose newest record may then look like a torn end. Where no state can be read, files are held against their own footers.
//! Must not know: terminals.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use catalog::{CatalogConfig, CatalogError, ReadRoot, State, TableState, checkpoint, read_root};
use commitlog::{AnchorCopy, LogFolder, Tail, dump, read_anchors};
use host::Host;
use model::{PartDescriptor, PartId};
use parts::{FoundPart, PartStore};

use crate::lost::LOST_DIR;

/// What was found of one kind of file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FolderCheck {
    pub what: &'static str,
    /// Files, or copies, that were read.
    pub checked: u64,
    /// What to know of them, if all is well.
    pub remark: String,
    /// One entry a problem, with the path of the file.
    pub damage: Vec<String>,
}

impl FolderCheck {
    pub(crate) fn of(what: &'static str) -> FolderCheck {
        FolderCheck { what, ..FolderCheck::default() }
    }
}

/// Anchors, segments, checkpoints, the state they make, and every live part.
pub fn verify_folder(host: &Host, root: &Path) -> Vec<FolderCheck> {
    let mut checks = vec![anchors(host, root), segments(host, root), checkpoints(host, root)];
    let (whole, state) = whole(host, root);
    checks.push(whole);
    checks.push(match state {
        Some(state) => {
            let now = || Some(read_root(host, root, CatalogConfig::default()).ok()?.state);
            live_parts(host, root, &state, &now)
        }
        None => found_parts(host, root),
    });
    checks
}

fn anchors(host: &Host, root: &Path) -> FolderCheck {
    let mut check = FolderCheck::of("anchor");
    let folder = LogFolder::below(root);
    let copies = match read_anchors(&*host.disk, &folder) {
        Ok(copies) => copies,
        Err(error) => {
            check.damage.push(error.to_string());
            return check;
        }
    };
    let missing = copies.iter().filter(|copy| **copy == AnchorCopy::Missing).count();
    for (copy, path) in copies.iter().zip(&folder.anchors) {
        match copy {
            AnchorCopy::Sound(anchor) => {
                check.checked += 1;
                check.remark = format!("record {} was synced", anchor.synced_seq);
            }
            AnchorCopy::Missing if missing == copies.len() => {
                check.remark = "none: the folder is empty, of an older version, or has lost them".to_owned();
            }
            AnchorCopy::Missing => check.damage.push(format!("{}: it is missing", path.display())),
            AnchorCopy::Damaged(why) => check.damage.push(format!("{}: {why}", path.display())),
        }
    }
    check
}

fn segments(host: &Host, root: &Path) -> FolderCheck {
    let mut check = FolderCheck::of("log");
    let wal = LogFolder::below(root).wal;
    let mut records = 0;
    let paths = names(host, &wal, ".seg", &mut check);
    for (number, path) in paths.iter().enumerate() {
        check.checked += 1;
        let is_last = number + 1 == paths.len();
        match dump(&*host.disk, path) {
            Ok(Some(dump)) => {
                records += dump.records.len();
                match dump.tail {
                    Tail::Clean { .. } => {}
                    Tail::Torn { offset, bytes, .. } if is_last => {
                        check.remark = format!(", {bytes} torn bytes from byte {offset} of the last file on");
                    }
                    Tail::Torn { offset, why, .. } | Tail::Damaged { offset, why, .. } => {
                        check.damage.push(format!("{}: at byte {offset}: {why}", path.display()));
                    }
                }
            }
            Ok(None) if is_last => {}
            Ok(None) => check.damage.push(format!("{}: its header is missing", path.display())),
            Err(error) => check.damage.push(error.to_string()),
        }
    }
    check.remark = format!("{records} records{}", check.remark);
    check
}

fn checkpoints(host: &Host, root: &Path) -> FolderCheck {
    checkpoints_in(host, &checkpoint::dir_of(root))
}

pub(crate) fn checkpoints_in(host: &Host, folder: &Path) -> FolderCheck {
    let mut check = FolderCheck::of("checkpoints");
    for path in names(host, folder, ".parquet", &mut check) {
        check.checked += 1;
        match checkpoint::read(&*host.disk, &path) {
            Ok(state) => check.remark = format!("the newest is of record {}", state.seq()),
            Err(error) => check.damage.push(error.to_string()),
        }
    }
    check
}

/// What an open would say.
fn whole(host: &Host, root: &Path) -> (FolderCheck, Option<State>) {
    whole_of(read_root(host, root, CatalogConfig::default()))
}

pub(crate) fn whole_of(read: Result<ReadRoot, CatalogError>) -> (FolderCheck, Option<State>) {
    let mut check = FolderCheck::of("state");
    match read {
        Ok(read) => {
            check.checked = 1;
            check.remark =
                format!("opens at record {}, {} tables", read.state.seq(), read.state.all_tables().count());
            let damage = read.findings.iter().filter(|finding| finding.is_damage());
            check.damage.extend(damage.map(ToString::to_string));
            (check, Some(read.state))
        }
        Err(error) => {
            check.damage.push(error.to_string());
            (check, None)
        }
    }
}

/// Every live part as CHECK TABLE reads it, but for the order, which only an open table knows. `now` reads the state again.
pub(crate) fn live_parts(
    host: &Host,
    root: &Path,
    state: &State,
    now: &dyn Fn() -> Option<State>,
) -> FolderCheck {
    let mut check = FolderCheck::of("parts");
    let store = PartStore::local(host.clone(), root.to_owned());
    let (mut rows, mut named) = (0, 0);
    let mut damaged = Vec::new();
    let mut verify = |part: &Arc<PartDescriptor>| {
        check.checked += 1;
        match parts::verify(&store, part, &[]) {
            Ok(verified) => rows += verified.rows,
            Err(error) => damaged.push((part.id, format!("{}: {error}", store.path(part).display()))),
        }
    };
    for table in state.all_tables() {
        named += table.outdated().count();
        table.parts().for_each(&mut verify);
        // Whoever attaches them again will need them.
        table.detached().for_each(|detached| verify(&detached.descriptor));
    }
    // Nobody sees them yet; who resumes the load will need them.
    state.loads().iter().flat_map(|load| load.parts()).for_each(&mut verify);
    // Beside a running database a part may have been merged away, and deleted, while others were read.
    let now = if damaged.is_empty() { None } else { now() };
    damaged.retain(|(part, _)| now.as_ref().is_none_or(|now| is_needed(now, *part)));
    check.damage.extend(damaged.into_iter().map(|(_, problem)| problem));
    let files: usize = match store.list_tables() {
        Ok(tables) => tables.into_iter().filter_map(|table| Some(store.list_files(table).ok()?.len())).sum(),
        Err(_) => 0,
    };
    check.remark =
        format!("{rows} rows, {files} files for {} live parts and {named} replaced ones", check.checked);
    if state.seq() == model::Seq::ZERO && files > 0 {
        check.damage.push(format!("{}: there is no record, but there are parts", root.display()));
    }
    if host.disk.exists(&root.join(LOST_DIR)).unwrap_or(false) {
        check.remark.push_str("; some in lost/");
    }
    check
}

fn is_needed(state: &State, part: PartId) -> bool {
    let detached = |table: &Arc<TableState>| table.detached().any(|kept| kept.descriptor.id == part);
    state.all_tables().any(|table| table.part(part).is_some() || detached(table))
        || state.loads().iter().any(|load| load.has_part(part))
}

/// Every file of a part against the sums in its own footer.
pub(crate) fn found_parts(host: &Host, root: &Path) -> FolderCheck {
    let mut check = FolderCheck::of("part files");
    let store = PartStore::local(host.clone(), root.to_owned());
    let tables = store.list_tables().unwrap_or_default();
    let files = tables.into_iter().flat_map(|table| store.list_files(table).unwrap_or_default());
    let mut rows = 0;
    for file in files {
        let Some(part) = file.part else { continue };
        check.checked += 1;
        let found = FoundPart::look(&store, &file.key, (file.table, part));
        match found.and_then(|found| found.open(&store)?.check_pages(|_| {}).map(|()| found.rows())) {
            Ok(sound) => rows += sound,
            Err(error) => {
                let place = store.storage().place(&file.key);
                check.damage.push(format!("{}: {error}", place.display()));
            }
        }
    }
    check.remark =
        format!("{rows} rows; which of the files are live is not known, gristmill restore finds out");
    check
}

/// The files of a folder with this ending, by name.
fn names(host: &Host, dir: &Path, ending: &str, check: &mut FolderCheck) -> Vec<PathBuf> {
    match host.disk.list(dir) {
        Ok(entries) => {
            let names = entries.into_iter().filter(|entry| entry.name.ends_with(ending));
            names.map(|entry| dir.join(entry.name)).collect()
        }
        Err(error) => {
            check.damage.push(error.to_string());
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use catalog::{Catalog, Op, Transaction};
    use host::SimHost;

    use super::*;

    fn damage(checks: &[FolderCheck]) -> Vec<&String> {
        checks.iter().flat_map(|check| &check.damage).collect()
    }

    #[test]
    fn a_sound_folder_has_no_problem_and_a_damaged_file_is_named() {
        let (host, world) = SimHost::new(1);
        let root = Path::new("/db");
        let catalog = Catalog::open(&host, root, CatalogConfig::default()).unwrap();
        for name in ["a", "b"] {
            let id = model::DatabaseId::from_bytes([name.as_bytes()[0]; 16]);
            let op = Op::CreateDatabase { id, name: name.into() };
            catalog.commit(Transaction::new(catalog.transaction_id(), catalog.seq(), vec![op])).unwrap();
        }
        catalog.checkpoint().unwrap();
        catalog.pin().unwrap();
        drop(catalog);
        let calls = world.ops();
        let checks = verify_folder(&host, root);
        assert!(damage(&checks).is_empty() && world.ops() > calls, "{checks:?}");
        let remarks: Vec<&str> = checks.iter().map(|check| check.remark.as_str()).collect();
        assert_eq!(
            &remarks[..4],
            ["record 2 was synced", "2 records", "the newest is of record 2", "opens at record 2, 0 tables",]
        );
        world.damage(&root.join("ANCHOR"), 50, 1).unwrap();
        assert!(damage(&verify_folder(&host, root))[0].starts_with("/db/ANCHOR: "));
        world.damage(&root.join("stream/0/wal/00000000000000000001.seg"), 70, 1).unwrap();
        let checks = verify_folder(&host, root);
        assert!(
            damage(&checks).iter().any(|problem| problem.contains("00000000000000000001.seg: at byte 64"))
        );
    }
}
