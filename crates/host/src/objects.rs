//! What the database asks of a store of objects that many processes share: a bucket, or a folder they all reach.
//!
//! Keys are names joined by `/`, relative to one root. The contract is that of S3 with conditional writes, read pessimistically:
//! * an object is whole or not there, and durable once a write of it has answered;
//! * [`Objects::create`] makes an object where there is none, and of all who try at once exactly one succeeds;
//! * an answer can get lost: the request may have been carried out, may be carried out later, or never;
//! * whoever reads an object after a write of it has answered sees it; a listing may lag behind.
//!
//! Invariant: an answer says what is known and never a guess. All calls block; implementations try nothing again by themselves
//! where that could hide what became of the first attempt. Must not know: what is in the objects.

use std::fmt::Debug;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;

use crate::clock::Clock;
use crate::disk::DiskRead;

/// What a listing says of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    pub key: String,
    pub bytes: u64,
    /// By the clock of the store, milliseconds since 1970 UTC; stores may cut it to seconds.
    pub modified_ms: u64,
}

/// The answer to a creation.
#[derive(Debug)]
#[must_use]
pub enum Created {
    /// This request made the object.
    New,
    /// There is an object. It may be what an earlier request of the same creator made, whose answer got lost.
    Exists,
    /// The object may be there, or come to be there later.
    Unknown(io::Error),
    /// The store has said no: this request made nothing, and never will.
    Refused(io::Error),
}

/// A store of objects.
pub trait Objects: Send + Sync + Debug {
    /// Makes an object unless there is one.
    fn create(&self, key: &str, bytes: Bytes) -> Created;

    /// Writes an object, in place of the one there is.
    ///
    /// # Errors
    /// The store refuses, or the answer got lost: then either object may be there.
    fn put(&self, key: &str, bytes: Bytes) -> io::Result<()>;

    /// Writes an object with the content of a file, which may be large. Keys of such objects are random: nobody else writes them.
    ///
    /// # Errors
    /// As [`Objects::put`], and what the file says.
    fn put_file(&self, key: &str, file: &dyn DiskRead) -> io::Result<()>;

    /// A whole object.
    ///
    /// # Errors
    /// `NotFound` if there is none; any other error says nothing of it.
    fn get(&self, key: &str) -> io::Result<Bytes>;

    /// A range of an object, which lies in it.
    ///
    /// # Errors
    /// As [`Objects::get`]; `UnexpectedEof` if the object ends before.
    fn get_range(&self, key: &str, range: Range<u64>) -> io::Result<Bytes>;

    /// Size and time of an object; `None` if there is none.
    ///
    /// # Errors
    /// The store does not say.
    fn head(&self, key: &str) -> io::Result<Option<Object>>;

    /// The objects whose keys begin with `folder`, which ends in `/`, and sort behind `after` (all of them if it is empty), in
    /// order of their keys. `after` is a whole key.
    ///
    /// # Errors
    /// The store refuses; there is no half of a list.
    fn list(&self, folder: &str, after: &str) -> io::Result<Vec<Object>>;

    /// Deletes an object; fine if there is none.
    ///
    /// # Errors
    /// The store refuses, or the answer got lost.
    fn delete(&self, key: &str) -> io::Result<()>;

    /// Where that is, for people: an address. The empty key is the root.
    fn place(&self, key: &str) -> String;
}

/// Runs a call on so many threads at once, to see whether a store keeps its promise; the answers of those that ended.
pub fn at_once<T: Send>(threads: usize, call: impl Fn(usize) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let call = &call;
        let running: Vec<_> = (0..threads).map(|number| scope.spawn(move || call(number))).collect();
        running.into_iter().filter_map(|thread| thread.join().ok()).collect()
    })
}

/// The time of the store, as far as this process has heard: all who share it reckon by it, whatever their own clocks say.
///
/// Invariant: never goes back. Is behind the store's by at most the time since it was heard last, as this machine measures it.
#[derive(Debug)]
pub struct StoreClock {
    clock: Arc<dyn Clock>,
    heard: Mutex<Heard>,
}

/// Times that differ by no more say the same.
const ROUNDED_MS: u64 = 2_000;

#[derive(Debug, Clone, Copy, Default)]
struct Heard {
    store_ms: u64,
    at: Duration,
    told_ms: u64,
}

impl StoreClock {
    /// A clock that has heard `store_ms` just now.
    pub fn new(clock: Arc<dyn Clock>, store_ms: u64) -> StoreClock {
        let heard = Heard { store_ms, at: clock.monotonic(), told_ms: store_ms };
        StoreClock { clock, heard: Mutex::new(heard) }
    }

    /// An object that was written just now has this time.
    pub fn hear(&self, store_ms: u64) {
        let at = self.clock.monotonic();
        let mut heard = self.heard.lock();
        let since = u64::try_from(at.saturating_sub(heard.at).as_millis()).unwrap_or(0);
        // Stores cut to seconds: what was carried on since is nearer.
        if heard.store_ms.saturating_add(since).abs_diff(store_ms) > ROUNDED_MS {
            (heard.store_ms, heard.at) = (store_ms, at);
        }
    }
}

/// In place of a machine's own clock: then every time of a process is the store's.
impl Clock for StoreClock {
    fn now_ms(&self) -> u64 {
        let now = self.clock.monotonic();
        let mut heard = self.heard.lock();
        let since = u64::try_from(now.saturating_sub(heard.at).as_millis()).unwrap_or(0);
        heard.told_ms = heard.told_ms.max(heard.store_ms.saturating_add(since));
        heard.told_ms
    }

    fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }

    fn sleep(&self, duration: Duration) {
        self.clock.sleep(duration);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::SimHost;

    #[test]
    fn the_time_of_the_store_goes_on_between_hearings_and_never_back() {
        let (host, _world) = SimHost::new(1);
        let clock = StoreClock::new(Arc::clone(&host.clock), 1_000);
        host.clock.sleep(Duration::from_secs(5));
        let later = clock.now_ms();
        assert!((6_000..6_100).contains(&later), "{later}");
        clock.hear(3_000);
        assert_eq!(clock.now_ms(), later, "a store that went back is waited for");
        host.clock.sleep(Duration::from_secs(10));
        assert!((13_000..13_100).contains(&clock.now_ms()));
    }
}
