//! A simulated store of objects, shared by simulated machines, decided by one seed.
//!
//! Worse than the real thing: of the answers some get lost, with the request carried out, or not, or only later; a request may
//! be delivered twice; a listing lags behind. The clock is the store's own, cut to seconds as S3 cuts it.
//!
//! Invariant: same seed and same single-threaded calls give the same [`SimStore::trace_hash`]. Must not know: what is in the
//! objects.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use xxhash_rust::xxh3::Xxh3;

use crate::disk::DiskRead;
use crate::objects::{Created, Object, Objects};

/// Clock of every simulated store at its start: 2026-01-01 UTC.
const START_MS: u64 = 1_767_225_600_000;
/// A delayed request is carried out within so many later ones.
const DELAY_CALLS_MAX: u64 = 60;

/// The store as its test sees it; clones rule the same one.
#[derive(Debug, Clone)]
pub struct SimStore {
    state: Arc<Mutex<State>>,
}

struct State {
    dice: ChaCha12Rng,
    now: Duration,
    trace: Xxh3,
    calls: u64,
    objects: BTreeMap<String, Stored>,
    /// Requests on their way, by the call before which they arrive.
    delayed: Vec<(u64, Request)>,
    /// One request in so many goes wrong; 0 for none.
    fails_one_in: u64,
    clients: u64,
    /// Calls a client has left; absent while it lives without an end.
    left: BTreeMap<u64, u64>,
    is_gone: bool,
}

#[derive(Clone)]
struct Stored {
    bytes: Bytes,
    modified_ms: u64,
    /// The call that wrote it.
    call: u64,
}

enum Request {
    Create(String, Bytes),
    Put(String, Bytes),
}

/// What becomes of a request that goes wrong.
enum Fate {
    LostDone,
    LostUndone,
    Late,
    Twice,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("calls", &self.calls).finish_non_exhaustive()
    }
}

impl SimStore {
    /// An empty store that makes no mistakes until told to.
    pub fn new(seed: u64) -> SimStore {
        let state = State {
            dice: ChaCha12Rng::seed_from_u64(seed ^ 0x00b1_ec75),
            now: Duration::ZERO,
            trace: Xxh3::with_seed(seed),
            calls: 0,
            objects: BTreeMap::new(),
            delayed: Vec::new(),
            fails_one_in: 0,
            clients: 0,
            left: BTreeMap::new(),
            is_gone: false,
        };
        SimStore { state: Arc::new(Mutex::new(state)) }
    }

    /// The store as one more process sees it.
    pub fn client(&self) -> SimClient {
        let mut state = self.state.lock();
        state.clients += 1;
        SimClient { state: Arc::clone(&self.state), id: state.clients }
    }

    /// From now on one request in so many goes wrong; 0 for none.
    pub fn fail_one_in(&self, requests: u64) {
        self.state.lock().fails_one_in = requests;
    }

    /// Nobody reaches it, or everybody again.
    pub fn set_gone(&self, is_gone: bool) {
        self.state.lock().is_gone = is_gone;
    }

    /// Time passes.
    pub fn advance(&self, duration: Duration) {
        self.state.lock().now += duration;
    }

    /// By its clock, milliseconds since 1970 UTC.
    pub fn now_ms(&self) -> u64 {
        self.state.lock().now_ms()
    }

    /// Requests so far.
    pub fn calls(&self) -> u64 {
        self.state.lock().calls
    }

    /// What it holds now, whatever is on its way.
    pub fn keys(&self) -> Vec<String> {
        self.state.lock().objects.keys().cloned().collect()
    }

    /// Inverts the bits of `mask` in a byte of an object.
    pub fn damage(&self, key: &str, offset: usize, mask: u8) {
        if let Some(stored) = self.state.lock().objects.get_mut(key) {
            let mut bytes = stored.bytes.to_vec();
            if let Some(byte) = bytes.get_mut(offset) {
                *byte ^= mask;
            }
            stored.bytes = bytes.into();
        }
    }

