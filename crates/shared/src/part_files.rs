//! Parts in a store that many servers share, as [`PartStorage`].
//!
//! A part is written to a file of this machine, which is sent to the store when it is written, and stays. Whoever reads a part from
//! front to back, as merges do, fetches it whole. Invariant: a part is sealed when the store has it; nothing of this machine needs
//! to be durable. Must not know: what is in the files, and which of them are live.

use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};

use host::{DirEntry, DiskFile, DiskRead, Host, Objects, Runtimes};
use parking_lot::Mutex;
use parts::{PartError, PartStorage, PartStore, UnsealedFile};

use crate::fetches::{Fetches, again};
use crate::local_files::{LocalFiles, SCRATCH};

/// Bytes asked for at once when a part is fetched whole.
const FETCHED_BYTES: u64 = 8 << 20;

/// See the module.
#[derive(Debug)]
pub struct SharedParts {
    host: Host,
    objects: Arc<dyn Objects>,
    files: Arc<LocalFiles>,
    fetches: Arc<Fetches>,
}

impl SharedParts {
    pub fn new(
        host: Host,
        objects: Arc<dyn Objects>,
        files: Arc<LocalFiles>,
        fetches: Arc<Fetches>,
    ) -> SharedParts {
        SharedParts { host, objects, files, fetches }
    }

    fn error(&self, action: &'static str, key: &str) -> impl FnOnce(io::Error) -> PartError {
        PartError::disk(action, &self.place(key))
    }

    /// Fetches a whole file and keeps it.
    fn fetch(&self, key: &str) -> io::Result<Arc<dyn DiskRead>> {
        let object = self.objects.head(key)?;
        let missing =
            || io::Error::new(ErrorKind::NotFound, format!("{} is not there", self.objects.place(key)));
        let length = object.ok_or_else(missing)?.bytes;
        let path = self.files.unfinished();
        let mut file = self.host.disk.create(&path)?;
        let mut done = 0;
        let fetched: io::Result<()> = (|| {
            while done < length {
                let end = (done + FETCHED_BYTES).min(length);
                file.append(&again(&self.host, || self.objects.get_range(key, done..end))?)?;
                done = end;
            }
            Ok(())
        })();
        if let Err(error) = fetched {
            let _ = self.host.disk.remove_file(&path);
            return Err(error);
        }
        // Opened first: what is kept may be thrown out at once.
        let read = self.host.disk.open_read(&path)?;
        // Without room for it it is fetched again.
        let _kept = self.files.keep(key, &path);
        Ok(read)
    }
}

impl PartStorage for SharedParts {
    fn create(&self, key: &str) -> Result<Box<dyn UnsealedFile>, PartError> {
        let path = self.files.unfinished();
        let file = self.host.disk.create(&path).map_err(PartError::disk("create", &path))?;
        let (host, objects) = (self.host.clone(), Arc::clone(&self.objects));
        let part = Unsent { host, objects, key: key.to_owned(), path, fate: Mutex::new(Fate::Unsent) };
        Ok(Box::new(SharedFile {
            part: Arc::new(part),
            files: Arc::clone(&self.files),
            runtimes: self.fetches.runtimes().clone(),
            file,
            sending: None,
            is_sealed: false,
        }))
    }

    fn open(&self, key: &str) -> Result<Arc<dyn DiskRead>, PartError> {
        match self.files.get(key) {
            Some(file) => Ok(file),
            None => self.fetch(key).map_err(self.error("fetch", key)),
        }
    }

    fn forget_copy(&self, key: &str) -> bool {
        self.files.forget(key)
    }

    fn is_far(&self) -> bool {
        true
    }

    fn fetch_ahead(&self, key: &str, ranges: &[Range<u64>]) {
        self.fetches.ahead(key, ranges);
    }

    fn find(&self, key: &str) -> Result<Option<u64>, PartError> {
        let found = again(&self.host, || self.objects.head(key)).map_err(self.error("look for", key))?;
        Ok(found.map(|object| object.bytes))
    }

    fn list(&self, folder: &str) -> Result<Vec<DirEntry>, PartError> {
        let prefix = format!("{folder}/");
        let objects =
            again(&self.host, || self.objects.list(&prefix, "")).map_err(self.error("list", folder))?;
        let mut entries: Vec<DirEntry> = Vec::new();
        for object in &objects {
            let Some(rest) = object.key.strip_prefix(&prefix) else { continue };
            let entry = match rest.split_once('/') {
                Some((name, _)) => DirEntry { name: name.to_owned(), bytes: 0, is_dir: true },
                None => DirEntry { name: rest.to_owned(), bytes: object.bytes, is_dir: false },
            };
            if entries.last() != Some(&entry) {
                entries.push(entry);
            }
        }
        Ok(entries)
    }

    /// Nothing is put aside in a shared root: what nobody names may be about to be named by another server.
    fn move_files(&self, moves: &[(String, String)]) -> Result<(), PartError> {
        let Some((from, _)) = moves.first() else { return Ok(()) };
        let refused = io::Error::new(ErrorKind::Unsupported, "objects of a shared root are not moved");
        Err(self.error("move", from)(refused))
    }

