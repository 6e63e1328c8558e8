//! An ordered, durable sequence of byte records: write-ahead log and commit log in one.
//!
//! ```text
//!  append([t1, t2])                                      open(after)
//!        │                                                    │
//!        ▼                                                    ▼
//!  ┌───────────┐ frame  ┌──────────────────────────┐  ┌──────────────┐ record by record, seq > after
//!  │ record.rs │ ─────▶ │ segment: header, frames, │─▶│  replay.rs   │ ─────▶ the state machine above
//!  └───────────┘ write, │ zeros up to its end      │  └──────────────┘
//!             fdatasync └──────────────────────────┘
//! ```
//!
//! Whoever appends knows a [`CommitLog`]; the contract stands there. [`ObjectLog`] is one in a store that many processes share;
//! [`LocalLog`], in a folder of one process, promises:
//! * [`CommitLog::append`] says `Committed` only after the record is durable. Seqs start at 1 and have no gaps.
//! * After a crash the log holds every acknowledged record, in order, and at most one more: the one whose
//!   append had not returned, whole or not at all. What [`LocalLog::open`] replays is durable before `open`
//!   returns.
//! * One writer: a lock of the folder; a second opener is told who stands in the way.
//! * A damaged record that is not the torn end is [`LogError::Corruption`]; the log does not open and loses
//!   nothing.
//! * Two copies of an *anchor* beside the log say what was durable at the last change of segment, checkpoint, open
//!   or close. A log that holds less is [`LogError::Lacking`], however sound the rest of it looks.
//!
//! Must not know: what a transaction means. `docs/design/commitlog.md` has the reasons and the measurements.

pub mod record;
pub mod error;
mod volume;
pub mod anchor_format;
pub mod segment;
pub mod anchor;
pub mod replay;
mod courtesy;
mod recent;
pub mod commit_log;
pub mod local_log;
pub mod object_log;

pub use anchor::{AnchorCopy, LogFolder, newest_of, read_anchors};
pub use anchor_format::Anchor;
pub use commit_log::{AppendTimes, Appended, CommitLog, Deliver, LogTail, OpenedLog};
pub use courtesy::Courtesy;
pub use error::{AppendError, AppendRefused, LogError, LogFinding};
pub use local_log::{HELD_UNTIL_TOLD, LocalLog, LogConfig, ReadLog, read_only};
pub use object_log::{ObjectLog, ObjectLogConfig};
pub use recent::RecentRecords;
pub use replay::{RecordSummary, ReplayedRecord, SegmentDump, Tail, dump};
