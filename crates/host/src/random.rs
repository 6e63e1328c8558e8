//! Randomness, and the ids made of it.
//!
//! Invariant: every random byte of the database comes from a [`Random`], so a seed decides all ids of a
//! simulated run.

use std::fmt::Debug;
use std::io;

use parking_lot::Mutex;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha12Rng;

/// Where random bytes come from.
pub trait Random: Send + Sync + Debug {
    /// Fills `bytes` with uniformly distributed bytes.
    fn fill(&self, bytes: &mut [u8]);
}

/// A random (version 4) UUID.
pub fn uuid_bytes(random: &dyn Random) -> [u8; 16] {
    let mut bytes = [0; 16];
    random.fill(&mut bytes);
    *uuid::Builder::from_random_bytes(bytes).as_uuid().as_bytes()
}

/// A uniformly distributed number.
pub fn u64(random: &dyn Random) -> u64 {
    let mut bytes = [0; 8];
    random.fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// A number in `0..n`; 0 when `n` is 0. The bias is below `n / 2^64`, which no caller can observe.
pub fn below(random: &dyn Random, n: u64) -> u64 {
    let wide = u128::from(u64(random)) * u128::from(n);
    u64::try_from(wide >> 64).unwrap_or(0)
}

/// A generator seeded by the operating system once, at start.
#[derive(Debug)]
pub struct SystemRandom {
    generator: Mutex<ChaCha12Rng>,
}

impl SystemRandom {
    /// Seeds from the operating system.
    ///
    /// # Errors
    /// The operating system gives no entropy.
    pub fn new() -> io::Result<Self> {
        let generator = ChaCha12Rng::try_from_os_rng().map_err(io::Error::other)?;
        Ok(Self { generator: Mutex::new(generator) })
    }
}

impl Random for SystemRandom {
    fn fill(&self, bytes: &mut [u8]) {
        self.generator.lock().fill_bytes(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_version_4_and_differ() {
        let random = SystemRandom::new().expect("entropy");
        let (a, b) = (uuid_bytes(&random), uuid_bytes(&random));
        assert_ne!(a, b);
        assert_eq!(uuid::Uuid::from_bytes(a).get_version_num(), 4);
    }

    #[test]
    fn below_stays_below_and_reaches_every_value() {
        let random = SystemRandom::new().expect("entropy");
        let mut seen = [false; 5];
        for _ in 0..1000 {
            let n = usize::try_from(below(&random, 5)).expect("small");
            seen[n] = true;
        }
        assert_eq!(seen, [true; 5]);
        assert_eq!(below(&random, 0), 0);
    }
}
