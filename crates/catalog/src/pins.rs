//! Which seqs are still being read: the horizon of garbage collection.
//!
//! Invariant: a seq is pinned from before its state is handed out until the last snapshot of it is dropped, so what was
//! removed at or below [`Pins::oldest_or`] is invisible to everybody. Must not know: states.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::Seq;
use parking_lot::Mutex;

/// Counts readers by seq.
#[derive(Clone, Debug, Default)]
pub struct Pins {
    counts: Arc<Mutex<BTreeMap<Seq, usize>>>,
}

impl Pins {
    /// Pins the seq that `newest` finds, with no collection in between; returns what it found beside the pin.
    pub fn pin<T>(&self, newest: impl FnOnce() -> (Seq, T)) -> (Pin, T) {
        let mut counts = self.counts.lock();
        let (seq, found) = newest();
        *counts.entry(seq).or_default() += 1;
        (Pin { seq, pins: self.clone() }, found)
    }

    /// The oldest pinned seq, or what `newest` says when nothing is pinned.
    pub fn oldest_or(&self, newest: impl FnOnce() -> Seq) -> Seq {
        let counts = self.counts.lock();
        counts.keys().next().copied().unwrap_or_else(newest)
    }
}

/// One reader of a seq; dropping it lets the horizon move.
#[derive(Debug)]
pub struct Pin {
    seq: Seq,
    pins: Pins,
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut counts = self.pins.counts.lock();
        if let Some(count) = counts.get_mut(&self.seq) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.seq);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_pin_is_the_horizon() {
        let pins = Pins::default();
        let pin = |seq: u64| pins.pin(|| (Seq(seq), ())).0;
        let oldest = || pins.oldest_or(|| Seq(9));
        assert_eq!(oldest(), Seq(9));
        let (first, again, second) = (pin(3), pin(3), pin(5));
        assert_eq!(oldest(), Seq(3));
        drop(first);
        assert_eq!(oldest(), Seq(3), "another reader is still there");
        drop(again);
        assert_eq!(oldest(), Seq(5));
        drop(second);
        assert_eq!(oldest(), Seq(9));
    }
}
