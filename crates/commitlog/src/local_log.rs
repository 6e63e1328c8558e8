//! The log on a local disk: one write and one `fdatasync` per record.
//!
//! A segment file is filled with zeros ahead of its frames, in steps, so that a commit changes no file length
//! and its `fdatasync` waits for no metadata journal. A segment is named by the first record it will hold,
//! made durable (file, then folder) before that record is written, and never written again once the next one
//! exists.
//!
//! Invariant: after a write or sync of a record failed, the log is poisoned: nobody knows what is on the
//! disk, so nothing is retried or appended until a fresh [`LocalLog::open`] has read what is really there.
//! Must not know: what transactions mean, and who waits for them (grouping is the caller's).

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use host::{DiskFile, Host, create_dir_all_synced, random};

use crate::anchor::{Anchors, LogFolder};
use crate::anchor_format::Anchor;
use crate::commit_log::{AppendTimes, Appended, CommitLog};
use crate::error::{AppendError, AppendRefused, LogError, LogFinding};
use crate::record::{self, Envelope};
use crate::replay::{LastSegment, Replayed, ReplayedRecord};
use crate::segment::{SEGMENT_HEADER_BYTES, SegmentHeader, path_of};
use crate::volume::Volume;

/// First step of zeros; every step doubles the file until [`STEP_BYTES_MAX`].
const STEP_BYTES_MIN: u64 = 1 << 20;
/// Longest step: 8 MiB of zeros delay the one commit that needs them by about 10 ms on an SSD of 1 GB/s.
const STEP_BYTES_MAX: u64 = 8 << 20;

/// Limits of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogConfig {
    /// Length of a segment file.
    pub segment_bytes_max: u64,
    /// Longest record; never more than fits a segment.
    pub record_bytes_max: u64,
    /// Which log this is; records of another stream are refused.
    pub stream: u64,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { segment_bytes_max: 64 << 20, record_bytes_max: 32 << 20, stream: 0 }
    }
}

/// The log, open for appending.
pub struct LocalLog {
    host: Host,
    dir: PathBuf,
    config: LogConfig,
    /// First seqs of the files, ascending; the last one is `current` if there is a current.
    segments: Vec<u64>,
    current: Option<Current>,
    next_seq: u64,
    epoch: u64,
    previous_hash: [u8; 16],
    volume: Volume,
    /// The frame being built.
    frame: Vec<u8>,
    poisoned: Option<String>,
    root_id: [u8; 16],
    anchors: Anchors,
    findings: Vec<LogFinding>,
    _locks: [Box<dyn Send + Sync>; 2],
}

/// The segment that takes the next record.
struct Current {
    file: Box<dyn DiskFile>,
    salt: u32,
    /// Where the next frame goes.
    end: u64,
    /// Up to here the file is filled with zeros or frames.
    filled: u64,
}

impl fmt::Debug for LocalLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dir, next_seq, epoch) = (&self.dir, &self.next_seq, &self.epoch);
        f.debug_struct("LocalLog")
            .field("dir", dir)
            .field("next_seq", next_seq)
            .field("epoch", epoch)
            .finish()
    }
}

