//! Records as objects: their keys, and reading them.
//!
//! Invariant: what is read as a record is one, of this stream and under its own seq. Must not know: who appends.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use host::{Host, Objects};
use parking_lot::Mutex;

use crate::error::LogError;
use crate::record::{self, BadFrame, Record};

/// Reads on their way at once when a log is opened.
pub(super) const FETCHES: u64 = 32;
/// How often a record is read before it is damaged.
const READS: u32 = 5;

/// What is at a seq.
pub(super) enum Fetched {
    /// The record, and its frame.
    Record(Box<Record>, Bytes),
    Nothing,
}

pub(super) fn log_folder(stream: u64) -> String {
    format!("stream/{stream}/log/")
}

pub(super) fn record_key(stream: u64, seq: u64) -> String {
    format!("stream/{stream}/log/{seq:020}")
}

/// The seq of a record's key.
pub(super) fn seq_of(key: &str) -> Option<u64> {
    key.rsplit('/').next()?.parse().ok()
}

/// The newest record a listing knows behind `after`; `after` if there is none.
pub(super) fn newest_listed(objects: &dyn Objects, stream: u64, after: u64) -> Result<u64, LogError> {
    let folder = log_folder(stream);
    let listed = objects.list(&folder, &record_key(stream, after));
    let listed = listed.map_err(|source| LogError::Io { path: objects.place(&folder).into(), source })?;
    Ok(listed.iter().rev().find_map(|object| seq_of(&object.key)).unwrap_or(after))
}

/// What is at a seq now. What is no record is read again: an answer can be wrong where the object is not.
pub(super) fn fetch(objects: &dyn Objects, host: &Host, stream: u64, seq: u64) -> Result<Fetched, LogError> {
    let mut pause = Duration::from_millis(20);
    for _ in 1..READS {
        match fetch_once(objects, stream, seq) {
            Err(LogError::Corruption { .. }) => host.clock.sleep(pause),
            answered => return answered,
        }
        pause *= 3;
    }
    fetch_once(objects, stream, seq)
}

fn fetch_once(objects: &dyn Objects, stream: u64, seq: u64) -> Result<Fetched, LogError> {
    let key = record_key(stream, seq);
    let frame = match objects.get(&key) {
        Ok(frame) => frame,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Fetched::Nothing),
        Err(source) => return Err(LogError::Io { path: objects.place(&key).into(), source }),
    };
    let corrupt = |what: String| LogError::Corruption { path: objects.place(&key).into(), offset: 0, what };
    let record = record::decode(&frame, 0).map_err(|bad| match bad {
        BadFrame::TooNew(min_reader_version) => {
            LogError::TooNew { path: objects.place(&key).into(), min_reader_version }
        }
        bad => corrupt(format!("it is no record: {bad}")),
    })?;
    if (record.envelope.stream, record.envelope.seq) != (stream, seq) {
        let (of_stream, of_seq) = (record.envelope.stream, record.envelope.seq);
        return Err(corrupt(format!("it is record {of_seq} of stream {of_stream}")));
    }
    Ok(Fetched::Record(Box::new(record), frame))
}

/// Up to so many records from `first` on, read side by side, as far as they are there without a gap.
pub(super) fn fetch_many(
    objects: &Arc<dyn Objects>,
    host: &Host,
    stream: u64,
    first: u64,
    wanted: u64,
) -> Result<Vec<(Record, Bytes)>, LogError> {
    let count = wanted.min(FETCHES);
    let answers: Vec<_> = match host.workers.threads() {
        0 => (first..first + count).map(|seq| fetch(&**objects, host, stream, seq)).collect(),
        _ => fetch_beside(objects, host, stream, first, count),
    };
    let mut records = Vec::new();
    for answer in answers {
        match answer? {
            Fetched::Record(record, frame) => records.push((*record, frame)),
            Fetched::Nothing => break,
        }
    }
    Ok(records)
}

/// What is at a seq, and the seq.
type Answer = (u64, Result<Fetched, LogError>);

fn fetch_beside(
    objects: &Arc<dyn Objects>,
    host: &Host,
    stream: u64,
    first: u64,
    count: u64,
) -> Vec<Result<Fetched, LogError>> {
    let answers: Arc<Mutex<Vec<Answer>>> = Arc::default();
    let (done, waiting) = std::sync::mpsc::channel::<()>();
    for seq in first..first + count {
        let (objects, answers, done) = (Arc::clone(objects), Arc::clone(&answers), done.clone());
        let beside = host.clone();
        host.workers.run("log fetch", move || {
            let answer = fetch(&*objects, &beside, stream, seq);
            answers.lock().push((seq, answer));
            drop(done);
        });
    }
    drop(done);
    // Ends when the last one has let go, however it did.
    let _ended = waiting.recv();
    let mut answers = std::mem::take(&mut *answers.lock());
    answers.sort_by_key(|(seq, _)| *seq);
    let in_order = (first..).zip(answers).take_while(|(expected, (seq, _))| expected == seq);
    in_order.map(|(_, (_, answer))| answer).collect()
}
