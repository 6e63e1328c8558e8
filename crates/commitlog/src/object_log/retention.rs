//! Which records go, and how a writer that slept too long learns that it missed them.
//!
//! A deleted record frees its key, so a writer that was stopped for longer than records are kept could create its next record
//! where one was long ago, and think that it had appended. Therefore: before records are deleted a *boundary* is created, which
//! stays for ever; records are kept for [`KEPT_MS`] at least; and who hears of a success later than [`PROOF_MAX`] after it last
//! knew the end of the log looks at the boundaries before it believes it. When it last knew the end nothing was at its seq, so
//! whatever was there since was deleted more than a day after.
//!
//! Invariant: ages of records are differences of times of the store. Must not know: what checkpoints are.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use host::{Created, Host, Objects};

use crate::error::LogError;

use super::frames::{log_folder, record_key, seq_of};

/// Records that no checkpoint needs are kept for so long, by the clock of the store.
const KEPT_MS: u64 = 24 * 3600 * 1000;
/// A success that is heard of so long after the end of the log was known is looked into. Far shorter than records are kept.
const PROOF_MAX: Duration = Duration::from_secs(60);
const BOUNDARIES: &str = "boundary/";

/// When it was known that nothing was behind the end of the log. Two clocks of this machine: one of them stands still while
/// the machine sleeps, the other may be set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Proof {
    monotonic: Duration,
    wall_ms: u64,
}

impl Proof {
    pub(super) fn now(host: &Host) -> Proof {
        Proof { monotonic: host.clock.monotonic(), wall_ms: host.clock.now_ms() }
    }

    pub(super) fn is_old(&self, host: &Host) -> bool {
        let max_ms = u64::try_from(PROOF_MAX.as_millis()).unwrap_or(0);
        host.clock.monotonic().saturating_sub(self.monotonic) > PROOF_MAX
            || host.clock.now_ms().abs_diff(self.wall_ms) > max_ms
    }
}

/// The highest boundary, if records up to `seq` lie below it.
pub(super) fn boundary_at(objects: &dyn Objects, seq: u64) -> Result<Option<u64>, LogError> {
    let listed = objects.list(BOUNDARIES, "");
    let listed = listed.map_err(|source| LogError::Io { path: objects.place(BOUNDARIES).into(), source })?;
    let newest = listed.iter().rev().find_map(|object| seq_of(&object.key));
    Ok(newest.filter(|boundary| *boundary >= seq))
}

/// Deletes records that are old enough; the one right before `seq` stays, for its hash is in the next.
pub(super) fn drop_before(objects: &dyn Objects, host: &Host, stream: u64, seq: u64) -> io::Result<()> {
    let listed = objects.list(&log_folder(stream), "")?;
    let now_ms = listed.iter().map(|object| object.modified_ms).max().unwrap_or(0);
    let is_old = |modified_ms: u64| now_ms.saturating_sub(modified_ms) > KEPT_MS;
    let records = listed.iter().filter_map(|object| Some((seq_of(&object.key)?, object.modified_ms)));
    let going: Vec<u64> = records
        .take_while(|(record, modified_ms)| record + 1 < seq && is_old(*modified_ms))
        .map(|(record, _)| record)
        .collect();
    let Some(boundary) = going.last() else { return Ok(()) };
    if !host.faults.planted("commitlog.delete_without_boundary") {
        match objects.create(&format!("{BOUNDARIES}{boundary:020}"), Bytes::new()) {
            Created::New | Created::Exists => {}
            Created::Unknown(error) => return Err(error),
        }
    }
    going.iter().try_for_each(|record| objects.delete(&record_key(stream, *record)))
}
