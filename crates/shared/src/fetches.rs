//! Pieces of parts on their way from the store to this machine.
//!
//! Whoever needs bytes that are on their way waits for those, so a range that is fetched ahead is fetched once. What has come is kept
//! beside the store. Invariant: bytes are those of the object, in whatever order they come. Must not know: what is in the files, and who
//! needs them.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use futures::channel::oneshot;
use futures::future::{BoxFuture, Shared};
use host::{Host, Objects, Runtimes};
use model::saturating::micros_of;
use parking_lot::Mutex;

use crate::local_files::LocalFiles;

/// Ranges that lie so near to each other are fetched together: a request costs more than the bytes between.
const GAP_BYTES: u64 = 64 << 10;
/// Ranges are not put together beyond this: several requests at once bring more than one.
const REQUEST_BYTES_MAX: u64 = 8 << 20;
/// With room for less beside the store nothing is fetched ahead.
const KEPT_MIN: u64 = 256 << 20;
/// A store that answers a small request in less time is as near as a disk: what is fetched ahead only competes with what is needed.
const NEAR_MICROS: u64 = 3_000;
const SMALL_BYTES: u64 = 1 << 20;
/// How often something is asked for before it is given up, and the first pause between two.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(100);

/// What comes of a fetch, for all who wait for it.
pub(crate) type Fetched = Result<Bytes, Arc<io::Error>>;

/// A piece on its way.
#[derive(Clone)]
pub(crate) struct Flight {
    range: Range<u64>,
    arrival: Shared<BoxFuture<'static, Fetched>>,
}

impl Flight {
    /// The bytes of a range that lies in the piece.
    pub(crate) async fn bytes(self, range: Range<u64>) -> io::Result<Bytes> {
        let piece = self.arrival.await.map_err(|error| io::Error::new(error.kind(), error))?;
        let at = |byte: u64| usize::try_from(byte - self.range.start).map_err(io::Error::other);
        let (begin, end) = (at(range.start)?, at(range.end)?);
        let ended = || io::Error::new(io::ErrorKind::UnexpectedEof, "a range was not fetched");
        (end <= piece.len()).then(|| piece.slice(begin..end)).ok_or_else(ended)
    }

    fn covers(&self, range: &Range<u64>) -> bool {
        self.range.start <= range.start && range.end <= self.range.end
    }
}

/// See the module.
pub struct Fetches {
    host: Host,
    objects: Arc<dyn Objects>,
    files: Arc<LocalFiles>,
    runtimes: Runtimes,
    flights: Mutex<HashMap<String, Vec<Flight>>>,
    /// About the least microseconds that a small request took lately; 0 if there was none.
    answer_micros: AtomicU64,
}

impl fmt::Debug for Fetches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fetches({})", self.objects.place(""))
    }
}

impl Fetches {
    pub fn new(
        host: Host,
        objects: Arc<dyn Objects>,
        files: Arc<LocalFiles>,
        runtimes: Runtimes,
    ) -> Arc<Fetches> {
        let (flights, answer_micros) = (Mutex::default(), AtomicU64::new(0));
        Arc::new(Fetches { host, objects, files, runtimes, flights, answer_micros })
    }

    /// Where it is waited for the store.
    pub(crate) fn runtimes(&self) -> &Runtimes {
        &self.runtimes
    }

    /// Begins to fetch ranges that will be read soon, unless they are here or on their way. Returns at once.
    pub fn ahead(self: &Arc<Self>, key: &str, ranges: &[Range<u64>]) {
        let answer = self.answer_micros.load(Ordering::Relaxed);
        // They would be gone before they are read, or there is nothing to wait for.
        if self.files.bytes_max() < KEPT_MIN || (1..NEAR_MICROS).contains(&answer) {
            return;
        }
        let missing = ranges.iter().filter(|range| !self.files.has(key, range)).cloned();
        let _flights = self.begin(key, &missing.collect::<Vec<_>>());
    }

    /// For each range the piece it comes in, on its way from now on at the latest.
    pub(crate) fn begin(self: &Arc<Self>, key: &str, ranges: &[Range<u64>]) -> Vec<Flight> {
        if ranges.is_empty() {
            return Vec::new();
        }
        let mut flights = self.flights.lock();
        let known = flights.entry(key.to_owned()).or_default();
        let new = |range: &&Range<u64>| !known.iter().any(|flight| flight.covers(range));
        for range in merged(ranges.iter().filter(new)) {
            known.push(self.fetch(key, range));
        }
        let covering = |range: &Range<u64>| known.iter().find(|flight| flight.covers(range)).cloned();
        // All of them are covered by now.
        ranges.iter().filter_map(covering).collect()
    }

