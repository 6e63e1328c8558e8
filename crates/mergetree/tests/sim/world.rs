//! One seed: several lives of a machine, in each of which something goes wrong, and the checks between them.
//!
//! Invariant: the seed decides everything; two runs of it make the same calls with the same bytes.

use std::time::Duration;

use catalog::{Op, State};
use host::{Host, SimHost, SimWorld};
use model::Seq;

use crate::checker::{Answer, Journal};
use crate::housekeeping::{Housekeeping, tidy_up};
use crate::jobs::Job;
use crate::machine::{Database, POINTS, RECORD_POINTS};
use crate::statement::Dice;
use crate::tables::commit;
use crate::tally::Tally;
use crate::together::commit_together;
use crate::writer::{Prepared, Writer, answer, transaction};

/// Disk calls of a long life; the machine stops at one of them.
const CALLS: u64 = 500;
/// Far beyond any life: takes an appointed stop or failure back.
const NEVER: u64 = u64::MAX / 2;
/// The disk without a limit of its own.
const DISK_BYTES: u64 = 1 << 40;

/// A seed that went well.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) trace_hash: u64,
    pub(crate) tally: Tally,
}

/// What goes wrong in a life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Trouble {
    None,
    StopAtCall,
    StopAtPoint(&'static str),
    /// A call or a step fails once, and the program goes on, perhaps to a stop of the machine.
    Failure,
    /// Writes fail for the rest of the life, which a stop may end too.
    FullDisk,
}

/// What takes part when several commit together.
enum Sent {
    Statement(usize, Prepared),
    /// The same as the one before it.
    Repetition(Prepared),
    Truncation,
}

struct Simulation {
    world: SimWorld,
    dice: Dice,
    journal: Journal,
    writers: Vec<Writer>,
    tally: Tally,
    /// Of its own, so that the lives are the same with and without it.
    thief: Dice,
}

/// Lives the lives of a seed, making a planted mistake all along; an error is what the checker says.
pub(crate) fn scenario(seed: u64, mistake: Option<&'static str>) -> Result<Run, String> {
    let (host, world) = SimHost::new(seed);
    if let Some(mistake) = mistake {
        plant(&world, mistake);
    }
    let writers = [(true, false), (false, false), (true, true), (false, true), (true, false), (true, false)];
    let writers = (1..).zip(writers).map(|(client, (labelled, parts))| Writer::new(client, labelled, parts));
    let mut simulation = Simulation {
        world: world.clone(),
        dice: Dice(seed),
        journal: Journal::default(),
        writers: writers.collect(),
        tally: Tally::default(),
        thief: Dice(!seed),
    };
    let mut db = Database::open(&host, &world).map_err(|error| error.to_string())?;
    commit(db.catalog(), vec![Op::CreateTable(db.table.def.as_ref().clone())]);
    for life in 0..3 + simulation.dice.below(4) {
        let told = |problem: String| format!("life {life}: {problem}");
        let trouble = simulation.live(&mut db).map_err(told)?;
        let before = db.state();
        drop(db);
        db = simulation.restart(trouble, before.seq()).map_err(told)?;
        simulation.check_restart(&db, &before).map_err(|problem| format!("after life {life}: {problem}"))?;
    }
    simulation.end(db).map_err(|problem| format!("at the end: {problem}"))?;
    simulation.tally.calls = world.ops();
    Ok(Run { trace_hash: world.trace_hash(), tally: simulation.tally })
}

impl Simulation {
    /// Works until the machine stops or the life has been long enough.
    fn live(&mut self, db: &mut Database) -> Result<Trouble, String> {
        self.tally.lives += 1;
        let trouble = self.trouble(db);
        db.disturbed = matches!(trouble, Trouble::Failure | Trouble::FullDisk);
        if db.disturbed && self.dice.one_in(2) {
            self.world.crash_after(1 + self.dice.below(CALLS));
        }
        let mut housekeeping = Housekeeping::default();
        for _ in 0..20 + self.dice.below(50) {
            if self.world.crashed() {
                break;
            }
            match self.dice.below(100) {
                0 => {
                    let truncation = transaction(db, vec![self.truncation(db)]);
                    let answer = answer(db, "a truncation", db.catalog().commit(truncation))?;
                    self.truncated(answer);
                    continue;
                }
                1..9 => {
                    self.commit_together(db)?;
                    continue;
                }
                _ => {}
            }
            let tally = &mut self.tally;
            match self.dice.below(22) {
                0..11 => {
                    let writer = self.dice.below(self.writers.len() as u64) as usize;
                    self.writers[writer].step(db, &mut self.journal, &mut self.dice, tally)?;
                }
                11 => housekeeping.start(Job::Flush, db, &mut self.dice, tally)?,
                12..15 => housekeeping.merge(db, &mut self.dice, tally)?,
                15 => {
                    let lifetime_ms = *self.dice.pick(&[0, 0, 1000]);
                    housekeeping.start(Job::Collect { lifetime_ms }, db, &mut self.dice, tally)?;
                }
                16 => housekeeping.start(Job::Checkpoint, db, &mut self.dice, tally)?,
                17..20 => housekeeping.read(db, &self.journal, tally)?,
                _ => housekeeping.resume(db, &mut self.dice, tally)?,
            }
        }
        while housekeeping.holds() {
            if self.dice.one_in(3) {
                self.world.crash();
            }
            housekeeping.resume(db, &mut self.dice, &mut self.tally)?;
        }
        self.writers.iter_mut().for_each(|writer| writer.disconnect(db));
        if matches!(trouble, Trouble::None | Trouble::StopAtPoint(_)) && !self.world.crashed() {
            // Nothing failed, so nothing waits for the next open to be cleared away.
            db.check(&self.journal)?;
        }
        match trouble {
            Trouble::StopAtCall if self.world.crashed() => self.tally.stops_at_calls += 1,
            Trouble::StopAtPoint(point) if self.world.crashed() => {
                *self.tally.stops_at_points.entry(point).or_default() += 1;
            }
            _ => {}
        }
        Ok(trouble)
    }

