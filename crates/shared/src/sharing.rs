//! A root that others use, too: who they are, and how near this process is to the end of the log.
//!
//! Invariant: a statement sees what was committed anywhere up to [`LOOKED_MAX`] before it began, or everything if it asks for that;
//! while nobody asks, the log is looked at seldom. Must not know: statements, how commits are made.

use std::time::Duration;

use catalog::{Catalog, ExportState};
use host::Host;
use parking_lot::Mutex;

use crate::duty::Duties;
use crate::error::SharedError;
use crate::node::{FORGOTTEN_MS, Member, Report};

/// While statements come, the end of the log is looked at so often.
pub const LOOKED_MAX: Duration = Duration::from_millis(100);
/// While none come.
pub const LOOKED_IDLE: Duration = Duration::from_secs(2);
/// After the last statement others are expected for so long.
const ASKED: Duration = Duration::from_secs(3);

/// See the module.
#[derive(Debug)]
pub struct Sharing {
    pub member: Member,
    /// Where this process listens.
    pub addresses: Mutex<String>,
    /// When the end of the log was looked at last.
    looked: Mutex<Option<Duration>>,
    /// When a statement came last.
    asked: Mutex<Option<Duration>>,
}

impl Sharing {
    pub fn new(member: Member) -> Sharing {
        let (addresses, looked, asked) = (Mutex::default(), Mutex::default(), Mutex::default());
        Sharing { member, addresses, looked, asked }
    }

    /// A statement came. Whether the end of the log was not looked at for too long.
    pub fn is_outdated(&self, now: Duration) -> bool {
        *self.asked.lock() = Some(now);
        self.looked.lock().is_none_or(|looked| now.saturating_sub(looked) > LOOKED_MAX)
    }

    /// How long until the end of the log is looked at again.
    pub fn pause(&self, now: Duration) -> Duration {
        let asked = self.asked.lock().is_some_and(|asked| now.saturating_sub(asked) < ASKED);
        if asked { LOOKED_MAX } else { LOOKED_IDLE }
    }

    /// Takes in what others have committed; whether there was something.
    ///
    /// # Errors
    /// The store does not say, or the log is not what it should be.
    pub fn follow(&self, catalog: &Catalog, host: &Host) -> Result<bool, SharedError> {
        let now = host.clock.monotonic();
        let is_behind = catalog.is_behind().map_err(|source| self.member.unreachable(source))?;
        if is_behind {
            catalog.follow_others()?;
        }
        *self.looked.lock() = Some(now);
        Ok(is_behind)
    }

    /// Tells the others of this process, and hears of them. What they read is not collected from now on.
    ///
    /// # Errors
    /// The store fails.
    pub fn beat(&self, catalog: &Catalog, report: Report) -> Result<(), SharedError> {
        let seq = (catalog.seq().0, catalog.own_horizon().0);
        self.member
            .beat(Report { applied: seq.0, horizon: seq.1, ..report })
            .map_err(|source| self.member.unreachable(source))?;
        catalog.set_others_horizon(self.member.others_horizon().map(model::Seq));
        Ok(())
    }

    /// Whether no server is writing an export: none says so, and it is old enough for its server to have been forgotten.
    pub fn is_abandoned(&self, export: &ExportState, now_ms: u64) -> bool {
        let is_old = now_ms.saturating_sub(export.opened_ms) > FORGOTTEN_MS;
        let id = export.id.to_string();
        let is_written = || self.member.nodes().iter().any(|node| node.report.exports.contains(&id));
        is_old && self.member.is_informed() && !is_written()
    }

    pub fn duties(&self) -> Duties {
        Duties::of(&self.member)
    }
}
