//! Everything that works on rows that are there: flushes, merges, collections, checkpoints, and a reader who looks
//! twice.
//!
//! A merge is chosen in one step and run in a later one, so its inputs may be gone by then; any job may be held in
//! the middle; a snapshot is kept over whatever happens between its two readings.

use std::collections::HashSet;

use catalog::Snapshot;
use mergetree::merge::{MergeLimits, MergePlan, choose_for, plan_all};

use crate::checker::{Journal, Source};
use crate::jobs::{Ended, HeldJob, Job, Started};
use crate::machine::Database;
use crate::statement::Dice;
use crate::tally::Tally;

/// Jobs held at once.
const HELD_MAX: usize = 3;

/// Of one life.
#[derive(Default)]
pub(crate) struct Housekeeping {
    /// Chosen and not run yet, two at most: when both want a part, the second is lost.
    plans: Vec<MergePlan>,
    held: Vec<HeldJob>,
    reading: Option<(Snapshot, Vec<Source>)>,
}

impl Housekeeping {
    /// Runs a job, or begins with it and leaves it in the middle.
    pub(crate) fn start(
        &mut self,
        job: Job,
        db: &Database,
        dice: &mut Dice,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let is_checkpoint = |held: &HeldJob| held.job == Job::Checkpoint;
        if job == Job::Checkpoint && self.held.iter().any(is_checkpoint) {
            // It would wait for the one that is held.
            return Ok(());
        }
        if self.held.len() >= HELD_MAX || !dice.one_in(3) {
            return conclude(&job, job.run(&db.table), db, tally);
        }
        let (job_again, point) = (job.clone(), *dice.pick(job.points()));
        match HeldJob::start(job, point, &db.table) {
            Started::Held(held) => {
                self.held.push(held);
                tally.held += 1;
                Ok(())
            }
            Started::Ended(ended) => conclude(&job_again, ended, db, tally),
        }
    }

    /// Ends one of the jobs that are held, if there is one.
    pub(crate) fn resume(&mut self, db: &Database, dice: &mut Dice, tally: &mut Tally) -> Result<(), String> {
        if self.held.is_empty() {
            return Ok(());
        }
        let held = self.held.remove(dice.below(self.held.len() as u64) as usize);
        let job = held.job.clone();
        conclude(&job, held.finish(), db, tally)
    }

    pub(crate) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    pub(crate) fn merge(&mut self, db: &Database, dice: &mut Dice, tally: &mut Tally) -> Result<(), String> {
        if self.plans.is_empty() || (self.plans.len() < 2 && dice.one_in(2)) {
            let state = db.table_state();
            let limits = MergeLimits { base: 1.0, ..MergeLimits::default() };
            let plans = match dice.one_in(2) {
                true => choose_for(&state, &HashSet::new(), &limits, db.host().clock.now_ms()),
                false => plan_all(&state, None, true),
            };
            if !plans.is_empty() {
                self.plans.push(dice.pick(&plans).clone());
            }
            return Ok(());
        }
        let plan = self.plans.remove(0);
        self.start(Job::Merge(plan), db, dice, tally)
    }

    /// Takes a snapshot and checks it against the journal, or reads the one it holds again.
    pub(crate) fn read(&mut self, db: &Database, journal: &Journal, tally: &mut Tally) -> Result<(), String> {
        let (snapshot, before) = match self.reading.take() {
            Some((snapshot, before)) => (snapshot, Some(before)),
            None => (db.catalog().snapshot(), None),
        };
        // Only one call fails in a life, so a second try tells a lost file from a failed read.
        let read = db.read(&snapshot).or_else(|_| db.read(&snapshot));
        let sources = match read {
            Ok(sources) => sources,
            Err(_) if db.world.crashed() => return Ok(()),
            Err(error) => return Err(format!("the snapshot of {} cannot be read: {error}", snapshot.seq())),
        };
        match before {
            None => {
                journal.check(&sources)?;
                self.reading = Some((snapshot, sources));
            }
            Some(before) if before == sources => tally.read_again += 1,
            Some(_) => {
                return Err(format!("the snapshot of {} reads other rows than before", snapshot.seq()));
            }
        }
        Ok(())
    }
}

fn conclude(job: &Job, ended: Ended, db: &Database, tally: &mut Tally) -> Result<(), String> {
    match ended {
        Ok(done) => {
            done.count(tally);
            Ok(())
        }
        Err(error) => db.excuse(job.title(), error),
    }
}

/// Flushes, merges everything that can be merged, and collects what was replaced.
pub(crate) fn tidy_up(db: &Database) -> Result<(), String> {
    Job::Flush.run(&db.table)?;
    for plan in plan_all(&db.table_state(), None, true) {
        Job::Merge(plan).run(&db.table)?;
    }
    Job::Collect { lifetime_ms: 0 }.run(&db.table).map(drop)
}