    fn truncation(&self, db: &Database) -> Op {
        Op::TruncateTable { table: db.table.def.id }
    }

    fn truncated(&mut self, answer: Answer) {
        self.journal.truncate(answer);
        self.tally.truncations += u64::from(answer == Answer::Ok);
    }

    /// Several clients send what they have ready, some of it twice, and perhaps somebody truncates the table.
    fn commit_together(&mut self, db: &Database) -> Result<(), String> {
        let mut sent: Vec<Sent> = Vec::new();
        for client in 0..self.writers.len() {
            if self.dice.one_in(3) {
                continue;
            }
            let prepared = self.writers[client].prepare(db, &mut self.journal, &mut self.dice)?;
            let Some(prepared) = prepared else { continue };
            let again = (prepared.may_be_doubled() && self.dice.one_in(4)).then(|| prepared.clone());
            sent.push(Sent::Statement(client, prepared));
            sent.extend(again.map(Sent::Repetition));
        }
        if self.dice.one_in(20) {
            let at = self.dice.below(sent.len() as u64 + 1) as usize;
            sent.insert(at, Sent::Truncation);
        }
        let ops = |one: &Sent| match one {
            Sent::Statement(_, prepared) | Sent::Repetition(prepared) => prepared.ops.clone(),
            Sent::Truncation => vec![self.truncation(db)],
        };
        let transactions = sent.iter().map(|one| transaction(db, ops(one))).collect();
        // The first has a record of its own, the others share the next.
        self.tally.groups += u64::from(sent.len() > 2);
        for (one, outcome) in sent.into_iter().zip(commit_together(&db.table.catalog, transactions)) {
            match one {
                Sent::Statement(client, prepared) => {
                    let answer = prepared.answer(db, outcome)?;
                    let (journal, tally) = (&mut self.journal, &mut self.tally);
                    self.writers[client].conclude(prepared, answer, db, journal, tally)?;
                }
                Sent::Repetition(prepared) => {
                    let answer = prepared.answer(db, outcome)?;
                    prepared.conclude_repetition(answer, &mut self.journal)?;
                }
                Sent::Truncation => self.truncated(answer(db, "a truncation", outcome)?),
            }
        }
        Ok(())
    }

    fn trouble(&mut self, db: &Database) -> Trouble {
        let (dice, host) = (&mut self.dice, db.host());
        let calls = 1 + dice.below(CALLS);
        // A good part of them around the record, where outcomes become unknown.
        let point = *if dice.one_in(3) { dice.pick(&POINTS[..RECORD_POINTS]) } else { dice.pick(&POINTS) };
        // Steps that are rare in a life are not waited for long.
        let skip = dice.below(if POINTS[..RECORD_POINTS].contains(&point) { 8 } else { 2 });
        match dice.below(16) {
            0..5 => {
                self.world.crash_after(calls);
                Trouble::StopAtCall
            }
            5..10 if arm(host, point, skip, false) => Trouble::StopAtPoint(point),
            10..12 if arm(host, point, skip, true) => Trouble::Failure,
            5..13 => {
                self.world.fail_after(calls);
                Trouble::Failure
            }
            13 => {
                let free = host.disk.free_bytes(&db.table.store.root()).unwrap_or(DISK_BYTES);
                self.world.set_disk_bytes_max(DISK_BYTES - free + dice.below(60_000));
                Trouble::FullDisk
            }
            _ => Trouble::None,
        }
    }

