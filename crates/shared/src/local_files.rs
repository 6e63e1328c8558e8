//! Files of parts that this machine has beside the store: those it wrote or needed whole, and pieces of others.
//!
//! A file is kept under the name that its key makes, a piece with its first byte and the one behind its last after an `@`, until the bytes
//! of all are more than allowed, or their number; then those go that were used longest ago. Invariant: a file under its final name is
//! whole, as far as this process can know; a part never changes, so there is nothing to bring up to date. Losing all of it costs time.
//! Must not know: what is in the files.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, ErrorKind};
use std::ops::Range;
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
/// Files and pieces kept at most: each is a file of the file system, and a name in memory.
const FILES_MAX: usize = 100_000;

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
    /// The names by when they were used last.
    order: BTreeMap<u64, String>,
    /// The pieces of each file by their first bytes.
    pieces: HashMap<String, BTreeMap<u64, u64>>,
    bytes: u64,
    uses: u64,
}

#[derive(Debug, Clone, Copy)]
struct File {
    bytes: u64,
    used: u64,
}

impl Kept {
    /// Whether there is such a file; it is used now.
    fn touch(&mut self, name: &str) -> bool {
        self.uses += 1;
        let Some(file) = self.files.get_mut(name) else { return false };
        let before = std::mem::replace(&mut file.used, self.uses);
        if let Some(name) = self.order.remove(&before) {
            self.order.insert(self.uses, name);
        }
        true
    }

    fn add(&mut self, name: &str, bytes: u64) {
        self.remove(name);
        self.uses += 1;
        self.bytes += bytes;
        self.files.insert(name.to_owned(), File { bytes, used: self.uses });
        self.order.insert(self.uses, name.to_owned());
        if let Some((whole, range)) = piece_of(name) {
            self.pieces.entry(whole.to_owned()).or_default().insert(range.start, range.end);
        }
    }

    fn remove(&mut self, name: &str) -> bool {
        let Some(file) = self.files.remove(name) else { return false };
        self.bytes -= file.bytes;
        self.order.remove(&file.used);
        if let Some((whole, range)) = piece_of(name)
            && let Some(pieces) = self.pieces.get_mut(whole)
        {
            if pieces.get(&range.start) == Some(&range.end) {
                pieces.remove(&range.start);
            }
            if pieces.is_empty() {
                self.pieces.remove(whole);
            }
        }
        true
    }

    /// The piece of a file in which a range lies.
    fn piece(&self, whole: &str, range: &Range<u64>) -> Option<Range<u64>> {
        let (start, end) = self.pieces.get(whole)?.range(..=range.start).next_back()?;
        (range.end <= *end).then_some(*start..*end)
    }

