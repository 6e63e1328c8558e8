//! Hands units to workers: free, leased, done.
//!
//! Invariant: a unit is leased to at most one worker at a time, and done at most once. A lease that is dropped
//! without being finished returns its unit to where it came from, so a failed worker loses nothing.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::units::Unit;

/// The next unit, when it is there.
pub type NextUnit<'a> = Pin<Box<dyn Future<Output = Option<Unit>> + Send + 'a>>;

/// Where the workers of one attempt get their units, which may be another machine.
pub trait UnitSource: Send + Sync + Debug {
    /// The next unit for one worker; `None` if none is free now. Whoever drops the future before it is there leaves the unit for
    /// the next.
    fn next(&self) -> NextUnit<'_>;

    /// A worker is done with a unit that it was given: its rows have all been handed on, or it is given back.
    fn ended(&self, unit: Unit, is_read: bool);

    /// Units that were read, and whose rows were thrown away.
    fn give_back(&self, units: &[u32]);
}

#[derive(Debug, Default)]
struct State {
    free: VecDeque<Unit>,
    leased: usize,
    done: Vec<Unit>,
}

/// Shared by the workers of one attempt of one process; cloning shares.
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
    pub fn take(&self) -> Option<Unit> {
        let mut state = self.state.lock();
        let unit = state.free.pop_front()?;
        state.leased += 1;
        Some(unit)
    }

    /// (free, leased, done)
    pub fn counts(&self) -> (usize, usize, usize) {
        let state = self.state.lock();
        (state.free.len(), state.leased, state.done.len())
    }
}

impl UnitSource for UnitQueue {
    fn next(&self) -> NextUnit<'_> {
        Box::pin(std::future::ready(self.take()))
    }

    fn ended(&self, unit: Unit, is_read: bool) {
        let mut state = self.state.lock();
        state.leased -= 1;
        match is_read {
            true => state.done.push(unit),
            false => state.free.push_front(unit),
        }
    }

    fn give_back(&self, units: &[u32]) {
        let mut state = self.state.lock();
        let (back, done) =
            std::mem::take(&mut state.done).into_iter().partition(|unit| units.contains(&unit.id.0));
        state.done = done;
        let back: Vec<Unit> = back;
        state.free.extend(back);
    }
}

/// The right to work on one unit.
#[derive(Debug)]
pub struct UnitLease {
    unit: Option<Unit>,
    source: Arc<dyn UnitSource>,
}

impl UnitLease {
    /// Asks for the next unit; `None` if none is free now.
    pub async fn next(source: &Arc<dyn UnitSource>) -> Option<UnitLease> {
        let unit = source.next().await?;
        Some(UnitLease { unit: Some(unit), source: Arc::clone(source) })
    }

    /// [`UnitLease::next`] where all units are in this process.
    pub fn of(queue: &UnitQueue) -> Option<UnitLease> {
        Some(UnitLease { unit: Some(queue.take()?), source: Arc::new(queue.clone()) })
    }

    pub fn unit(&self) -> Option<&Unit> {
        self.unit.as_ref()
    }

    /// All rows of the unit have been handed on.
    pub fn finish(mut self) {
        if let Some(unit) = self.unit.take() {
            self.source.ended(unit, true);
        }
    }
}

impl Drop for UnitLease {
    fn drop(&mut self) {
        if let Some(unit) = self.unit.take() {
            self.source.ended(unit, false);
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
        let first = UnitLease::of(&queue).unwrap();
        let second = UnitLease::of(&queue).unwrap();
        assert_eq!(queue.counts(), (1, 2, 0));
        drop(first);
        second.finish();
        assert_eq!(queue.counts(), (2, 0, 1));
        assert_eq!(UnitLease::of(&queue).unwrap().unit().unwrap().id, UnitId(0));
        queue.give_back(&[1, 2]);
        assert_eq!(queue.counts(), (3, 0, 0), "what was read and thrown away is free again");
    }
}