    fn delete(&self, key: &str) -> Result<(), PartError> {
        self.files.forget(key);
        again(&self.host, || self.objects.delete(key)).map_err(self.error("delete", key))
    }

    fn delete_folder(&self, folder: &str) -> Result<(), PartError> {
        let objects = again(&self.host, || self.objects.list(&format!("{folder}/"), ""));
        let objects = objects.map_err(self.error("list", folder))?;
        objects.iter().try_for_each(|object| self.delete(&object.key))
    }

    /// The store has no end; what is written passes this machine's disk.
    fn free_bytes(&self) -> Result<u64, PartError> {
        let folder = self.files.folder();
        self.host.disk.free_bytes(folder).map_err(PartError::disk("ask for the free space of", folder))
    }

    /// On this machine alone.
    fn scratch(self: Arc<Self>) -> Arc<dyn PartStorage> {
        let folder = self.files.folder().join(SCRATCH);
        PartStore::local(self.host.clone(), folder).into_storage().scratch()
    }

    fn place(&self, key: &str) -> PathBuf {
        self.objects.place(key).into()
    }
}

/// A part being written.
struct SharedFile {
    part: Arc<Unsent>,
    files: Arc<LocalFiles>,
    runtimes: Runtimes,
    file: Box<dyn DiskFile>,
    /// What comes of sending it, once that has begun.
    sending: Option<mpsc::Receiver<io::Result<()>>>,
    is_sealed: bool,
}

/// What is sent, and whether somebody still wants it.
struct Unsent {
    host: Host,
    objects: Arc<dyn Objects>,
    key: String,
    path: PathBuf,
    fate: Mutex<Fate>,
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum Fate {
    Unsent,
    /// Some thread will send it, unless whoever waits for it does so first: all threads may be waiting.
    Queued,
    OnItsWay,
    /// The store may have it.
    Sent,
    GivenUp,
}

impl Unsent {
    /// Whether the caller is the one to send it. What was given up before that is deleted here.
    fn take(&self) -> bool {
        let mut fate = self.fate.lock();
        match *fate {
            Fate::Unsent | Fate::Queued => {
                *fate = Fate::OnItsWay;
                return true;
            }
            Fate::GivenUp => {
                let _ = self.host.disk.remove_file(&self.path);
            }
            Fate::OnItsWay | Fate::Sent => {}
        }
        false
    }

    fn send(&self) -> io::Result<()> {
        let sent = again(&self.host, || {
            let file = self.host.disk.open_read(&self.path)?;
            self.objects.put_file(&self.key, &*file)
        });
        let before = std::mem::replace(&mut *self.fate.lock(), Fate::Sent);
        if before == Fate::GivenUp {
            self.delete();
        }
        sent
    }

    /// Nobody names it; what stays is swept later.
    fn delete(&self) {
        let _ = self.host.disk.remove_file(&self.path);
        let _ = self.objects.delete(&self.key);
    }
}

impl UnsealedFile for SharedFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        // A disk that is full is this machine's, whatever the part is called in the store.
        let here = |error: io::Error| {
            io::Error::new(
                error.kind(),
                format!("in the cache folder, {}: {error}", self.part.path.display()),
            )
        };
        self.file.append(bytes).map_err(here)
    }

    /// Sends it while the next part is written.
    fn end(&mut self) {
        let (sender, receiver) = mpsc::channel();
        let part = Arc::clone(&self.part);
        *part.fate.lock() = Fate::Queued;
        let _sending = self.runtimes.spawn_blocking("part upload", move || {
            if part.take() {
                // Whoever gave it up does not listen.
                let _ = sender.send(part.send());
            }
        });
        self.sending = Some(receiver);
    }

    fn seal(&mut self) -> Result<(), PartError> {
        let ended = |_| io::Error::new(ErrorKind::Interrupted, "the process is ending");
        let sent = match self.sending.take() {
            Some(sending) if !self.part.take() => sending.recv().map_err(ended).flatten(),
            _ => self.part.send(),
        };
        let place = PathBuf::from(self.part.objects.place(&self.part.key));
        sent.map_err(PartError::disk("send", &place))?;
        self.is_sealed = true;
        // Without room for it on this machine it is read from the store.
        let _ = self.files.keep(&self.part.key, &self.part.path);
        Ok(())
    }
}

