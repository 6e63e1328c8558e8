//! Which exports somebody in this process works on, and which keys are theirs.
//!
//! Invariant: at most one works on an export, and at most one export writes a key; both end together. An export that has
//! keys never waits for one, so none wait for each other. Must not know: what an export is, what a key names.

use std::collections::{BTreeMap, BTreeSet};

use model::ExportId;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// The exports somebody in this process works on.
#[derive(Debug, Default)]
pub struct RunningExports {
    running: Mutex<Running>,
    /// Whoever waits is woken when one is over.
    over: Notify,
}

#[derive(Debug, Default)]
struct Running {
    exports: BTreeSet<ExportId>,
    keys: BTreeMap<String, ExportId>,
}

/// As long as it lives, nobody else touches the export or its keys.
pub struct Working<'a> {
    exports: &'a RunningExports,
    export: ExportId,
}

/// Whose a key is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reserved {
    /// From now on.
    Ours,
    /// It was before.
    OursAlready,
    Theirs,
}

impl RunningExports {
    /// `None` if somebody works on it already.
    pub fn begin(&self, export: ExportId) -> Option<Working<'_>> {
        // Lazily: a `Working` that is dropped ends the export.
        self.running.lock().exports.insert(export).then(|| Working { exports: self, export })
    }

    /// Those that are worked on.
    pub fn ids(&self) -> Vec<ExportId> {
        self.running.lock().exports.iter().copied().collect()
    }

    pub fn is_running(&self, export: ExportId) -> bool {
        self.running.lock().exports.contains(&export)
    }

    /// Gives a key to an export that is worked on. One that `waits` and has no key yet waits until it can have it.
    pub async fn reserve(&self, export: ExportId, key: &str, waits: bool) -> Reserved {
        loop {
            let mut over = std::pin::pin!(self.over.notified());
            // Before looking, or an end right after the look would wake nobody.
            over.as_mut().enable();
            let (reserved, may_wait) = self.running.lock().reserve(export, key);
            if reserved != Reserved::Theirs || !waits || !may_wait {
                return reserved;
            }
            over.await;
        }
    }

    /// Waits until nobody works on `export`.
    pub async fn until_over(&self, export: ExportId) {
        loop {
            let mut over = std::pin::pin!(self.over.notified());
            over.as_mut().enable();
            if !self.is_running(export) {
                return;
            }
            over.await;
        }
    }
}

impl Running {
    /// Also whether the export may wait: it has nothing that others wait for.
    fn reserve(&mut self, export: ExportId, key: &str) -> (Reserved, bool) {
        match self.keys.get(key) {
            None => {
                self.keys.insert(key.to_owned(), export);
                (Reserved::Ours, false)
            }
            Some(holder) if *holder == export => (Reserved::OursAlready, false),
            Some(_) => (Reserved::Theirs, self.keys.values().all(|holder| *holder != export)),
        }
    }
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        {
            let mut running = self.exports.running.lock();
            running.exports.remove(&self.export);
            running.keys.retain(|_, holder| *holder != self.export);
        }
        self.exports.over.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn a_key_is_one_export_s_until_it_is_over() {
        let (exports, one, two) = (RunningExports::default(), id(1), id(2));
        let at_once = |export, key, waits| exports.reserve(export, key, waits).now_or_never();
        let first = exports.begin(one).unwrap();
        let second = exports.begin(two).unwrap();
        assert!(exports.begin(one).is_none() && exports.is_running(one));
        for (export, key, waits, expected) in [
            (one, "a", true, Some(Reserved::Ours)),
            (one, "a", true, Some(Reserved::OursAlready)),
            (two, "a", false, Some(Reserved::Theirs)),
            // It has nothing yet, so it waits.
            (two, "a", true, None),
            (two, "b", true, Some(Reserved::Ours)),
            // It has a key that somebody may wait for, so it does not wait.
            (two, "a", true, Some(Reserved::Theirs)),
            (one, "b", true, Some(Reserved::Theirs)),
        ] {
            assert_eq!(at_once(export, key, waits), expected, "{export} {key} {waits}");
        }
        assert_eq!(exports.until_over(one).now_or_never(), None);
        drop(first);
        assert_eq!(exports.until_over(one).now_or_never(), Some(()));
        assert_eq!(at_once(two, "a", false), Some(Reserved::Ours));
        drop(second);
        assert!(exports.running.lock().keys.is_empty());
    }

    #[test]
    fn whoever_waits_for_a_key_is_woken() {
        let (exports, one, two) = (RunningExports::default(), id(1), id(2));
        let (first, _second) = (exports.begin(one), exports.begin(two));
        assert_eq!(exports.reserve(one, "a", true).now_or_never(), Some(Reserved::Ours));
        let mut waiting = Box::pin(exports.reserve(two, "a", true));
        assert_eq!((&mut waiting).now_or_never(), None);
        drop(first);
        assert_eq!(waiting.now_or_never(), Some(Reserved::Ours));
    }

    fn id(byte: u8) -> ExportId {
        ExportId::from_bytes([byte; 16])
    }
}
