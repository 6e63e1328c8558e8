//! Mutations that ended: the memory behind `system.mutations`.
//!
//! Invariant: bounded, the oldest go first. A mutation is one of a statement that was answered, so all are done.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// Mutations kept in memory.
const MUTATIONS_MAX: usize = 1_000;

/// One command of a statement.
#[derive(Clone, Debug)]
pub struct EndedMutation {
    pub database: String,
    pub table: String,
    pub command: String,
    pub begun_ms: u64,
    /// That were written anew or dropped by its statement.
    pub parts: usize,
}

#[derive(Debug, Default)]
pub struct Mutations {
    /// Each with its number.
    ended: Mutex<(u64, VecDeque<(u64, EndedMutation)>)>,
}

impl Mutations {
    pub fn push(&self, mutation: EndedMutation) {
        let mut ended = self.ended.lock();
        ended.0 += 1;
        let number = ended.0;
        if ended.1.len() == MUTATIONS_MAX {
            ended.1.pop_front();
        }
        ended.1.push_back((number, mutation));
    }

    /// Oldest first.
    pub fn ended(&self) -> Vec<(u64, EndedMutation)> {
        self.ended.lock().1.iter().cloned().collect()
    }
}