impl Drop for SharedFile {
    fn drop(&mut self) {
        if self.is_sealed {
            return;
        }
        let before = {
            let mut fate = self.part.fate.lock();
            let before = *fate;
            if matches!(before, Fate::OnItsWay | Fate::Queued) {
                *fate = Fate::GivenUp;
            }
            before
        };
        match before {
            // Whoever sends it deletes it.
            Fate::OnItsWay | Fate::Queued | Fate::GivenUp => {}
            Fate::Sent => self.part.delete(),
            Fate::Unsent => drop(self.part.host.disk.remove_file(&self.part.path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::SimStore;

    fn parts_of(store: &SimStore, folder: &std::path::Path, bytes_max: u64) -> Arc<SharedParts> {
        let host = Host::system(1 << 20).unwrap();
        let files = Arc::new(LocalFiles::open(host.clone(), folder, bytes_max).unwrap());
        let (objects, runtimes) = (Arc::new(store.client()), Runtimes::new(1, 1).unwrap());
        let fetches = Fetches::new(host.clone(), Arc::clone(&objects) as _, Arc::clone(&files), runtimes);
        Arc::new(SharedParts::new(host, objects, files, fetches))
    }

    #[test]
    fn what_one_server_seals_another_reads() {
        let store = SimStore::new(1);
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (first, second) =
            (parts_of(&store, here.path(), 1 << 20), parts_of(&store, there.path(), 1 << 20));
        let mut file = first.create("data/t/p.parquet").unwrap();
        file.append(b"some").unwrap();
        assert!(store.keys().is_empty());
        file.append(b"thing").unwrap();
        file.seal().unwrap();
        drop(file);
        let read = |parts: &SharedParts| parts.open("data/t/p.parquet").unwrap().read_bytes(2, 4).unwrap();
        assert_eq!((&read(&first)[..], &read(&second)[..]), (&b"meth"[..], &b"meth"[..]));
        let calls = store.calls();
        read(&first);
        read(&second);
        assert_eq!(store.calls(), calls, "both have it now");
        let names = |folder: &str| {
            first.list(folder).unwrap().into_iter().map(|entry| entry.name).collect::<Vec<_>>()
        };
        assert_eq!((names("data"), names("data/t")), (vec!["t".to_owned()], vec!["p.parquet".to_owned()]));
        first.delete_folder("data/t").unwrap();
        assert!(second.find("data/t/p.parquet").unwrap().is_none() && store.keys().is_empty());
    }

    #[test]
    fn a_copy_that_is_damaged_is_fetched_again() {
        let store = SimStore::new(1);
        let here = tempfile::tempdir().unwrap();
        let parts = parts_of(&store, here.path(), 1 << 20);
        store.client().put("data/t/p.parquet", "sound".into()).unwrap();
        parts.open("data/t/p.parquet").unwrap();
        let copy = here.path().join("parts/t_p.parquet");
        parts.host.disk.remove_file(&copy).unwrap();
        parts.host.disk.create(&copy).unwrap().append(b"spoilt").unwrap();
        let read = || parts.open("data/t/p.parquet").unwrap().read_bytes(0, 5).unwrap();
        assert_eq!(&read()[..], b"spoil");
        assert!(parts.forget_copy("data/t/p.parquet") && !parts.forget_copy("data/t/p.parquet"));
        assert_eq!(&read()[..], b"sound");
    }

    #[test]
    fn a_part_is_sent_while_its_writer_does_something_else() {
        let store = SimStore::new(1);
        let here = tempfile::tempdir().unwrap();
        let parts = parts_of(&store, here.path(), 1 << 20);
        let unfinished = || parts.host.disk.list(&here.path().join("unfinished")).unwrap().len();
        for number in 0..20 {
            let mut file = parts.create(&format!("data/t/{number}.parquet")).unwrap();
            file.append(b"something").unwrap();
            file.end();
            // On its way, or there.
            drop(file);
        }
        let mut kept = parts.create("data/t/kept.parquet").unwrap();
        kept.append(b"something").unwrap();
        kept.end();
        kept.seal().unwrap();
        while store.keys().len() > 1 || unfinished() > 0 {
            std::thread::yield_now();
        }
        assert_eq!(store.keys(), ["data/t/kept.parquet"]);
    }

    #[test]
    fn whoever_waits_for_a_part_sends_it_if_nobody_else_can() {
        let store = SimStore::new(1);
        let here = tempfile::tempdir().unwrap();
        let parts = parts_of(&store, here.path(), 1 << 20);
        // Every thread that may block does, until the parts are sealed.
        let (open, wait) = mpsc::channel::<()>();
        let wait = Arc::new(Mutex::new(wait));
        for _ in 0..1000 {
            let wait = Arc::clone(&wait);
            parts.fetches.runtimes().spawn_blocking("waits", move || {
                let _ended = wait.lock().recv();
            });
        }
        for number in 0..3 {
            let mut file = parts.create(&format!("data/t/{number}.parquet")).unwrap();
            file.append(b"something").unwrap();
            file.end();
            file.seal().unwrap();
        }
        assert_eq!(store.keys().len(), 3);
        drop(open);
    }

    #[test]
    fn a_part_that_is_given_up_leaves_nothing_and_scratch_stays_here() {
        let store = SimStore::new(1);
        let here = tempfile::tempdir().unwrap();
        let parts = parts_of(&store, here.path(), 1 << 20);
        let mut file = parts.create("data/t/p.parquet").unwrap();
        file.append(b"some").unwrap();
        drop(file);
        let mut scratch = Arc::clone(&parts).scratch().create("data/t/s.parquet").unwrap();
        scratch.append(b"some").unwrap();
        scratch.seal().unwrap();
        assert!(store.keys().is_empty() && here.path().join("scratch/data/t/s.parquet").exists());
        assert!(parts.host.disk.list(&here.path().join("unfinished")).unwrap().is_empty());
    }
}
