//! A catalog that many processes have, over one store: following what the others commit.
//!
//! Invariant: records are applied in the order of the log, under the lock of the writer, whether a conflict or a look at the end of
//! the log brought them. Must not know: who the others are.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use commitlog::{LogError, LogTail, ObjectLog, ObjectLogConfig, OpenedLog, ReplayedRecord};
use host::{Host, Objects};
use model::Seq;

use super::commits::{Failure, Left};
use super::{Catalog, CatalogConfig, CatalogError, Writer};
use crate::checkpoint_home::CheckpointHome;

/// A root in a store.
#[derive(Debug, Clone)]
pub struct SharedRoot {
    pub objects: Arc<dyn Objects>,
    /// A folder of this process alone.
    pub scratch: PathBuf,
    pub log: ObjectLogConfig,
    /// The machine with its own clocks; the host the catalog is opened on has the time of the store.
    pub machine: Host,
}

impl Catalog {
    /// [`Catalog::open`] in a store that others use meanwhile. Creates no object.
    pub fn open_shared(
        host: &Host,
        shared: &SharedRoot,
        config: CatalogConfig,
    ) -> Result<Catalog, CatalogError> {
        let home = CheckpointHome::objects(host, Arc::clone(&shared.objects), &shared.scratch);
        Catalog::open_on(host, &shared.scratch, home, config, |after, deliver| {
            let objects = Arc::clone(&shared.objects);
            let log = ObjectLog::open(&shared.machine, objects, after, deliver, shared.log)?;
            Ok(OpenedLog { log: Box::new(log), findings: Vec::new(), checkpoint_seq: 0, held_until_ms: 0 })
        })
    }

    /// Takes in everything that was committed anywhere before `since`, a moment of the host's monotonic clock; the seq it comes to.
    /// One thread looks at a time, and a commit of this process that began later tells as much as a look. `slept`: records that
    /// are not there any more may have been missed, which only the writer of the log finds out. With `patience` whoever looks is
    /// waited for no longer, and nothing is done then.
    ///
    /// # Errors
    /// The store does not say, or the log is not what it should be.
    pub fn follow_others(
        &self,
        since: Duration,
        slept: bool,
        patience: Option<Duration>,
    ) -> Result<Seq, CatalogError> {
        let Some(tail) = &self.tail else { return Ok(self.seq()) };
        let one = match patience {
            None => Some(self.following.lock()),
            Some(patience) => self.following.try_lock_for(patience),
        };
        let Some(_one) = one else { return Ok(self.seq()) };
        let mut slept = slept;
        while slept || self.known_at() < since || self.may_have_open_record() {
            let (started, next) = (self.host.clock.monotonic(), self.seq().next());
            if !slept && !self.may_have_open_record() && !self.has(&**tail, next)? {
                self.note_known(started);
                continue;
            }
            self.take_others(next, slept)?;
            slept = false;
        }
        Ok(self.seq())
    }

    fn has(&self, tail: &dyn LogTail, next: Seq) -> Result<bool, CatalogError> {
        let io_error = |source| LogError::Io { path: self.root.clone(), source };
        Ok(tail.has(next.0).map_err(io_error)?)
    }

    /// Takes in records from `next` on, unless that is known by now: it may have been a commit of this process.
    fn take_others(&self, next: Seq, slept: bool) -> Result<(), CatalogError> {
        let mut left = Left::default();
        let mut writer = self.writer.lock();
        if self.seq() >= next && !slept && !writer.log.has_open() {
            return Ok(());
        }
        if let Some(why) = &writer.stopped {
            return Err(CatalogError::Poisoned(why.to_string()));
        }
        let records = writer.log.others();
        self.note_log(&writer);
        let records = records.map_err(|error| Failure::of(error).into_error())?;
        if records.is_empty() {
            return Ok(());
        }
        self.follow_or_stop(&mut writer, &records, &mut left)?;
        drop(writer);
        drop(left);
        Ok(())
    }

    /// Takes in records; this process stops if one does not fit.
    pub(super) fn follow_or_stop(
        &self,
        writer: &mut Writer,
        records: &[ReplayedRecord],
        left: &mut Left,
    ) -> Result<(), CatalogError> {
        let Err(failure) = self.follow(writer, records, left) else { return Ok(()) };
        let why = match &failure {
            Failure::Poisoned(why) => Some(why.clone()),
            _ => None,
        };
        let error = failure.into_error();
        writer.stopped = Some(Cow::Owned(why.unwrap_or_else(|| error.to_string())));
        self.poisoned.store(true, Ordering::Release);
        Err(error)
    }

    /// When everything there was is known to have been known, on the host's monotonic clock.
    pub fn known_at(&self) -> Duration {
        Duration::from_micros(self.known_at.load(Ordering::Acquire))
    }

    pub(super) fn note_known(&self, at: Duration) {
        self.known_at.fetch_max(u64::try_from(at.as_micros()).unwrap_or(0), Ordering::AcqRel);
    }

    /// Whether the outcome of a commit of this process is not known yet; in a root of one process only the next open can tell.
    pub fn may_have_open_record(&self) -> bool {
        self.open_record.load(Ordering::Acquire)
    }

    /// What the log says of itself.
    pub(super) fn note_log(&self, writer: &Writer) {
        if writer.log.poisoned().is_some() {
            self.poisoned.store(true, Ordering::Release);
        }
        self.open_record.store(writer.log.has_open(), Ordering::Release);
        if let Some(at) = writer.log.known_at() {
            self.note_known(at);
        }
        if writer.log.is_left_behind() {
            self.left_behind.store(true, Ordering::Release);
        }
    }

    /// Whether this process can follow the others no more: what it shows is old, and it has to be started again.
    pub fn is_left_behind(&self) -> bool {
        self.left_behind.load(Ordering::Acquire)
    }

    /// The oldest seq a snapshot of this process still reads.
    pub fn own_horizon(&self) -> Seq {
        self.pins.oldest_or(|| self.seq())
    }

    /// Other processes read seqs from this one on; `None`: there are no others.
    pub fn set_others_horizon(&self, oldest: Option<Seq>) {
        self.others_horizon.store(oldest.map_or(u64::MAX, |oldest| oldest.0), Ordering::Release);
    }
}