    /// The names of the pieces of a file that lie in a range.
    fn pieces_in(&self, whole: &str, range: Range<u64>) -> Vec<String> {
        let pieces = self.pieces.get(whole).into_iter().flat_map(|pieces| pieces.range(range.clone()));
        pieces
            .filter(|(_, end)| **end <= range.end)
            .map(|(start, end)| piece_name(whole, &(*start..*end)))
            .collect()
    }
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
            match piece_of(&entry.name) {
                // Its end is missing, or it is no file.
                Some((_, range)) if range.end - range.start != entry.bytes => {
                    let _ = disk.remove_file(&files.path(&entry.name));
                }
                _ => files.note(&entry.name, entry.bytes),
            }
        }
        Ok(files)
    }

    /// Where all of it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Bytes that may be kept.
    pub fn bytes_max(&self) -> u64 {
        self.bytes_max
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
        let kept = self.move_in(&name, unfinished);
        if kept.is_err() {
            let _ = self.host.disk.remove_file(unfinished);
        } else {
            // In a statement of its own, or the lock would be held while they are discarded.
            let pieces = self.kept.lock().pieces_in(&name, 0..u64::MAX);
            self.discard(pieces);
        }
        kept
    }

    /// Keeps bytes of a file that begin at `start`, instead of all pieces that lie in them.
    ///
    /// # Errors
    /// They are too many, or cannot be written; nothing is left of them then.
    pub fn keep_piece(&self, key: &str, start: u64, bytes: &[u8]) -> io::Result<()> {
        let range = start..start + model::saturating::u64_of(bytes.len());
        let (whole, unfinished) = (name_of(key), self.unfinished());
        let name = piece_name(&whole, &range);
        let replaced = {
            let kept = self.kept.lock();
            if range.is_empty() || kept.piece(&whole, &range).is_some() {
                return Ok(());
            }
            kept.pieces_in(&whole, range)
        };
        let written = self.host.disk.create(&unfinished).and_then(|mut file| file.append(bytes));
        let kept = written.and_then(|()| self.move_in(&name, &unfinished));
        if kept.is_err() {
            let _ = self.host.disk.remove_file(&unfinished);
        } else {
            self.discard(replaced.into_iter().filter(|other| *other != name).collect());
        }
        kept
    }

    fn move_in(&self, name: &str, unfinished: &Path) -> io::Result<()> {
        let disk = &self.host.disk;
        let bytes = disk.open_read(unfinished)?.len()?;
        if bytes > self.bytes_max {
            return Err(io::Error::new(ErrorKind::StorageFull, "more than may be kept"));
        }
        disk.create_dir_all(&self.folder.join(KEPT))?;
        disk.rename(unfinished, &self.path(name))?;
        self.note(name, bytes);
        Ok(())
    }

    /// The file of a key, if it is here.
    pub fn get(&self, key: &str) -> Option<Arc<dyn DiskRead>> {
        let name = name_of(key);
        if !self.kept.lock().touch(&name) {
            return None;
        }
        self.open_kept(&name)
    }

    /// A piece of a file in which a range lies, and where it begins, if it is here.
    pub fn piece(&self, key: &str, range: &Range<u64>) -> Option<(Arc<dyn DiskRead>, u64)> {
        let whole = name_of(key);
        let (name, start) = {
            let mut kept = self.kept.lock();
            let piece = kept.piece(&whole, range)?;
            let name = piece_name(&whole, &piece);
            kept.touch(&name);
            (name, piece.start)
        };
        self.open_kept(&name).map(|file| (file, start))
    }

    /// Whether a range can be read here, with a file or a piece of it.
    pub fn has(&self, key: &str, range: &Range<u64>) -> bool {
        let (name, kept) = (name_of(key), self.kept.lock());
        kept.files.contains_key(&name) || kept.piece(&name, range).is_some()
    }

    fn open_kept(&self, name: &str) -> Option<Arc<dyn DiskRead>> {
        // Somebody may have deleted it since, or all of them.
        let opened = self.host.disk.open_read(&self.path(name)).ok();
        if opened.is_none() {
            self.kept.lock().remove(name);
        }
        opened
    }

    /// Nothing of the file is needed any more; whether there was something.
    pub fn forget(&self, key: &str) -> bool {
        let name = name_of(key);
        let mut names = self.kept.lock().pieces_in(&name, 0..u64::MAX);
        names.push(name);
        self.discard(names) > 0
    }

    /// How many of these there were.
    fn discard(&self, names: Vec<String>) -> usize {
        let there = |name: &String| self.kept.lock().remove(name);
        let going: Vec<String> = names.into_iter().filter(there).collect();
        for name in &going {
            let _ = self.host.disk.remove_file(&self.path(name));
        }
        going.len()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(KEPT).join(name)
    }

    /// There is one more; what is too much goes. Whoever has one of those open reads on.
    fn note(&self, name: &str, bytes: u64) {
        let mut going = Vec::new();
        {
            let mut kept = self.kept.lock();
            kept.add(name, bytes);
            while kept.bytes > self.bytes_max || kept.files.len() > FILES_MAX {
                let Some(oldest) = kept.order.first_key_value().map(|(_, name)| name.clone()) else { break };
                kept.remove(&oldest);
                going.push(oldest);
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

fn piece_name(whole: &str, range: &Range<u64>) -> String {
    format!("{whole}@{}-{}", range.start, range.end)
}

/// Of which file a piece is, and which bytes; `None` for whole files.
fn piece_of(name: &str) -> Option<(&str, Range<u64>)> {
    let (whole, range) = name.rsplit_once('@')?;
    let (start, end) = range.split_once('-')?;
    Some((whole, start.parse().ok()?..end.parse().ok()?))
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

    #[test]
    fn pieces_are_found_again_and_replaced_by_larger_ones() {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::system(1 << 20).unwrap();
        let files = LocalFiles::open(host.clone(), folder.path(), 100).unwrap();
        let bytes: Vec<u8> = (0..90).collect();
        let piece = |files: &LocalFiles, range: Range<u64>| {
            let (file, start) = files.piece("data/t/a.parquet", &range)?;
            let length = usize::try_from(range.end - range.start).unwrap();
            Some(file.read_bytes(range.start - start, length).unwrap().to_vec())
        };
        files.keep_piece("data/t/a.parquet", 10, &bytes[10..20]).unwrap();
        files.keep_piece("data/t/a.parquet", 30, &bytes[30..40]).unwrap();
        assert_eq!(
            (piece(&files, 10..20), piece(&files, 33..35)),
            (Some(bytes[10..20].to_vec()), Some(vec![33, 34]))
        );
        assert_eq!((piece(&files, 19..21), piece(&files, 9..11), piece(&files, 20..30)), (None, None, None));
        assert!(files.has("data/t/a.parquet", &(31..32)) && !files.has("data/t/b.parquet", &(31..32)));
        files.keep_piece("data/t/a.parquet", 5, &bytes[5..60]).unwrap();
        assert_eq!(
            (files.bytes(), piece(&files, 19..21)),
            (55, Some(vec![19, 20])),
            "one piece instead of two"
        );
        files.keep_piece("data/t/a.parquet", 10, &bytes[10..20]).unwrap();
        assert_eq!(files.bytes(), 55, "it is here already");
        files.keep_piece("data/t/a.parquet", 70, &bytes[70..75]).unwrap();
        files.keep_piece("data/t/a.parquet", 70, &bytes[70..80]).unwrap();
        assert_eq!(
            piece(&files, 76..80),
            Some(bytes[76..80].to_vec()),
            "the one it replaces began there, too"
        );
        let short = folder.path().join("parts/t_a.parquet@80-85");
        host.disk.create(&short).unwrap().append(&bytes[80..83]).unwrap();
        let again = LocalFiles::open(host, folder.path(), 150).unwrap();
        assert_eq!((piece(&again, 58..60), piece(&again, 80..85)), (Some(vec![58, 59]), None));
        keep(&again, "data/t/a.parquet", 90);
        assert_eq!((again.bytes(), piece(&again, 58..60)), (90, None), "the whole file replaces its pieces");
        assert!(again.forget("data/t/a.parquet") && !again.forget("data/t/a.parquet"));
        assert_eq!(again.bytes(), 0);
    }
}
