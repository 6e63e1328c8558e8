//! When a checkpoint is written, and what goes after it.
//!
//! Invariant: the log reaches back to the checkpoint before the newest, in case that one is damaged later. Must not know: what is
//! in a checkpoint.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use commitlog::LogTail;
use model::Seq;

use super::{Catalog, CatalogError};
use crate::checkpoint::CheckpointError;

/// Records after which a checkpoint of a shared log is due: each of them is a request of whoever opens it.
const SHARED_RECORDS: u64 = 512;
/// Between two deletions of records of a shared log.
const DROPS_APART: Duration = Duration::from_secs(600);

impl Catalog {
    /// Writes a checkpoint of the newest state unless there is one, and drops what only older ones need. Commits go on
    /// meanwhile.
    pub fn checkpoint(&self) -> Result<Seq, CatalogError> {
        let mut known = self.checkpoints.lock();
        let (state, covered_bytes) = {
            let writer = self.writer.lock();
            (Arc::clone(&self.published.read()), writer.logged_bytes)
        };
        let seq = state.seq();
        if seq == Seq::ZERO || known.newest == Some(seq) {
            return Ok(seq);
        }
        self.home.write(&self.host, &state)?;
        // The log keeps reaching back to the checkpoint before, in case this one is damaged later.
        let own = known.newest.replace(seq);
        known.covered_bytes = covered_bytes;
        let previous = match self.home.is_shared() {
            // Others write some of them.
            true => self.home.list()?.into_iter().find(|listed| *listed < seq),
            false => own,
        };
        drop(known);
        let kept: Vec<Seq> = previous.into_iter().chain([seq]).collect();
        let io_error = |source| CheckpointError::Io { path: self.home.folder_place(), source };
        // Known to be there before what it replaces goes.
        let needed_from = previous.map_or(1, |previous| previous.next().0);
        self.writer.lock().log.pin_checkpoint(seq.0, needed_from).map_err(io_error)?;
        self.host.faults.hit("catalog.checkpoint.drop").map_err(io_error)?;
        self.home.remove_others(&kept)?;
        let Some(previous) = previous else { return Ok(seq) };
        match &self.tail {
            None => self.writer.lock().log.drop_before(previous.next().0),
            Some(tail) => self.drop_shared(&**tail, previous.next()),
        }
        .map_err(io_error)?;
        Ok(seq)
    }

    /// Nobody who commits waits for it, and it is done seldom: records stay for a day at any rate.
    fn drop_shared(&self, tail: &dyn LogTail, before: Seq) -> io::Result<()> {
        let now = self.host.clock.monotonic();
        {
            let mut known = self.checkpoints.lock();
            if known.dropped.is_some_and(|dropped| now.saturating_sub(dropped) < DROPS_APART) {
                return Ok(());
            }
            known.dropped = Some(now);
        }
        tail.drop_before(before.0)
    }

    /// Writes a checkpoint when enough log has been written since the last one.
    pub fn checkpoint_if_due(&self) -> Result<Option<Seq>, CatalogError> {
        let (newest, covered_bytes) = {
            let known = self.checkpoints.lock();
            (known.newest.unwrap_or(Seq::ZERO), known.covered_bytes)
        };
        let logged_bytes = self.writer.lock().logged_bytes;
        let is_long = self.home.is_shared() && self.seq().0.saturating_sub(newest.0) >= SHARED_RECORDS;
        if logged_bytes.saturating_sub(covered_bytes) < self.config.checkpoint_log_bytes && !is_long {
            return Ok(None);
        }
        if self.home.is_shared()
            && let Some(listed) = self.home.list()?.first().filter(|listed| **listed > newest)
        {
            // Somebody else was first; what is logged since then is counted from now on.
            let mut known = self.checkpoints.lock();
            (known.newest, known.covered_bytes) = (Some(*listed), logged_bytes);
            return Ok(None);
        }
        self.checkpoint().map(Some)
    }
}
