//! From a checkpoint to the end of the log.
//!
//! Rules, checked for every record: seqs follow each other without a gap across segments, each record names
//! the hash of the one before, epochs do not fall, the stream is ours. The torn-tail rule: bytes in the last
//! segment that are no frame are the torn end, *unless* the sound header of a later record stands behind
//! them; then an acknowledged record is damaged, because a record is written only after the one before is
//! durable.
//!
//! Must not know: how segments are written; it only reads.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use host::Disk;

use crate::error::LogError;
use crate::record::{self, BadFrame};
use crate::segment::{self, Framed, SegmentHeader, SegmentReader};
use crate::volume::Volume;

/// A record on its way to the state machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayedRecord {
    pub seq: u64,
    pub epoch: u64,
    /// Milliseconds since 1970 UTC.
    pub commit_time_ms: u64,
    pub uuid: [u8; 16],
    pub transactions: Vec<Bytes>,
}

/// The log's end as found.
#[derive(Debug)]
pub(crate) struct Replayed {
    /// First seqs of all segments, ascending.
    pub(crate) segments: Vec<u64>,
    /// The segment that can be continued: the last one, if it has a record.
    pub(crate) last: Option<LastSegment>,
    pub(crate) next_seq: u64,
    /// Epoch of the last record; 0 when there is none.
    pub(crate) epoch: u64,
    pub(crate) previous_hash: [u8; 16],
    /// Hash of the record asked for in [`Start::pinned`], if it was read.
    pub(crate) pinned_hash: Option<[u8; 16]>,
    /// Of the newest segment that says it, with a record or without; zeros if none does.
    pub(crate) root_id: [u8; 16],
    pub(crate) volume: Volume,
}

/// Where to begin, and what to look at on the way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    pub(crate) stream: u64,
    /// Records after this one are delivered.
    pub(crate) after: u64,
    /// A record whose hash is wanted.
    pub(crate) pinned: Option<u64>,
    /// Every segment with a record has at least as many bytes: they were zeros, and durable, before the record was.
    pub(crate) filled_min: u64,
}

#[derive(Debug)]
pub(crate) struct LastSegment {
    pub(crate) path: PathBuf,
    pub(crate) salt: u32,
    /// End of the last good frame.
    pub(crate) end: u64,
    /// End of what a torn write left behind it; equal to `end` when nothing did.
    pub(crate) torn_end: u64,
    /// Length of the file.
    pub(crate) file_bytes: u64,
    /// Offset and bytes of the last good frame.
    pub(crate) last_frame: (u64, Bytes),
}

/// Reads the log from the segment that holds `after + 1` and delivers the records after `after` in order. `segments` are
/// the first seqs of its files.
pub(crate) fn replay(
    disk: &dyn Disk,
    dir: &Path,
    segments: Vec<u64>,
    from: Start,
    deliver: &mut dyn FnMut(ReplayedRecord) -> Result<(), LogError>,
) -> Result<Replayed, LogError> {
    let Start { stream, after, pinned, filled_min } = from;
    let start = start_of(dir, &segments, after)?;
    let first_seq = segments.get(start).copied().unwrap_or(1);
    let volume = Volume::default();
    let (last, pinned_hash) = (None, None);
    let (next_seq, previous_hash) = (first_seq, [0; 16]);
    let root_id = [0; 16];
    let replayed =
        Replayed { segments, last, next_seq, epoch: 0, previous_hash, pinned_hash, root_id, volume };
    let mut run = Run { stream, after, pinned, filled_min, chained: first_seq == 1, deliver, replayed };
    for index in start..run.replayed.segments.len() {
        run.segment(disk, dir, index)?;
    }
    if run.replayed.next_seq <= after {
        let what =
            format!("the checkpoint is at record {after}, the log ends before {}", run.replayed.next_seq);
        return Err(LogError::Corruption { path: dir.to_owned(), offset: 0, what });
    }
    Ok(run.replayed)
}

