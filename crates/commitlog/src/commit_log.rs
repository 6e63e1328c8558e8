//! What a commit log is to the one who appends to it: the contract, method by method.
//!
//! [`LocalLog`](crate::LocalLog) is one, in a folder that one process holds. [`ObjectLog`](crate::ObjectLog) is one in a store of
//! objects, where a record is an object that is created under its seq unless one is there. Other writers exist then, and an
//! answer can get lost on its way.
//!
//! Invariant, over all who append to one log: a seq has one record for ever, seqs start at 1 and have no gaps, and who knows
//! the records up to a seq knows what everybody else knows up to it. Must not know: where records lie, what transactions mean.

use std::fmt::Debug;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::courtesy::Courtesy;
use crate::error::{AppendError, LogError, LogFinding};
use crate::recent::RecentRecords;
use crate::replay::ReplayedRecord;

/// A log, open for appending. How it is opened is its own affair; what comes of it is an [`OpenedLog`].
///
/// Every method may block on a disk or a network, except those that only tell: call them where blocking is allowed. A log
/// that needs a runtime brings one along.
pub trait CommitLog: Send {
    /// Seq the next record will have, as far as this writer knows: one more than that of the last record it was given, at
    /// open or in [`Appended`].
    ///
    /// Moves only in [`CommitLog::append`]: to behind what was committed, or behind the last record of a conflict.
    fn next_seq(&self) -> u64;

    /// Longest record this log takes, in bytes of its frame ([`crate::record::frame_bytes`]). Never changes.
    fn record_bytes_limit(&self) -> u64;

    /// Whether [`Appended::Conflict`] is possible. If it is, whoever appends keeps what the record was decided on, in order
    /// to decide again. Never changes.
    fn others_append(&self) -> bool;

    /// Appends these transactions as one record with the seq [`CommitLog::next_seq`], or says what kept it from that.
    ///
    /// Either all transactions of a call are in the log, in one record, or none. The answer is what is known, and never a
    /// guess; [`Appended`] says what may be relied on after each. After [`Appended::Unresolved`] the seq is *open*: this
    /// writer puts no other bytes there and none behind it. The next call finds out first what became of that record, and
    /// ends in a conflict with what is there: the lost record itself, or the one of another writer. A log that cannot find
    /// out is poisoned instead. So an append that is refused or in doubt leaves [`CommitLog::next_seq`] where it was.
    ///
    /// Waits for one durable write, if nobody else is faster.
    ///
    /// # Errors
    /// Nothing of this call was written, or ever will be; see [`AppendError`].
    fn append(&mut self, transactions: &[Bytes]) -> Result<Appended, AppendError>;

    /// The records that others have appended since this writer knew the end of the log, durable, in order and without a gap;
    /// none if there are none. What became of a record that is open is found out first, and it is the first of them if it is
    /// in the log. There may be more of them than one call gives.
    ///
    /// # Errors
    /// They cannot be read now, or never; nothing was written.
    fn others(&mut self) -> Result<Vec<ReplayedRecord>, AppendError> {
        Ok(Vec::new())
    }

    /// Looks at the end of the log without this writer, so that nobody who appends waits for it; `None` where nobody else
    /// appends.
    fn tail(&self) -> Option<Arc<dyn LogTail>> {
        None
    }

    /// The newest records as bytes, for others who append; `None` where nobody else does.
    fn recent(&self) -> Option<Arc<RecentRecords>> {
        None
    }

    /// How this writer is asked to let others go first; `None` where nobody else appends.
    fn courtesy(&self) -> Option<Arc<Courtesy>> {
        None
    }

    /// Takes in records, as frames, that another writer says are durable: those that follow what this writer knows, up to the first
    /// that does not. The rest is passed over, and read from the log in its time.
    fn take_told(&mut self, _frames: Vec<Bytes>) -> Vec<ReplayedRecord> {
        Vec::new()
    }

    /// Whether a record was sent of which nobody knows what became. [`CommitLog::append`] and [`CommitLog::others`] find out.
    fn has_open(&self) -> bool {
        false
    }

    /// When every record there was is known to have been known, on the monotonic clock of the host; `None` where nobody else
    /// appends.
    fn known_at(&self) -> Option<Duration> {
        None
    }

