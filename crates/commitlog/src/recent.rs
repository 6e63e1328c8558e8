//! The newest records of a log as bytes, so that whoever has just been told of one needs not ask the store for it.
//!
//! Invariant: what is here is durable, in order and without a gap; a record that is not here any more is in the store. Must not know:
//! who asks.

use std::collections::VecDeque;

use bytes::Bytes;
use parking_lot::Mutex;

/// Bytes of frames that are kept.
const BYTES_MAX: usize = 4 << 20;

/// See the module.
#[derive(Debug, Default)]
pub struct RecentRecords {
    frames: Mutex<Frames>,
}

#[derive(Debug, Default)]
struct Frames {
    /// Seq of the first, and all of them.
    first: u64,
    frames: VecDeque<Bytes>,
    bytes: usize,
}

impl RecentRecords {
    /// The next record.
    pub(crate) fn push(&self, seq: u64, frame: Bytes) {
        let mut kept = self.frames.lock();
        if kept.first + u64::try_from(kept.frames.len()).unwrap_or(0) != seq {
            *kept = Frames { first: seq, ..Frames::default() };
        }
        kept.bytes += frame.len();
        kept.frames.push_back(frame);
        while kept.bytes > BYTES_MAX
            && let Some(oldest) = kept.frames.pop_front()
        {
            kept.bytes -= oldest.len();
            kept.first += 1;
        }
    }

    /// Frames of all records after `seq` that this process knows; none if some of them are not here any more.
    pub fn after(&self, seq: u64) -> Vec<Bytes> {
        let kept = self.frames.lock();
        match (seq + 1).checked_sub(kept.first).map(usize::try_from) {
            Some(Ok(skipped)) => kept.frames.iter().skip(skipped).cloned().collect(),
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_records_are_kept_without_a_gap() {
        let recent = RecentRecords::default();
        let frame = |byte: u8, bytes: usize| Bytes::from(vec![byte; bytes]);
        assert!(recent.after(0).is_empty());
        (5..8_u8).for_each(|seq| recent.push(u64::from(seq), frame(seq, 10)));
        let seqs = |after| recent.after(after).iter().map(|frame| frame[0]).collect::<Vec<_>>();
        assert_eq!((seqs(4), seqs(6), seqs(7)), (vec![5, 6, 7], vec![7], vec![]));
        assert!(seqs(3).is_empty(), "record 4 is not here");
        recent.push(9, frame(9, 10));
        assert_eq!((seqs(8), seqs(7)), (vec![9], vec![]), "record 8 was missed");
        recent.push(10, frame(10, BYTES_MAX));
        assert_eq!((seqs(9), seqs(8)), (vec![10], vec![]));
    }
}
