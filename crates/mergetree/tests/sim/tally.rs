//! Counts of what a simulation saw, by which its tests know that something happened.

use std::collections::BTreeMap;

/// What a test saw happen, so that it cannot pass by nothing happening.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) lives: u64,
    pub(crate) stops_at_calls: u64,
    pub(crate) stops_at_points: BTreeMap<&'static str, u64>,
    pub(crate) recoveries_stopped: u64,
    pub(crate) acknowledged: u64,
    pub(crate) recognised: u64,
    pub(crate) unknown_kept: u64,
    pub(crate) unknown_gone: u64,
    pub(crate) merges: u64,
    pub(crate) merges_lost: u64,
    pub(crate) truncations: u64,
    pub(crate) groups: u64,
    pub(crate) flushes: u64,
    pub(crate) flushes_lost: u64,
    pub(crate) held: u64,
    pub(crate) collected: u64,
    pub(crate) checkpoints: u64,
    pub(crate) read_again: u64,
    /// Segments taken away whose loss was noticed.
    pub(crate) thefts: u64,
    pub(crate) calls: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Tally) {
        self.lives += other.lives;
        self.stops_at_calls += other.stops_at_calls;
        for (point, stops) in &other.stops_at_points {
            *self.stops_at_points.entry(point).or_default() += stops;
        }
        self.recoveries_stopped += other.recoveries_stopped;
        self.acknowledged += other.acknowledged;
        self.recognised += other.recognised;
        self.unknown_kept += other.unknown_kept;
        self.unknown_gone += other.unknown_gone;
        self.merges += other.merges;
        self.merges_lost += other.merges_lost;
        self.truncations += other.truncations;
        self.groups += other.groups;
        self.flushes += other.flushes;
        self.flushes_lost += other.flushes_lost;
        self.held += other.held;
        self.collected += other.collected;
        self.checkpoints += other.checkpoints;
        self.read_again += other.read_again;
        self.thefts += other.thefts;
        self.calls += other.calls;
    }
}
