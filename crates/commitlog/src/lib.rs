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
//! Contract:
//! * [`LocalLog::append`] returns the record's seq only after the record is durable. Seqs start at 1 and have
//!   no gaps.
//! * After a crash the log holds every acknowledged record, in order, and at most one more: the one whose
//!   append had not returned, whole or not at all. What [`LocalLog::open`] replays is durable before `open`
//!   returns.
//! * One writer: a lock of the folder; a second opener is told who stands in the way.
//! * A damaged record that is not the torn end is [`LogError::Corruption`]; the log does not open and loses
//!   nothing.
//!
//! Must not know: what a transaction means. `docs/design/commitlog.md` has the reasons and the measurements.

pub mod record;
pub mod error;
mod volume;
pub mod segment;
pub mod replay;
pub mod local_log;

pub use error::{AppendError, AppendRefused, LogError};
pub use local_log::{AppendTimes, LocalLog, LogConfig};
pub use replay::{RecordSummary, ReplayedRecord, SegmentDump, Tail, dump};
