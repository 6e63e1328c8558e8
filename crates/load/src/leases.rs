//! Units of one load in the hands of several servers.
//!
//! A unit is *free*, *held* by somebody, or gone from here because it is staged, which the log says and nobody else. Invariant: no
//! unit is forgotten: it is free or held until it is staged. It may be read twice, after its holder was believed lost; it is staged
//! once, which admission sees to. Must not know: who the holders are, how they are asked.

use std::collections::{BTreeMap, VecDeque};

use crate::units::Unit;

/// Somebody who reads units.
pub type Holder = usize;

/// See the module.
#[derive(Debug, Default)]
pub struct Leases {
    free: VecDeque<Unit>,
    held: BTreeMap<u32, (Holder, Unit)>,
    /// More units are to come.
    grows: bool,
}

impl Leases {
    /// Units are leased in the order given.
    pub fn new(units: Vec<Unit>) -> Leases {
        Leases { free: units.into(), held: BTreeMap::new(), grows: false }
    }

    /// The same, and more are to come.
    pub fn growing(units: Vec<Unit>) -> Leases {
        Leases { grows: true, ..Leases::new(units) }
    }

    /// Units that are found later, behind all others.
    pub fn add(&mut self, units: Vec<Unit>) {
        self.free.extend(units);
    }

    /// No more are to come.
    pub fn seal(&mut self) {
        self.grows = false;
    }

    /// Who finds nothing free may wait for more.
    pub fn grows(&self) -> bool {
        self.grows
    }

    /// The next free unit.
    pub fn lease(&mut self, holder: Holder) -> Option<Unit> {
        let unit = self.free.pop_front()?;
        self.held.insert(unit.id.0, (holder, unit.clone()));
        Some(unit)
    }

    /// Of these units those that are held are free again, before all others: their rows were to come early.
    pub fn give_back(&mut self, units: &[u32]) {
        for unit in units.iter().rev() {
            if let Some((_, unit)) = self.held.remove(unit) {
                self.free.push_front(unit);
            }
        }
    }

    /// Whoever held them will not stage them.
    pub fn lost(&mut self, holder: Holder) {
        let held: Vec<u32> =
            self.held.iter().filter(|(_, (by, _))| *by == holder).map(|(unit, _)| *unit).collect();
        self.give_back(&held);
    }

    /// Takes in what is staged by now, by whomever.
    pub fn settle(&mut self, is_staged: impl Fn(u32) -> bool) {
        self.held.retain(|unit, _| !is_staged(*unit));
        self.free.retain(|unit| !is_staged(unit.id.0));
    }

    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// Units that somebody holds.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Everything is staged.
    pub fn is_over(&self) -> bool {
        !self.grows && self.free.is_empty() && self.held.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use model::UnitId;

    use super::*;

    fn leases(units: u32) -> Leases {
        Leases::new((0..units).map(|id| Unit { id: UnitId(id), file: 0, bytes: 1, rows: None }).collect())
    }

    fn lease(leases: &mut Leases, holder: Holder) -> Option<u32> {
        leases.lease(holder).map(|unit| unit.id.0)
    }

    #[test]
    fn what_is_not_staged_is_leased_again() {
        let mut leases = leases(5);
        assert_eq!((lease(&mut leases, 1), lease(&mut leases, 2)), (Some(0), Some(1)));
        assert_eq!((lease(&mut leases, 1), lease(&mut leases, 1)), (Some(2), Some(3)));
        leases.settle(|unit| unit == 2);
        leases.lost(1);
        assert_eq!(leases.held(), 1, "that of the other");
        let again: Vec<_> = std::iter::from_fn(|| lease(&mut leases, 3)).collect();
        assert_eq!(again, [0, 3, 4]);
        leases.give_back(&[3, 1, 9]);
        assert_eq!((lease(&mut leases, 2), lease(&mut leases, 2)), (Some(3), Some(1)));
        assert!(!leases.is_over() && leases.free() == 0);
        leases.settle(|_| true);
        assert!(leases.is_over());
    }

    #[test]
    fn it_is_not_over_while_more_is_to_come() {
        let mut leases = Leases::growing(Vec::new());
        assert!(lease(&mut leases, 1).is_none() && leases.grows() && !leases.is_over());
        leases.add((0..2).map(|id| Unit { id: UnitId(id), file: 0, bytes: 1, rows: None }).collect());
        assert_eq!((lease(&mut leases, 1), leases.free()), (Some(0), 1));
        leases.settle(|_| true);
        assert!(!leases.is_over());
        leases.seal();
        assert!(leases.is_over());
    }

    #[test]
    fn who_was_believed_lost_may_have_staged_all_the_same() {
        let mut leases = leases(2);
        leases.lease(1);
        leases.lost(1);
        leases.settle(|unit| unit == 0);
        assert_eq!(lease(&mut leases, 2), Some(1));
        // Held by another by now: what the first gives back is not its own any more, and is read once more at most.
        leases.give_back(&[1]);
        assert_eq!(lease(&mut leases, 3), Some(1));
    }
}
