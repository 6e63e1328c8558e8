//! The transactions of one group on their way: which are decided on in a round, and what became of the others.
//!
//! Invariant: each of the group is settled once, in its place. Must not know: the log.

use std::mem;

use model::Seq;

use crate::admit::RefusedWhy;
use crate::op::Transaction;

/// What became of a transaction of a group.
pub(super) enum Became {
    /// The record it is in.
    Decided(Result<Seq, RefusedWhy>),
    /// It was not tried again: see [`Transaction::returns`].
    Returned,
    /// It may be in a record of which this process does not remember what it lists.
    Forgotten,
}

/// What the log says of a transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// It is in no record.
    Open,
    In(Seq),
    Forgotten,
}

/// The transactions of a group that are still to be decided on.
pub(super) struct Open {
    pub(super) transactions: Vec<Transaction>,
    /// Where each stands in the group.
    places: Vec<usize>,
    /// What became of the others, by place.
    settled: Vec<Became>,
    /// Those of which nobody knows, by place.
    forgotten: Vec<usize>,
}

impl Open {
    pub(super) fn new(transactions: Vec<Transaction>) -> Open {
        let places = (0..transactions.len()).collect();
        // What is not settled yet is not looked at.
        let settled = transactions.iter().map(|_| Became::Returned).collect();
        Open { transactions, places, settled, forgotten: Vec::new() }
    }

    /// Remembers which must not be admitted.
    pub(super) fn set_aside(&mut self, known: &[Known]) {
        let all = self.places.iter().zip(known);
        self.forgotten =
            all.filter(|(_, known)| **known == Known::Forgotten).map(|(place, _)| *place).collect();
    }

    /// Lets go of those that come back.
    pub(super) fn hand_back(&mut self) {
        let all = mem::take(&mut self.transactions).into_iter().zip(mem::take(&mut self.places));
        (self.transactions, self.places) = all.filter(|(one, _)| !one.returns).unzip();
    }

    pub(super) fn settle(mut self, outcomes: Vec<Result<Seq, RefusedWhy>>) -> Vec<Became> {
        for (place, outcome) in self.places.iter().zip(outcomes) {
            if let Some(became) = self.settled.get_mut(*place) {
                *became = match self.forgotten.contains(place) {
                    true => Became::Forgotten,
                    false => Became::Decided(outcome),
                };
            }
        }
        self.settled
    }
}