    fn fetch(self: &Arc<Self>, key: &str, range: Range<u64>) -> Flight {
        let (sender, receiver) = oneshot::channel();
        let (fetches, key, asked) = (Arc::clone(self), key.to_owned(), range.clone());
        let _fetching = self.runtimes.spawn_blocking("part fetch", move || {
            let began = fetches.host.clock.monotonic();
            let fetched =
                again(&fetches.host, || fetches.objects.get_range(&key, asked.clone())).map_err(Arc::new);
            fetches.note_answer(&asked, fetches.host.clock.monotonic().saturating_sub(began));
            // Whoever waits does not wait for the disk.
            let _ = sender.send(fetched.clone());
            if let Ok(bytes) = fetched {
                // Without room for it, it is fetched again.
                let _kept = fetches.files.keep_piece(&key, asked.start, &bytes);
            }
            fetches.landed(&key, &asked);
        });
        let gone = || Arc::new(io::Error::other("the fetch of a part ended early"));
        let arrival = receiver.map(move |fetched| fetched.unwrap_or_else(|_| Err(gone())));
        Flight { range, arrival: arrival.boxed().shared() }
    }

    /// The shortest time counts, for others have waited for each other; it grows again while none is so short.
    fn note_answer(&self, range: &Range<u64>, took: Duration) {
        if range.end - range.start <= SMALL_BYTES {
            let took = micros_of(took).max(1);
            let before = self.answer_micros.load(Ordering::Relaxed);
            let now = if before == 0 { took } else { took.min(before + before / 8 + 1) };
            self.answer_micros.store(now, Ordering::Relaxed);
        }
    }

    fn landed(&self, key: &str, range: &Range<u64>) {
        let mut flights = self.flights.lock();
        let Some(known) = flights.get_mut(key) else { return };
        known.retain(|flight| flight.range != *range);
        if known.is_empty() {
            flights.remove(key);
        }
    }
}

/// Asks again what may pass.
pub(crate) fn again<T>(host: &Host, mut ask: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut pause = PAUSE;
    for _ in 1..ATTEMPTS {
        match ask() {
            Err(error)
                if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) =>
            {
                host.clock.sleep(pause);
                pause *= 2;
            }
            answered => return answered,
        }
    }
    ask()
}

/// The ranges in order of their places, those that are near to each other as one.
fn merged<'a>(ranges: impl Iterator<Item = &'a Range<u64>>) -> Vec<Range<u64>> {
    let mut sorted: Vec<Range<u64>> = ranges.cloned().collect();
    sorted.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in sorted {
        match merged.last_mut() {
            Some(last) if range.end <= last.end => {}
            Some(last)
                if range.start <= last.end.saturating_add(GAP_BYTES)
                    && range.end.saturating_sub(last.start) <= REQUEST_BYTES_MAX =>
            {
                last.end = last.end.max(range.end)
            }
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_ranges_are_fetched_together() {
        let near = GAP_BYTES;
        let ranges = [near * 9..near * 9 + 1, 5..9, 0..5, 9 + near..20 + near];
        assert_eq!(merged(ranges.iter()), [0..20 + near, near * 9..near * 9 + 1]);
        let large = [
            0..REQUEST_BYTES_MAX - 1,
            REQUEST_BYTES_MAX - 1..REQUEST_BYTES_MAX,
            REQUEST_BYTES_MAX..near * 999,
        ];
        assert_eq!(merged(large.iter()), [0..REQUEST_BYTES_MAX, REQUEST_BYTES_MAX..near * 999]);
        assert!(merged([].iter()).is_empty());
    }

    #[test]
    fn what_is_on_its_way_is_fetched_once() {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::system(1 << 20).unwrap();
        let runtimes = Runtimes::new(1, 1).unwrap();
        let store = host::SimStore::new(1);
        let bytes: Vec<u8> = (0..2_000_000u32).map(|number| (number % 251) as u8).collect();
        store.client().put("data/t/p.parquet", bytes.clone().into()).unwrap();
        let files = Arc::new(LocalFiles::open(host.clone(), folder.path(), 1 << 30).unwrap());
        let fetches = Fetches::new(host, Arc::new(store.client()), Arc::clone(&files), runtimes.clone());
        let (key, calls) = ("data/t/p.parquet", store.calls());
        fetches.ahead(key, std::slice::from_ref(&(1_000_000..1_500_000)));
        let flights = fetches.begin(key, &[1_000_010..1_000_020, 5..9]);
        let read = |flight: &Flight, range: Range<u64>| {
            runtimes.io().block_on(flight.clone().bytes(range)).unwrap().to_vec()
        };
        assert_eq!(read(&flights[0], 1_000_010..1_000_020), bytes[1_000_010..1_000_020]);
        assert_eq!(read(&flights[1], 5..9), bytes[5..9]);
        assert_eq!(store.calls() - calls, 2);
        while !fetches.flights.lock().is_empty() {
            std::thread::yield_now();
        }
        assert!(
            files.has(key, &(1_400_000..1_500_000)) && files.has(key, &(5..9)) && !files.has(key, &(9..10))
        );
        fetches.ahead(key, &[5..9, 1_200_000..1_300_000]);
        assert_eq!((store.calls() - calls, fetches.flights.lock().len()), (2, 0), "it is here");
        let missing = fetches.begin("data/t/q.parquet", std::slice::from_ref(&(0..1)));
        let error = runtimes.io().block_on(missing[0].clone().bytes(0..1)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        runtimes.shutdown(Duration::from_secs(5));
    }
}