    /// Whether records that this writer does not know were deleted: it can follow the log no more, and what it knows is old. Once
    /// it says so it always does, and is poisoned.
    fn is_left_behind(&self) -> bool {
        false
    }

    /// Why nothing is appended any more by this writer, until somebody opens the log again; `None` as long as it goes on.
    ///
    /// Once it says why, it always does, and [`CommitLog::append`] answers [`AppendError::Poisoned`].
    fn poisoned(&self) -> Option<&str>;

    /// Writes down beside the records that all this writer knows of are durable: what is missing of them later is damage
    /// and no torn end. Nothing is to be done where a record is whole or not there.
    ///
    /// # Errors
    /// The disk or the store fails; what was written down before still holds.
    fn pin(&mut self) -> io::Result<()>;

    /// Writes down that a checkpoint of `seq` is durable, and that records before `needed_from` are needed by nobody.
    /// Comes before anything the checkpoint replaces is deleted, records or older checkpoints.
    ///
    /// # Errors
    /// As [`CommitLog::pin`]; then nothing may be deleted.
    fn pin_checkpoint(&mut self, seq: u64, needed_from: u64) -> io::Result<()>;

    /// Writes down that damage was found: nothing is to be deleted before `until_ms`, milliseconds since 1970 UTC, in this
    /// process or a later one. The next open gives it back ([`OpenedLog::held_until_ms`]).
    ///
    /// # Errors
    /// As [`CommitLog::pin`].
    fn hold_until(&mut self, until_ms: u64) -> io::Result<()>;

    /// Allows the log to delete the records before `seq`, which is at most the `needed_from` of a
    /// [`CommitLog::pin_checkpoint`] that succeeded.
    ///
    /// A permission, not an order: the log deletes what it can in whole pieces, when it can, and keeps what carries epoch,
    /// hash and seq on. Where others append it also keeps what a slow one of them may yet have to read.
    ///
    /// # Errors
    /// The disk or the store fails; what is left is deleted next time.
    fn drop_before(&mut self, seq: u64) -> io::Result<()>;
}

/// The end of a log that others append to.
pub trait LogTail: Send + Sync + Debug {
    /// Whether there is a record of this seq.
    ///
    /// # Errors
    /// Nobody can say now.
    fn has(&self, seq: u64) -> io::Result<bool>;

    /// [`CommitLog::drop_before`], beside the writer: it may take long.
    ///
    /// # Errors
    /// The store fails; what is left is deleted next time.
    fn drop_before(&self, seq: u64) -> io::Result<()>;
}

/// What became of an append.
#[derive(Debug)]
#[must_use]
pub enum Appended {
    /// The record is durable, and every later open gives it.
    Committed { seq: u64, times: AppendTimes },
    /// Nothing of this call was written, or ever will be. These records are in the log where it would have been, durable:
    /// one at least, in order and without a gap, from the [`CommitLog::next_seq`] before the call up to, and without, the
    /// one after it. Apply them and decide again.
    Conflict(Vec<ReplayedRecord>),
    /// The record may be in the log, or come to be there later; whoever waits for it is told so.
    Unresolved { seq: u64, source: io::Error },
}

/// Where the time of one append went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AppendTimes {
    /// Room for the record, frame, write.
    pub write: Duration,
    /// Waiting until it was durable.
    pub sync: Duration,
}

/// Takes the records that an open replays; an error ends the replay.
pub type Deliver<'a> = &'a mut (dyn FnMut(ReplayedRecord) -> Result<(), LogError> + 'a);

/// A log and what its open came across. The open has delivered every record after the one it was asked for, in order, and
/// all of them are durable.
pub struct OpenedLog {
    pub log: Box<dyn CommitLog>,
    pub findings: Vec<LogFinding>,
    /// A checkpoint of this seq or a later one must be there; 0 if none is known.
    pub checkpoint_seq: u64,
    /// What [`CommitLog::hold_until`] was told last, or [`HELD_UNTIL_TOLD`](crate::HELD_UNTIL_TOLD) if this open found the
    /// reason.
    pub held_until_ms: u64,
}
