//! One piece of housekeeping: run at a stretch, or held at a named point while others work.
//!
//! A held job has a thread of its own, but only one of the two threads ever runs: whoever starts or resumes a job
//! waits until it is held or done. So the seed still decides everything.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use host::{Host, MemoryBudget};
use mergetree::flush::{self, FlushOutcome};
use mergetree::merge::{MergeOutcome, MergePlan};
use mergetree::{Table, TableError, collect};

use crate::tables;
use crate::tally::Tally;

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Job {
    Flush,
    Merge(MergePlan),
    Collect { lifetime_ms: u64 },
    Checkpoint,
}

/// How a job ended; an error is what it said.
pub(crate) type Ended = Result<Done, String>;

pub(crate) enum Done {
    Flush(FlushOutcome),
    Merge(MergeOutcome),
    Collected(u64),
    Checkpoint,
}

impl Job {
    pub(crate) fn title(&self) -> &'static str {
        match self {
            Job::Flush => "a flush",
            Job::Merge(_) => "a merge",
            Job::Collect { .. } => "a collection",
            Job::Checkpoint => "a checkpoint",
        }
    }

    /// Where it may be held: between two of its steps, with no lock that others need.
    pub(crate) fn points(&self) -> &'static [&'static str] {
        match self {
            Job::Flush => &["parts.seal.sync", "parts.sealed", "mergetree.flush.commit"],
            Job::Merge(_) => &["parts.seal.synced", "mergetree.merge.commit"],
            Job::Collect { .. } => &["mergetree.collect.delete", "mergetree.collect.forget"],
            Job::Checkpoint => {
                &["catalog.checkpoint.write", "catalog.checkpoint.rename", "catalog.checkpoint.drop"]
            }
        }
    }

    pub(crate) fn run(&self, table: &Table) -> Ended {
        self.try_run(table).map_err(|error| error.to_string())
    }

    fn try_run(&self, table: &Table) -> Result<Done, TableError> {
        Ok(match self {
            Job::Flush => Done::Flush(flush::run(table)?),
            Job::Merge(plan) => Done::Merge(tables::run(table, plan, &MemoryBudget::new(256 << 20))?),
            Job::Collect { lifetime_ms } => {
                Done::Collected(collect::run(&table.catalog, &table.store, &table.host, *lifetime_ms)?.files)
            }
            Job::Checkpoint => {
                table.catalog.checkpoint()?;
                Done::Checkpoint
            }
        })
    }
}

impl Done {
    pub(crate) fn count(&self, tally: &mut Tally) {
        match self {
            Done::Flush(FlushOutcome::Committed { .. }) => tally.flushes += 1,
            Done::Flush(FlushOutcome::Lost) => tally.flushes_lost += 1,
            Done::Merge(MergeOutcome::Committed { .. }) => tally.merges += 1,
            Done::Merge(MergeOutcome::Lost) => tally.merges_lost += 1,
            Done::Flush(FlushOutcome::Nothing) | Done::Merge(_) => {}
            Done::Collected(files) => tally.collected += files,
            Done::Checkpoint => tally.checkpoints += 1,
        }
    }
}

enum Event {
    Held,
    Done(Ended),
}

/// A job that waits at a point.
pub(crate) struct HeldJob {
    pub(crate) job: Job,
    events: Receiver<Event>,
    resume: Sender<()>,
    thread: JoinHandle<()>,
}

/// A job after it was started.
pub(crate) enum Started {
    Held(HeldJob),
    Ended(Ended),
}

impl HeldJob {
    /// Runs the job up to its first pass of a point, or to its end if it does not come by.
    pub(crate) fn start(job: Job, point: &'static str, table: &Table) -> Started {
        let (tell, events) = channel();
        let (resume, resumed) = channel::<()>();
        let held = tell.clone();
        arm(&table.host, point, move || {
            let _ = held.send(Event::Held);
            // Whoever has given the job up lets it go on.
            let _ = resumed.recv();
        });
        let (table, own) = (table.clone(), job.clone());
        let work = move || {
            let ended = own.run(&table);
            drop(table);
            let _ = tell.send(Event::Done(ended));
        };
        let thread = Builder::new().name("held job".to_owned()).spawn(work).unwrap();
        let held = HeldJob { job, events, resume, thread };
        match held.events.recv() {
            Ok(Event::Held) => Started::Held(held),
            Ok(Event::Done(ended)) => {
                held.thread.join().unwrap();
                Started::Ended(ended)
            }
            Err(_) => panic!("a job neither waits nor ends"),
        }
    }

    /// Lets it run to its end.
    pub(crate) fn finish(self) -> Ended {
        self.resume.send(()).unwrap();
        let ended = match self.events.recv() {
            Ok(Event::Done(ended)) => ended,
            _ => panic!("a job does not end"),
        };
        self.thread.join().unwrap();
        ended
    }
}

/// Makes the next pass of a point wait.
#[cfg(debug_assertions)]
pub(crate) fn arm(host: &Host, point: &'static str, wait: impl FnOnce() + Send + 'static) {
    host.faults.arm_call(point, wait);
}

/// Release builds have no points to wait at.
#[cfg(not(debug_assertions))]
pub(crate) fn arm(_host: &Host, _point: &'static str, _wait: impl FnOnce() + Send + 'static) {}
