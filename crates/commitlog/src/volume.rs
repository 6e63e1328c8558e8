//! How many bytes of records a checkpoint would save.
//!
//! A byte count per record would cost more memory than it is worth; a mark every [`STEP_BYTES`] answers with
//! an excess of less than one step, and exactly when a checkpoint covers the whole log.

use std::collections::VecDeque;

const STEP_BYTES: u64 = 256 << 10;

#[derive(Debug, Default)]
pub(crate) struct Volume {
    /// Bytes of all records noted.
    total: u64,
    /// Total when the checkpointed part ended.
    base: u64,
    /// Seq of a record, and the total before it.
    marks: VecDeque<(u64, u64)>,
}

impl Volume {
    /// A record was appended or replayed.
    pub(crate) fn note(&mut self, seq: u64, bytes: u64) {
        if self.marks.back().is_none_or(|(_, before)| self.total - before >= STEP_BYTES) {
            self.marks.push_back((seq, self.total));
        }
        self.total += bytes;
    }

    /// Records before `seq` are covered by a checkpoint; `next_seq` is the first not yet written.
    pub(crate) fn cover(&mut self, seq: u64, next_seq: u64) {
        if seq >= next_seq {
            self.marks.clear();
            self.base = self.total;
            return;
        }
        while self.marks.get(1).is_some_and(|(second, _)| *second <= seq) {
            self.marks.pop_front();
        }
        if let Some((first, before)) = self.marks.front()
            && *first <= seq
        {
            self.base = self.base.max(*before);
        }
    }

    /// Bytes of the records no checkpoint covers.
    pub(crate) fn uncovered(&self) -> u64 {
        self.total - self.base
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_exact_at_the_end_and_less_than_a_step_too_much_before() {
        let mut volume = Volume::default();
        for seq in 1..=10 {
            volume.note(seq, STEP_BYTES / 2);
        }
        assert_eq!(volume.uncovered(), 5 * STEP_BYTES);
        volume.cover(6, 11);
        let exact = 5 * STEP_BYTES / 2;
        assert!((exact..exact + STEP_BYTES).contains(&volume.uncovered()), "{}", volume.uncovered());
        volume.cover(3, 11);
        assert!(volume.uncovered() < exact + STEP_BYTES, "going back changes nothing");
        volume.cover(11, 11);
        assert_eq!(volume.uncovered(), 0);
        volume.note(11, 7);
        assert_eq!(volume.uncovered(), 7);
    }
}
