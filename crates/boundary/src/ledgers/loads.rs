//! Staged loads as this process knows them: who works on one, and how those that are over ended.
//!
//! Invariant: one statement at a time works on a load, until the last of its sinks has stopped. What is open is in the
//! catalog; here is only what a crash may forget. Both lists are bounded.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Weak};

use catalog::StagedLoad;
use model::LoadId;
use parking_lot::Mutex;

use crate::error::Error;
use crate::progress::QueryProgress;

/// Ended loads kept in memory.
const ENDED_MAX: usize = 1000;

/// Units of all ended loads together: some tens of megabytes.
const ENDED_UNITS_MAX: usize = 500_000;

/// Open loads that statements of this process have worked on.
const ATTEMPTED_MAX: usize = 1000;

/// A statement at work on a load. Held by the statement and by each of its sinks.
#[derive(Debug)]
pub struct LoadAttempt {
    pub query_id: String,
    pub progress: Arc<QueryProgress>,
    /// Units this process has read to their end, in all its attempts.
    pub read: Arc<Mutex<BTreeSet<u32>>>,
    /// Which other server a unit was given to last.
    pub given: Given,
}

/// By unit, where the server that it was given to is reached.
pub type Given = Arc<Mutex<BTreeMap<u32, Arc<str>>>>;

/// Who works on a load already.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AtWork {
    pub query_id: String,
    /// It was stopped; its sinks end at their next batch.
    pub stops: bool,
}

/// What this process has done for an open load.
#[derive(Clone, Debug, Default)]
pub struct Attempted {
    /// Gone when nobody works on it.
    running: Weak<LoadAttempt>,
    pub query_id: String,
    pub error: Option<Error>,
    read: Arc<Mutex<BTreeSet<u32>>>,
    given: Given,
}

/// How a load ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoadEnd {
    Finished,
    /// By CANCEL LOAD.
    Cancelled,
    /// By an error after which there was nothing to resume.
    Failed,
}

/// A load that is over, as it was just before.
#[derive(Clone, Debug)]
pub struct EndedLoad {
    pub load: Arc<StagedLoad>,
    pub end: LoadEnd,
    pub ended_ms: u64,
    pub attempted: Attempted,
}

/// See the module.
#[derive(Debug, Default)]
pub struct LoadHistory {
    attempted: Mutex<BTreeMap<LoadId, Attempted>>,
    ended: Mutex<VecDeque<EndedLoad>>,
}

impl Attempted {
    pub fn running(&self) -> Option<Arc<LoadAttempt>> {
        self.running.upgrade()
    }

    /// The other server that a unit was given to last.
    pub fn given_to(&self, unit: u32) -> Option<Arc<str>> {
        self.given.lock().get(&unit).cloned()
    }

    /// Whether this process read the unit to its end.
    pub fn has_read(&self, unit: u32) -> bool {
        self.read.lock().contains(&unit)
    }
}

impl LoadHistory {
    /// Begins to work on a load; the error is the statement that is at it.
    pub fn begin(
        &self,
        load: LoadId,
        query_id: &str,
        progress: &Arc<QueryProgress>,
    ) -> Result<Arc<LoadAttempt>, AtWork> {
        let mut all = self.attempted.lock();
        if let Some(running) = all.get(&load).and_then(Attempted::running) {
            let stops = running.progress.is_cancelled() || running.progress.is_given_up();
            return Err(AtWork { query_id: running.query_id.clone(), stops });
        }
        if all.len() >= ATTEMPTED_MAX {
            // Loads that went with their table are among them; of the others only the last error is forgotten.
            all.retain(|_, attempted| attempted.running().is_some());
        }
        let attempted = all.entry(load).or_default();
        let attempt = Arc::new(LoadAttempt {
            query_id: query_id.to_owned(),
            progress: Arc::clone(progress),
            read: Arc::clone(&attempted.read),
            given: Arc::clone(&attempted.given),
        });
        attempted.running = Arc::downgrade(&attempt);
        (attempted.query_id, attempted.error) = (query_id.to_owned(), None);
        Ok(attempt)
    }

    /// A statement stopped, and the load is still open.
    pub fn failed(&self, load: LoadId, error: &Error) {
        if let Some(attempted) = self.attempted.lock().get_mut(&load) {
            attempted.error = Some(error.clone());
        }
    }

    /// The load a statement has begun to work on last.
    pub fn begun_by(&self, query_id: &str) -> Option<LoadId> {
        let all = self.attempted.lock();
        let found = all.iter().find(|(_, attempted)| attempted.query_id == query_id);
        found.map(|(load, _)| *load)
    }

    /// Never begun: forgets it.
    pub fn forget(&self, load: LoadId) {
        self.attempted.lock().remove(&load);
    }

    /// The load is over.
    pub fn ended(&self, load: Arc<StagedLoad>, end: LoadEnd, ended_ms: u64, error: Option<Error>) {
        let mut attempted = self.attempted.lock().remove(&load.id).unwrap_or_default();
        attempted.error = error.or(attempted.error);
        let mut ended = self.ended.lock();
        ended.push_back(EndedLoad { load, end, ended_ms, attempted });
        while ended.len() > ENDED_MAX || (ended.len() > 1 && units_of(&ended) > ENDED_UNITS_MAX) {
            ended.pop_front();
        }
    }

    pub fn attempted(&self, load: LoadId) -> Attempted {
        self.attempted.lock().get(&load).cloned().unwrap_or_default()
    }

    /// Oldest first.
    pub fn all_ended(&self) -> Vec<EndedLoad> {
        self.ended.lock().iter().cloned().collect()
    }
}

fn units_of(ended: &VecDeque<EndedLoad>) -> usize {
    ended.iter().map(|over| over.load.units.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_statement_at_a_time_works_on_a_load() {
        let history = LoadHistory::default();
        let (load, progress) = (LoadId::from_bytes([1; 16]), Arc::new(QueryProgress::default()));
        let first = history.begin(load, "first", &progress).unwrap();
        first.read.lock().insert(3);
        let at_work = |stops| AtWork { query_id: "first".to_owned(), stops };
        assert_eq!(history.begin(load, "second", &progress).unwrap_err(), at_work(false));
        assert_eq!(history.begun_by("first"), Some(load));
        assert_eq!(history.begun_by("second"), None);
        progress.cancel();
        assert_eq!(history.begin(load, "second", &progress).unwrap_err(), at_work(true));
        let of_a_sink = Arc::clone(&first);
        drop(first);
        assert!(history.begin(load, "second", &progress).is_err(), "a sink still works");
        drop(of_a_sink);
        history.failed(load, &Error::cancelled());
        assert!(history.attempted(load).error.is_some());
        let second = history.begin(load, "second", &progress).unwrap();
        let known = history.attempted(load);
        assert!(known.has_read(3) && known.error.is_none() && known.query_id == "second");
        assert!(known.running().is_some());
        drop(second);
        assert!(history.attempted(load).running().is_none());
    }
}
