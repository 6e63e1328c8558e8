//! The simulated name space: what programs see, what is durable, and the changes between the two.
//!
//! A sync of a directory makes the pending changes of that directory durable. At a crash each directory keeps
//! a random prefix of its pending changes, independently of other directories; a rename between two
//! directories survives only if both prefixes reach it, so it never loses the file. A name whose directory
//! did not survive is gone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rand::Rng;
use rand_chacha::ChaCha12Rng;

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    File(u64),
    Dir,
}

#[derive(Debug)]
enum Change {
    Add { path: PathBuf, entry: Entry },
    Remove { path: PathBuf },
    Rename { from: PathBuf, to: PathBuf, entry: Entry },
}

impl Change {
    /// The directories that gain or lose a name.
    fn dirs(&self) -> impl Iterator<Item = &Path> {
        let (first, second) = match self {
            Self::Add { path, .. } | Self::Remove { path } => (path, None),
            Self::Rename { from, to, .. } => (from, Some(to)),
        };
        [Some(first), second].into_iter().flatten().filter_map(|path| path.parent())
    }

    fn apply(&self, names: &mut BTreeMap<PathBuf, Entry>) {
        match self {
            Self::Add { path, entry } => {
                names.insert(path.clone(), *entry);
            }
            Self::Remove { path } => {
                names.remove(path);
            }
            Self::Rename { from, to, entry } => {
                names.remove(from);
                names.insert(to.clone(), *entry);
            }
        }
    }
}

/// All names of the simulated disk.
#[derive(Debug)]
pub(super) struct Names {
    pub(super) visible: BTreeMap<PathBuf, Entry>,
    durable: BTreeMap<PathBuf, Entry>,
    pending: Vec<Change>,
}

impl Default for Names {
    fn default() -> Self {
        let root = BTreeMap::from([(PathBuf::from("/"), Entry::Dir)]);
        Self { visible: root.clone(), durable: root, pending: Vec::new() }
    }
}

impl Names {
    pub(super) fn get(&self, path: &Path) -> Option<Entry> {
        self.visible.get(path).copied()
    }

    pub(super) fn add(&mut self, path: &Path, entry: Entry) {
        self.change(Change::Add { path: path.to_owned(), entry });
    }

    pub(super) fn remove(&mut self, path: &Path) {
        self.change(Change::Remove { path: path.to_owned() });
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path, entry: Entry) {
        self.change(Change::Rename { from: from.to_owned(), to: to.to_owned(), entry });
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.visible);
        self.pending.push(change);
    }

    /// Names directly in a directory.
    pub(super) fn children(&self, dir: &Path) -> Vec<(PathBuf, Entry)> {
        let children = self.below(dir).into_iter();
        children.filter(|(path, _)| path.parent() == Some(dir)).collect()
    }

    /// Everything under a directory, children behind their parents.
    pub(super) fn below(&self, dir: &Path) -> Vec<(PathBuf, Entry)> {
        let from_dir = self.visible.range(dir.to_owned()..).take_while(|(path, _)| path.starts_with(dir));
        from_dir.filter(|(path, _)| *path != dir).map(|(path, entry)| (path.clone(), *entry)).collect()
    }

    pub(super) fn sync_dir(&mut self, dir: &Path) {
        let mut kept: Vec<Change> = Vec::new();
        for change in std::mem::take(&mut self.pending) {
            if !change.dirs().any(|touched| touched == dir) {
                kept.push(change);
                continue;
            }
            change.apply(&mut self.durable);
            if let Change::Rename { from, .. } = &change {
                // The name it had before in another directory is gone with it, even if never synced there.
                let source = from;
                kept.retain(|earlier| !matches!(earlier, Change::Add { path, .. } if path == source));
            }
        }
        self.pending = kept;
    }

    /// The machine stopped: what is durable now, or survives by chance, is what there is.
    pub(super) fn machine_stopped(&mut self, dice: &mut ChaCha12Rng) {
        let pending = std::mem::take(&mut self.pending);
        let mut cuts: BTreeMap<PathBuf, usize> = BTreeMap::new();
        for dir in pending.iter().flat_map(|change| change.dirs()) {
            if !cuts.contains_key(dir) {
                cuts.insert(dir.to_owned(), dice.random_range(0..=pending.len()));
            }
        }
        for (i, change) in pending.iter().enumerate() {
            if change.dirs().all(|dir| cuts.get(dir).is_some_and(|cut| i < *cut)) {
                change.apply(&mut self.durable);
            }
        }
        // Parents sort before their children, so one pass sees every orphan's parent decided.
        let mut survivors = BTreeMap::new();
        for (path, entry) in std::mem::take(&mut self.durable) {
            if path.parent().is_none_or(|parent| survivors.get(parent) == Some(&Entry::Dir)) {
                survivors.insert(path, entry);
            }
        }
        self.visible = survivors.clone();
        self.durable = survivors;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn crashed(seed: u64, act: impl Fn(&mut Names)) -> Vec<String> {
        let mut names = Names::default();
        names.add(Path::new("/d"), Entry::Dir);
        names.sync_dir(Path::new("/"));
        act(&mut names);
        names.machine_stopped(&mut ChaCha12Rng::seed_from_u64(seed));
        names.children(Path::new("/d")).iter().map(|(path, _)| path.display().to_string()).collect()
    }

    #[test]
    fn an_unsynced_rename_leaves_exactly_one_of_the_two_names() {
        let mut seen = [0; 2];
        for seed in 0..50 {
            let left = crashed(seed, |names| {
                names.add(Path::new("/d/a"), Entry::File(1));
                names.sync_dir(Path::new("/d"));
                names.rename(Path::new("/d/a"), Path::new("/d/b"), Entry::File(1));
            });
            assert!(left == ["/d/a"] || left == ["/d/b"], "{left:?}");
            seen[usize::from(left == ["/d/b"])] += 1;
        }
        assert!(seen[0] > 5 && seen[1] > 5, "{seen:?}");
    }

    #[test]
    fn a_synced_name_stays_and_an_unsynced_directory_takes_its_files_along() {
        let mut without_nested = 0;
        for seed in 0..50 {
            let left = crashed(seed, |names| {
                names.add(Path::new("/d/kept"), Entry::File(1));
                names.sync_dir(Path::new("/d"));
                names.add(Path::new("/d/sub"), Entry::Dir);
                names.add(Path::new("/d/sub/x"), Entry::File(2));
                names.sync_dir(Path::new("/d/sub"));
            });
            assert_eq!(left[0], "/d/kept");
            without_nested += usize::from(left.len() == 1);
        }
        assert!(without_nested > 5);
    }
}