    /// Digest of every request with its content and outcome so far.
    pub fn trace_hash(&self) -> u64 {
        self.state.lock().trace.digest()
    }
}

/// One process's way to the store.
#[derive(Debug, Clone)]
pub struct SimClient {
    state: Arc<Mutex<State>>,
    id: u64,
}

impl SimClient {
    /// The process ends in its `calls`-th request from now, which may be carried out all the same.
    pub fn die_after(&self, calls: u64) {
        self.state.lock().left.insert(self.id, calls.max(1));
    }

    /// Whether it has.
    pub fn is_dead(&self) -> bool {
        self.state.lock().left.get(&self.id) == Some(&0)
    }

    /// Passes a request: `act` is its effect. What goes wrong with requests that change nothing is that they fail.
    fn ask<T>(&self, what: &str, key: &str, act: impl FnOnce(&mut State) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.state.lock();
        state.begin(self.id, what, key, &[])?;
        if state.goes_wrong() {
            return Err(lost("no answer came"));
        }
        act(&mut state)
    }
}

impl State {
    fn now_ms(&self) -> u64 {
        (START_MS + u64::try_from(self.now.as_millis()).unwrap_or(0)) / 1000 * 1000
    }

    fn note(&mut self, bytes: &[u8]) {
        self.trace.update(&u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_le_bytes());
        self.trace.update(bytes);
    }

    /// Every request begins here: time passes, what was delayed arrives, and the dead get no answer.
    fn begin(&mut self, client: u64, what: &str, key: &str, content: &[u8]) -> io::Result<()> {
        self.calls += 1;
        self.now += Duration::from_millis(self.dice.random_range(1..40));
        for bytes in [&client.to_le_bytes()[..], what.as_bytes(), key.as_bytes(), content] {
            self.note(bytes);
        }
        let calls = self.calls;
        let (due, later) = std::mem::take(&mut self.delayed).into_iter().partition(|(at, _)| *at <= calls);
        self.delayed = later;
        for (_, request) in <Vec<(u64, Request)>>::into_iter(due) {
            match request {
                Request::Create(key, bytes) => {
                    self.create(&key, bytes);
                }
                Request::Put(key, bytes) => self.put(&key, bytes),
            }
        }
        match self.left.get_mut(&client) {
            Some(0) => return Err(lost("the process has ended")),
            Some(left) => *left -= 1,
            None => {}
        }
        if self.is_gone { Err(lost("the store is not reached")) } else { Ok(()) }
    }

    fn goes_wrong(&mut self) -> bool {
        let one_in = self.fails_one_in;
        let wrong = one_in > 0 && self.dice.random_range(0..one_in) == 0;
        self.note(&[u8::from(wrong)]);
        wrong
    }

    /// What becomes of a request that writes; `None`: it is carried out and answered.
    fn fate(&mut self, client: u64) -> Option<Fate> {
        if self.left.get(&client) == Some(&0) {
            // Its last one: nobody hears the answer.
            return Some(if self.dice.random_bool(0.5) { Fate::LostDone } else { Fate::LostUndone });
        }
        if !self.goes_wrong() {
            return None;
        }
        Some(match self.dice.random_range(0..4) {
            0 => Fate::LostDone,
            1 => Fate::LostUndone,
            2 => Fate::Late,
            _ => Fate::Twice,
        })
    }

    fn create(&mut self, key: &str, bytes: Bytes) -> bool {
        let is_new = !self.objects.contains_key(key);
        if is_new {
            self.put(key, bytes);
        }
        self.note(&[u8::from(is_new)]);
        is_new
    }

    fn put(&mut self, key: &str, bytes: Bytes) {
        let stored = Stored { bytes, modified_ms: self.now_ms(), call: self.calls };
        self.objects.insert(key.to_owned(), stored);
    }

    fn delay(&mut self, request: Request) {
        let at = self.calls + self.dice.random_range(1..=DELAY_CALLS_MAX);
        self.delayed.push((at, request));
    }
}

