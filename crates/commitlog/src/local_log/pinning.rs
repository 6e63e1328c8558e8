//! Keeping the anchor in step with the log, and holding the log against it at open.
//!
//! Invariant: a segment is durable, then the anchor names it, then its first record is written. Elsewhere the anchor follows,
//! so that an older one is true, too; a commit waits for it only where the segment's file has grown, once in megabytes.

use std::io::{self, ErrorKind};

use host::{Disk, Host};

use super::{LocalLog, LogConfig, STEP_BYTES_MIN};
use crate::anchor::{AnchorCopy, LogFolder, check_end, check_segments, newest_of, read_anchors};
use crate::anchor_format::Anchor;
use crate::error::{LogError, LogFinding};
use crate::replay::{Replayed, ReplayedRecord, Start, replay};
use crate::segment;

/// In place of a time: whoever opens the database has yet to say how long nothing is deleted.
pub const HELD_UNTIL_TOLD: u64 = u64::MAX;

/// What an open has read, and what it made of it.
pub(super) struct Opened {
    pub(super) replayed: Replayed,
    /// What the anchor said; all zeros if there was none.
    pub(super) anchor: Anchor,
    pub(super) findings: Vec<LogFinding>,
}

/// A log as it stands.
#[derive(Debug)]
pub struct ReadLog {
    pub last_seq: u64,
    /// All zeros if there is none.
    pub anchor: Anchor,
    pub findings: Vec<LogFinding>,
}

/// What [`LocalLog::open`] would deliver and find, without a lock and without a change; works beside a running writer, whose
/// newest record may then look like a torn end.
///
/// # Errors
/// Those of [`LocalLog::open`], but `Locked`.
pub fn read_only(
    disk: &dyn Disk,
    folder: &LogFolder,
    after: u64,
    deliver: &mut dyn FnMut(ReplayedRecord) -> Result<(), LogError>,
    config: &LogConfig,
) -> Result<ReadLog, LogError> {
    let Opened { replayed, anchor, findings } = read(disk, folder, after, deliver, config)?;
    Ok(ReadLog { last_seq: replayed.next_seq.saturating_sub(1), anchor, findings })
}

/// Replays the log and holds it against its anchor. Changes nothing.
pub(super) fn read(
    disk: &dyn Disk,
    folder: &LogFolder,
    after: u64,
    deliver: &mut dyn FnMut(ReplayedRecord) -> Result<(), LogError>,
    config: &LogConfig,
) -> Result<Opened, LogError> {
    let copies = read_anchors(disk, folder)?;
    let anchor = newest_of(&copies);
    let listed = segment::list(disk, &folder.wal);
    let listed = listed.map_err(|source| LogError::Io { path: folder.wal.clone(), source })?;
    if let Some(anchor) = &anchor {
        check_segments(anchor, folder, &listed, after)?;
    }
    let segments = listed.into_iter().map(|(first, _)| first).collect();
    let pinned = anchor.map(|anchor| anchor.synced_seq);
    let filled_min = STEP_BYTES_MIN.min(config.segment_bytes_max);
    let start = Start { stream: config.stream, after, pinned, filled_min };
    let replayed = replay(disk, &folder.wal, segments, start, deliver)?;
    let last_seq = replayed.next_seq.saturating_sub(1);
    if let Some(anchor) = &anchor {
        check_end(anchor, folder, last_seq, replayed.pinned_hash)?;
    }
    let mut findings = Vec::new();
    if let Some(last) = &replayed.last
        && last.torn_end > last.end
    {
        let (path, offset, bytes) = (last.path.clone(), last.end, last.torn_end - last.end);
        findings.push(LogFinding::TornEnd { path, offset, bytes, last_seq });
    }
    if last_seq > 0 {
        findings.extend(findings_of(&copies, anchor.is_some(), folder, &replayed));
    }
    Ok(Opened { replayed, anchor: anchor.unwrap_or_default(), findings })
}

