//! Hands units to workers: free, leased, done.
//!
//! Invariant: a unit is leased to at most one worker at a time, and done at most once. A lease that is dropped
//! without being finished returns its unit to the queue, so a failed worker loses nothing.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::units::Unit;

#[derive(Debug, Default)]
struct State {
    free: VecDeque<Unit>,
    leased: usize,
    done: Vec<Unit>,
}

/// Shared by the workers of one attempt; cloning shares.
#[derive(Clone, Debug, Default)]
pub struct UnitQueue {
    state: Arc<Mutex<State>>,
}

impl UnitQueue {
    /// Units are leased in the order given.
    pub fn new(units: Vec<Unit>) -> UnitQueue {
        UnitQueue { state: Arc::new(Mutex::new(State { free: units.into(), ..State::default() })) }
    }

    /// The next free unit, or `None` when all are leased or done.
    pub fn lease(&self) -> Option<UnitLease> {
        let mut state = self.state.lock();
        let unit = state.free.pop_front()?;
        state.leased += 1;
        Some(UnitLease { unit: Some(unit), queue: self.clone() })
    }

    /// (free, leased, done)
    pub fn counts(&self) -> (usize, usize, usize) {
        let state = self.state.lock();
        (state.free.len(), state.leased, state.done.len())
    }
}

/// The right to work on one unit.
#[derive(Debug)]
pub struct UnitLease {
    unit: Option<Unit>,
    queue: UnitQueue,
}

impl UnitLease {
    pub fn unit(&self) -> Option<&Unit> {
        self.unit.as_ref()
    }

    /// All rows of the unit have been handed on.
    pub fn finish(mut self) {
        if let Some(unit) = self.unit.take() {
            let mut state = self.queue.state.lock();
            state.leased -= 1;
            state.done.push(unit);
        }
    }
}

impl Drop for UnitLease {
    fn drop(&mut self) {
        if let Some(unit) = self.unit.take() {
            let mut state = self.queue.state.lock();
            state.leased -= 1;
            state.free.push_front(unit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::UnitId;

    #[test]
    fn a_dropped_lease_returns_its_unit() {
        let units = (0..3).map(|id| Unit { id: UnitId(id), file: id, bytes: 1, rows: None }).collect();
        let queue = UnitQueue::new(units);
        let first = queue.lease().unwrap();
        let second = queue.lease().unwrap();
        assert_eq!(queue.counts(), (1, 2, 0));
        drop(first);
        second.finish();
        assert_eq!(queue.counts(), (2, 0, 1));
        assert_eq!(queue.lease().unwrap().unit().unwrap().id, UnitId(0));
    }
}
