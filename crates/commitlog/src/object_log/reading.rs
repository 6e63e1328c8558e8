//! Reading an object log: from a checkpoint to its end when it is opened, and what others have appended since.
//!
//! Invariant: the writer goes behind a record only when it gives it to somebody; each record follows the one before it by its hash.
//! Must not know: how records are appended.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use host::{Host, Objects};

use super::frames::{self, Fetched, fetch, log_folder, record_key};
use super::retention::{self, Proof};
use super::{ObjectLog, ObjectLogConfig, replayed};
use crate::commit_log::Deliver;
use crate::error::LogError;
use crate::record::{self, Record};
use crate::replay::ReplayedRecord;

/// Records that are followed one after the other.
const SERIAL_MAX: usize = 2;
/// Records taken in at once; whoever is further behind asks again.
const FOLLOWED_MAX: usize = 512;

fn u64_of(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

impl ObjectLog {
    /// Delivers the records after `after`, which a checkpoint covers. Creates no object.
    ///
    /// # Errors
    /// A record that is needed is not there, or is not what was written; the store fails.
    pub fn open(
        host: &Host,
        objects: Arc<dyn Objects>,
        after: u64,
        deliver: Deliver<'_>,
        config: ObjectLogConfig,
    ) -> Result<ObjectLog, LogError> {
        let mut log = ObjectLog {
            host: host.clone(),
            objects,
            config,
            next_seq: after + 1,
            previous_hash: [0; 16],
            open: None,
            open_seq: None,
            poisoned: None,
            is_left_behind: false,
            proof: Proof::now(host),
            company: None,
            last_put: None,
            recent: Arc::default(),
            courtesy: Arc::default(),
        };
        // Whatever is found missing from here on was deleted later.
        let begun = Proof::now(host);
        log.previous_hash = log.hash_of(after)?;
        let mut newest = frames::newest_listed(&*log.objects, config.stream, after)?;
        loop {
            let wanted = (newest + 1).saturating_sub(log.next_seq);
            let records = frames::fetch_many(&log.objects, host, config.stream, log.next_seq, wanted)?;
            let found = records.len();
            for (record, frame) in records {
                log.take(&record, &frame)?;
                deliver(replayed(record))?;
            }
            if log.next_seq <= newest && found > 0 {
                continue;
            }
            if log.next_seq > newest {
                // Listings lag behind: the end is where nothing is found.
                match fetch(&*log.objects, host, config.stream, log.next_seq)? {
                    Fetched::Nothing => {
                        log.proof = begun;
                        log.tail_seen(Proof::now(host))?;
                        return Ok(log);
                    }
                    Fetched::Record(record, frame) => {
                        log.take(&record, &frame)?;
                        deliver(replayed(*record))?;
                        // Others write meanwhile: as many again as there are.
                        newest = frames::newest_listed(&*log.objects, config.stream, log.next_seq - 1)?;
                    }
                }
            } else {
                let (key, next) = (record_key(config.stream, log.next_seq), log.next_seq);
                let what = format!("record {next} is missing, and there is record {newest}");
                return Err(LogError::Lacking { path: log.objects.place(&key).into(), what });
            }
        }
    }

    /// The hash the record after `seq` names; of a record that was deleted nobody asks any more.
    fn hash_of(&self, seq: u64) -> Result<[u8; 16], LogError> {
        if seq == 0 {
            return Ok([0; 16]);
        }
        match fetch(&*self.objects, &self.host, self.config.stream, seq)? {
            Fetched::Record(_, frame) => Ok(record::hash(&frame)),
            Fetched::Nothing => {
                let key = record_key(self.config.stream, seq);
                let what = format!("the checkpoint is of record {seq}, which is missing");
                Err(LogError::Lacking { path: self.objects.place(&key).into(), what })
            }
        }
    }

    /// Goes behind a record of the log.
    pub(super) fn take(&mut self, record: &Record, frame: &Bytes) -> Result<(), LogError> {
        let (expected, named) = (self.previous_hash, record.envelope.previous_hash);
        if record.envelope.seq != self.next_seq || named != expected {
            let key = record_key(self.config.stream, self.next_seq);
            let path = self.objects.place(&key).into();
            let what = "it does not follow the record before it".to_owned();
            return Err(LogError::Corruption { path, offset: 0, what });
        }
        self.previous_hash = record::hash(frame);
        self.recent.push(self.next_seq, frame.clone());
        self.next_seq += 1;
        Ok(())
    }

    /// What others have appended, from `next_seq` on. Who has gone behind records hears of them, whatever comes after.
    pub(super) fn follow(&mut self) -> Result<Vec<ReplayedRecord>, LogError> {
        let mut records = Vec::new();
        while records.len() < FOLLOWED_MAX {
            match self.next() {
                Ok(Some(record)) => records.push(record),
                Err(error) if records.is_empty() => return Err(error),
                Ok(None) | Err(_) => break,
            }
            // Where there are some there may be many, and a slow store is asked for them side by side: for twice as many each time.
            while records.len() >= SERIAL_MAX && records.len() < FOLLOWED_MAX {
                match self.next_ones(&mut records) {
                    Ok(true) => {}
                    // The end, as it was: others may append as fast as a slow store is read, and would never be reached.
                    Ok(false) => return Ok(records),
                    Err(_) => break,
                }
            }
        }
        Ok(records)
    }

    /// Goes behind as many records again as were found so far; whether all of them were there.
    fn next_ones(&mut self, records: &mut Vec<ReplayedRecord>) -> Result<bool, LogError> {
        let (first, stream, wanted) = (self.next_seq, self.config.stream, u64_of(records.len()));
        let started = Proof::now(&self.host);
        let found = frames::fetch_many(&self.objects, &self.host, stream, first, wanted)?;
        let are_all = u64_of(found.len()) >= wanted.min(frames::FETCHES);
        for (record, frame) in found {
            self.take(&record, &frame)?;
            records.push(replayed(record));
        }
        if !are_all {
            self.tail_seen(started)?;
        }
        Ok(are_all)
    }

    /// Goes behind the next record, if there is one.
    fn next(&mut self) -> Result<Option<ReplayedRecord>, LogError> {
        let started = Proof::now(&self.host);
        match fetch(&*self.objects, &self.host, self.config.stream, self.next_seq)? {
            Fetched::Nothing => self.tail_seen(started).map(|()| None),
            // No proof of the end: there may be more, or have been.
            Fetched::Record(record, frame) => {
                self.take(&record, &frame)?;
                if self.host.faults.planted("commitlog.found_is_the_end") {
                    self.proof = started;
                }
                Ok(Some(replayed(*record)))
            }
        }
    }

    /// Nothing was found at `next_seq`. After a long sleep that may be because it was deleted.
    fn tail_seen(&mut self, started: Proof) -> Result<(), LogError> {
        if self.proof.is_old(&self.host)
            && let Some(boundary) = retention::boundary_at(&*self.objects, self.next_seq)?
        {
            self.is_left_behind = true;
            let path = PathBuf::from(self.objects.place(&log_folder(self.config.stream)));
            let what = format!(
                "records up to {boundary} were deleted while this process slept, and it knows them up to {}; \
                 start it again",
                self.next_seq - 1
            );
            return Err(LogError::Lacking { path, what });
        }
        self.proof = started;
        Ok(())
    }
}
