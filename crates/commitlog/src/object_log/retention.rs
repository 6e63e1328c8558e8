//! Which records go, and how a writer that slept too long learns that it missed them.
//!
//! A deleted record frees its key, so a writer that was stopped for longer than records are kept could create its next record
//! where one was long ago, and think that it had appended. Therefore: ten minutes before records are deleted a *boundary* is
//! created; records are kept for [`KEPT_MS`] at least; and who hears of a success later than [`PROOF_MAX`] after it last
//! knew the end of the log looks at the boundaries before it believes it. When it last knew the end nothing was at its seq, so
//! whatever was there since was deleted more than a day after.
//!
//! Invariant: ages of records are differences of times of the store. Must not know: what checkpoints are.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use host::{Created, Host, Object, Objects};

use crate::error::LogError;

use super::ObjectLogConfig;
use super::frames::{log_folder, record_key, seq_of};

/// Records that no checkpoint needs are kept for so long, by the clock of the store.
const KEPT_MS: u64 = 24 * 3600 * 1000;
/// A success that is heard of so long after the end of the log was known is looked into. Far shorter than records are kept.
const PROOF_MAX: Duration = Duration::from_secs(60);
const BOUNDARIES: &str = "boundary/";
/// Records that a deletion that broke off may have left below its boundary.
const LEFT_MAX: u64 = 100_000;
const DELETES_AT_ONCE: usize = 16;
/// A boundary is in every listing after so long.
const SETTLED_MS: u64 = 600_000;

/// When it was known that nothing was behind the end of the log. Two clocks of this machine: one of them stands still while
/// the machine sleeps, the other may be set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Proof {
    pub(super) monotonic: Duration,
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

/// Deletes records that are old enough; the one right before `seq` stays, for its hash is in the next. What goes is announced
/// first, by a boundary, and deleted when that has been there for [`SETTLED_MS`]: a listing that lags must not hide it.
pub(super) fn drop_before(
    objects: &dyn Objects,
    host: &Host,
    config: &ObjectLogConfig,
    seq: u64,
) -> io::Result<()> {
    let stream = config.stream;
    let boundaries = objects.list(BOUNDARIES, "")?;
    let numbered = |object: &Object| Some((seq_of(&object.key)?, object.modified_ms));
    let newest = boundaries.iter().filter_map(numbered).next_back();
    // What a try that broke off has left is looked for once more.
    let after =
        newest.map_or_else(String::new, |(newest, _)| record_key(stream, newest.saturating_sub(LEFT_MAX)));
    let records: Vec<(u64, u64)> =
        objects.list(&log_folder(stream), &after)?.iter().filter_map(numbered).collect();
    let now_ms = records.iter().map(|(_, modified_ms)| *modified_ms).max().unwrap_or(0);
    let newest_seq = records.last().map_or(0, |(record, _)| *record);
    // Some of them stay at any rate, whatever the clock of the store does.
    let seq = seq.min(newest_seq.saturating_sub(config.records_min));
    let is_old = |(record, modified_ms): &&(u64, u64)| {
        record + 1 < seq && now_ms.saturating_sub(*modified_ms) > KEPT_MS
    };
    let old: Vec<u64> = records.iter().take_while(is_old).map(|(record, _)| *record).collect();
    let skips = host.faults.planted("commitlog.delete_without_boundary");
    let settled = newest.filter(|(_, modified_ms)| now_ms.saturating_sub(*modified_ms) > SETTLED_MS);
    let settled = if skips { u64::MAX } else { settled.map_or(0, |(boundary, _)| boundary) };
    let going: Vec<u64> = old.iter().copied().filter(|record| *record <= settled).collect();
    delete_all(objects, host, stream, &going)?;
    if let Some(last) = old.last().filter(|last| newest.is_none_or(|(newest, _)| **last > newest) && !skips) {
        match objects.create(&format!("{BOUNDARIES}{last:020}"), Bytes::new()) {
            Created::New | Created::Exists => {}
            Created::Unknown(error) | Created::Refused(error) => return Err(error),
        }
        // The highest that is settled says it all.
        boundaries.iter().rev().skip(1).try_for_each(|older| objects.delete(&older.key))?;
    }
    Ok(())
}

fn delete_all(objects: &dyn Objects, host: &Host, stream: u64, records: &[u64]) -> io::Result<()> {
    let delete = |record: &u64| objects.delete(&record_key(stream, *record));
    if host.workers.threads() == 0 {
        return records.iter().try_for_each(delete);
    }
    for some in records.chunks(DELETES_AT_ONCE) {
        let done = host::at_once(some.len(), |number| delete(&some[number]));
        done.into_iter().collect::<io::Result<()>>()?;
    }
    Ok(())
}