fn findings_of(
    copies: &[AnchorCopy; 2],
    any_sound: bool,
    folder: &LogFolder,
    replayed: &Replayed,
) -> Vec<LogFinding> {
    if !any_sound {
        // Written by a version that knew no anchors: none is lost.
        let older = replayed.root_id == [0; 16] && copies.iter().all(|copy| *copy == AnchorCopy::Missing);
        let (path, last_seq) = (folder.anchors[0].clone(), replayed.next_seq.saturating_sub(1));
        return if older { Vec::new() } else { vec![LogFinding::AnchorLost { path, last_seq }] };
    }
    let bad = |(copy, path): (&AnchorCopy, &std::path::PathBuf)| {
        let why = match copy {
            AnchorCopy::Sound(_) => return None,
            AnchorCopy::Missing => "it is missing".to_owned(),
            AnchorCopy::Damaged(why) => why.clone(),
        };
        Some(LogFinding::AnchorRepaired { path: path.clone(), why })
    };
    copies.iter().zip(&folder.anchors).filter_map(bad).collect()
}

/// The id of the root: what the anchor says, or a segment, or a new one.
pub(super) fn root_id(host: &Host, anchor: &Anchor, replayed: &Replayed) -> [u8; 16] {
    let known = [anchor.root_id, replayed.root_id].into_iter().find(|id| *id != [0; 16]);
    known.unwrap_or_else(|| host::random::uuid_bytes(&*host.random))
}

impl LocalLog {
    /// What the open came across.
    pub fn findings(&self) -> &[LogFinding] {
        &self.findings
    }

    /// What is written down beside the log; all zeros before the first record.
    pub fn anchor(&self) -> &Anchor {
        &self.anchors.held
    }

    /// What may be claimed now. A poisoned log has not moved since what is held was written, or not for certain.
    pub(super) fn durable(&self) -> Anchor {
        let held = self.anchors.held;
        if self.poisoned.is_some() {
            return held;
        }
        let with_record = self.segments.iter().rfind(|first| **first < self.next_seq);
        let newest_segment = with_record.copied().unwrap_or(0).max(held.newest_segment);
        let filled = self.current.as_ref().filter(|_| self.segments.last() == Some(&newest_segment));
        let known = if held.newest_segment == newest_segment { held.newest_segment_bytes } else { 0 };
        Anchor {
            root_id: self.root_id,
            stream: self.config.stream,
            synced_seq: self.next_seq.saturating_sub(1),
            synced_hash: self.previous_hash,
            newest_segment,
            newest_segment_bytes: filled.map_or(known, |current| current.filled.max(known)),
            needed_from: held.needed_from.max(1),
            ..held
        }
    }

    pub(super) fn write_anchor(&mut self, anchor: Anchor) -> io::Result<()> {
        self.anchors.write(&self.host, anchor)
    }

    /// At open: both copies are made the same and durable. A full disk must not keep a database from opening. What was lost
    /// with the anchor is said in the same write, or a crash behind it would make the next open a sound one.
    pub(super) fn renew_anchor(&mut self) -> Result<(), LogError> {
        if self.next_seq == 1 && self.anchors.held.generation == 0 {
            return Ok(());
        }
        let lost = self.findings.iter().any(LogFinding::may_have_lost);
        let durable = self.durable();
        let held_until_ms = if lost { HELD_UNTIL_TOLD } else { durable.held_until_ms };
        match self.write_anchor(Anchor { held_until_ms, ..durable }) {
            Err(error) if error.kind() != ErrorKind::StorageFull => {
                Err(LogError::Io { path: self.dir.clone(), source: error })
            }
            _ => Ok(()),
        }
    }

    /// The segment beginning with `first_seq` is durable and has `bytes`; its first record comes next.
    pub(super) fn pin_segment(&mut self, first_seq: u64, bytes: u64) -> io::Result<()> {
        let anchor = Anchor { newest_segment: first_seq, newest_segment_bytes: bytes, ..self.durable() };
        self.write_anchor(anchor)
    }
}
