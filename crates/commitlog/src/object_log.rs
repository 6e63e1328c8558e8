//! A log in a store of objects, which any number of equal writers append to.
//!
//! Record n is the object `stream/<stream>/log/<n, 20 digits>`, its frame as it is, with salt 0. To append is to create that object:
//! of all who try one succeeds, and the others hear in the same moment what came first. Whatever is not a clear success is
//! *resolved* by reading the object: our own record means that an answer got lost, another one is a conflict, and where there is
//! none the same bytes are sent to the same place again.
//!
//! Invariant: bytes of a record go to one seq only, and nothing is sent to a later seq while it is not known what became of an
//! earlier one. So an append is never in the log twice, and an answer never a guess. A store that fails poisons nothing: record
//! and state can be compared again at any time. Must not know: what a transaction means, who the others are.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use host::{Created, Host, Objects, random};

use crate::commit_log::{AppendTimes, Appended, CommitLog, LogTail};
use crate::courtesy::Courtesy;
use crate::error::{AppendError, AppendRefused, LogError};
use crate::recent::RecentRecords;
use crate::record::{self, Envelope, Record};
use crate::replay::ReplayedRecord;

mod frames;
mod retention;
mod reading;

use frames::{Fetched, fetch, record_key};
use retention::Proof;

/// How an object log is opened.
#[derive(Debug, Clone, Copy)]
pub struct ObjectLogConfig {
    pub stream: u64,
    /// Longest record, in bytes of its frame.
    pub record_bytes_max: u64,
    /// Newest records that stay whatever their age.
    pub records_min: u64,
    /// How long an append tries to find out what became of its record before it says that it does not know.
    pub patience: Duration,
    /// First bytes of the uuids of this process's records, by which others know who appended one; random if zeros.
    pub writer: [u8; 8],
}

impl Default for ObjectLogConfig {
    /// A record of 64 MiB; ten seconds, in which every store answers that is there.
    fn default() -> Self {
        ObjectLogConfig {
            stream: 0,
            record_bytes_max: 64 << 20,
            records_min: 1_000,
            patience: Duration::from_secs(10),
            writer: [0; 8],
        }
    }
}

/// First pause before a store is asked again; it doubles up to [`PAUSE_MAX`].
const PAUSE_MIN: Duration = Duration::from_millis(5);
const PAUSE_MAX: Duration = Duration::from_millis(500);
/// Whoever met another writer in this time lets the others go first after a success.
const COMPANY: Duration = Duration::from_secs(1);
/// In so many times as long as one creation takes whoever asks for his turn has read this record, and created his.
const TURN: u32 = 3;

/// See the module.
pub struct ObjectLog {
    host: Host,
    objects: Arc<dyn Objects>,
    config: ObjectLogConfig,
    next_seq: u64,
    previous_hash: [u8; 16],
    /// A record sent to `next_seq`, of which nobody knows what became.
    open: Option<Sent>,
    /// The seq of a record that was open: requests for it may still be on their way.
    open_seq: Option<u64>,
    poisoned: Option<String>,
    is_left_behind: bool,
    proof: Proof,
    /// When a record of somebody else was met last.
    company: Option<Duration>,
    /// How long the last successful creation took; the turn of the others comes after it.
    last_put: Option<Duration>,
    recent: Arc<RecentRecords>,
    courtesy: Arc<Courtesy>,
}

/// A record on its way.
struct Sent {
    frame: Bytes,
    uuid: [u8; 16],
}

/// What became of it.
enum Fate {
    Committed,
    Conflict(Vec<ReplayedRecord>),
    Unknown(io::Error),
    /// Nothing of it was written.
    Refused(io::Error),
}

impl ObjectLog {
    /// Lets others go first for a moment: whoever is nearest to the store would win every time.
    fn yield_to_others(&mut self) {
        let now = self.host.clock.monotonic();
        let in_company = self.company.is_some_and(|seen| now.saturating_sub(seen) < COMPANY);
        let Some(put) = self.last_put.take() else { return };
        if in_company {
            let micros = u64::try_from(put.as_micros()).unwrap_or(0);
            self.host.clock.sleep(Duration::from_micros(random::below(&*self.host.random, micros)));
        } else if self.courtesy.lasts(now) {
            // Where many append they meet each other, and the wait above is enough.
            self.host.clock.sleep(put.saturating_mul(TURN));
        }
    }

