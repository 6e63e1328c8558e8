//! A root that others use, too: who they are, and how near this process is to the end of the log.
//!
//! Invariant: a statement sees what was committed anywhere up to [`LOOKED_MAX`] before it began, or everything if it asks for that;
//! while nobody asks, the log is looked at seldom. Must not know: statements, how commits are made.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use catalog::{Catalog, CatalogError, ExportState};
use host::Clock;
use model::TableId;
use parking_lot::Mutex;

use crate::counted::Counts;
use crate::duty::Duties;
use crate::error::SharedError;
use crate::known_seq::KnownSeq;
use crate::node::{FORGOTTEN_MS, Member, Report};

/// So long whoever lost against others asks for his turn.
const OUTRUN: Duration = Duration::from_secs(5);
/// While statements come, the end of the log is looked at so often.
pub const LOOKED_MAX: Duration = Duration::from_millis(100);
/// While none come.
pub const LOOKED_IDLE: Duration = Duration::from_secs(2);
/// After the last statement others are expected for so long.
const ASKED: Duration = Duration::from_secs(3);

/// How often each table was asked for.
type RestingTables = Arc<Mutex<BTreeMap<TableId, usize>>>;

/// While it lives, the others are asked to let the merges of a table rest.
#[derive(Debug)]
pub struct Resting {
    tables: RestingTables,
    table: TableId,
}

impl Drop for Resting {
    fn drop(&mut self) {
        let mut tables = self.tables.lock();
        if let Some(count) = tables.get_mut(&self.table) {
            *count -= 1;
            if *count == 0 {
                tables.remove(&self.table);
            }
        }
    }
}

/// Who has not looked for so long may have slept for longer than records are kept. Far shorter than they are.
const SLEPT: Duration = Duration::from_secs(30);

/// A store that did not say is left alone for so long by those who can do without.
const FAILED: Duration = Duration::from_secs(1);

/// Between two searches for files that nothing names; all files are listed.
const SWEPT_APART: Duration = Duration::from_secs(3600);
/// Such files are at least so old: what is being written is known from what the others have said of themselves.
const SWEPT_LIFETIME_MIN: Duration = Duration::from_secs(60);

/// A look at the end of the log.
#[derive(Debug, Clone, Copy)]
struct Looked {
    at: Duration,
    /// By the machine's own clock: the other one stands still while the machine sleeps.
    wall_ms: u64,
}

/// See the module.
#[derive(Debug)]
pub struct Sharing {
    pub member: Member,
    /// Requests of this process to the store.
    pub counts: Arc<Counts>,
    /// Tables whose merges are to rest everywhere while this process changes them, and how often that was asked.
    resting: RestingTables,
    /// Where this process listens.
    pub addresses: Mutex<String>,
    /// Where others may ask this process to work; empty if they may not.
    pub peer: Mutex<String>,
    /// When the end of the log was looked at last.
    looked: Mutex<Option<Looked>>,
    /// With the machine's own wall clock.
    machine: Arc<dyn Clock>,
    /// When nobody could say.
    failed: Mutex<Option<Duration>>,
    /// When a statement came last.
    asked: Mutex<Option<Duration>>,
    /// When files that nothing names were looked for last.
    swept: Mutex<Option<Duration>>,
    /// What the next process in this folder is told.
    known: KnownSeq,
    /// When this process lost too often against others who append.
    outrun: Mutex<Option<Duration>>,
    /// Why the log cannot be followed: a record is not what it should be.
    broken: Mutex<Option<String>>,
    /// What of that the others have been told.
    told: Mutex<Option<String>>,
}

impl Sharing {
    pub fn new(member: Member, counts: Arc<Counts>, machine: Arc<dyn Clock>, known: KnownSeq) -> Sharing {
        let (addresses, looked, asked) = (Mutex::default(), Mutex::default(), Mutex::default());
        Sharing {
            member,
            counts,
            resting: Arc::default(),
            outrun: Mutex::default(),
            addresses,
            peer: Mutex::default(),
            looked,
            failed: Mutex::default(),
            asked,
            machine,
            swept: Mutex::default(),
            known,
            broken: Mutex::default(),
            told: Mutex::default(),
        }
    }

    /// A statement came. Whether the end of the log was not known for too long.
    pub fn is_outdated(&self, catalog: &Catalog, now: Duration) -> bool {
        *self.asked.lock() = Some(now);
        let failed = self.failed.lock().is_some_and(|failed| now.saturating_sub(failed) < FAILED);
        !failed && now.saturating_sub(catalog.known_at()) > LOOKED_MAX
    }

    /// How long until the end of the log is looked at again.
    pub fn pause(&self, now: Duration) -> Duration {
        let asked = self.asked.lock().is_some_and(|asked| now.saturating_sub(asked) < ASKED);
        if asked { LOOKED_MAX } else { LOOKED_IDLE }
    }

