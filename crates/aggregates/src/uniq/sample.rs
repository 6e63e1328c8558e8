//! A sample of the hashes of a set, from which its size is told.
//!
//! It keeps all hashes while there are at most [`HASHES_MAX`]. Above that it keeps those divisible by 2, then by 4, and so on:
//! adaptive sampling (Wegman; Flajolet 1990), with the constants of ClickHouse's `uniq`, so that counts are the same.
//! Invariant: what is kept depends on the set alone. Must not know: values.

/// Hashes that are kept at most.
const HASHES_MAX: usize = 1 << 16;

/// Of how many low bits of a hash thinning may ask: then there are 65,536 hashes left at most.
const THINNED_MAX: u8 = 16;

/// Open addressing; 0 marks an empty place.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    /// None, or a power of two of them, at most half of which are taken.
    places: Vec<u32>,
    taken: usize,
    has_zero: bool,
    thinned: u8,
}

impl Sample {
    pub(super) fn len(&self) -> usize {
        self.taken + usize::from(self.has_zero)
    }

    /// How often half of the hashes were dropped.
    pub(super) fn thinned(&self) -> u8 {
        self.thinned
    }

    pub(super) fn hashes(&self) -> impl Iterator<Item = u32> {
        let zero = self.has_zero.then_some(0);
        zero.into_iter().chain(self.places.iter().copied().filter(|hash| *hash != 0))
    }

    /// Bytes held beside the struct.
    pub(super) fn bytes(&self) -> usize {
        self.places.capacity() * size_of::<u32>()
    }

    fn counts(&self, hash: u32) -> bool {
        u32::from(self.thinned) <= hash.trailing_zeros()
    }

    pub(super) fn insert(&mut self, hash: u32) {
        if !self.counts(hash) {
            return;
        }
        if hash == 0 {
            self.has_zero = true;
        } else {
            self.put(hash);
        }
        while self.len() > HASHES_MAX && self.thinned < THINNED_MAX {
            self.thin(self.thinned + 1);
        }
    }

    /// Takes in what another sample kept, which was thinned so often.
    pub(super) fn merge(&mut self, thinned: u8, hashes: &[u32]) {
        let thinned = thinned.min(THINNED_MAX);
        if thinned > self.thinned {
            self.thin(thinned);
        }
        hashes.iter().for_each(|hash| self.insert(*hash));
    }

    fn put(&mut self, hash: u32) {
        if (self.taken + 1) * 2 > self.places.len() {
            let places = std::mem::take(&mut self.places);
            self.places = vec![0; (places.len() * 2).max(8)];
            self.taken = 0;
            places.into_iter().filter(|hash| *hash != 0).for_each(|hash| self.put_in_room(hash));
        }
        self.put_in_room(hash);
    }

    fn put_in_room(&mut self, hash: u32) {
        let mask = self.places.len() - 1;
        // Low bits are equal after thinning.
        let mut place = usize::try_from(hash >> 15).unwrap_or(0) & mask;
        while self.places[place] != 0 {
            if self.places[place] == hash {
                return;
            }
            place = (place + 1) & mask;
        }
        self.places[place] = hash;
        self.taken += 1;
    }

    fn thin(&mut self, thinned: u8) {
        self.thinned = thinned;
        let places = std::mem::take(&mut self.places);
        let size = places.len();
        let kept: Vec<u32> = places.into_iter().filter(|hash| *hash != 0 && self.counts(*hash)).collect();
        self.places = vec![0; size];
        self.taken = 0;
        kept.into_iter().for_each(|hash| self.put_in_room(hash));
    }

    /// How many values there were.
    pub(super) fn count(&self) -> u64 {
        let kept = model::saturating::u64_of(self.len());
        if self.thinned == 0 {
            return kept;
        }
        let below = (1_u64 << self.thinned) - 1;
        let guess = (kept << self.thinned) + (scattered(kept) & below);
        // Of so many values some share their hash.
        let hashes = f64::from(u32::MAX) + 1.0;
        let guess = guess.min((1 << 32) - 1);
        rounded(hashes * (hashes.ln() - (hashes - as_float(guess)).ln()))
    }
}

#[expect(clippy::cast_precision_loss, reason = "below 2^32")]
fn as_float(count: u64) -> f64 {
    count as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count above zero, far below 2^63"
)]
fn rounded(count: f64) -> u64 {
    count.round() as u64
}

/// CRC-32C of a number's eight bytes: fills the bits that thinning has left unknown, the same for the same number.
fn scattered(number: u64) -> u64 {
    let mut crc = u32::MAX;
    for byte in number.to_le_bytes() {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            let is_odd = crc & 1 == 1;
            crc >>= 1;
            if is_odd {
                crc ^= 0x82F6_3B78;
            }
        }
    }
    u64::from(crc)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random and are all different.
    fn hash(number: u32) -> u32 {
        number.wrapping_mul(0x9E37_79B1).rotate_left(13).wrapping_mul(0x85EB_CA6B)
    }

    #[test]
    fn small_sets_are_counted() {
        let mut sample = Sample::default();
        for number in (0..60_000).chain(0..30_000) {
            sample.insert(hash(number));
        }
        assert_eq!((sample.count(), sample.thinned()), (60_000, 0));
        assert_eq!(Sample::default().count(), 0);
    }

    #[test]
    fn a_sample_does_not_depend_on_order_or_cuts() {
        let mut whole = Sample::default();
        (0..300_000).for_each(|number| whole.insert(hash(number)));
        let mut cut = Sample::default();
        for part in (0..10).rev() {
            let mut piece = Sample::default();
            (0..30_000).rev().for_each(|number| piece.insert(hash(part * 30_000 + number)));
            cut.merge(piece.thinned(), &piece.hashes().collect::<Vec<_>>());
        }
        let sorted = |sample: &Sample| {
            let mut hashes: Vec<u32> = sample.hashes().collect();
            hashes.sort_unstable();
            hashes
        };
        assert_eq!((cut.thinned(), sorted(&cut)), (whole.thinned(), sorted(&whole)));
        assert!(whole.len() <= HASHES_MAX);
        assert!(whole.count().abs_diff(300_000) < 6_000, "{}", whole.count());
    }

    #[test]
    fn crc_is_castagnolis() {
        // Of eight zero bytes: 0x8C28B28A, which is complemented at the end.
        assert_eq!(scattered(0), u64::from(!0x8C28_B28A_u32));
    }
}
