//! Which transactions that more than one process may commit are in the log: their ids stand in their records.
//!
//! Invariant: of every record after [`Listed::from`] each id is known; so an id that is not, and was given out after it, is in none
//! of them. Must not know: who may commit.

use std::collections::{HashMap, HashSet, VecDeque};

use model::{Seq, TxnId};

/// Ids that are remembered; a process gives out some thousands a second.
const IDS_MAX: usize = 200_000;

/// See the module.
#[derive(Debug)]
pub(super) struct Listed {
    from: Seq,
    seqs: HashMap<TxnId, Seq>,
    order: VecDeque<(Seq, TxnId)>,
    /// Those of this process that another one was asked to commit, and that wait.
    sent: HashSet<TxnId>,
}

impl Listed {
    /// What comes after `seq` will be known.
    pub(super) fn after(seq: Seq) -> Listed {
        Listed { from: seq, seqs: HashMap::new(), order: VecDeque::new(), sent: HashSet::new() }
    }

    /// These are in record `seq`.
    pub(super) fn note(&mut self, seq: Seq, ids: impl IntoIterator<Item = TxnId>) {
        for id in ids {
            // The first counts: a later one only says that the id is used up.
            self.seqs.entry(id).or_insert(seq);
            self.order.push_back((seq, id));
        }
        while self.order.len() > IDS_MAX
            && let Some((seq, id)) = self.order.pop_front()
        {
            self.seqs.remove(&id);
            self.from = seq;
        }
    }

    /// The record it is in.
    pub(super) fn seq_of(&self, id: TxnId) -> Option<Seq> {
        self.seqs.get(&id).copied()
    }

    /// Whether an id that was given out when the log ended with `since` would be found.
    pub(super) fn knows_since(&self, since: Seq) -> bool {
        since >= self.from
    }

    pub(super) fn send(&mut self, id: TxnId) {
        self.sent.insert(id);
    }

    pub(super) fn answered(&mut self, id: TxnId) {
        self.sent.remove(&id);
    }

    /// Whether all of these are this process's own, and none is somebody else's.
    pub(super) fn are_mine(&self, ids: &[TxnId]) -> bool {
        !ids.is_empty() && ids.iter().all(|id| self.sent.contains(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> TxnId {
        TxnId::from_random_bytes(u128::try_from(number).unwrap().to_le_bytes())
    }

    #[test]
    fn what_is_forgotten_is_not_taken_for_absent() {
        let mut listed = Listed::after(Seq(4));
        assert!(listed.knows_since(Seq(4)) && !listed.knows_since(Seq(3)));
        listed.note(Seq(5), [id(1), id(2)]);
        assert_eq!((listed.seq_of(id(1)), listed.seq_of(id(3))), (Some(Seq(5)), None));
        listed.note(Seq(6), (10..10 + IDS_MAX).map(id));
        assert_eq!(listed.seq_of(id(1)), None);
        assert!(!listed.knows_since(Seq(4)) && listed.knows_since(Seq(5)), "of record 5 some are forgotten");
        listed.send(id(7));
        assert!(listed.are_mine(&[id(7)]) && !listed.are_mine(&[id(7), id(8)]) && !listed.are_mine(&[]));
        listed.answered(id(7));
        assert!(!listed.are_mine(&[id(7)]));
    }
}
