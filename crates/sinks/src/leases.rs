//! The units of one load that this server coordinates: its own sinks and its helpers take from them.
//!
//! Invariant: as of `load::Leases`; whoever waits hears of every change. Must not know: how helpers are spoken to.

use std::fmt;

use boundary::error::Error;
use catalog::StagedLoad;
use load::{Holder, Leases, NextUnit, Unit, UnitSource};
use parking_lot::Mutex;
use tokio::sync::watch;

/// The sinks of this process.
const HERE: Holder = 0;

/// See the module.
pub struct SharedLeases {
    leases: Mutex<Leases>,
    /// While more units are to come, so many are left to others: whoever looks for them here needs the way to the store.
    spared: usize,
    /// Counts changes.
    changed: watch::Sender<u64>,
    /// Why a helper ended the load.
    failed: Mutex<Option<Error>>,
}

impl SharedLeases {
    pub fn new(leases: Leases, spared: usize) -> SharedLeases {
        let (changed, _) = watch::channel(0);
        SharedLeases { leases: Mutex::new(leases), spared, changed, failed: Mutex::default() }
    }

    /// Sees every change from now on.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub fn lease(&self, holder: Holder) -> Option<u32> {
        self.take(holder).map(|unit| unit.id.0)
    }

    fn take(&self, holder: Holder) -> Option<Unit> {
        let (unit, grows) = {
            let mut leases = self.leases.lock();
            let grows = leases.grows();
            if holder == HERE && grows && leases.free() <= self.spared {
                return None;
            }
            (leases.lease(holder)?, grows)
        };
        if grows {
            // Whoever finds more waits until there is room for them.
            self.changed.send_modify(|changes| *changes += 1);
        }
        Some(unit)
    }

    /// Units that are found later.
    pub fn add(&self, units: Vec<Unit>) {
        self.change(|leases| leases.add(units));
    }

    /// No more are to come.
    pub fn seal(&self) {
        self.change(Leases::seal);
    }

    /// Who finds nothing free may wait for more.
    pub fn grows(&self) -> bool {
        self.leases.lock().grows()
    }

    /// Waits until fewer than so many units are free.
    pub async fn room(&self, free: usize) {
        let mut changes = self.changes();
        // Whoever changes something lives as long as this.
        let _changed = changes.wait_for(|_| self.leases.lock().free() < free).await;
    }

    pub fn give_back(&self, units: &[u32]) {
        self.change(|leases| leases.give_back(units));
    }

    pub fn lost(&self, holder: Holder) {
        self.change(|leases| leases.lost(holder));
    }

    /// Takes in what is staged by now.
    pub fn settle(&self, open: &StagedLoad) {
        self.change(|leases| leases.settle(|unit| open.is_covered(unit)));
    }

    pub fn has_free(&self) -> bool {
        self.leases.lock().free() > 0
    }

    pub fn is_over(&self) -> bool {
        self.leases.lock().is_over()
    }

    /// Ends the load; the first error counts.
    pub fn fail(&self, error: Error) {
        self.failed.lock().get_or_insert(error);
        self.changed.send_modify(|changes| *changes += 1);
    }

    pub fn failed(&self) -> Option<Error> {
        self.failed.lock().clone()
    }

    fn change(&self, change: impl FnOnce(&mut Leases)) {
        change(&mut self.leases.lock());
        self.changed.send_modify(|changes| *changes += 1);
    }
}

impl fmt::Debug for SharedLeases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.leases.lock().fmt(f)
    }
}

impl UnitSource for SharedLeases {
    fn next(&self) -> NextUnit<'_> {
        Box::pin(async {
            let mut changes = self.changes();
            loop {
                changes.mark_unchanged();
                // Looked at in this order: the last unit may be found in between.
                let grows = self.grows();
                let unit = self.take(HERE);
                if unit.is_some() || !grows || changes.changed().await.is_err() {
                    return unit;
                }
            }
        })
    }

    fn ended(&self, unit: Unit, is_read: bool) {
        // What was read is held until it is staged.
        if !is_read {
            self.give_back(&[unit.id.0]);
        }
    }

    fn give_back(&self, units: &[u32]) {
        SharedLeases::give_back(self, units);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use model::UnitId;

    use super::*;

    fn units(numbers: std::ops::Range<u32>) -> Vec<Unit> {
        numbers.map(|id| Unit { id: UnitId(id), file: 0, bytes: 1, rows: None }).collect()
    }

    #[test]
    fn while_units_are_looked_for_others_have_the_first_of_them() {
        let leases = SharedLeases::new(Leases::growing(units(0..2)), 2);
        let here = || leases.next().now_or_never().map(|unit| unit.map(|unit| unit.id.0));
        assert_eq!(here(), None, "it waits");
        assert_eq!(leases.lease(1), Some(0));
        leases.add(units(2..4));
        assert_eq!((here(), here()), (Some(Some(1)), None));
        leases.seal();
        assert_eq!((here(), here(), here()), (Some(Some(2)), Some(Some(3)), Some(None)));
        assert!(!leases.has_free() && !leases.is_over());
    }
}
