//! Which column chunks stay in memory: those read last, but no chunk drives out one that is read more often.
//!
//! Who comes in again and again in a circle larger than the memory would, with "least recently used" alone, drive out
//! each chunk shortly before it is read. So a chunk that was last read at time *t* drives out only what has not been read
//! since *t*. Pure. Invariant: the bytes of all entries are at most the limit.

use std::collections::{BTreeMap, HashMap};

/// A column chunk of one part of this process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct ChunkId {
    pub part: u64,
    pub chunk: u32,
}

/// A moment: each read has one of its own.
pub(super) type Tick = u64;

#[derive(Debug)]
pub(super) struct Residency {
    bytes_max: u64,
    bytes: u64,
    now: Tick,
    entries: HashMap<ChunkId, (Tick, u64)>,
    by_age: BTreeMap<Tick, ChunkId>,
}

impl Residency {
    pub(super) fn new(bytes_max: u64) -> Residency {
        Residency { bytes_max, bytes: 0, now: 0, entries: HashMap::new(), by_age: BTreeMap::new() }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn contains(&self, id: ChunkId) -> bool {
        self.entries.contains_key(&id)
    }

    /// The time of a read that happens now.
    pub(super) fn tick(&mut self) -> Tick {
        self.now += 1;
        self.now
    }

    /// Notes a read; `None` if the chunk is not there.
    pub(super) fn touch(&mut self, id: ChunkId) -> Option<Tick> {
        let now = self.tick();
        let (age, _) = self.entries.get_mut(&id)?;
        self.by_age.remove(&std::mem::replace(age, now));
        self.by_age.insert(now, id);
        Some(now)
    }

    /// Whether `bytes` of chunks that were last read at `last_read` would come in.
    pub(super) fn has_room(&self, bytes: u64, last_read: Tick) -> bool {
        let mut free = self.bytes_max.saturating_sub(self.bytes);
        let mut older = self.by_age.range(..last_read);
        while free < bytes {
            let Some((_, id)) = older.next() else { return false };
            free += self.entries.get(id).map_or(0, |(_, held)| *held);
        }
        true
    }

    /// Takes a chunk in that was last read at `last_read`; returns those that go for it. `None`: it stays outside.
    pub(super) fn admit(&mut self, id: ChunkId, bytes: u64, last_read: Tick) -> Option<Vec<ChunkId>> {
        if self.contains(id) || !self.has_room(bytes, last_read) {
            return None;
        }
        let missing = (self.bytes + bytes).saturating_sub(self.bytes_max);
        let out = self.drop_oldest(missing);
        let now = self.tick();
        self.entries.insert(id, (now, bytes));
        self.by_age.insert(now, id);
        self.bytes += bytes;
        Some(out)
    }

    /// Drops the chunks that were not read for the longest time until `bytes` are free.
    pub(super) fn drop_oldest(&mut self, bytes: u64) -> Vec<ChunkId> {
        let (mut out, mut freed) = (Vec::new(), 0);
        while freed < bytes
            && let Some((_, id)) = self.by_age.pop_first()
        {
            freed += self.entries.remove(&id).map_or(0, |(_, held)| held);
            out.push(id);
        }
        self.bytes -= freed;
        out
    }

    pub(super) fn drop_one(&mut self, id: ChunkId) {
        if let Some((age, held)) = self.entries.remove(&id) {
            self.by_age.remove(&age);
            self.bytes -= held;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(chunk: u32) -> ChunkId {
        ChunkId { part: 1, chunk }
    }

    /// Reads chunks of ten bytes in this order under a limit; returns how many were found in memory.
    fn hits(bytes_max: u64, order: impl IntoIterator<Item = u32>) -> usize {
        let mut residency = Residency::new(bytes_max);
        let mut last_read: HashMap<u32, Tick> = HashMap::new();
        let mut hits = 0;
        for chunk in order {
            match residency.touch(id(chunk)) {
                Some(now) => {
                    hits += 1;
                    last_read.insert(chunk, now);
                }
                None => {
                    if let Some(before) = last_read.get(&chunk).copied() {
                        residency.admit(id(chunk), 10, before);
                    }
                    last_read.insert(chunk, residency.tick());
                }
            }
            assert!(residency.bytes() <= bytes_max);
            assert_eq!(residency.entries.len(), residency.by_age.len());
        }
        hits
    }

    #[test]
    fn what_is_read_again_is_found_from_the_third_read_on() {
        assert_eq!(hits(100, [1, 2, 3]), 0);
        assert_eq!(hits(100, [1, 2, 1, 2]), 0);
        assert_eq!(hits(100, [1, 2, 1, 2, 1, 2]), 2);
        assert_eq!(hits(5, [1, 1, 1, 1]), 0, "larger than everything");
    }

    #[test]
    fn a_circle_larger_than_memory_keeps_what_fits() {
        // Ten chunks, room for four, ten times round: from the third round on four are found.
        let circle = (0..10).flat_map(|_| 0..10);
        assert_eq!(hits(40, circle), 8 * 4);
    }

    #[test]
    fn what_is_read_no_more_goes() {
        // Four chunks ten times, then four others ten times.
        let first = (0..10).flat_map(|_| 0..4);
        let second = (0..10).flat_map(|_| 4..8);
        assert_eq!(hits(40, first.chain(second)), 2 * 8 * 4);
    }

    #[test]
    fn giving_way_drops_the_oldest() {
        let mut residency = Residency::new(100);
        for chunk in 0..5 {
            assert_eq!(residency.admit(id(chunk), 20, 0), Some(vec![]));
        }
        assert_eq!(residency.admit(id(9), 20, 0), None, "nothing is older than what was never read");
        residency.touch(id(0));
        assert_eq!(residency.drop_oldest(21), vec![id(1), id(2)]);
        residency.drop_one(id(3));
        residency.drop_one(id(3));
        assert_eq!(residency.bytes(), 40);
        assert!(residency.contains(id(0)) && residency.contains(id(4)));
        assert_eq!(residency.drop_oldest(1000).len(), 2);
    }
}