impl LocalLog {
    /// Takes the folder's locks and delivers every record after seq `after`, in order, to `deliver`.
    ///
    /// Creates the folder and its `LOCK` when missing, but no segment. If the end was torn by a crash it is
    /// wiped, and the last record is made durable again: it may have been read from a page cache whose sync
    /// never succeeded. Then the anchor says so.
    ///
    /// # Errors
    /// See [`LogError`]; an error of `deliver` ends the replay. Nothing was changed but what is said above.
    pub fn open(
        host: &Host,
        folder: &LogFolder,
        after: u64,
        deliver: &mut dyn FnMut(ReplayedRecord) -> Result<(), LogError>,
        config: LogConfig,
    ) -> Result<Self, LogError> {
        let dir = &folder.wal;
        let io_error = |source| LogError::Io { path: dir.clone(), source };
        create_dir_all_synced(&*host.disk, dir).map_err(io_error)?;
        let locked = |error: io::Error| match error.kind() {
            ErrorKind::WouldBlock => LogError::Locked { path: dir.clone() },
            _ => io_error(error),
        };
        // Somebody may delete the file; then the folder itself is still locked. Older programs know the file only.
        let file = host.disk.lock(&dir.join("LOCK")).map_err(locked)?;
        let locks = [file, host.disk.lock_dir(dir).map_err(locked)?];
        let pinning::Opened { replayed, anchor, findings } =
            pinning::read(&*host.disk, folder, after, deliver, &config)?;
        let root_id = pinning::root_id(host, &anchor, &replayed);
        let Replayed { segments, last, next_seq, epoch, previous_hash, volume, .. } = replayed;
        let current = match last {
            Some(last) => Some(settle(host, last).map_err(io_error)?),
            None => None,
        };
        let mut log = Self {
            host: host.clone(),
            dir: dir.clone(),
            config,
            segments,
            current,
            next_seq,
            epoch: epoch + 1,
            previous_hash,
            volume,
            frame: Vec::new(),
            poisoned: None,
            root_id,
            anchors: Anchors::new(folder, anchor),
            findings,
            _locks: locks,
        };
        log.renew_anchor()?;
        Ok(log)
    }

    /// Generation of this writer: one more than that of the last record found at open.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Bytes of records not covered by a checkpoint: those after the `after` of [`LocalLog::open`], or not
    /// below the seq of the last [`CommitLog::drop_before`]; up to 256 KiB too many when records follow the
    /// checkpoint.
    pub fn bytes_since_checkpoint(&self) -> u64 {
        self.volume.uncovered()
    }

    /// Makes sure the current segment has room for a frame. Fails before any byte of the record is written; a
    /// failed sync poisons the log all the same.
    fn make_room(&mut self, bytes: u64) -> io::Result<()> {
        let max = self.config.segment_bytes_max;
        if self.current.as_ref().is_none_or(|current| current.end + bytes > max) {
            self.current = None;
            self.new_segment(bytes)?;
        }
        let Some(current) = &mut self.current else { return Ok(()) };
        let end = current.end + bytes;
        if end > current.filled {
            let step = current.filled.clamp(STEP_BYTES_MIN, STEP_BYTES_MAX);
            let filled = (current.filled + step).max(end.next_multiple_of(STEP_BYTES_MIN)).min(max);
            write_zeros(&mut *current.file, current.filled, filled)?;
            current.filled = filled;
        }
        Ok(())
    }

    /// Whoever frees space must know on which disk.
    fn no_space(&self, error: io::Error) -> AppendRefused {
        AppendRefused::Space(io::Error::new(error.kind(), format!("{}: {error}", self.dir.display())))
    }