/// Index of the segment to start with: the one holding `after + 1`, or the one before when that is the last
/// and may have no record yet to tell epoch and hash.
fn start_of(dir: &Path, segments: &[u64], after: u64) -> Result<usize, LogError> {
    let at_or_below = segments.partition_point(|first| *first <= after.saturating_add(1));
    let Some(start) = at_or_below.checked_sub(1) else {
        if segments.is_empty() && after == 0 {
            return Ok(0);
        }
        let begins =
            segments.first().map_or("is empty".to_owned(), |first| format!("begins at record {first}"));
        let what = format!(
            "the log {begins}, records from {} on are needed: a segment before it is missing",
            after.saturating_add(1)
        );
        return Err(LogError::Corruption { path: dir.to_owned(), offset: 0, what });
    };
    let is_last = start + 1 == segments.len();
    Ok(if is_last && start > 0 && segments[start] == after.saturating_add(1) { start - 1 } else { start })
}

struct Run<'a> {
    stream: u64,
    after: u64,
    pinned: Option<u64>,
    filled_min: u64,
    /// The hash of the record before is known.
    chained: bool,
    deliver: &'a mut dyn FnMut(ReplayedRecord) -> Result<(), LogError>,
    replayed: Replayed,
}

impl Run<'_> {
    fn segment(&mut self, disk: &dyn Disk, dir: &Path, index: usize) -> Result<(), LogError> {
        let first_seq = self.replayed.segments[index];
        let is_last = index + 1 == self.replayed.segments.len();
        let path = segment::path_of(dir, first_seq);
        if first_seq != self.replayed.next_seq {
            let expected = segment::path_of(dir, self.replayed.next_seq);
            let before =
                index.checked_sub(1).map(|before| segment::path_of(dir, self.replayed.segments[before]));
            let cut = before.map_or(String::new(), |path| format!(", or the end of {}", path.display()));
            let what = format!(
                "it should begin with record {}: missing is {}{cut}",
                self.replayed.next_seq,
                expected.display()
            );
            return Err(LogError::Corruption { path, offset: 0, what });
        }
        let Some(mut reader) = SegmentReader::open(disk, &path)? else {
            // Created by a writer that stopped before its first record: the next writer makes it anew.
            return match is_last {
                true => Ok(()),
                false => Err(LogError::Corruption {
                    path,
                    offset: 0,
                    what: "segment header is missing".to_owned(),
                }),
            };
        };
        let header = reader.header;
        if header.stream != self.stream || header.first_seq != first_seq {
            let what = format!("segment of stream {}, first record {}", header.stream, header.first_seq);
            return Err(reader.corrupt(0, what));
        }
        if header.root_id != [0; 16] {
            self.replayed.root_id = header.root_id;
        }
        let mut last_frame = None;
        let bad = loop {
            match reader.next()? {
                Ok(framed) => {
                    self.record(&reader, &framed)?;
                    last_frame = Some((framed.offset, framed.frame));
                }
                Err(bad) => break bad,
            }
        };
        if last_frame.is_some() && reader.bytes < self.filled_min {
            let (bytes, filled) = (reader.bytes, self.filled_min);
            let what = format!("it was cut: it has {bytes} bytes and was made with {filled} at least");
            return Err(LogError::Lacking { path, what });
        }
        if is_last {
            let torn_end = self.torn_end(&mut reader, bad)?;
            let (salt, end, file_bytes) = (header.salt, reader.at, reader.bytes);
            // Without a record nothing proves that its header was ever synced: the next writer makes it anew.
            self.replayed.last = last_frame.map(|last_frame| LastSegment {
                path,
                salt,
                end,
                torn_end,
                file_bytes,
                last_frame,
            });
        }
        Ok(())
    }

    fn torn_end(&self, reader: &mut SegmentReader, bad: BadFrame) -> Result<u64, LogError> {
        let remains = reader.remains(self.replayed.next_seq)?;
        if let Some((offset, seq)) = remains.later {
            let expected = self.replayed.next_seq;
            let what = format!("record {expected} is damaged ({bad}), record {seq} follows at byte {offset}");
            return Err(reader.corrupt(reader.at, what));
        }
        Ok(remains.end)
    }

    fn record(&mut self, reader: &SegmentReader, framed: &Framed) -> Result<(), LogError> {
        let envelope = &framed.record.envelope;
        let corrupt = |what| Err(reader.corrupt(framed.offset, what));
        if envelope.stream != self.stream {
            return corrupt(format!(
                "record of stream {} in the log of stream {}",
                envelope.stream, self.stream
            ));
        }
        if envelope.seq != self.replayed.next_seq {
            return corrupt(format!("record {} where {} should be", envelope.seq, self.replayed.next_seq));
        }
        if self.chained && envelope.previous_hash != self.replayed.previous_hash {
            return corrupt(format!("record {} does not follow the one before it", envelope.seq));
        }
        if envelope.epoch < self.replayed.epoch {
            return corrupt(format!("epoch falls from {} to {}", self.replayed.epoch, envelope.epoch));
        }
        self.chained = true;
        self.replayed.epoch = envelope.epoch;
        self.replayed.previous_hash = record::hash(&framed.frame);
        if self.pinned == Some(envelope.seq) {
            self.replayed.pinned_hash = Some(self.replayed.previous_hash);
        }
        self.replayed.next_seq += 1;
        if envelope.seq <= self.after {
            return Ok(());
        }
        self.replayed.volume.note(envelope.seq, u64::try_from(framed.frame.len()).unwrap_or(0));
        (self.deliver)(ReplayedRecord {
            seq: envelope.seq,
            epoch: envelope.epoch,
            commit_time_ms: envelope.commit_time_ms,
            uuid: envelope.uuid,
            transactions: framed.record.transactions.clone(),
        })
    }
}

