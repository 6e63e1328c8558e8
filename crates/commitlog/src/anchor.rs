//! The two copies of the anchor, and what a log is held against.
//!
//! Both copies hold the same, in two folders, written in place one after the other: at any moment one of them is whole.
//! Invariant: an anchor never claims more than is durable, and nothing that contradicts the older one is done before both
//! copies of the newer are durable. Must not know: records, checkpoints.

use std::io;
use std::path::{Path, PathBuf};

use host::{Disk, Host, read_all};

use crate::anchor_format::Anchor;
use crate::error::LogError;
use crate::record::BadFrame;
use crate::segment;

/// Name of both copies.
const FILE_NAME: &str = "ANCHOR";

/// Where a log and its anchors are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFolder {
    /// Segments and `LOCK`.
    pub wal: PathBuf,
    /// Not in one folder, so that no lost folder takes both.
    pub anchors: [PathBuf; 2],
}

impl LogFolder {
    /// `<root>/stream/0/wal`, with anchors in `<root>` and `<root>/stream/0`.
    pub fn below(root: &Path) -> LogFolder {
        let stream = root.join("stream").join("0");
        LogFolder { wal: stream.join("wal"), anchors: [root.join(FILE_NAME), stream.join(FILE_NAME)] }
    }
}

/// One copy as found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnchorCopy {
    Sound(Anchor),
    Missing,
    Damaged(String),
}

/// Reads both copies.
///
/// # Errors
/// The disk fails, or a copy asks for a newer program.
pub fn read_anchors(disk: &dyn Disk, folder: &LogFolder) -> Result<[AnchorCopy; 2], LogError> {
    let [first, second] = &folder.anchors;
    Ok([read_copy(disk, first)?, read_copy(disk, second)?])
}

fn read_copy(disk: &dyn Disk, path: &Path) -> Result<AnchorCopy, LogError> {
    let io_error = |source| LogError::Io { path: path.to_owned(), source };
    if !disk.exists(path).map_err(io_error)? {
        return Ok(AnchorCopy::Missing);
    }
    match Anchor::decode(&read_all(disk, path).map_err(io_error)?) {
        Ok(anchor) => Ok(AnchorCopy::Sound(anchor)),
        Err(BadFrame::TooNew(min_reader_version)) => {
            Err(LogError::TooNew { path: path.to_owned(), min_reader_version })
        }
        Err(why) => Ok(AnchorCopy::Damaged(why.to_string())),
    }
}

/// The newer one of the copies that can be read.
pub fn newest_of(copies: &[AnchorCopy; 2]) -> Option<Anchor> {
    let sound = copies.iter().filter_map(|copy| match copy {
        AnchorCopy::Sound(anchor) => Some(*anchor),
        AnchorCopy::Missing | AnchorCopy::Damaged(_) => None,
    });
    sound.max_by_key(|anchor| anchor.generation)
}

/// The copies of a log that is open.
#[derive(Debug)]
pub(crate) struct Anchors {
    paths: [PathBuf; 2],
    /// What was written last, or read.
    pub(crate) held: Anchor,
    /// This process has made the names durable.
    named: [bool; 2],
}

impl Anchors {
    pub(crate) fn new(folder: &LogFolder, held: Anchor) -> Anchors {
        Anchors { paths: folder.anchors.clone(), held, named: [false; 2] }
    }

    /// Writes both copies; when this returns `Ok` they are durable.
    pub(crate) fn write(&mut self, host: &Host, mut anchor: Anchor) -> io::Result<()> {
        if host.faults.planted("commitlog.no_anchor") {
            return Ok(());
        }
        anchor.generation = self.held.generation + 1;
        anchor.written_ms = host.clock.now_ms();
        let bytes = anchor.encode();
        for (path, named) in self.paths.iter().zip(&mut self.named) {
            host.faults.hit("commitlog.anchor.write")?;
            write_copy(&*host.disk, path, &bytes, named)?;
        }
        self.held = anchor;
        Ok(())
    }
}

fn write_copy(disk: &dyn Disk, path: &Path, bytes: &[u8], named: &mut bool) -> io::Result<()> {
    let mut file = match disk.exists(path)? {
        true => disk.open_append(path)?,
        false => {
            *named = false;
            disk.create(path)?
        }
    };
    file.write_at(0, bytes)?;
    file.sync_data()?;
    if let (false, Some(folder)) = (*named, path.parent()) {
        disk.sync_dir(folder)?;
        *named = true;
    }
    Ok(())
}

/// Before anything is read: the segments that must be there are, and none is shorter than it was.
pub(crate) fn check_segments(
    anchor: &Anchor,
    folder: &LogFolder,
    segments: &[(u64, u64)],
    after: u64,
) -> Result<(), LogError> {
    let lacking = |path: PathBuf, what: String| {
        let what = format!("{what}; {} says so", folder.anchors[0].display());
        Err(LogError::Lacking { path, what })
    };
    let newest = anchor.newest_segment;
    if newest > 0 && segments.last().is_none_or(|(first, _)| *first < newest) {
        let what = format!("the file is missing, and records up to {} had been synced", anchor.synced_seq);
        return lacking(segment::path_of(&folder.wal, newest), what);
    }
    if let Some((_, bytes)) = segments.iter().find(|(first, _)| *first == newest)
        && *bytes < anchor.newest_segment_bytes
    {
        let what = format!("it was cut: it has {bytes} bytes and had {}", anchor.newest_segment_bytes);
        return lacking(segment::path_of(&folder.wal, newest), what);
    }
    let first = segments.first().map_or(1, |(first, _)| *first);
    if first > after.saturating_add(1) && anchor.checkpoint_seq > after {
        let what = format!(
            "it begins at record {first}: the records before are in checkpoint {}, which is missing or cannot be read",
            anchor.checkpoint_seq
        );
        return lacking(folder.wal.clone(), what);
    }
    Ok(())
}

/// After everything was read: the log reaches the record that was synced, and it is that record.
pub(crate) fn check_end(
    anchor: &Anchor,
    folder: &LogFolder,
    last_seq: u64,
    hash: Option<[u8; 16]>,
) -> Result<(), LogError> {
    let (synced, says) = (anchor.synced_seq, folder.anchors[0].display());
    let what = if last_seq < synced {
        format!("it ends at record {last_seq}, and record {synced} had been synced; {says} says so")
    } else if hash.is_some_and(|hash| hash != anchor.synced_hash) {
        format!("its record {synced} is another one than was synced; {says} says so")
    } else {
        return Ok(());
    };
    Err(LogError::Lacking { path: folder.wal.clone(), what })
}