    /// Durable, then named by the anchor, and only then written to.
    fn new_segment(&mut self, frame_bytes: u64) -> io::Result<()> {
        let (disk, first_seq) = (&self.host.disk, self.next_seq);
        let path = path_of(&self.dir, first_seq);
        let mut salt = [0; 4];
        self.host.random.fill(&mut salt);
        let (salt, created_ms) = (u32::from_le_bytes(salt), self.host.clock.now_ms());
        let (stream, root_id) = (self.config.stream, self.root_id);
        let header = SegmentHeader { stream, first_seq, created_ms, root_id, salt };
        let needed = (SEGMENT_HEADER_BYTES + frame_bytes).next_multiple_of(STEP_BYTES_MIN);
        let mut filled = needed.min(self.config.segment_bytes_max);
        let faults = self.host.faults.clone();
        if faults.planted("commitlog.anchor_before_segment") {
            self.anchors.write(
                &self.host,
                Anchor { newest_segment: first_seq, newest_segment_bytes: 0, ..self.anchors.held },
            )?;
        }
        let mut file = if disk.exists(&path)? {
            // Left by a writer that stopped before its first record was durable. The anchor may name it, so it is not
            // removed; what may be a torn record goes first, lest it be behind a torn header.
            let mut file = disk.open_append(&path)?;
            filled = filled.max(file.len()?);
            write_zeros(&mut *file, SEGMENT_HEADER_BYTES, filled)?;
            file.sync_data()?;
            file
        } else {
            disk.create(&path)?
        };
        file.write_at(0, &header.encode())?;
        write_zeros(&mut *file, SEGMENT_HEADER_BYTES, filled)?;
        faults.hit("commitlog.new_segment.sync")?;
        if let Err(error) = file.sync_data().and_then(|()| disk.sync_dir(&self.dir)) {
            self.poisoned = Some(format!("new segment {}: {error}", path.display()));
            return Err(error);
        }
        if self.segments.last() != Some(&first_seq) {
            self.segments.push(first_seq);
        }
        faults.hit("commitlog.new_segment.anchor")?;
        if !faults.planted("commitlog.segment_without_anchor") {
            self.pin_segment(first_seq, filled)?;
        }
        self.current = Some(Current { file, salt, end: SEGMENT_HEADER_BYTES, filled });
        Ok(())
    }

    /// Answers when the write was done and the sync began.
    fn write_record(&mut self, seq: u64, transactions: &[Bytes]) -> io::Result<Duration> {
        let current = self.current.as_mut().ok_or_else(|| io::Error::other("no segment"))?;
        let envelope = Envelope {
            stream: self.config.stream,
            seq,
            epoch: self.epoch,
            commit_time_ms: self.host.clock.now_ms(),
            uuid: random::uuid_bytes(&*self.host.random),
            previous_hash: self.previous_hash,
        };
        record::encode(&envelope, transactions, current.salt, &mut self.frame)
            .map_err(|bytes| io::Error::other(format!("a frame of {bytes} bytes has no length field")))?;
        let faults = &self.host.faults;
        if faults.planted("commitlog.answer_before_sync") {
            current.file.sync_data()?;
        }
        faults.hit("commitlog.record.write")?;
        current.file.write_at(current.end, &self.frame)?;
        faults.hit("commitlog.record.sync")?;
        let written = self.host.clock.monotonic();
        if !(faults.planted("commitlog.skip_sync") || faults.planted("commitlog.answer_before_sync")) {
            current.file.sync_data()?;
        }
        faults.hit("commitlog.record.synced")?;
        current.end += u64::try_from(self.frame.len()).map_err(io::Error::other)?;
        Ok(written)
    }
}

/// One process holds the folder: nobody else appends, and there is no conflict. A write or sync that fails leaves its record
/// unresolved and poisons the log, because only a fresh open can find out what is on the disk.
impl CommitLog for LocalLog {
    fn next_seq(&self) -> u64 {
        self.next_seq
    }

    fn record_bytes_limit(&self) -> u64 {
        self.config.record_bytes_max.min(self.config.segment_bytes_max.saturating_sub(SEGMENT_HEADER_BYTES))
    }

    fn others_append(&self) -> bool {
        false
    }