    fn encode(&self, transactions: &[Bytes]) -> Result<Sent, u64> {
        let mut uuid = random::uuid_bytes(&*self.host.random);
        if let (true, Some(mark)) = (self.config.writer != [0; 8], uuid.first_chunk_mut()) {
            *mark = self.config.writer;
        }
        let envelope = Envelope {
            stream: self.config.stream,
            seq: self.next_seq,
            epoch: 0,
            commit_time_ms: self.host.clock.now_ms(),
            uuid,
            previous_hash: self.previous_hash,
        };
        let mut frame = Vec::new();
        record::encode(&envelope, transactions, 0, &mut frame)?;
        Ok(Sent { frame: frame.into(), uuid })
    }

    /// Sends a record until it is known what became of it, or patience ends.
    fn send(&mut self, sent: &Sent) -> Result<Fate, LogError> {
        let key = record_key(self.config.stream, self.next_seq);
        let begun = self.host.clock.monotonic();
        // Nothing was at its seq then; of one that was open before that is not known.
        let first = (self.open_seq != Some(self.next_seq)).then(|| Proof::now(&self.host));
        let (mut pause, mut attempts) = (PAUSE_MIN, 0);
        loop {
            let (at, sent_at) = (self.host.clock.monotonic(), Proof::now(&self.host));
            attempts += 1;
            let problem = match self.objects.create(&key, sent.frame.clone()) {
                Created::New => {
                    self.last_put = Some(self.host.clock.monotonic().saturating_sub(at));
                    return self.committed(sent, Some(sent_at));
                }
                // Of earlier attempts nobody knows.
                Created::Refused(error) if attempts == 1 && first.is_some() => {
                    return Ok(Fate::Refused(error));
                }
                Created::Refused(error) => error,
                Created::Exists if self.host.faults.planted("commitlog.exists_is_failure") => {
                    return Err(LogError::Io { path: key.into(), source: ErrorKind::AlreadyExists.into() });
                }
                Created::Exists => io::Error::from(ErrorKind::AlreadyExists),
                Created::Unknown(error) if self.host.faults.planted("commitlog.timeout_is_failure") => {
                    return Err(LogError::Io { path: key.into(), source: error });
                }
                Created::Unknown(error) => error,
            };
            match fetch(&*self.objects, &self.host, self.config.stream, self.next_seq) {
                // Others may have gone on behind it since.
                Ok(Fetched::Record(record, _)) if record.envelope.uuid == sent.uuid => {
                    return self.committed(sent, first);
                }
                Ok(Fetched::Record(record, frame)) => {
                    self.company = Some(self.host.clock.monotonic());
                    self.take(&record, &frame)?;
                    let mut records = vec![replayed(*record)];
                    // More of them are found by the next try.
                    records.extend(self.follow().unwrap_or_default());
                    return Ok(Fate::Conflict(records));
                }
                // The same bytes to the same place: one that is late is still this one.
                Ok(Fetched::Nothing) | Err(LogError::Io { .. }) => {}
                Err(other) => return Err(other),
            }
            if self.host.clock.monotonic().saturating_sub(begun) >= self.config.patience {
                return Ok(Fate::Unknown(problem));
            }
            self.host.clock.sleep(pause);
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// The record is there; `known`: when nothing was at its seq yet. A process that slept for longer than records are kept may have put it where one was deleted.
    fn committed(&mut self, sent: &Sent, known: Option<Proof>) -> Result<Fate, LogError> {
        let boundary =
            match self.proof.is_old(&self.host) && !self.host.faults.planted("commitlog.no_boundary") {
                true => retention::boundary_at(&*self.objects, self.next_seq)?,
                false => None,
            };
        if let Some(boundary) = boundary {
            // Below a boundary nobody reads any more. An earlier attempt may have been read in its time.
            let key = record_key(self.config.stream, self.next_seq);
            let _ = self.objects.delete(&key);
            let why = format!(
                "records up to {boundary} were deleted while this process slept, and nobody knows whether record {} was \
                 among them; start it again",
                self.next_seq
            );
            (self.poisoned, self.is_left_behind) = (Some(why.clone()), true);
            return Ok(Fate::Unknown(io::Error::other(why)));
        }
        self.previous_hash = record::hash(&sent.frame);
        self.recent.push(self.next_seq, sent.frame.clone());
        self.next_seq += 1;
        (self.proof, self.open_seq) = (known.unwrap_or(self.proof), None);
        Ok(Fate::Committed)
    }

    /// Mistakes that a simulation plants.
    fn takes_doubt_for_failure(&self) -> bool {
        let faults = &self.host.faults;
        faults.planted("commitlog.timeout_is_failure") || faults.planted("commitlog.exists_is_failure")
    }

    fn unreachable(&self, source: io::Error) -> AppendError {
        AppendError::Refused(AppendRefused::Unreachable { seq: self.next_seq, source })
    }

    /// Finds out what became of the record whose answer got lost; what is in its place, others' records behind it too.
    fn resolve(&mut self) -> Result<Option<Vec<ReplayedRecord>>, AppendError> {
        if self.host.faults.planted("commitlog.next_while_open") && self.open.take().is_some() {
            self.next_seq += 1;
        }
        let Some(sent) = self.open.take() else { return Ok(None) };
        match self.send(&sent) {
            Ok(Fate::Committed) => {
                let record = record::decode(&sent.frame, 0).map_err(|error| {
                    AppendError::Poisoned(format!("a record of our own cannot be read: {error}"))
                })?;
                Ok(Some(vec![replayed(record)]))
            }
            Ok(Fate::Conflict(records)) => Ok(Some(records)),
            Ok(Fate::Unknown(source) | Fate::Refused(source)) => {
                self.keep_open(sent);
                Err(self.unreachable(source))
            }
            Err(error) => {
                self.keep_open(sent);
                Err(self.unreachable(in_words(error)))
            }
        }
    }

    fn keep_open(&mut self, sent: Sent) {
        (self.open, self.open_seq) = (Some(sent), Some(self.next_seq));
    }
}

/// What cannot be read now may be read later: damage can be repaired, and an answer be wrong.
fn in_words(error: LogError) -> io::Error {
    match error {
        LogError::Io { source, .. } => source,
        damage @ (LogError::Corruption { .. } | LogError::Lacking { .. }) => {
            io::Error::new(ErrorKind::InvalidData, damage.to_string())
        }
        newer @ LogError::TooNew { .. } => io::Error::new(ErrorKind::Unsupported, newer.to_string()),
        error => io::Error::other(error.to_string()),
    }
}

/// Everybody may append at any time; conflicts are ordinary. A record whose fate is open is sent again by the next call of
/// [`CommitLog::append`] or [`CommitLog::others`].
impl CommitLog for ObjectLog {
    fn next_seq(&self) -> u64 {
        self.next_seq
    }

    fn record_bytes_limit(&self) -> u64 {
        self.config.record_bytes_max
    }

    fn others_append(&self) -> bool {
        true
    }

    fn append(&mut self, transactions: &[Bytes]) -> Result<Appended, AppendError> {
        if let Some(why) = &self.poisoned {
            return Err(AppendError::Poisoned(why.clone()));
        }
        let (bytes, limit) = (record::frame_bytes(transactions), self.config.record_bytes_max);
        if transactions.is_empty() {
            return Err(AppendError::Refused(AppendRefused::Empty));
        }
        if bytes > limit {
            return Err(AppendError::Refused(AppendRefused::TooLarge { bytes, limit }));
        }
        if let Some(records) = self.resolve()? {
            return Ok(Appended::Conflict(records));
        }
        self.yield_to_others();
        let too_large = |bytes| AppendError::Refused(AppendRefused::TooLarge { bytes, limit });
        let sent = self.encode(transactions).map_err(too_large)?;
        let (started, seq) = (self.host.clock.monotonic(), self.next_seq);
        match self.send(&sent) {
            Ok(Fate::Committed) => {
                let sync = self.host.clock.monotonic().saturating_sub(started);
                Ok(Appended::Committed { seq, times: AppendTimes { write: Duration::ZERO, sync } })
            }
            Ok(Fate::Conflict(records)) => Ok(Appended::Conflict(records)),
            Ok(Fate::Refused(error)) => Err(AppendError::Refused(AppendRefused::Denied(error))),
            Ok(Fate::Unknown(source)) => {
                self.keep_open(sent);
                Ok(Appended::Unresolved { seq, source })
            }
            Err(error) if self.takes_doubt_for_failure() => Err(self.unreachable(in_words(error))),
            // What is there is ours and a boundary could not be looked up, or it cannot be read.
            Err(error) => {
                self.keep_open(sent);
                Ok(Appended::Unresolved { seq, source: in_words(error) })
            }
        }
    }

    fn others(&mut self) -> Result<Vec<ReplayedRecord>, AppendError> {
        if let Some(why) = &self.poisoned {
            return Err(AppendError::Poisoned(why.clone()));
        }
        if let Some(records) = self.resolve()? {
            return Ok(records);
        }
        match self.follow() {
            Ok(records) => {
                if !records.is_empty() {
                    self.company = Some(self.host.clock.monotonic());
                }
                Ok(records)
            }
            Err(error) if self.is_left_behind => {
                let why = error.to_string();
                self.poisoned = Some(why.clone());
                Err(AppendError::Poisoned(why))
            }
            Err(error) => {
                let (seq, source) = (self.next_seq, in_words(error));
                Err(AppendError::Refused(AppendRefused::Unread { seq, source }))
            }
        }
    }

    fn tail(&self) -> Option<Arc<dyn LogTail>> {
        let (host, objects) = (self.host.clone(), Arc::clone(&self.objects));
        Some(Arc::new(ObjectTail { host, objects, config: self.config }))
    }

    fn courtesy(&self) -> Option<Arc<Courtesy>> {
        Some(Arc::clone(&self.courtesy))
    }

    fn recent(&self) -> Option<Arc<RecentRecords>> {
        Some(Arc::clone(&self.recent))
    }

    fn take_told(&mut self, frames: Vec<Bytes>) -> Vec<ReplayedRecord> {
        let mut records = Vec::new();
        // What became of an open record only the store says.
        if self.poisoned.is_some() || self.open.is_some() {
            return records;
        }
        for frame in frames {
            let Ok(record) = record::decode(&frame, 0) else { break };
            let envelope = &record.envelope;
            if envelope.stream != self.config.stream || envelope.seq < self.next_seq {
                continue;
            }
            if self.take(&record, &frame).is_err() {
                break;
            }
            records.push(replayed(record));
        }
        records
    }

    fn has_open(&self) -> bool {
        self.open.is_some()
    }

    fn known_at(&self) -> Option<Duration> {
        Some(self.proof.monotonic)
    }

    fn is_left_behind(&self) -> bool {
        self.is_left_behind
    }

    fn poisoned(&self) -> Option<&str> {
        self.poisoned.as_deref()
    }

    fn pin(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn pin_checkpoint(&mut self, _seq: u64, _needed_from: u64) -> io::Result<()> {
        Ok(())
    }

    fn hold_until(&mut self, _until_ms: u64) -> io::Result<()> {
        Ok(())
    }

    /// Left to [`LogTail::drop_before`], for which no append has to wait.
    fn drop_before(&mut self, _seq: u64) -> io::Result<()> {
        Ok(())
    }
}

/// Looks at the end of the log beside its writer.
#[derive(Debug)]
struct ObjectTail {
    host: Host,
    objects: Arc<dyn Objects>,
    config: ObjectLogConfig,
}

impl LogTail for ObjectTail {
    fn has(&self, seq: u64) -> io::Result<bool> {
        self.objects.head(&record_key(self.config.stream, seq)).map(|found| found.is_some())
    }

    fn drop_before(&self, seq: u64) -> io::Result<()> {
        retention::drop_before(&*self.objects, &self.host, &self.config, seq)
    }
}

fn replayed(record: Record) -> ReplayedRecord {
    let Record { envelope, transactions } = record;
    let Envelope { seq, epoch, commit_time_ms, uuid, .. } = envelope;
    ReplayedRecord { seq, epoch, commit_time_ms, uuid, transactions }
}

#[cfg(test)]
mod tests;
