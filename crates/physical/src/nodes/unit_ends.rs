//! Which units each stream of a scan has come to the end of: how a sink knows where it may cut.
//!
//! Invariant: a unit is noted after its last row was handed on and before the next row of its stream; so when a sink has
//! taken as many rows as the noted units have, it holds them wholly and no row of another. Must not know: parts, loads.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;

/// A unit read to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnitEnd {
    pub unit: u32,
    pub rows: u64,
    /// As stored.
    pub bytes: u64,
}

/// The ends of one load's units, by stream.
#[derive(Debug)]
pub struct UnitEnds {
    streams: Vec<Mutex<Vec<UnitEnd>>>,
    /// All of them, for whoever watches.
    read: Arc<Mutex<BTreeSet<u32>>>,
}

impl UnitEnds {
    pub fn new(streams: usize, read: Arc<Mutex<BTreeSet<u32>>>) -> UnitEnds {
        UnitEnds { streams: (0..streams).map(|_| Mutex::default()).collect(), read }
    }

    /// Called by the stream.
    pub fn note(&self, stream: usize, end: UnitEnd) {
        self.read.lock().insert(end.unit);
        if let Some(ends) = self.streams.get(stream) {
            ends.lock().push(end);
        }
    }

    /// The units that have ended since the last call; called by the stream's sink.
    pub fn take(&self, stream: usize) -> Vec<UnitEnd> {
        self.streams.get(stream).map_or_else(Vec::new, |ends| std::mem::take(&mut *ends.lock()))
    }
}
