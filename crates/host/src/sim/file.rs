//! One simulated file: what programs see, what is durable, and the changes between the two.
//!
//! Invariant: `durable` plus all of `pending` in order is `content`, until a sync fails.

use rand::Rng;
use rand_chacha::ChaCha12Rng;

const SECTOR_BYTES: usize = 512;

/// A change that no sync has covered yet.
#[derive(Debug)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    SetLen(usize),
}

/// What a crash makes of one unsynced write.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Lost,
    Whole,
    /// Sectors up to some boundary.
    Prefix,
    /// Any sectors; a disk reorders them.
    SomeSectors,
    /// The length was journalled, the blocks were not written.
    Zeros,
}

/// Bytes of a file, seen and durable.
#[derive(Debug, Default)]
pub(super) struct SimFile {
    pub(super) content: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<Change>,
    /// A sync failed; every later call on the file must fail.
    pub(super) poisoned: bool,
    /// Its name was removed or replaced.
    pub(super) removed: bool,
}

impl SimFile {
    pub(super) fn write(&mut self, offset: usize, bytes: &[u8]) {
        put(&mut self.content, offset, bytes);
        self.pending.push(Change::Write { offset, bytes: bytes.to_vec() });
    }

    pub(super) fn set_len(&mut self, bytes: usize) {
        self.content.resize(bytes, 0);
        self.pending.push(Change::SetLen(bytes));
    }

    pub(super) fn sync(&mut self) {
        for change in self.pending.drain(..) {
            match change {
                Change::Write { offset, bytes } => put(&mut self.durable, offset, &bytes),
                Change::SetLen(bytes) => self.durable.resize(bytes, 0),
            }
        }
    }

    /// The disk said no: as on Linux, the page cache keeps showing the bytes and nothing will ever write
    /// them.
    pub(super) fn sync_failed(&mut self) {
        self.pending.clear();
        self.poisoned = true;
    }

    /// A program ended without a sync; the page cache lives on and so do the pending changes.
    pub(super) fn process_ended(&mut self) {
        self.poisoned = false;
    }

    /// The machine stopped: every pending change meets its fate, and what is durable then is what there is.
    pub(super) fn machine_stopped(&mut self, dice: &mut ChaCha12Rng) {
        for change in std::mem::take(&mut self.pending) {
            match change {
                Change::Write { offset, bytes } => self.survive(offset, &bytes, dice),
                Change::SetLen(bytes) if dice.random_bool(0.5) => self.durable.resize(bytes, 0),
                Change::SetLen(_) => {}
            }
        }
        self.content.clone_from(&self.durable);
        self.poisoned = false;
        self.removed = false;
    }

    fn survive(&mut self, offset: usize, bytes: &[u8], dice: &mut ChaCha12Rng) {
        let fates = [Fate::Lost, Fate::Whole, Fate::Prefix, Fate::SomeSectors, Fate::Zeros];
        match fates[dice.random_range(0..fates.len())] {
            Fate::Lost => {}
            Fate::Whole => put(&mut self.durable, offset, bytes),
            Fate::Prefix => {
                let cut = dice.random_range(0..=bytes.len());
                let end = (offset + cut) / SECTOR_BYTES * SECTOR_BYTES;
                if end > offset {
                    put(&mut self.durable, offset, &bytes[..end - offset]);
                }
            }
            Fate::SomeSectors => {
                let mut from = 0;
                while from < bytes.len() {
                    let to = (SECTOR_BYTES - (offset + from) % SECTOR_BYTES + from).min(bytes.len());
                    if dice.random_bool(0.5) {
                        put(&mut self.durable, offset + from, &bytes[from..to]);
                    }
                    from = to;
                }
            }
            Fate::Zeros => {
                let end = self.durable.len().max(offset + bytes.len());
                self.durable.resize(end, 0);
            }
        }
    }
}

fn put(to: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if to.len() < end {
        to.resize(end, 0);
    }
    to[offset..end].copy_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn a_crash_keeps_synced_bytes_and_gives_every_sector_either_its_old_or_its_new_content_or_zeros() {
        let mut outcomes = [0; 3];
        for seed in 0..200 {
            let mut dice = ChaCha12Rng::seed_from_u64(seed);
            let mut file = SimFile::default();
            file.write(0, &[1; 700]);
            file.sync();
            file.write(600, &[2; 2000]);
            file.machine_stopped(&mut dice);
            assert_eq!(file.content[..600], [1; 600]);
            let (old, new) = (file.content[600..].contains(&1), file.content[600..].contains(&2));
            let zero = file.content[600..].contains(&0);
            outcomes[0] += usize::from(old && !new);
            outcomes[1] += usize::from(new && !old && !zero && file.content.len() == 2600);
            outcomes[2] += usize::from((old || zero) && new);
            for sector in file.content.get(1024..).unwrap_or_default().chunks(SECTOR_BYTES) {
                assert!(sector.iter().all(|b| b == &sector[0]), "a sector is never torn");
            }
        }
        assert!(outcomes.iter().all(|n| *n > 10), "lost, whole, torn: {outcomes:?}");
    }

    #[test]
    fn after_a_failed_sync_the_bytes_are_seen_and_never_durable() {
        let mut file = SimFile::default();
        file.write(0, b"x");
        file.sync_failed();
        assert_eq!(file.content, b"x");
        file.process_ended();
        file.sync();
        file.machine_stopped(&mut ChaCha12Rng::seed_from_u64(1));
        assert!(file.content.is_empty());
    }
}
