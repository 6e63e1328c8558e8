//! Runs of views that are refreshed: which are under way here, and what these views were told.
//!
//! Invariant: a view has one run at a time. Must not know: when a run is due, what a run does.

use std::collections::HashMap;
use std::sync::Arc;

use model::TableId;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::error::Error;
use crate::progress::QueryProgress;

/// All that is known of them since the process began.
#[derive(Default)]
pub struct Refreshes {
    views: Mutex<Views>,
    changed: Notify,
}

#[derive(Default)]
struct Views {
    all_stopped: bool,
    known: HashMap<TableId, Refreshed>,
}

/// What is known of one view.
#[derive(Clone, Default)]
pub struct Refreshed {
    /// SYSTEM STOP VIEW, of it or of all.
    pub is_stopped: bool,
    /// SYSTEM REFRESH VIEW: a run is due, whatever the time.
    pub is_asked: bool,
    pub running: Option<Arc<QueryProgress>>,
    /// Of the newest run.
    pub read_rows: u64,
    pub read_bytes: u64,
    pub written_rows: u64,
    pub written_bytes: u64,
    /// Runs that failed since the last one that did not.
    pub failed: u64,
    /// Attempts of the run that is due which another change came before.
    pub lost: u32,
    /// When the next one may begin behind one that failed, in milliseconds since 1970.
    pub not_before_ms: u64,
    pub error: Option<Error>,
}

impl Refreshes {
    pub fn of(&self, view: TableId) -> Refreshed {
        let views = self.views.lock();
        let known = views.known.get(&view).cloned().unwrap_or_default();
        Refreshed { is_stopped: known.is_stopped || views.all_stopped, ..known }
    }

    /// SYSTEM STOP VIEW, or all of them. A run under way ends.
    pub fn stop(&self, view: Option<TableId>) {
        let mut views = self.views.lock();
        match view {
            Some(view) => {
                let known = views.known.entry(view).or_default();
                known.is_stopped = true;
                known.running.iter().for_each(|running| running.cancel());
            }
            None => {
                views.all_stopped = true;
                views.known.values().flat_map(|known| &known.running).for_each(|running| running.cancel());
            }
        }
    }

    pub fn start(&self, view: Option<TableId>) {
        let mut views = self.views.lock();
        match view {
            Some(view) => views.known.entry(view).or_default().is_stopped = false,
            None => {
                views.all_stopped = false;
                views.known.values_mut().for_each(|known| known.is_stopped = false);
            }
        }
    }

    /// SYSTEM REFRESH VIEW.
    pub fn ask(&self, view: TableId) {
        let mut views = self.views.lock();
        let known = views.known.entry(view).or_default();
        (known.is_asked, known.not_before_ms) = (true, 0);
    }

    /// SYSTEM CANCEL VIEW: the run under way ends, and one that was asked for does not begin.
    pub fn cancel(&self, view: TableId) {
        let mut views = self.views.lock();
        let known = views.known.entry(view).or_default();
        known.is_asked = false;
        known.running.iter().for_each(|running| running.cancel());
        drop(views);
        self.changed.notify_waiters();
    }

    /// Takes the turn of a view; false where somebody has it.
    pub fn begin(&self, view: TableId, progress: &Arc<QueryProgress>) -> bool {
        let mut views = self.views.lock();
        let known = views.known.entry(view).or_default();
        if known.running.is_some() {
            return false;
        }
        (known.running, known.is_asked) = (Some(Arc::clone(progress)), false);
        true
    }

    /// The run is over. `not_before_ms`: when one that failed may be tried again.
    pub fn end(&self, view: TableId, outcome: Result<(), Error>, not_before_ms: u64) {
        let mut views = self.views.lock();
        let known = views.known.entry(view).or_default();
        if let Some(progress) = known.running.take() {
            (known.read_rows, known.read_bytes) = (progress.read_rows(), progress.read_bytes());
            (known.written_rows, known.written_bytes) = (progress.written_rows(), progress.written_bytes());
        }
        (known.lost, known.not_before_ms) = (0, not_before_ms);
        match outcome {
            Ok(()) => (known.failed, known.error) = (0, None),
            Err(error) => (known.failed, known.error) = (known.failed + 1, Some(error)),
        }
        drop(views);
        self.changed.notify_waiters();
    }

    /// Another change came before what the run committed: it begins again from there, if it is due still. An attempt that was
    /// asked for stays asked for.
    pub fn put_back(&self, view: TableId, was_asked: bool) {
        let mut views = self.views.lock();
        let known = views.known.entry(view).or_default();
        known.running = None;
        known.lost += 1;
        known.is_asked |= was_asked;
        drop(views);
        self.changed.notify_waiters();
    }

    /// The slot of a run that failed is over: the next one begins to count anew.
    pub fn give_up(&self, view: TableId) {
        if let Some(known) = self.views.lock().known.get_mut(&view) {
            known.failed = 0;
        }
    }

    /// Waits until no run is under way or asked for.
    pub async fn until_idle(&self, view: TableId) {
        loop {
            let changed = self.changed.notified();
            let known = self.of(view);
            if known.running.is_none() && (!known.is_asked || known.is_stopped) {
                return;
            }
            changed.await;
        }
    }

    /// Forgets views that are gone.
    pub fn retain(&self, is_live: impl Fn(TableId) -> bool) {
        self.views.lock().known.retain(|view, known| known.running.is_some() || is_live(*view));
    }
}