    /// Opens again, after a stop of the machine or only of the program; the first try may be stopped too.
    fn restart(&mut self, trouble: Trouble, published: Seq) -> Result<Database, String> {
        let only_program = !self.world.crashed() && self.dice.one_in(2);
        let host = if only_program { self.world.restart_program() } else { self.world.reopen() };
        if trouble == Trouble::FullDisk {
            self.world.set_disk_bytes_max(DISK_BYTES);
        }
        // Hours, but all lives together less than a label lives.
        host.clock.sleep(Duration::from_secs(self.dice.below(10 * 3600)));
        if self.thief.one_in(3)
            && let Some(db) = self.steal(&host, published)?
        {
            return Ok(db);
        }
        if !self.dice.one_in(3) {
            return open(&host, &self.world);
        }
        let calls = 1 + self.dice.below(60);
        match self.dice.one_in(4) {
            true => self.world.fail_after(calls),
            false => self.world.crash_after(calls),
        }
        let opened = Database::open(&host, &self.world);
        if let Ok(db) = opened {
            self.world.crash_after(NEVER);
            self.world.fail_after(NEVER);
            return Ok(db);
        }
        self.tally.recoveries_stopped += 1;
        let host = if self.world.crashed() { self.world.reopen() } else { self.world.restart_program() };
        open(&host, &self.world)
    }

    /// Takes the newest segment away: either nobody needed it, or the database says so and opens when it is back.
    fn steal(&mut self, host: &Host, published: Seq) -> Result<Option<Database>, String> {
        let Some(path) = Database::newest_segment(host) else { return Ok(None) };
        let failed = |error: std::io::Error| error.to_string();
        let bytes = host::read_all(&*host.disk, &path).map_err(failed)?;
        host.disk.remove_file(&path).map_err(failed)?;
        match Database::open(host, &self.world) {
            Ok(db) if db.state().seq() >= published => return Ok(Some(db)),
            Ok(db) => {
                let (path, seq) = (path.display(), db.state().seq());
                return Err(format!(
                    "{path} was taken away, and the database opened at {seq} of {published}"
                ));
            }
            Err(_) => self.tally.thefts += 1,
        }
        host::replace_file(&*host.disk, &path, &bytes).map_err(failed)?;
        Ok(None)
    }

    /// What was acknowledged is there; what is there stays; and replay gives what commits gave.
    fn check_restart(&mut self, db: &Database, before: &State) -> Result<(), String> {
        let now = db.state();
        if now.seq() < before.seq() || now.seq() > before.seq().next() {
            return Err(format!("the log ends at {}, {} was published", now.seq(), before.seq()));
        }
        let settled = self.journal.settle(now.seq() > before.seq());
        self.tally.unknown_kept += settled.kept;
        self.tally.unknown_gone += settled.gone;
        db.check(&self.journal)?;
        db.check_labels(&self.journal)?;
        db.check_checkpoints()?;
        match now.seq() == before.seq() && now != *before {
            true => Err(format!("replay gives another state at {}", now.seq())),
            false => Ok(()),
        }
    }

    /// Nothing goes wrong any more: everything is repeated, merged, collected, and the same.
    fn end(&mut self, db: Database) -> Result<(), String> {
        for writer in &mut self.writers {
            writer.settle(&db, &mut self.journal, &mut self.tally)?;
        }
        db.check(&self.journal)?;
        db.check_labels(&self.journal)?;
        let checkpoint = || db.catalog().checkpoint().map_err(|error| error.to_string());
        let previous = checkpoint()?;
        tidy_up(&db)?;
        let newest = checkpoint()?;
        if previous < newest {
            db.check_log(previous, newest)?;
        }
        db.check(&self.journal)?;
        let state = db.table_state();
        if state.inline_count() > 0 || state.removed().next().is_some() {
            return Err("inline rows or removed parts are left".to_owned());
        }
        let before = db.state();
        drop(db);
        let db = open(&self.world.reopen(), &self.world)?;
        self.check_restart(&db, &before)
    }
}

fn open(host: &Host, world: &SimWorld) -> Result<Database, String> {
    Database::open(host, world).map_err(|error| format!("does not open: {error}"))
}

#[cfg(debug_assertions)]
fn plant(world: &SimWorld, mistake: &'static str) {
    world.plant(mistake);
}

#[cfg(not(debug_assertions))]
fn plant(_world: &SimWorld, mistake: &'static str) {
    panic!("release builds cannot make the mistake {mistake}");
}

/// Lets a named point fail, or stop the machine; false in release builds, which have no points.
#[cfg(debug_assertions)]
fn arm(host: &Host, point: &'static str, skip: u64, fails: bool) -> bool {
    use host::FaultAction::{Fail, Stop};
    host.faults.arm(point, skip, if fails { Fail } else { Stop });
    true
}

#[cfg(not(debug_assertions))]
fn arm(_host: &Host, _point: &'static str, _skip: u64, _fails: bool) -> bool {
    false
}