impl Objects for SimClient {
    fn create(&self, key: &str, bytes: Bytes) -> Created {
        let mut state = self.state.lock();
        if let Err(error) = state.begin(self.id, "create", key, &bytes) {
            return Created::Unknown(error);
        }
        match state.fate(self.id) {
            None => match state.create(key, bytes) {
                true => Created::New,
                false => Created::Exists,
            },
            Some(Fate::Twice) => {
                state.create(key, bytes);
                Created::Exists
            }
            Some(Fate::LostDone) => {
                state.create(key, bytes);
                Created::Unknown(lost("the answer got lost"))
            }
            Some(Fate::LostUndone) => Created::Unknown(lost("409: try again")),
            Some(Fate::Late) => {
                state.delay(Request::Create(key.to_owned(), bytes));
                Created::Unknown(lost("timed out"))
            }
        }
    }

    fn put(&self, key: &str, bytes: Bytes) -> io::Result<()> {
        let mut state = self.state.lock();
        state.begin(self.id, "put", key, &bytes)?;
        match state.fate(self.id) {
            None | Some(Fate::Twice) => {
                state.put(key, bytes);
                return Ok(());
            }
            Some(Fate::LostDone) => state.put(key, bytes),
            Some(Fate::LostUndone) => {}
            Some(Fate::Late) => state.delay(Request::Put(key.to_owned(), bytes)),
        }
        Err(lost("503"))
    }

    fn put_file(&self, key: &str, file: &dyn DiskRead) -> io::Result<()> {
        let length = usize::try_from(file.len()?).map_err(io::Error::other)?;
        self.put(key, file.read_bytes(0, length)?)
    }

    fn get(&self, key: &str) -> io::Result<Bytes> {
        self.ask("get", key, |state| Ok(found(state, key)?.bytes))
    }

    fn get_range(&self, key: &str, range: Range<u64>) -> io::Result<Bytes> {
        self.ask("range", key, |state| {
            let bytes = found(state, key)?.bytes;
            let place = |at: u64| usize::try_from(at).ok().filter(|at| *at <= bytes.len());
            match (place(range.start), place(range.end)) {
                (Some(start), Some(end)) => Ok(bytes.slice(start..end)),
                _ => Err(io::Error::new(ErrorKind::UnexpectedEof, format!("{key} ends before"))),
            }
        })
    }

    fn head(&self, key: &str) -> io::Result<Option<Object>> {
        self.ask("head", key, |state| Ok(state.objects.get(key).map(|stored| object(key, stored))))
    }

    fn list(&self, folder: &str, after: &str) -> io::Result<Vec<Object>> {
        self.ask("list", folder, |state| {
            // What was written since some call of a moment ago may be left out.
            let lag = if state.fails_one_in > 0 { state.dice.random_range(0..4) } else { 0 };
            let known = state.calls.saturating_sub(lag);
            let within =
                state.objects.range(folder.to_owned()..).take_while(|(key, _)| key.starts_with(folder));
            let listed = within.filter(|(key, stored)| key.as_str() > after && stored.call <= known);
            Ok(listed.map(|(key, stored)| object(key, stored)).collect())
        })
    }

    fn delete(&self, key: &str) -> io::Result<()> {
        self.ask("delete", key, |state| {
            state.objects.remove(key);
            Ok(())
        })
    }

    fn place(&self, key: &str) -> String {
        format!("sim://{key}")
    }
}

fn found(state: &State, key: &str) -> io::Result<Stored> {
    let stored = state.objects.get(key).cloned();
    stored.ok_or_else(|| io::Error::new(ErrorKind::NotFound, format!("there is no {key}")))
}

fn object(key: &str, stored: &Stored) -> Object {
    Object {
        key: key.to_owned(),
        bytes: u64::try_from(stored.bytes.len()).unwrap_or(u64::MAX),
        modified_ms: stored.modified_ms,
    }
}

fn lost(why: &str) -> io::Error {
    io::Error::new(ErrorKind::TimedOut, why.to_owned())
}