    /// Takes in what others had committed at `since`, a moment of the monotonic clock; whether there was something. With
    /// `patience` nobody who is at it is waited for any longer.
    ///
    /// # Errors
    /// The store does not say, or the log is not what it should be.
    pub fn follow(
        &self,
        catalog: &Catalog,
        since: Duration,
        patience: Option<Duration>,
    ) -> Result<bool, SharedError> {
        let before = catalog.seq();
        let wall_ms = self.machine.now_ms();
        // After a sleep the next record may be there no more; only who follows finds out.
        let slept = self.looked.lock().is_none_or(|looked| {
            let asleep = since.saturating_sub(looked.at);
            asleep > SLEPT || u128::from(wall_ms.abs_diff(looked.wall_ms)) > SLEPT.as_millis()
        });
        let followed = catalog.follow_others(since, slept, patience);
        *self.failed.lock() = followed.is_err().then_some(since);
        if let Some(error) = followed.as_ref().err().filter(|error| is_broken(error)) {
            *self.broken.lock() = Some(error.to_string());
        }
        followed?;
        // Whoever did not get to look has found out nothing, neither of a sleep nor of the log.
        if catalog.known_at() >= since {
            *self.broken.lock() = None;
            *self.looked.lock() = Some(Looked { at: since, wall_ms });
        }
        Ok(catalog.seq() > before)
    }

    /// Tells the others of this process, and hears of them. What they read is not collected from now on.
    ///
    /// # Errors
    /// The store fails.
    pub fn beat(&self, catalog: &Catalog, report: Report) -> Result<(), SharedError> {
        let seq = (catalog.seq().0, catalog.own_horizon().0);
        if catalog.is_left_behind() {
            // It reads nothing that others would have to keep.
            return self.member.leave().map_err(|source| self.member.unreachable(source));
        }
        let found = self.broken.lock().clone();
        let broken = found.clone().unwrap_or_default();
        self.member
            .beat(Report { applied: seq.0, horizon: seq.1, broken, ..report })
            .map_err(|source| self.member.unreachable(source))?;
        *self.told.lock() = found;
        // A disk that is full costs a check, and nothing else.
        let _ = self.known.note(seq.0);
        catalog.set_others_horizon(self.member.others_horizon().map(model::Seq));
        Ok(())
    }

    /// Whether something was found that the others should hear at once.
    pub fn has_news(&self) -> bool {
        *self.broken.lock() != *self.told.lock()
    }

    /// Why nobody should write down what the log says: this process, or another one, has met a record that does not follow those
    /// before it. Who wrote on behind such a record does not see it.
    pub fn doubts_log(&self) -> Option<String> {
        let own = self.broken.lock().clone();
        let told = || {
            self.member
                .of_others(|report| vec![report.broken.clone()])
                .into_iter()
                .find(|why| !why.is_empty())
        };
        own.or_else(told)
    }

    /// Whether no server is writing an export: none says so, and it is old enough for its server to have been forgotten.
    pub fn is_abandoned(&self, export: &ExportState, now_ms: u64) -> bool {
        let is_old = now_ms.saturating_sub(export.opened_ms) > FORGOTTEN_MS;
        let id = export.id.to_string();
        let is_written = || self.member.nodes().iter().any(|node| node.report.exports.contains(&id));
        is_old && self.member.is_informed() && !is_written()
    }

    /// Up to when, milliseconds since 1970 UTC, files that nothing names are to be swept away now: what was begun before is older than
    /// `lifetime`, and than all that anybody is still writing. `None` if it is too early, or not known who is there.
    pub fn sweep_before(&self, lifetime: Duration, now: (Duration, u64), own_since_ms: u64) -> Option<u64> {
        let (monotonic, now_ms) = now;
        let lifetime = lifetime.max(SWEPT_LIFETIME_MIN);
        let pause = (lifetime / 2).min(SWEPT_APART);
        let is_late = self.swept.lock().is_none_or(|swept| monotonic.saturating_sub(swept) >= pause);
        if !is_late || !self.member.is_informed() {
            return None;
        }
        *self.swept.lock() = Some(monotonic);
        let old_ms = now_ms.saturating_sub(u64::try_from(lifetime.as_millis()).unwrap_or(u64::MAX));
        Some(old_ms.min(own_since_ms).min(self.member.others_write_since().unwrap_or(u64::MAX)))
    }

    /// Asks the others to let merges of a table rest until what is answered is dropped. They hear of it when both have told each
    /// other of themselves.
    pub fn rest(&self, table: TableId) -> Resting {
        *self.resting.lock().entry(table).or_default() += 1;
        Resting { tables: Arc::clone(&self.resting), table }
    }

    /// The tables whose merges are to rest for this process.
    pub fn resting(&self) -> Vec<String> {
        self.resting.lock().keys().map(ToString::to_string).collect()
    }

    /// Whether another server changes a table, so that a merge of it would be in the way.
    pub fn is_resting(&self, table: TableId) -> bool {
        let name = table.to_string();
        self.member.of_others(|report| report.resting.clone()).contains(&name)
    }

    /// This process does not get its turn to append. True if that was not known yet: then it is to be told at once.
    pub fn note_outrun(&self, now: Duration) -> bool {
        self.outrun.lock().replace(now).is_none_or(|noted| now.saturating_sub(noted) >= OUTRUN)
    }

    /// Whether others are to let this process go first.
    pub fn is_outrun(&self, now: Duration) -> bool {
        self.outrun.lock().is_some_and(|noted| now.saturating_sub(noted) < OUTRUN)
    }

    /// Whether another process asks for its turn.
    pub fn outruns_others(&self) -> bool {
        self.member.nodes().iter().any(|node| !node.is_me && node.is_active && node.report.is_outrun)
    }

    pub fn duties(&self) -> Duties {
        Duties::of(&self.member)
    }
}

/// Whether what keeps the log from being followed is in the log, and not on the way to it.
fn is_broken(error: &CatalogError) -> bool {
    matches!(error, CatalogError::NotFollowed(why) if why.is_of_bytes())
}