/// A segment as `inspect` shows it.
#[derive(Debug, Clone)]
pub struct SegmentDump {
    pub header: SegmentHeader,
    pub records: Vec<RecordSummary>,
    pub tail: Tail,
}

/// One record of a dump.
#[derive(Debug, Clone)]
pub struct RecordSummary {
    /// Where the frame begins in the file.
    pub offset: u64,
    /// Bytes of the frame.
    pub bytes: u64,
    pub record: ReplayedRecord,
    pub previous_hash: [u8; 16],
    pub hash: [u8; 16],
}

/// What stands behind the last good frame of a dumped segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tail {
    /// `zeros` bytes waiting to be written.
    Clean { zeros: u64 },
    /// Bytes that are no frame, `bytes` of them from `offset` on.
    Torn { offset: u64, bytes: u64, why: String },
    /// A damaged record with the record `later_seq` behind it.
    Damaged { offset: u64, later_seq: u64, why: String },
}

/// Reads one segment file without opening the log; works beside a running writer. `None` when the file was
/// never used.
///
/// # Errors
/// The disk fails, or the file is no segment.
pub fn dump(disk: &dyn Disk, path: &Path) -> Result<Option<SegmentDump>, LogError> {
    let Some(mut reader) = SegmentReader::open(disk, path)? else { return Ok(None) };
    let header = reader.header;
    let mut records = Vec::new();
    let bad = loop {
        match reader.next()? {
            Ok(framed) => records.push(summary(&framed)),
            Err(bad) => break bad,
        }
    };
    let last_seq = records.last().map_or(header.first_seq.saturating_sub(1), |last| last.record.seq);
    let offset = reader.at;
    let remains = reader.remains(last_seq.saturating_add(1))?;
    let tail = match remains.later {
        Some((_, later_seq)) => Tail::Damaged { offset, later_seq, why: bad.to_string() },
        None if remains.end > offset => {
            Tail::Torn { offset, bytes: remains.end - offset, why: bad.to_string() }
        }
        None => Tail::Clean { zeros: reader.bytes.saturating_sub(offset) },
    };
    Ok(Some(SegmentDump { header, records, tail }))
}

fn summary(framed: &Framed) -> RecordSummary {
    let envelope = &framed.record.envelope;
    RecordSummary {
        offset: framed.offset,
        bytes: u64::try_from(framed.frame.len()).unwrap_or(0),
        record: ReplayedRecord {
            seq: envelope.seq,
            epoch: envelope.epoch,
            commit_time_ms: envelope.commit_time_ms,
            uuid: envelope.uuid,
            transactions: framed.record.transactions.clone(),
        },
        previous_hash: envelope.previous_hash,
        hash: record::hash(&framed.frame),
    }
}
