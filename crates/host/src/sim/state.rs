//! The state behind a simulated machine, and what every call on it goes through.
//!
//! Invariant: every visible effect passes [`State::call`], which traces it, moves the clock, and is where the
//! machine stops or a call fails when a test asked for it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha12Rng;
use xxhash_rust::xxh3::Xxh3;

use super::file::SimFile;
use super::names::{Entry, Names};

/// Why the simulator failed a call on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SimFault {
    #[error("crashed: the simulated machine has stopped")]
    Crashed,
    #[error("injected failure of the simulated disk")]
    Injected,
}

impl SimFault {
    /// The fault inside an error, if the simulator made it.
    pub fn of(error: &io::Error) -> Option<Self> {
        error.get_ref().and_then(|inner| inner.downcast_ref()).copied()
    }

    fn error(self) -> io::Error {
        io::Error::other(self)
    }
}

pub(super) struct State {
    /// Decides fates and durations; a program cannot see its numbers, only their effects.
    pub(super) dice: ChaCha12Rng,
    /// What the program gets as randomness.
    program_dice: ChaCha12Rng,
    pub(super) now: Duration,
    trace: Xxh3,
    pub(super) ops: u64,
    pub(super) stop_at: Option<u64>,
    pub(super) fail_at: Option<u64>,
    pub(super) stopped: bool,
    /// Counts the lives of the program; handles of an earlier life are dead.
    pub(super) life: u64,
    pub(super) names: Names,
    pub(super) files: BTreeMap<u64, SimFile>,
    pub(super) locks: BTreeSet<PathBuf>,
    pub(super) disk_bytes_max: u64,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("ops", &self.ops).field("life", &self.life).finish_non_exhaustive()
    }
}

impl State {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            dice: ChaCha12Rng::seed_from_u64(seed),
            program_dice: ChaCha12Rng::seed_from_u64(!seed),
            now: Duration::ZERO,
            trace: Xxh3::with_seed(seed),
            ops: 0,
            stop_at: None,
            fail_at: None,
            stopped: false,
            life: 0,
            names: Names::default(),
            files: BTreeMap::new(),
            locks: BTreeSet::new(),
            disk_bytes_max: 1 << 40,
        }
    }

    /// One call of the disk: `act` is its effect, `content` what the caller gave with it.
    pub(super) fn call<T>(
        &mut self,
        life: u64,
        what: &str,
        path: &Path,
        content: &[u8],
        act: impl FnOnce(&mut Self) -> io::Result<T>,
    ) -> io::Result<T> {
        if self.stopped || life != self.life {
            return Err(SimFault::Crashed.error());
        }
        self.ops += 1;
        self.now += Duration::from_micros(self.dice.random_range(1..200));
        for bytes in [what.as_bytes(), path.as_os_str().as_encoded_bytes(), content] {
            self.note(bytes);
        }
        if self.fail_at == Some(self.ops) {
            self.note(b"fails");
            return Err(SimFault::Injected.error());
        }
        if self.stop_at == Some(self.ops) {
            // The call may have had its effect before the machine stopped, or not.
            if self.dice.random_bool(0.5) {
                let _unanswered = act(self);
            }
            self.stopped = true;
            self.note(b"stops");
            return Err(SimFault::Crashed.error());
        }
        let done = act(self);
        self.note(if done.is_ok() { b"ok" } else { b"error" });
        done
    }

    /// The machine stops between two disk calls, at a named point of the program.
    pub(super) fn stop_at_point(&mut self, name: &str) {
        self.stopped = true;
        self.note(name.as_bytes());
    }

    /// Length first, so that two texts never read like one.
    pub(super) fn note(&mut self, bytes: &[u8]) {
        self.trace.update(&u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_le_bytes());
        self.trace.update(bytes);
    }

    pub(super) fn trace_hash(&self) -> u64 {
        self.trace.digest()
    }

    /// Reading a clock takes a microsecond, so that loops which wait for a time get there.
    pub(super) fn read_clock(&mut self) -> Duration {
        self.now += Duration::from_micros(1);
        let now = self.now;
        self.note(&now.as_nanos().to_le_bytes());
        now
    }

    pub(super) fn fill(&mut self, bytes: &mut [u8]) {
        self.program_dice.fill_bytes(bytes);
        self.note(bytes);
    }

    /// The machine stopped and starts again with what survived.
    pub(super) fn machine_stopped(&mut self) {
        self.names.machine_stopped(&mut self.dice);
        let named = self.names.visible.values();
        let named: BTreeSet<u64> =
            named.filter_map(|entry| if let Entry::File(id) = entry { Some(*id) } else { None }).collect();
        self.files.retain(|id, _| named.contains(id));
        for file in self.files.values_mut() {
            file.machine_stopped(&mut self.dice);
        }
        self.program_ended();
    }

    pub(super) fn program_ended(&mut self) {
        self.files.values_mut().for_each(SimFile::process_ended);
        self.locks.clear();
        self.stop_at = None;
        self.fail_at = None;
        self.stopped = false;
        self.life += 1;
    }

    pub(super) fn used_bytes(&self) -> u64 {
        let living = self.files.values().filter(|file| !file.removed);
        living.map(|file| u64::try_from(file.content.len()).unwrap_or(u64::MAX)).sum()
    }

    /// The file of an open handle.
    pub(super) fn file(&mut self, id: u64, path: &Path) -> io::Result<&mut SimFile> {
        let file = self.files.get_mut(&id).filter(|file| !file.removed);
        let file = file.ok_or_else(|| refuse(ErrorKind::NotFound, path, "removed while open"))?;
        if file.poisoned {
            return Err(refuse(ErrorKind::Other, path, "an earlier sync of this file failed"));
        }
        Ok(file)
    }

    /// A new file under a free name of an existing directory.
    pub(super) fn create(&mut self, path: &Path) -> io::Result<u64> {
        if self.names.get(path).is_some() {
            return Err(refuse(ErrorKind::AlreadyExists, path, "already exists"));
        }
        if path.parent().and_then(|parent| self.names.get(parent)) != Some(Entry::Dir) {
            return Err(refuse(ErrorKind::NotFound, path, "has no directory"));
        }
        let id = self.ops;
        self.files.insert(id, SimFile::default());
        self.names.add(path, Entry::File(id));
        Ok(id)
    }

    /// The id of an existing file.
    pub(super) fn named_file(&self, path: &Path) -> io::Result<u64> {
        match self.names.get(path) {
            Some(Entry::File(id)) => Ok(id),
            Some(Entry::Dir) => Err(refuse(ErrorKind::IsADirectory, path, "is a directory")),
            None => Err(refuse(ErrorKind::NotFound, path, "not found")),
        }
    }

    /// The name of a file goes; its handles die.
    pub(super) fn unlink(&mut self, path: &Path) -> io::Result<()> {
        let id = self.named_file(path)?;
        if let Some(file) = self.files.get_mut(&id) {
            file.removed = true;
        }
        self.names.remove(path);
        Ok(())
    }
}

pub(super) fn refuse(kind: ErrorKind, path: &Path, why: &str) -> io::Error {
    io::Error::new(kind, format!("{}: {why}", path.display()))
}
