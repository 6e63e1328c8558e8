//! A set of 64-bit keys that grows in small steps and is filled in an order that caches like.
//!
//! Keys are dealt to [`SHARDS`] tables by their hash, each small enough to stay near the processor while a few dozen keys that
//! waited for it are put in one after the other.
//! Invariant: a key is in one table at most once, and waits in its shard or is in the table. Must not know: what the keys stand for.

use std::hash::{BuildHasher, RandomState};

const SHARD_BITS: u32 = 8;
const SHARDS: usize = 1 << SHARD_BITS;
/// Keys that wait for their shard.
const WAITING: usize = 64;
const SMALLEST: usize = 16;

pub(super) struct Keys {
    shards: Vec<Shard>,
    /// Nobody can know which keys collide.
    seed: u64,
}

struct Shard {
    /// A power of two of places, at most three quarters of them taken; 0 is a free one.
    table: Vec<u64>,
    taken: usize,
    has_zero: bool,
    waiting: Vec<u64>,
}

impl Keys {
    pub(super) fn new() -> Keys {
        let shard = || Shard { table: Vec::new(), taken: 0, has_zero: false, waiting: Vec::new() };
        Keys { shards: (0..SHARDS).map(|_| shard()).collect(), seed: RandomState::new().hash_one(0_u64) }
    }

    pub(super) fn insert(&mut self, key: u64) {
        let hash = mixed(key ^ self.seed);
        let shard = &mut self.shards[position(hash >> (u64::BITS - SHARD_BITS))];
        if shard.waiting.len() == WAITING {
            shard.settle(self.seed);
        }
        shard.waiting.push(key);
    }

    /// Keys that are different.
    pub(super) fn count(&mut self) -> usize {
        let seed = self.seed;
        self.shards.iter_mut().map(|shard| shard.settled(seed).count()).sum()
    }

    /// Every key once, in no order.
    pub(super) fn all(&mut self) -> impl Iterator<Item = u64> {
        let seed = self.seed;
        self.shards.iter_mut().flat_map(move |shard| {
            let shard = shard.settled(seed);
            let zero = shard.has_zero.then_some(0);
            shard.table.iter().copied().filter(|key| *key != 0).chain(zero)
        })
    }

    pub(super) fn bytes(&self) -> usize {
        let words = |shard: &Shard| shard.table.capacity() + shard.waiting.capacity();
        self.shards.iter().map(words).sum::<usize>() * size_of::<u64>() + SHARDS * size_of::<Shard>()
    }
}

impl Shard {
    /// Puts into the table what waited.
    fn settle(&mut self, seed: u64) {
        let needed = self.taken + self.waiting.len();
        if needed > self.table.len() / 4 * 3 {
            self.grow((needed * 2).next_power_of_two().max(SMALLEST), seed);
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        for key in waiting.drain(..) {
            self.put(key, seed);
        }
        self.waiting = waiting;
    }

    fn settled(&mut self, seed: u64) -> &Shard {
        self.settle(seed);
        self
    }

    fn grow(&mut self, places: usize, seed: u64) {
        if places <= self.table.len() {
            return;
        }
        let before = std::mem::replace(&mut self.table, vec![0; places]);
        self.taken = 0;
        for key in before.into_iter().filter(|key| *key != 0) {
            self.put(key, seed);
        }
    }

    fn put(&mut self, key: u64, seed: u64) {
        if key == 0 {
            self.has_zero = true;
            return;
        }
        let mask = self.table.len() - 1;
        let mut at = position(mixed(key ^ seed)) & mask;
        while self.table[at] != 0 {
            if self.table[at] == key {
                return;
            }
            at = (at + 1) & mask;
        }
        self.table[at] = key;
        self.taken += 1;
    }

    fn count(&self) -> usize {
        self.taken + usize::from(self.has_zero)
    }
}

/// Each bit of the result depends on each of the key: the finaliser of MurmurHash3.
fn mixed(key: u64) -> u64 {
    let key = (key ^ (key >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    let key = (key ^ (key >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    key ^ (key >> 33)
}

/// On every machine that this runs on a place has 64 bits; of fewer the lower ones are as good.
fn position(hash: u64) -> usize {
    usize::try_from(hash).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn holds_what_a_set_holds() {
        let mut state = 7_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        for (keys, range) in
            [(0, 1), (1, 1), (100, 3), (1000, 1 << 20), (200_000, 30_000), (200_000, u64::MAX)]
        {
            let (mut ours, mut theirs) = (Keys::new(), HashSet::new());
            for _ in 0..keys {
                let key = (random() << 32 | random()) % range;
                ours.insert(key);
                theirs.insert(key);
                if theirs.len() % 777 == 0 {
                    assert_eq!(ours.count(), theirs.len());
                }
            }
            assert_eq!(ours.count(), theirs.len());
            let all: Vec<u64> = ours.all().collect();
            assert_eq!(all.len(), theirs.len());
            assert_eq!(all.into_iter().collect::<HashSet<_>>(), theirs);
            assert!(ours.bytes() >= theirs.len() * 8);
        }
    }
}
