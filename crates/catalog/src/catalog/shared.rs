//! A catalog that many processes have, over one store: following what the others commit.
//!
//! Invariant: records are applied in the order of the log, under the lock of the writer, whether a conflict or a look at the end of
//! the log brought them. Must not know: who the others are.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use commitlog::{ObjectLog, ObjectLogConfig, OpenedLog};
use host::{Host, Objects};
use model::Seq;

use super::commits::{Failure, Left};
use super::{Catalog, CatalogConfig, CatalogError};
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

    /// Whether others commit to the log, too.
    pub fn is_shared(&self) -> bool {
        self.tail.is_some()
    }

    /// Whether somebody has committed what this process does not know yet. Nobody who commits waits for the answer.
    ///
    /// # Errors
    /// The store does not say.
    pub fn is_behind(&self) -> io::Result<bool> {
        let next = self.seq().next();
        self.tail.as_ref().map_or(Ok(false), |tail| tail.has(next.0))
    }

    /// Takes in what others have committed, all of it that is there when it looks for the last time; the seq it comes to.
    pub fn follow_others(&self) -> Result<Seq, CatalogError> {
        loop {
            let mut left = Left::default();
            let mut writer = self.writer.lock();
            if let Some(why) = &writer.stopped {
                return Err(CatalogError::Poisoned(why.to_string()));
            }
            let records = match writer.log.others() {
                Ok(records) => records,
                Err(error) => {
                    if writer.log.poisoned().is_some() {
                        self.poisoned.store(true, Ordering::Release);
                    }
                    return Err(Failure::of(error).into_error());
                }
            };
            if records.is_empty() {
                return Ok(self.seq());
            }
            if let Err(failure) = self.follow(&mut writer, &records, &mut left) {
                let error = failure.into_error();
                writer.stopped = Some(Cow::Owned(error.to_string()));
                self.poisoned.store(true, Ordering::Release);
                return Err(error);
            }
            drop(writer);
            drop(left);
        }
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