    fn append(&mut self, transactions: &[Bytes]) -> Result<Appended, AppendError> {
        if let Some(why) = &self.poisoned {
            return Err(AppendError::Poisoned(why.clone()));
        }
        let bytes = record::frame_bytes(transactions);
        let limit = self.record_bytes_limit();
        if transactions.is_empty() {
            return Err(AppendError::Refused(AppendRefused::Empty));
        }
        if bytes > limit {
            return Err(AppendError::Refused(AppendRefused::TooLarge { bytes, limit }));
        }
        let started = self.host.clock.monotonic();
        self.make_room(bytes).map_err(|error| AppendError::Refused(self.no_space(error)))?;
        let seq = self.next_seq;
        let synced = match self.write_record(seq, transactions) {
            Ok(synced) => synced,
            Err(source) => {
                self.poisoned = Some(format!("record {seq}: {source}"));
                return Ok(Appended::Unresolved { seq, source });
            }
        };
        let done = self.host.clock.monotonic();
        let times = AppendTimes { write: synced.saturating_sub(started), sync: done.saturating_sub(synced) };
        self.previous_hash = record::hash(&self.frame);
        self.volume.note(seq, bytes);
        self.next_seq += 1;
        if self
            .current
            .as_ref()
            .is_some_and(|current| current.filled > self.anchors.held.newest_segment_bytes)
        {
            // The file has grown, as it does once in megabytes. An anchor that stays behind is true, too.
            let _follows = self.pin();
        }
        if self.frame.capacity() > FRAME_BYTES_KEPT {
            self.frame = Vec::new();
        }
        Ok(Appended::Committed { seq, times })
    }

    fn poisoned(&self) -> Option<&str> {
        self.poisoned.as_deref()
    }

    fn pin(&mut self) -> io::Result<()> {
        let synced_seq = self.next_seq.saturating_sub(1);
        if self.poisoned.is_some() || synced_seq == 0 || self.anchors.held.synced_seq == synced_seq {
            return Ok(());
        }
        self.write_anchor(self.durable())
    }

    fn pin_checkpoint(&mut self, seq: u64, needed_from: u64) -> io::Result<()> {
        let needed_from = needed_from.max(self.anchors.held.needed_from);
        self.write_anchor(Anchor { checkpoint_seq: seq, needed_from, ..self.durable() })
    }

    fn hold_until(&mut self, until_ms: u64) -> io::Result<()> {
        self.write_anchor(Anchor { held_until_ms: until_ms, ..self.durable() })
    }

    /// Deletes the segments that hold nothing else. The newest segments stay, down to one that has a record, because they
    /// carry epoch, hash and seq on.
    fn drop_before(&mut self, seq: u64) -> io::Result<()> {
        self.volume.cover(seq, self.next_seq);
        let with_record = self.segments.iter().rposition(|first| *first < self.next_seq).unwrap_or(0);
        let last_needed = self.segments.partition_point(|first| *first <= seq).saturating_sub(1);
        for _ in 0..with_record.min(last_needed) {
            self.host.disk.remove_file(&path_of(&self.dir, self.segments[0]))?;
            self.segments.remove(0);
        }
        Ok(())
    }
}

/// A frame buffer above this is not kept for the next record.
const FRAME_BYTES_KEPT: usize = 1 << 20;

/// Makes what replay has read durable and wipes what a torn write left behind it.
fn settle(host: &Host, last: LastSegment) -> io::Result<Current> {
    let mut file = host.disk.open_append(&last.path)?;
    // After a failed sync Linux calls the pages clean; only writing them again brings them to the disk.
    let (offset, frame) = &last.last_frame;
    file.write_at(*offset, frame)?;
    write_zeros(&mut *file, last.end, last.torn_end)?;
    // The name needs no sync: a segment with a record was durable before the record was written.
    file.sync_data()?;
    Ok(Current { file, salt: last.salt, end: last.end, filled: last.file_bytes.max(last.torn_end) })
}

fn write_zeros(file: &mut dyn DiskFile, from: u64, to: u64) -> io::Result<()> {
    static ZEROS: [u8; 256 << 10] = [0; 256 << 10];
    let mut at = from;
    while at < to {
        let bytes = usize::try_from(to - at).unwrap_or(ZEROS.len()).min(ZEROS.len());
        file.write_at(at, &ZEROS[..bytes])?;
        at += u64::try_from(bytes).map_err(io::Error::other)?;
    }
    Ok(())
}

mod pinning;

pub use pinning::{HELD_UNTIL_TOLD, ReadLog, read_only};

#[cfg(test)]
mod tests;
